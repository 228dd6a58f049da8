"""What cannot be done, as the API words it."""

from collections.abc import Mapping
from typing import Any, cast


class Problem(Exception):
    """A refusal of the server, or what went wrong on the way to it: then without a status."""

    def __init__(self, body: Mapping[str, Any], *, hint: str | None = None) -> None:
        super().__init__(str(body.get("detail") or body.get("title") or "Something went wrong."))
        self.body = dict(body)
        self.hint = hint

    @property
    def detail(self) -> str:
        return str(self)

    @property
    def code(self) -> str:
        return str(self.body.get("code", ""))

    @property
    def status(self) -> int | None:
        return self.body.get("status")


class Unreachable(Problem):
    """No server answered."""


def worded(detail: str, code: str, title: str, status: int | None = None) -> dict[str, Any]:
    """Word a problem as the API does; what failed on this side of it has no status."""
    known = {"type": f"/problems/{code}", "code": code, "title": title, "status": status}
    return {**known, "detail": detail, "errors": []}


def unreachable(detail: str, *, hint: str | None = None) -> Unreachable:
    return Unreachable(worded(detail, "unreachable", "Unreachable"), hint=hint)


def answered(status: int, body: object) -> Problem:
    """Make a problem of a refusal; any other answer becomes a generic error."""
    if isinstance(body, dict) and "detail" in body:
        return Problem(cast("dict[str, Any]", body))
    detail = f"The server answered {status}, and not as Homing does. Check HOMING_URL."
    return Problem(worded(detail, "not_homing", "Failed"))
