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
from pydantic_ai.models import Model

from homing.agent.text import clean
from homing.model.errors import ModelCause, ModelFailed, shortened

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
_CAUSES: Mapping[int, ModelCause] = {401: "key", 404: "name", 429: "limit"}
_MOST = 1000
# What is looked at of a provider's words: anybody can send megabytes of them.
MAX_MASKED = 8192
_SECRET_NAMES = re.compile("KEY|TOKEN|SECRET|PASSWORD")
_LEAST_SECRET = 8
_LEAST_PART = 6
# Keys by their usual beginnings, and whatever is called a key and looks like one. Some providers repeat a part of it.
_KEYS = re.compile(
    r"\b(?P<start>(?:sk|pk|rk|gsk|xai|hf|ghp|glpat)[-_]|AIza|Bearer\s+)[\w.*…-]{4,}"
    r"|(?i:(?P<name>(?<![a-z])(?:key|token|secret)(?![a-z])[^\n:=]{0,20}[:=]\s*['\"]?))"
    r"(?=[^\s'\",}]{0,200}\d)(?=[^\s'\",}]{0,200}[A-Za-z*])[^\s'\",}]{6,}"
)


def model_failed(error: Exception, *, key: str | None = None) -> ModelFailed:
    """Say what went wrong with a model call, and whether trying again can help; never the key it was made with."""
    retry_after = error.retry_after if isinstance(error, ModelAPIError) else None
    said = shortened(without_key(mask_keys(clean(_sentence(error))), key), _MOST)
    return ModelFailed(said, permanent=not _is_transient(error), retry_after=retry_after, cause=_cause(error))


def mask_keys(text: str) -> str:
    """Take keys out of a provider's words: some repeat the key that they refuse. Of long words both ends are kept."""
    text = _ends(text)
    for name, value in os.environ.items():
        if len(value) >= _LEAST_SECRET and _SECRET_NAMES.search(name):
            text = text.replace(value, "***")
    return _KEYS.sub(lambda found: f"{found['start'] or found['name']}***", text)


def without_key(text: str, key: str | None) -> str:
    """Take a key out of a provider's words, also where only a part of it is repeated."""
    if not key:
        return text
    text = text.replace(key, "***")
    found: list[str] = []
    start = 0
    while start < len(text):
        end = start + _LEAST_PART
        if len(text) < end or text[start:end] not in key:
            found.append(text[start])
            start += 1
            continue
        while end < len(text) and text[start : end + 1] in key:
            end += 1
        found.append("***")
        start = end
    return "".join(found)


def key_of(model: Model) -> str | None:
    """Give the key that a model is asked with, where its client shows it."""
    key = getattr(getattr(model, "client", None), "api_key", None)
    return key if isinstance(key, str) and len(key) >= _LEAST_SECRET else None


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


def _cause(error: Exception) -> ModelCause | None:
    if isinstance(error, ModelQuotaExceededError):
        return "credit"
    if not isinstance(error, ModelHTTPError):
        return None
    if error.status_code >= 500:
        return "server"
    return _CAUSES.get(error.status_code)


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
