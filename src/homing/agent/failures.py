"""What a provider's error means: one typed `ModelFailed`, told from status and type, never guessed from prose."""

import os
import re
from collections.abc import Mapping
from typing import Any, cast

import httpx2
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
)

from homing.agent.text import clean
from homing.model.errors import ModelFailed, shortened

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
_MOST = 1000
# What is looked at of a provider's words: anybody can send megabytes of them.
MAX_MASKED = 8192
_SECRET_NAMES = re.compile("KEY|TOKEN|SECRET|PASSWORD")
_LEAST_SECRET = 8
# Keys by their usual beginnings, and whatever is called a key and looks like one. Some providers repeat a part of it.
_KEYS = re.compile(
    r"\b(?P<start>(?:sk|pk|rk|gsk|xai|hf|ghp|glpat)[-_]|AIza|Bearer\s+)[\w.*…-]{4,}"
    r"|(?i:(?P<name>(?<![a-z])(?:key|token|secret)(?![a-z])[^\n:=]{0,20}[:=]\s*['\"]?))"
    r"(?=[^\s'\",}]{0,200}\d)(?=[^\s'\",}]{0,200}[A-Za-z*])[^\s'\",}]{6,}"
)


def model_failed(error: Exception) -> ModelFailed:
    """Say what went wrong with a model call, and whether trying again can help."""
    retry_after = error.retry_after if isinstance(error, ModelAPIError) else None
    said = shortened(mask_keys(clean(_sentence(error))), _MOST)
    return ModelFailed(said, permanent=not _is_transient(error), retry_after=retry_after)


def mask_keys(text: str) -> str:
    """Take keys out of a provider's words: some repeat the key that they refuse. Of long words both ends are kept."""
    text = _ends(text)
    for name, value in os.environ.items():
        if len(value) >= _LEAST_SECRET and _SECRET_NAMES.search(name):
            text = text.replace(value, "***")
    return _KEYS.sub(lambda found: f"{found['start'] or found['name']}***", text)


def _ends(text: str) -> str:
    if len(text) <= MAX_MASKED:
        return text
    # Whole words: a part of a key would not be known as one.
    head = text[: MAX_MASKED // 2].rpartition(" ")[0]
    tail = text[-MAX_MASKED // 2 :].partition(" ")[2]
    return f"{head} … {tail}"


def _sentence(error: Exception) -> str:
    """Give the provider's own sentence where its answer has one."""
    if not isinstance(error, ModelHTTPError):
        return str(error) or type(error).__name__
    body: Any = error.body
    while isinstance(body, Mapping):
        held = cast(Mapping[str, Any], body)
        body = held.get("error") or held.get("message") or held.get("detail") or str(held)
    return f"{body or 'No explanation'} ({error.status_code} from {error.model_name})"


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
