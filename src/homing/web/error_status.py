"""How each error is reported: the members of a problem document, and the headers beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from homing.model.errors import Error, Invalid, NotReady, Refused, SlowDown

log = structlog.get_logger(__name__)

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
    "too_large": "Too large",
    "invalid": "The request cannot be taken",
    "unknown_model": "There is no such model here",
    "unknown_tool": "There is no such tool",
    "key_reused": "The Idempotency-Key was used for another request",
    "slow_down": "Too many requests",
    "internal": "Something broke on our side",
    "not_ready": "Not ready",
}


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A problem's members, and what goes with it as headers."""

    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def status(self) -> int:
        return self.body["status"]


def refusal_of(error: Error, request_id: str) -> Refusal:
    """Map an error to its problem document."""
    match error:
        case SlowDown():
            wait = {"Retry-After": str(max(1, round(error.retry_after)))}
            return Refusal(body=spelled(error.status, error.code, error.detail, request_id), headers=wait)
        case Invalid():
            errors = [{"field": e.field, "code": e.code, "detail": e.detail} for e in error.errors]
            body = spelled(error.status, error.code, error.detail, request_id, errors=errors, extra=error.extra)
            return Refusal(body=body)
        case Refused():
            proof = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
            body = spelled(error.status, error.code, error.detail, request_id, extra=error.extra)
            return Refusal(body=body, headers=proof)
        case NotReady():
            # Why, and where the database is, is in the log; the caller may be anybody.
            log.warning("not_ready", reason=str(error), request_id=request_id)
            why = "Try again in a moment; its log, or `homing doctor`, says why."
            detail = f"Homing cannot serve right now. {error.public or why}"
            return Refusal(body=spelled(503, "not_ready", detail, request_id), headers={"Retry-After": "2"})
        case _:
            return broken(request_id)


def broken(request_id: str) -> Refusal:
    """Tell of a bug, without showing it."""
    detail = f"This is our fault, not yours. The log says more under {request_id}."
    return Refusal(body=spelled(500, "internal", detail, request_id))


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
