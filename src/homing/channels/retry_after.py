"""When an HTTP server wants to be asked again."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LATER = (408, 425, 429)
"""Of the 4xx these say "later", not "no"."""
LONGEST_WAIT_SECONDS = 3600.0


def read_retry_after(text: str | None, now: datetime) -> float | None:
    """Read a Retry-After, seconds or a date; one that cannot be read counts as none."""
    if text is None:
        return None
    try:
        seconds = float(text) if text.isdecimal() else _until(text, now)
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)


def _until(date: str, now: datetime) -> float:
    instant = parsedate_to_datetime(date)
    return ((instant if instant.tzinfo else instant.replace(tzinfo=UTC)) - now).total_seconds()
