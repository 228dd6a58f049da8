"""What a provider's error means: one typed `ModelFailed`, told from status and type, never guessed from prose."""

import httpx2
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
)

from homing.model.errors import ModelFailed

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})


def model_failed(error: Exception) -> ModelFailed:
    """Say what went wrong with a model call, and whether trying again can help."""
    retry_after = error.retry_after if isinstance(error, ModelAPIError) else None
    detail = str(error) or type(error).__name__
    return ModelFailed(detail, permanent=not _is_transient(error), retry_after=retry_after)


def _is_transient(error: Exception) -> bool:
    match error:
        # Money does not come back by waiting, although some providers send it as a 429.
        case ModelQuotaExceededError() | ContentFilterError():
            return False
        case ModelHTTPError():
            return error.status_code in TRANSIENT_STATUSES or error.status_code >= 500
        case ModelRequestRejectedError():
            return False
        # A refused connection, a cut stream, a timeout, an overload told inside a stream, a body that is not an answer.
        case ModelAPIError() | UnexpectedModelBehavior() | httpx2.HTTPError() | OSError():
            return True
        case _:
            return False
