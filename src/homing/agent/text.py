"""Text as the journal can hold it: without NUL and lone surrogates, and never longer than a tool's result may be."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

MAX_RESULT_BYTES = 256 * 1024


def clean(text: str) -> str:
    """Take out what no database and no wire can carry."""
    # Almost all text is fine; encoding is the quickest way to find a lone surrogate.
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "") if "\0" in text else text


def clean_value(value: Any) -> Any:
    """Clean every text inside a JSON value."""
    match value:
        case str():
            return clean(value)
        case Mapping():
            return {clean(str(key)): clean_value(item) for key, item in cast(Mapping[Any, Any], value).items()}
        case Sequence():
            return [clean_value(item) for item in cast(Sequence[Any], value)]
        case _:
            return value


def cut(text: str, limit: int = MAX_RESULT_BYTES) -> str:
    """Clean a tool's result and cut it to what model and journal may see, saying so."""
    data = clean(text).encode()
    if len(data) <= limit:
        return data.decode()
    note = f"\n[cut: {len(data)} bytes were too many]"
    return data[: limit - len(note)].decode(errors="ignore") + note
