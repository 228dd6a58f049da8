"""What comes in as bytes: measured before it is kept, read strictly, refused with a sentence."""

import json
import math
from typing import Any, NoReturn

from fastapi import Request

from homing.model.errors import Malformed, TooLarge

MAX_BODY = 1_048_576
_LONGEST_NUMBER = 4000


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
    value = parse(body)
    if not isinstance(value, dict):
        raise Malformed('The body must be a JSON object, such as {"text": "hello"}.')
    return value  # pyright: ignore[reportUnknownVariableType]


def is_json(content_type: str) -> bool:
    """Say whether a content type is JSON or a kind of it."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def parse(body: bytes) -> Any:
    """Read JSON as the standard has it: UTF-8, no NaN, no number beyond what can be kept."""
    try:
        return json.loads(
            body.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_read_float, parse_int=_read_int
        )
    except UnicodeDecodeError:
        raise Malformed("The body is not UTF-8.") from None
    except RecursionError:
        raise Malformed("The body is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except ValueError as error:
        raise Malformed(f"The body is not JSON that can be kept: {error}.") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _read_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def _read_int(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"{digits[:20]}… is too large a number")
    return int(digits)


def _too_large() -> TooLarge:
    return TooLarge(f"A body has at most {MAX_BODY:,} bytes. Send less, or in parts.")
