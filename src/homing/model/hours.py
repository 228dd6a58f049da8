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
