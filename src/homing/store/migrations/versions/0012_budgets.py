"""Sums of what model calls used, what was announced about budgets, and a job's ceiling of money for a day."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Serial

revision = "0012"
down_revision = "0011"

_KEY = ("user_id", "day", "job_id", "session_id", "agent_id", "model")
_COUNTS = ("turns", "runs", "calls", "input_tokens", "output_tokens", "cost_nano_usd", "unpriced_calls")
# Every zone's days begin at a quarter of an hour, so a quarter belongs to one day.
_QUARTER = 900_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CALLS = """
select turn.user_id, "user".timezone, coalesce(turn.job_id, '') as job_id,
    coalesce(session.parent_id, turn.session_id) as session_id, turn.agent_id, turn.model,
    step.done_at / :quarter as quarter,
    sum(case when first.n = step.n then 1 else 0 end) as turns,
    sum(case when first.n = step.n and turn.run_id is not null then 1 else 0 end) as runs,
    count(*) as calls, sum(step.input_tokens) as input_tokens, sum(step.output_tokens) as output_tokens,
    sum(coalesce(step.cost_nano_usd, 0)) as cost_nano_usd,
    sum(case when step.cost_nano_usd is null then 1 else 0 end) as unpriced_calls
from step
join (select turn_id, min(n) as n from step where kind in ('model', 'summary') group by turn_id) first
    on first.turn_id = step.turn_id
join turn on turn.id = step.turn_id
join session on session.id = turn.session_id
join "user" on "user".id = turn.user_id
where step.kind in ('model', 'summary') and step.done_at is not null
group by 1, 2, 3, 4, 5, 6, 7
"""


def upgrade() -> None:
    op.add_column("job", sa.Column("max_cost_usd_per_day", sa.Float(), nullable=True))
    sums = op.create_table(
        "usage_sum",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, autoincrement=False, nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("turns", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("runs", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("calls", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("thinking_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("cost_nano_usd", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("unpriced_calls", sa.BigInteger(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_usage_sum_user_id")),
        sa.PrimaryKeyConstraint(*_KEY, name=op.f("pk_usage_sum")),
    )
    op.create_index("ix_usage_sum_job", "usage_sum", ["job_id", "day"])
    op.create_table(
        "budget_note",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("given_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_budget_note_user_id")),
        sa.PrimaryKeyConstraint("user_id", "day", "about", name=op.f("pk_budget_note")),
    )
    _fill(sums)


def _fill(sums: sa.Table) -> None:
    """Sum what the steps say that are still there. A user without a zone of their own counts by UTC here."""
    found = op.get_bind().execute(sa.text(_CALLS), {"quarter": _QUARTER}).mappings()
    days: dict[tuple[object, ...], Counter[str]] = {}
    for row in found:
        at = _EPOCH + timedelta(microseconds=row["quarter"] * _QUARTER)
        day = at.astimezone(ZoneInfo(row["timezone"] or "UTC")).date().isoformat()
        key = (row["user_id"], day, *(row[name] for name in _KEY[2:]))
        days.setdefault(key, Counter()).update({name: int(row[name]) for name in _COUNTS})
    rows = [
        dict(zip(_KEY, key, strict=True)) | {name: counts[name] for name in _COUNTS} for key, counts in days.items()
    ]
    if rows:
        op.bulk_insert(sums, rows)
