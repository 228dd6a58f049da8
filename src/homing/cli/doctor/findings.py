"""What a look found."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at. `wrong` needs somebody; `note` is worth knowing."""

    what: str
    state: Literal["ok", "note", "wrong"]
    said: str
    fix: str | None = None


def ok(what: str, said: str) -> Finding:
    return Finding(what=what, state="ok", said=said)


def noted(what: str, said: str, fix: str | None = None) -> Finding:
    return Finding(what=what, state="note", said=said, fix=fix)


def wrong(what: str, said: str, fix: str) -> Finding:
    return Finding(what=what, state="wrong", said=said, fix=fix)
