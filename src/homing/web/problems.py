"""Every refusal in one form: application/problem+json with a closed list of codes (RFC 9457)."""

import json
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from homing.model.errors import Error
from homing.model.problem_document import spelled
from homing.web.error_status import Refusal, broken, refusal_of

MEDIA = "application/problem+json"

CODES: Mapping[int, tuple[str, ...]] = {
    400: ("malformed", "bad_cursor"),
    401: ("unauthenticated",),
    403: ("forbidden",),
    404: ("not_found",),
    405: ("wrong_method",),
    409: (
        "stale_revision",
        "already_running",
        "session_exists",
        "blocked_by_automations",
        "wrong_state",
        "nothing_to_undo",
        "quota_reached",
        "no_sandbox",
        "no_files",
    ),
    413: ("too_large",),
    422: ("invalid", "key_reused", "unknown_model", "unknown_tool", "bad_package", "host_not_allowed"),
    429: ("slow_down",),
    500: ("internal",),
    503: ("not_ready",),
}


class FieldProblem(BaseModel):
    """One field that is not valid, and why."""

    field: str
    code: str
    detail: str


class Problem(BaseModel):
    """Why a request was refused; `detail` says how to fix it. Some problems have more members."""

    model_config = ConfigDict(extra="allow")

    type: str
    code: str
    title: str
    status: int
    detail: str
    errors: list[FieldProblem]
    request_id: str


def problem_of(error: Error, request_id: str) -> Response:
    """Answer with an error as a problem document."""
    return _response(refusal_of(error, request_id))


def internal(request_id: str) -> Response:
    """Tell of a bug, without showing it."""
    return _response(broken(request_id))


def problem(
    status: int, code: str, detail: str, request_id: str, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Report what none of our errors covers: that an address is not there, or takes no such method."""
    return _response(Refusal(body=spelled(status, code, detail, request_id), headers=headers or {}))


def _response(refusal: Refusal) -> Response:
    # A refusal may quote what it refuses, and that may be half a character.
    text = json.dumps(refusal.body, ensure_ascii=False).encode("utf-8", "replace")
    return Response(text, status_code=refusal.status, media_type=MEDIA, headers=dict(refusal.headers))
