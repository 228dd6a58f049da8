"""Text from outside, made visible: it cannot set a title, fill the clipboard, clear the screen or reverse text.

Control characters (all but newline and tab) and those that turn the direction of text are shown as escapes, piped or
not. Each is judged by itself, so a sequence that arrives in pieces is caught as well.
"""

import json
import re
from typing import Any

_ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Show as escapes what a terminal would act on."""
    return _ACTIVE.sub(_escape, text.replace("\r\n", "\n"))


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Write JSON that a terminal takes as plain text; what it would act on is escaped as JSON does it."""
    # JSON itself has none of these but in strings, and has escaped the first 32 already.
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, indent=indent))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"
