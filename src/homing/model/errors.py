"""What can go wrong, sorted by who has to act.

Error
├── Refused      the caller must change the request      → 4xx, exit 2, told to the model as text
│   ├── Invalid · NotFound · Forbidden · Conflict · SlowDown · Unauthenticated
├── Failed       the world said no; `permanent`, `retry_after`   → retried by the engine, then closed or dead
│   ├── ModelFailed · ToolFailed · ChannelFailed
├── Lost         my claim ran out and another has it     → drop the work, say nothing
├── NotReady     the database or the engine cannot serve now     → 503, try again
└── Broken       our promise does not hold: a bug        → loud, 500, run marked error
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

MAX_FIELD_ERRORS = 20
_MAX_DETAIL = 4000
_MAX_FIELD_DETAIL = 500
_MAX_FIELD = 100


class Error(Exception):
    """Every error that Homing raises on purpose."""


class Refused(Error):
    """The caller must change the request; the message says how."""

    status = 400
    code = "malformed"

    def __init__(self, detail: str, *, code: str | None = None, extra: Mapping[str, object] | None = None) -> None:
        detail = shortened(detail, _MAX_DETAIL)
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.code
        self.extra: Mapping[str, object] = extra or {}


def shortened(text: str, most: int) -> str:
    """Cut a text that quotes what came in: an answer must not grow with its request."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True, kw_only=True)
class FieldError:
    """One field of a request that cannot be taken, and why."""

    field: str
    code: str
    detail: str

    def shortened(self) -> "FieldError":
        """Give the same with a name and a sentence of bounded length."""
        field, detail = shortened(self.field, _MAX_FIELD), shortened(self.detail, _MAX_FIELD_DETAIL)
        return FieldError(field=field, code=self.code, detail=detail)


class Invalid(Refused):
    """A field of the request cannot be taken. `code` here is the field's code, not the problem's."""

    status = 422
    code = "invalid"

    def __init__(
        self, detail: str, *, field: str | None = None, code: str = "invalid", errors: tuple[FieldError, ...] = ()
    ) -> None:
        super().__init__(detail)
        told = errors or ((FieldError(field=field, code=code, detail=detail),) if field else ())
        self.errors = tuple(error.shortened() for error in told[:MAX_FIELD_ERRORS])
        self.field_code = self.errors[0].code if self.errors else code


class UnknownModel(Invalid):
    """A model name that this server cannot use."""

    code = "unknown_model"


class UnknownTool(Invalid):
    """A tool that Homing does not have."""

    code = "unknown_tool"


class BadPackage(Invalid):
    """Packages that cannot be asked for, or that the index does not have in this way."""

    code = "bad_package"


class HostNotAllowed(Invalid):
    """A host that the caller may not open."""

    code = "host_not_allowed"


class Malformed(Refused):
    """The request could not be read at all."""


class Unauthenticated(Refused):
    """Nobody we know is asking."""

    status = 401
    code = "unauthenticated"


class Forbidden(Refused):
    """The caller's role does not allow this."""

    status = 403
    code = "forbidden"


class NotFound(Refused):
    """There is no such thing, or it is not the caller's."""

    status = 404
    code = "not_found"


class Conflict(Refused):
    """Something stands in the way; `extra` names it."""

    status = 409
    code = "wrong_state"


class NoFiles(Conflict):
    """This process cannot keep files; the message says what to do."""

    code = "no_files"


class TooLarge(Refused):
    """The request is bigger than we take."""

    status = 413
    code = "too_large"


class SlowDown(Refused):
    """Too many requests; come back after `retry_after` seconds."""

    status = 429
    code = "slow_down"

    def __init__(self, detail: str, *, retry_after: float) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Failed(Error):
    """The world said no. `permanent` means that trying again cannot help."""

    def __init__(self, detail: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.permanent = permanent
        self.retry_after = retry_after


ModelCause = Literal["key", "name", "credit", "limit", "server"]


class ModelFailed(Failed):
    """A model call did not succeed. `cause`: what its status says of it; None where it says too little."""

    def __init__(
        self,
        detail: str,
        *,
        permanent: bool = False,
        retry_after: float | None = None,
        cause: ModelCause | None = None,
    ) -> None:
        super().__init__(detail, permanent=permanent, retry_after=retry_after)
        self.cause: ModelCause | None = cause


class ToolFailed(Failed):
    """A tool call did not succeed."""


class OverBudget(Failed):
    """A ceiling of money is reached: no further model call may begin."""


class ChannelFailed(Failed):
    """A part of a delivery was not taken. `unsure`: nobody can tell, it may have arrived. `limited`: the account was
    told to slow down, so all of it waits for `retry_after` and the attempt does not count. `blocked`: the person there
    does not want to hear from this account."""

    def __init__(
        self,
        detail: str,
        *,
        permanent: bool = False,
        retry_after: float | None = None,
        unsure: bool = False,
        limited: bool = False,
        blocked: bool = False,
    ) -> None:
        super().__init__(detail, permanent=permanent, retry_after=retry_after)
        self.unsure = unsure
        self.limited = limited
        self.blocked = blocked


class Lost(Error):
    """My claim ran out and another has it: drop the work, write nothing."""


class NotReady(Error):
    """The database or the engine cannot serve now; the message says why, `public` what anybody may read of it."""

    def __init__(self, detail: str, *, public: str | None = None) -> None:
        super().__init__(detail)
        self.public = public


class FilesAway(NotReady):
    """The place that keeps the bytes of files cannot be used now; the message says why."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, public=detail)


class Broken(Error):
    """Our promise does not hold: a bug."""
