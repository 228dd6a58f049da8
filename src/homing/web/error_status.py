"""How each error is reported: the members of a problem document, and the headers beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from homing.model.errors import Error, NotReady, Refused, SlowDown
from homing.model.problem_document import refused, spelled

log = structlog.get_logger(__name__)


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
            return Refusal(body=refused(error, request_id), headers=wait)
        case Refused():
            proof = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
            return Refusal(body=refused(error, request_id), headers=proof)
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
