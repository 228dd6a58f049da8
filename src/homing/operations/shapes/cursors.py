"""Where a page ended, as an opaque text that only we read."""

import base64
import binascii
import json
from typing import Any

from homing.model.errors import Malformed
from homing.operations.shapes.base import MOST

_LONGEST = 1024


def encode(*key: int | str | None) -> str:
    """Write down where a page ended."""
    plain = json.dumps(key, separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def decode(cursor: str | None, *kinds: type | tuple[type, ...]) -> tuple[Any, ...] | None:
    """Read where a page ended; one that we did not write for this list is refused."""
    if cursor is None:
        return None
    if len(cursor) > _LONGEST:
        raise bad()
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise bad() from None
    if not isinstance(key, list) or len(key) != len(kinds):  # pyright: ignore[reportUnknownArgumentType]
        raise bad()
    for value, kind in zip(key, kinds, strict=True):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise bad()
        if isinstance(value, int) and abs(value) > MOST * 1000:
            raise bad()
    return tuple(key)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def encode_in(name: str, n: int) -> str:
    """Write down where a page of a named list ended, for lists that go by one number."""
    return encode(name, n)


def decode_in(name: str, cursor: str | None) -> int | None:
    """Read where a page of that list ended: the number of another list's row would be read as one of this list's."""
    key = decode(cursor, str, int)
    if key is None:
        return None
    if key[0] != name:
        raise bad()
    return key[1]


def bad() -> Malformed:
    """Refuse a cursor."""
    return Malformed("This cursor is not one of this list. Ask for the first page again.", code="bad_cursor")
