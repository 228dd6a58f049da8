"""Which hours people mean by the names of parts of the day. Apart from the grammar, because settings must load fast."""

from dataclasses import dataclass
from datetime import time


@dataclass(frozen=True, kw_only=True)
class NamedHours:
    """What "tomorrow morning" or "tonight" means on the clock. Noon and midnight need no setting."""

    morning: time = time(8)
    afternoon: time = time(15)
    evening: time = time(18)
    night: time = time(21)

    def __str__(self) -> str:
        return ", ".join(f"{name}={at:%H:%M}" for name, at in self.__dict__.items())


USUAL_HOURS = NamedHours()


def read_hours(text: str) -> tuple[time, time]:
    """Read the hours of a day in which something is active, such as `08:00-22:00`."""
    first, dash, last = text.partition("-")
    try:
        begin, end = time.fromisoformat(first.strip()), time.fromisoformat(last.strip())
        # They are read on each user's own clock; and between a time and itself there is no hour.
        if not dash or begin.tzinfo or end.tzinfo or begin == end:
            raise ValueError
    except ValueError:
        raise ValueError("must be two different times of day without a zone, such as 08:00-22:00") from None
    return begin, end


def is_within(hours: tuple[time, time], wall: time) -> bool:
    """Say whether a time of day is in these hours; they may go past midnight."""
    first, last = hours
    return first <= wall < last if first <= last else wall >= first or wall < last
