"""What was used, added up; and whether a ceiling of money is reached (rule 37). Costs are billionths of a dollar."""

from dataclasses import dataclass
from datetime import date, datetime

from homing.model.schedules.zones import zone

NANO = 1_000_000_000
NO_JOB = ""


def day_of(instant: datetime, tz: str) -> date:
    """Give the day of an instant on somebody's own calendar."""
    return instant.astimezone(zone(tz)).date()


def dollars(nano: float) -> str:
    """Spell an amount: in cents, or finer where it is less than one."""
    usd = nano / NANO
    return f"${usd:.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.2g}" if usd >= 0.0001 else f"${usd:.6f}"


@dataclass(frozen=True, kw_only=True)
class CallKey:
    """Whose call it was, and of what. The names are those of the columns of the sums."""

    user_id: str
    job_id: str
    session_id: int
    """The bound session, for a run that works in one of its own."""
    agent_id: str
    model: str


@dataclass(frozen=True, kw_only=True)
class Sums:
    """What several calls used together."""

    turns: int = 0
    runs: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Part of the input tokens."""
    thinking_tokens: int = 0
    """Part of the output tokens."""
    cost_nano_usd: int = 0
    """Of the calls whose price is known."""
    unpriced_calls: int = 0

    @property
    def cost_usd(self) -> float | None:
        """Give what they cost in dollars, as far as that is known; None when the price of none of them is."""
        return None if self.calls and self.unpriced_calls == self.calls else self.cost_nano_usd / NANO


NOTHING = Sums()
