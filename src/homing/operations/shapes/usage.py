"""What was used, as it is asked for and shown."""

from typing import Literal

from pydantic import Field

from homing.operations.shapes.base import Answer, Ask, Short


class GetUsage(Ask):
    """Ask what model calls used on one's own days from `from` to `to`, such as 2026-11-17; the last 30 unless given."""

    from_: Short | None = Field(default=None, validation_alias="from")
    to: Short | None = None
    by: Literal["day", "job", "session", "agent", "model"] = "day"


class UsageItem(Answer):
    """The calls of one day, job, session, agent or model."""

    key: str
    """The day, id, session key or model; empty for what no job caused."""
    name: str
    turns: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    """Part of the input tokens."""
    thinking_tokens: int
    """Part of the output tokens."""
    cost_usd: float | None
    """Of the calls whose price is known; null: of none."""
    unpriced_calls: int
    """Calls whose price is not known: `cost_usd` is without them."""


class UsageReport(Answer):
    """What was used, and what the month will come to."""

    items: list[UsageItem]
    more: bool
    """There are more items than are shown; the dearest are."""
    from_: str = Field(serialization_alias="from")
    to: str
    timezone: str
    """Whose days they are."""
    today_usd: float | None
    month_usd: float | None
    """From the first of this month until now."""
    forecast_month_usd: float | None
    """The same, and the runs that are left this month at what each automation's runs cost lately."""
    budget_usd_per_day: float | None
    """HOMING_BUDGET_USD_PER_DAY; null: no limit."""
