"""How big a request may be, at every door. Counted before anything else is done with what came in.

Sizes in bytes are each door's own; these are the bounds of texts, and those of structure, which decide what reading
costs.
"""

import json
import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NoReturn, cast

from homing.model.errors import Malformed

MAX_SHORT = 256
MAX_LONG = 4096
MAX_MESSAGE = 16_384
MAX_NAME = 128
MAX_MEMBERS = 200
MAX_ENTRIES = 1000
MAX_DEPTH = 32
MAX_STRUCTURE = 25_000
"""Commas and opening brackets in one JSON text, also inside strings: counting those takes no parser."""
_LONGEST_WORD = 40
_MOST_BITS = 13_000


def parse_json(raw: bytes, what: str = "body") -> Any:
    """Read JSON as the standard has it: UTF-8, no NaN, no number beyond what can be kept, and within the bounds."""
    check_structure(raw, what)
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise Malformed(f"The {what} is not UTF-8.") from None
    except RecursionError:
        raise _too_deep(what) from None
    except json.JSONDecodeError as error:
        raise Malformed(f"The {what} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except _NotANumber as error:
        raise Malformed(f"The {what} is not JSON that can be kept: {error}.") from None
    except ValueError:
        # Python reads no integer of more than some thousand digits.
        raise _too_large_a_number(what) from None
    check_bounds(value, what)
    return value


def check_structure(raw: bytes, what: str = "body") -> None:
    """Refuse a JSON text of so many values that reading it would hold up everybody else."""
    if sum(raw.count(mark) for mark in (b",", b"[", b"{")) > MAX_STRUCTURE:
        raise Malformed(f"The {what} has more than {MAX_STRUCTURE:,} commas and brackets. Send less, or in parts.")


def check_bounds(value: object, what: str = "body", depth: int = 1) -> None:
    """Refuse a value that is nested too deeply, or that has an object or a list of too many."""
    match value:
        case Mapping():
            members = cast("Mapping[object, object]", value)
            if len(members) > MAX_MEMBERS:
                raise Malformed(
                    f"An object in the {what} has {len(members):,} members; at most {MAX_MEMBERS} are allowed."
                )
            inner = members.values()
        case list():
            inner = cast("list[object]", value)
            if len(inner) > MAX_ENTRIES:
                raise Malformed(
                    f"A list in the {what} has {len(inner):,} entries; at most {MAX_ENTRIES:,} are allowed."
                )
        case float():
            if math.isinf(value) or math.isnan(value):
                raise _too_large_a_number(what)
            return
        case int():
            if value.bit_length() > _MOST_BITS:
                raise _too_large_a_number(what)
            return
        case _:
            return
    if depth > MAX_DEPTH:
        raise _too_deep(what)
    for item in inner:
        check_bounds(item, what, depth + 1)


def nearest(word: str, known: list[str], *, cutoff: float = 0.6) -> str | None:
    """Find the known name that is most like a word. What is longer than any name is like none."""
    if len(word) > _LONGEST_WORD:
        return None
    return next(iter(get_close_matches(word, known, n=1, cutoff=cutoff)), None)


class _NotANumber(ValueError):
    pass


def _refuse_constant(name: str) -> NoReturn:
    raise _NotANumber(f"{name} is not a JSON number")


def _too_deep(what: str) -> Malformed:
    return Malformed(f"The {what} is nested too deeply: at most {MAX_DEPTH} levels are allowed.")


def _too_large_a_number(what: str) -> Malformed:
    return Malformed(f"The {what} has a number that is too large to be kept.")
