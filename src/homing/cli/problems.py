"""What a command says when it cannot: a sentence that tells what to do, and the exit code that scripts see."""

import re
from collections.abc import Mapping
from typing import Any, cast

from homing.cli.visible import json_text

FAILED = 1
REFUSED = 2
DEBUG = "HOMING_DEBUG"


class Problem(Exception):
    """A problem as the API words it; made here for what goes wrong on this side."""

    def __init__(self, body: Mapping[str, Any], *, exit_code: int, hint: str | None = None) -> None:
        super().__init__(_spoken(str(body.get("detail") or body.get("title") or "Something went wrong.")))
        self.body = dict(body)
        self.exit_code = exit_code
        self.hint = hint

    @property
    def detail(self) -> str:
        return str(self)

    @property
    def code(self) -> str:
        return str(self.body.get("code", ""))

    def told(self, *, as_json: bool) -> str:
        """Say it in one line, to people or to programs."""
        return json_text(self.body) if as_json else self.detail


class Unreachable(Problem):
    """No server answered."""


def refused(detail: str, *, code: str = "invalid", hint: str | None = None) -> Problem:
    """The person has to say it differently."""
    status = 404 if code == "not_found" else 422
    return Problem(_body(detail, code, "Refused", status), exit_code=REFUSED, hint=hint)


def failed(detail: str, *, code: str = "failed", hint: str | None = None) -> Problem:
    """The world said no."""
    return Problem(_body(detail, code, "Failed"), exit_code=FAILED, hint=hint)


def unreachable(detail: str, *, hint: str | None = None) -> Unreachable:
    return Unreachable(_body(detail, "unreachable", "Unreachable"), exit_code=FAILED, hint=hint)


def answered(status: int, body: object) -> Problem:
    """Turn a refusal of the server into a problem; what is not one of ours is told as what it is."""
    if not isinstance(body, dict) or "detail" not in body:
        return failed(f"The server answered {status}, and not as Homing does. Check HOMING_URL.", code="not_homing")
    known = cast("dict[str, Any]", body)
    hint = _HINTS.get(str(known.get("code")))
    return Problem(known, exit_code=FAILED if status >= 500 else REFUSED, hint=hint)


_HINTS = {
    "unauthenticated": "Set HOMING_TOKEN to a token of this server (`homing tokens create` makes one). If the owner's"
    " token was revoked, `homing tokens rotate` makes a new one.",
    "internal": "This is a bug of ours. The server's log says more under the same request id.",
}


def _spoken(detail: str) -> str:
    """Name commands where the API names its operations: at this door those are what one can type."""
    spoken = _OPERATION.sub(lambda found: f"`homing {_COMMANDS[found[0]]}`", detail)
    return spoken.replace("delete_automations=true", "--delete-automations")


_COMMANDS = {
    "add_grant": "grants add",
    "list_deliveries": "deliveries list",
    "list_grants": "grants list",
    "list_hooks": "hooks list",
    "list_jobs": "cron list",
    "list_memories": "memories list",
    "list_runs": "cron runs ID",
    "list_sessions": "sessions list",
    "list_tokens": "tokens list",
    "list_users": "tokens list --all",
    "list_webhooks": "webhooks list",
}
_OPERATION = re.compile(rf"\b({'|'.join(_COMMANDS)})\b")


def _body(detail: str, code: str, title: str, status: int | None = None) -> dict[str, object]:
    """Word a problem as the API does; what failed on this side of it has no status."""
    known = {"type": f"/problems/{code}", "code": code, "title": title, "status": status}
    return {**known, "detail": detail, "errors": []}
