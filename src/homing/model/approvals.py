"""Approvals and questions: what an agent asks a person, what the card shows, and what became of it. Pure.

An approval parks nothing: the tool answers at once, and the action runs after a yes, outside the turn (rules 46 to 49).
"""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from homing.model.errors import Invalid
from homing.model.people import Source

ApprovalState = Literal["pending", "approved", "running", "done", "failed", "unknown", "denied", "expired"]
Audience = Literal["admin", "owner"]
Ended = Literal["answered", "time", "replaced", "session_deleted", "agent_changed", "tool_changed", "approver_gone"]
QuestionState = Literal["pending", "answered", "expired"]
QuestionEnded = Literal["answered", "time", "session_deleted"]

OPEN_FOR = timedelta(days=7)
DENIAL_HOLDS = timedelta(days=1)
MAX_PENDING = 10
"""Per session; questions and approvals are counted apart."""
MAX_ASKED = 30
"""Approvals per agent and day."""
MAX_ATTEMPTS = 3
"""How often a repeatable action may be begun."""
MAX_SHOWN_BYTES = 64 << 10
MAX_REASON = 300
MAX_TITLE = 500
MAX_OPTION = 100
MIN_OPTIONS, MAX_OPTIONS = 2, 6

# Letters and signs that a screen shows as nothing.
_BLANK = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x16FE4, 0x1D159}
# Me: marks that are drawn around or across what stands there.
_HIDDEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Me", "Zl", "Zp"}
# So many marks may stand on one letter in a living language; more cover what is around them.
_MOST_MARKS = 3


@dataclass(frozen=True, kw_only=True)
class Approval:
    """A question to a person about one action that an agent asked for."""

    n: int = 0
    id: str
    user_id: str
    agent_id: str
    session_id: int
    session_key: str = ""
    turn_id: str | None
    """None: an admin's own change, which was answered as it was made."""
    call_key: str
    job_id: str | None
    asked_by: Source
    depth: int
    may_schedule: bool
    outside: str | None = None
    """The source, in words, of what the model had been shown from outside when it asked (rule 41)."""
    tool: str
    args: str
    """Canonical JSON: what was shown is what runs."""
    tool_sha256: str | None
    digest: str
    title: str
    shown: str
    reason: str | None
    audience: Audience
    state: ApprovalState = "pending"
    ended: Ended | None = None
    asked_at: datetime
    expires_at: datetime
    answered_by: str | None = None
    answered_with: str | None = None
    answered_at: datetime | None = None
    note: str | None = None
    attempts: int = 0
    fence: int = 0
    worker_id: str | None = None
    claimed_until: datetime | None = None
    begun_at: datetime | None = None
    finished_at: datetime | None = None
    result: str | None = None
    error: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        return json.loads(self.args)

    @property
    def intact(self) -> bool:
        """Say whether what is stored is still what the digest was made of."""
        return self.digest == digest_of(
            agent_id=self.agent_id, tool=self.tool, tool_sha256=self.tool_sha256, args=self.args
        )


@dataclass(frozen=True, kw_only=True)
class Question:
    """What an agent asks the people of a conversation."""

    n: int = 0
    id: str
    user_id: str
    agent_id: str
    session_id: int
    session_key: str = ""
    turn_id: str
    call_key: str
    title: str
    options: tuple[str, ...] | None
    """None: any text answers it."""
    state: QuestionState = "pending"
    ended: QuestionEnded | None = None
    asked_at: datetime
    expires_at: datetime
    answered_by: str | None = None
    answered_at: datetime | None = None
    answer: str | None = None
    finished_at: datetime | None = None

    def meant_by(self, text: str) -> str | None:
        """Give the option that a message is exactly: its number, or its words. None: it is an ordinary message."""
        said = " ".join(text.split()).casefold()
        meant = {
            option
            for number, option in enumerate(self.options or (), 1)
            if said in (str(number), " ".join(option.split()).casefold())
        }
        # Of options that are numbers themselves it may be two.
        return meant.pop() if len(meant) == 1 else None


def canonical(args: Mapping[str, object]) -> str:
    """Spell arguments in the one way that is stored, shown and hashed."""
    try:
        return json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise Invalid("The arguments are not plain JSON values.", field="arguments", code="wrong_type") from None


def digest_of(*, agent_id: str, tool: str, tool_sha256: str | None, args: str) -> str:
    """Name what a person says yes to: who does what, with which arguments, by a tool of which words."""
    parts = json.dumps([agent_id, tool, tool_sha256, args], ensure_ascii=False, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(parts.encode(errors='surrogatepass')).hexdigest()}"


def shown_args(args: str) -> str:
    """Show canonical arguments: all of them, one to a line, nothing invisible. It is JSON that reads back the same."""
    shown = visible_json(json.dumps(json.loads(args), indent=2, sort_keys=True, ensure_ascii=False))
    if len(shown.encode()) > MAX_SHOWN_BYTES:
        raise Invalid(
            f"This call is too large to be shown to a person ({len(shown.encode()) >> 10} kB; at most"
            f" {MAX_SHOWN_BYTES >> 10}), so nobody can approve it. Make it smaller.",
            field="arguments",
            code="too_large",
        )
    return shown


def visible_json(text: str) -> str:
    """Escape in JSON what a screen would hide, reorder or pile up."""
    out: list[str] = []
    room = 0
    for letter in text:
        category = unicodedata.category(letter)
        if category == "Mn":
            # On a quotation mark or a space it would change how those look.
            room -= 1
            hidden = room < 0 or _is_hidden(letter)
        else:
            hidden = letter != "\n" and _is_hidden(letter)
            room = _MOST_MARKS if category[0] in "LM" and not hidden else 0
        out.append(_escaped(letter) if hidden else letter)
    return "".join(out)


def _is_hidden(letter: str) -> bool:
    category, code = unicodedata.category(letter), ord(letter)
    if category in _HIDDEN or code in _BLANK:
        return True
    if category == "Zs":
        return letter != " "
    # Variation selectors, and marks that Mongolian writes inside words.
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F


def _escaped(letter: str) -> str:
    return json.dumps(letter)[1:-1] if ord(letter) != 0x7F else "\\u007f"


def one_line(text: str, longest: int) -> str:
    """Make a text of an agent or a person fit one visible line."""
    shown = visible_json(" ".join(text.split()))
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
