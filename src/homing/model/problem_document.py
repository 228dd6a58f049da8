"""A problem document: how the API words an error. Both the web server and a client without one spell them so."""

from collections.abc import Mapping
from typing import Any

from homing.model.errors import Invalid, Refused

_TITLES = {
    "malformed": "The request cannot be read",
    "bad_cursor": "The cursor is not one of this list",
    "unauthenticated": "Nobody is signed in",
    "forbidden": "Not allowed",
    "not_found": "Not found",
    "wrong_method": "This address does not take this method",
    "stale_revision": "Somebody else was faster",
    "already_running": "Already running",
    "session_exists": "The session exists already",
    "blocked_by_automations": "The session has automations",
    "wrong_state": "Not possible in this state",
    "nothing_to_undo": "There is nothing to undo",
    "quota_reached": "The limit is reached",
    "no_sandbox": "Programs cannot run here",
    "no_files": "Files are off",
    "too_large": "Too large",
    "invalid": "The request cannot be taken",
    "unknown_model": "There is no such model here",
    "unknown_tool": "There is no such tool",
    "bad_package": "These packages cannot be installed",
    "host_not_allowed": "This host may not be reached",
    "key_reused": "The Idempotency-Key was used for another request",
    "slow_down": "Too many requests",
    "internal": "Something broke on our side",
    "not_ready": "Not ready",
}


def refused(error: Refused, request_id: str) -> dict[str, Any]:
    """Spell a refusal, with what each field has against it."""
    errors = (
        [{"field": e.field, "code": e.code, "detail": e.detail} for e in error.errors]
        if isinstance(error, Invalid)
        else []
    )
    return spelled(error.status, error.code, error.detail, request_id, errors=errors, extra=error.extra)


def spelled(
    status: int,
    code: str,
    detail: str,
    request_id: str,
    *,
    errors: list[dict[str, str]] | None = None,
    extra: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Spell a problem. What stands beside the seven members never takes their place."""
    return dict(extra or {}) | {
        "type": f"/problems/{code}",
        "code": code,
        "title": _TITLES[code],
        "status": status,
        "detail": detail,
        "errors": errors or [],
        "request_id": request_id,
    }
