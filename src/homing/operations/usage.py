"""What model calls used and cost, and what the month will come to (rule 37). Everybody sees their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from homing.model.errors import Invalid, Refused
from homing.model.jobs import Job
from homing.model.schedules import count_between
from homing.model.schedules.zones import instant_of, zone
from homing.model.usage import NANO, NO_JOB, Sums, day_of
from homing.operations.context import Context
from homing.operations.shapes.usage import GetUsage, UsageItem, UsageReport
from homing.operations.views import USED_BEFORE
from homing.store import agents, job_lists, jobs, sessions, usage

_DAYS = 30
_MOST_DAYS = 366
_MOST_ITEMS = 500
_MOST_JOBS = 500
_NO_JOB = "Conversations"
_GONE = "(deleted)"


@dataclass(frozen=True, kw_only=True)
class Used:
    """What the rows say; the forecast is computed after the transaction."""

    report: UsageReport
    jobs: list[Job]
    lately: Mapping[str, Sums]
    today: date
    month_ends_at: datetime

    def finish(self) -> UsageReport:
        """Add the forecast."""
        spent = self.report.month_usd
        left = [_left(job, self.lately[job.id], self) for job in self.jobs if job.id in self.lately]
        known = [cost for cost in left if cost is not None]
        if spent is None and not known:
            return self.report
        return self.report.model_copy(update={"forecast_month_usd": (spent or 0) + sum(known)})


def get_usage(ctx: Context, ask: GetUsage) -> Used:
    """Sum what your model calls used and cost, by day, job, session, agent or model, with a forecast of the month."""
    tx, user_id, tz = ctx.tx, ctx.caller.user_id, ctx.zone()
    today = day_of(ctx.now, tz)
    until = _day(ask.to, "to") if ask.to else today
    since = _day(ask.from_, "from") if ask.from_ else until - timedelta(days=_DAYS - 1)
    if not 0 <= (until - since).days < _MOST_DAYS:
        raise Invalid(
            f"to must not come before from, and at most {_MOST_DAYS} days can be asked for.",
            field="to",
            code="out_of_range",
        )
    found = usage.summed(tx, user_id, by=ask.by, since=since, until=until, limit=_MOST_ITEMS + 1)
    named = _names(ctx, ask.by, [key for key, _ in found])
    month_ends_at = instant_of(datetime.combine(_next_month(today), time()), zone(tz))
    due = job_lists.due_until(
        tx, user_id=user_id, agent_id=None, session_id=None, until=month_ends_at, limit=_MOST_JOBS
    )
    return Used(
        report=UsageReport(
            items=[_item(named[key], sums) for key, sums in found[:_MOST_ITEMS]],
            more=len(found) > _MOST_ITEMS,
            from_=since.isoformat(),
            to=until.isoformat(),
            timezone=tz,
            today_usd=usage.spent(tx, user_id, since=today, until=today).cost_usd,
            month_usd=usage.spent(tx, user_id, since=today.replace(day=1), until=today).cost_usd,
            forecast_month_usd=None,
            budget_usd_per_day=ctx.settings.budget_usd_per_day,
        ),
        jobs=due,
        lately=usage.spent_by_jobs(tx, [job.id for job in due], since=today - USED_BEFORE) if due else {},
        today=today,
        month_ends_at=month_ends_at,
    )


def _day(text: str, field: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Invalid(
            f"{field} must be a day such as 2026-11-17, not {text!r}.", field=field, code="wrong_type"
        ) from None


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def _names(ctx: Context, by: usage.By, keys: Sequence[Any]) -> dict[Any, tuple[str, str]]:
    """Give the public key and the name of each group."""
    match by:
        case "job":
            known = jobs.names(ctx.tx, [key for key in keys if key]) if keys else {}
            return {key: (key, _NO_JOB if key == NO_JOB else known.get(key, _GONE)) for key in keys}
        case "session":
            chats = sessions.get_many(ctx.tx, keys) if keys else {}
            return {
                key: (chats[key].key, chats[key].title or chats[key].key) if key in chats else (str(key), _GONE)
                for key in keys
            }
        case "agent":
            people = agents.get_many(ctx.tx, keys) if keys else {}
            return {key: (key, people[key].name if key in people else _GONE) for key in keys}
        case "day" | "model":
            return {key: (key, key) for key in keys}


def _item(named: tuple[str, str], sums: Sums) -> UsageItem:
    key, name = named
    return UsageItem.of(sums, key=key, name=name, cost_usd=sums.cost_usd)


def _left(job: Job, lately: Sums, used: Used) -> float | None:
    """Say what a job will cost until the month ends; None when nobody can know."""
    # An event's turn belongs to no run.
    times = lately.runs or lately.turns
    if lately.cost_usd is None or not times or job.payload.kind == "reminder":
        return None
    cost = _runs_left(job, used.month_ends_at) * lately.cost_nano_usd / times / NANO
    ceiling = job.max_cost_usd_per_day
    days = (_next_month(used.today) - used.today).days
    return cost if ceiling is None else min(cost, ceiling * days)


def _runs_left(job: Job, until: datetime) -> int:
    timing, first = job.timing, job.next_run_at
    if first is None or first >= until:
        return 0
    if timing.retry:
        return 1
    try:
        end = until if timing.ends_at is None else min(until, timing.ends_at)
        count = 1 + count_between(timing.schedule, first, end)
    except Refused:
        return 0
    return timing.left_of(count)
