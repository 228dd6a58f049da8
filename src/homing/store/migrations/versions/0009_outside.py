"""What came from outside into a turn by its tools, and into the message of a job that an agent wrote (rule 41)."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Json

revision = "0009"
down_revision = "0008"

_OWN_TOOLS = ("schedule_task", "cron", "schedule_message", "remember", "recall", "forget", "nothing_to_report")

_turn = sa.table("turn", sa.column("id"), sa.column("lane_id"), sa.column("outside"))
_step = sa.table(
    "step", sa.column("turn_id"), sa.column("kind"), sa.column("name"), sa.column("result", sa.Text), sa.column("n")
)
_job = sa.table("job", sa.column("origin_door"), sa.column("origin_turn_id"), sa.column("outside"))
_message = sa.table("message", sa.column("lane_id"), sa.column("role"), sa.column("kind"), sa.column("meta", Json))


def upgrade() -> None:
    for table in ("turn", "job"):
        op.add_column(table, sa.Column("outside", sa.Text(), nullable=True))
    op.create_index(
        "ix_turn_outside",
        "turn",
        ["lane_id", "n"],
        sqlite_where=sa.text("outside is not null"),
        postgresql_where=sa.text("outside is not null"),
    )
    _mark_turns()
    _mark_jobs()


def _mark_turns() -> None:
    framed = sa.and_(_step.c.name.not_in(_OWN_TOOLS), _step.c.result.contains("[data ", autoescape=True))
    unconfirmed = sa.and_(_step.c.name == "recall", _step.c.result.contains("unconfirmed, from", autoescape=True))
    for what, source in (
        (framed, sa.literal("the tool ") + _step.c.name),
        (unconfirmed, sa.literal("unconfirmed memory")),
    ):
        told = sa.and_(_step.c.turn_id == _turn.c.id, _step.c.kind == "tool", what)
        first = sa.select(source).where(told).order_by(_step.c.n).limit(1).scalar_subquery()
        op.execute(sa.update(_turn).where(_turn.c.outside.is_(None), sa.exists().where(told)).values(outside=first))


def _mark_jobs() -> None:
    """Mark what agents wrote in a conversation with something from outside, or in one that is not there any more."""
    writer, other = _turn.alias("writer"), _turn.alias("other")
    source, job_id = _message.c.meta["source"].as_string(), _message.c.meta["cron_job_id"].as_string()
    note = sa.and_(_message.c.role == "user", sa.or_(source.in_(["hook", "agent"]), job_id.is_not(None)))
    brought = sa.or_(_message.c.kind == "report", sa.and_(_message.c.kind == "note", note))
    clean = sa.exists().where(
        writer.c.id == _job.c.origin_turn_id,
        ~sa.exists().where(other.c.lane_id == writer.c.lane_id, other.c.outside.is_not(None)),
        ~sa.exists().where(_message.c.lane_id == writer.c.lane_id, brought),
    )
    op.execute(sa.update(_job).where(_job.c.origin_door == "tool", ~clean).values(outside="its conversation"))
