"""Every refusal in one form: application/problem+json with a closed list of codes (RFC 9457)."""

import json
from collections.abc import Mapping
from typing import Any

import structlog
from fastapi import Response
from pydantic import BaseModel, ConfigDict

from homing.model.errors import Error, Invalid, NotReady, Refused, SlowDown

log = structlog.get_logger(__name__)

MEDIA = "application/problem+json"

CODES: Mapping[int, tuple[str, ...]] = {
    400: ("malformed", "bad_cursor"),
    401: ("unauthenticated",),
    403: ("forbidden",),
    404: ("not_found",),
    405: ("wrong_method",),
    409: ("stale_revision", "already_running", "session_exists", "blocked_by_automations", "wrong_state",
          "nothing_to_undo", "quota_reached", "in_flight"),
    413: ("too_large",),
    422: ("invalid", "key_reused"),
    429: ("slow_down",),
    500: ("internal",),
    503: ("not_ready",),
}  # fmt: skip

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
    "in_flight": "The first request is still on its way",
    "too_large": "Too large",
    "invalid": "The request cannot be taken",
    "key_reused": "The Idempotency-Key was used for another request",
    "slow_down": "Too many requests",
    "internal": "Something broke on our side",
    "not_ready": "Not ready",
}


class FieldProblem(BaseModel):
    """One field that cannot be taken, and why."""

    field: str
    code: str
    detail: str


class Problem(BaseModel):
    """Why a request was refused; `detail` says how to fix it. Some problems name more beside."""

    model_config = ConfigDict(extra="allow")

    type: str
    code: str
    title: str
    status: int
    detail: str
    errors: list[FieldProblem]
    request_id: str


def problem_of(error: Error, request_id: str) -> Response:
    """Tell an error of ours to whoever asked."""
    match error:
        case SlowDown():
            wait = {"Retry-After": str(max(1, round(error.retry_after)))}
            return problem(error.status, error.code, error.detail, request_id, headers=wait)
        case Invalid():
            errors = [{"field": e.field, "code": e.code, "detail": e.detail} for e in error.errors]
            return problem(error.status, "invalid", error.detail, request_id, errors=errors, extra=error.extra)
        case Refused():
            proof = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
            return problem(error.status, error.code, error.detail, request_id, extra=error.extra, headers=proof)
        case NotReady():
            # Why, and where the database is, stands in the log; whoever asks may be anybody.
            log.warning("not ready", action="not_ready", reason=str(error), request_id=request_id)
            detail = "Homing cannot serve right now. Try again in a moment; its log, or `homing doctor`, says why."
            return problem(503, "not_ready", detail, request_id, headers={"Retry-After": "2"})
        case _:
            return internal(request_id)


def internal(request_id: str) -> Response:
    """Tell of a bug, without showing it."""
    detail = f"This is our fault, not yours. The log says more under {request_id}."
    return problem(500, "internal", detail, request_id)


def problem(
    status: int,
    code: str,
    detail: str,
    request_id: str,
    *,
    errors: list[dict[str, str]] | None = None,
    extra: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Spell a problem. What stands beside the seven members never takes their place."""
    body: dict[str, Any] = dict(extra or {}) | {
        "type": f"/problems/{code}",
        "code": code,
        "title": _TITLES[code],
        "status": status,
        "detail": detail,
        "errors": errors or [],
        "request_id": request_id,
    }
    # A refusal may quote what it refuses, and that may be half a character.
    text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    return Response(text, status_code=status, media_type=MEDIA, headers=dict(headers or {}))
