"""What comes in as bytes: measured before it is kept, read strictly, refused with a sentence."""

import json
import re
from typing import Any

from starlette.requests import Request

from homing.model.bounds import parse_json
from homing.model.errors import Malformed, TooLarge

MAX_BODY = 1_048_576
_ONLY_TEXT = re.compile(r'\s*\{\s*"text"\s*:\s*(?=")')
_ENDING = re.compile(r"\s*\}\s*")
_DECODER = json.JSONDecoder()


async def read_body(request: Request) -> bytes:
    """Read a body of at most 1 MB; a bigger one is refused while it still comes in."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > MAX_BODY:
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise _too_large()
    return bytes(body)


def read_object(body: bytes, content_type: str) -> dict[str, Any]:
    """Read a JSON object; no body at all is an empty one."""
    if not body:
        return {}
    if not is_json(content_type):
        raise Malformed("Send the body as JSON, with the header Content-Type: application/json.")
    value = parse_json(body)
    if not isinstance(value, dict):
        raise Malformed('The body must be a JSON object, such as {"text": "hello"}.')
    return value  # pyright: ignore[reportUnknownVariableType]


def is_json(content_type: str) -> bool:
    """Say whether a content type is JSON or a kind of it."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def read_hook(body: bytes, content_type: str) -> str | None:
    """Read what a hook's caller says. Their JSON is kept as it came; only `{"text": …}` alone is opened."""
    if not body:
        return None
    text = body.decode("utf-8", "replace")
    opening = _ONLY_TEXT.match(text) if is_json(content_type) else None
    if opening is None:
        return text
    try:
        given, end = _DECODER.raw_decode(text, opening.end())
    except ValueError:
        return text
    return given if _ENDING.fullmatch(text, end) else text


def _too_large() -> TooLarge:
    return TooLarge(f"A body has at most {MAX_BODY:,} bytes. Send less, or in parts.")
