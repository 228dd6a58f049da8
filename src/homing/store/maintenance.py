"""What keeps the house: workers' beats, answers kept for repeated requests, and retention."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from homing.model.channel_info import KeptChannel, load_kept
from homing.model.model_setting import ModelSetting, load_setting
from homing.model.runs import ISOLATED
from homing.store import alerts, inbox, sessions
from homing.store import tables as t
from homing.store.base import Tx, insert_new
from homing.store.rows import MODEL_SETTING

IDEMPOTENCY_KEPT = timedelta(hours=24)
USAGE_KEPT = timedelta(days=400)
"""A year back can be asked for, from any day of a month and in any zone."""
_BATCH = 500
# Each has a turn with its steps and messages.
_APART_BATCH = 100


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A process that moves rows."""

    id: str
    name: str
    schedules: bool
    beat_at: datetime
    next_wake_at: datetime | None
    note: str | None
    """What people should know of it: that it waits, and for what."""
    can: frozenset[str]
    """What it has that not every worker has."""


def beat(
    tx: Tx,
    worker_id: str,
    *,
    name: str,
    schedules: bool,
    next_wake_at: datetime | None,
    note: str | None = None,
    can: Collection[str] = (),
) -> None:
    """Say that a worker is alive, when it wakes next, and what it can do."""
    now = tx.now()
    fresh = {
        "beat_at": now,
        "next_wake_at": next_wake_at,
        "schedules": schedules,
        "note": note,
        "can": sorted(can),
    }
    if not tx.run(sa.update(t.worker).where(t.worker.c.id == worker_id).values(fresh)):
        tx.run(sa.insert(t.worker).values(id=worker_id, name=name, started_at=now, **fresh))


def newest_stamp(tx: Tx) -> datetime | None:
    """Tell when the database was last worked on, as far as its runs and workers know."""
    seen = [
        *tx.rows(sa.select(t.run.c.queued_at).order_by(t.run.c.n.desc()).limit(1)),
        *tx.rows(sa.select(sa.func.max(t.worker.c.beat_at))),
    ]
    return max((at for (at,) in seen if at is not None), default=None)


def leave(tx: Tx, worker_id: str) -> None:
    tx.run(sa.delete(t.worker).where(t.worker.c.id == worker_id))


def workers(tx: Tx, alive_within: timedelta) -> list[Worker]:
    """List the workers that were heard of lately."""
    rows = tx.rows(sa.select(t.worker).where(t.worker.c.beat_at >= tx.now() - alive_within))
    return [
        Worker(
            id=row.id,
            name=row.name,
            schedules=row.schedules,
            beat_at=row.beat_at,
            next_wake_at=row.next_wake_at,
            note=row.note,
            can=frozenset(row.can or ()),
        )
        for row in rows
    ]


RESTATE = "engine:restate"
"""What a worker can do whose turns an outside engine vouches for."""
VOUCHED_FOR = timedelta(seconds=60)


def outside_engine_beats(tx: Tx) -> bool:
    """Rule 62: say whether a claim without expiry holds, because a worker of that engine lives."""
    return any(RESTATE in worker.can for worker in workers(tx, VOUCHED_FOR))


CHANNELS_BELL = "channels"
_CHANNEL = "channel:"
SHARE_ID = "share_id"
FILES_ID = "files_id"


def share_id(tx: Tx, name: str = SHARE_ID) -> str | None:
    """Tell the id of the folder that holds the workspaces of this database, or of its files if they have their own."""
    rows = tx.rows(sa.select(t.setting.c.value).where(t.setting.c.name == name))
    return rows[0].value if rows else None


def keep_share_id(tx: Tx, fresh: str, name: str = SHARE_ID) -> str:
    """Keep the id of that folder, unless another machine was first; give the one that counts."""
    tx.run(insert_new(tx, t.setting).values(name=name, value=fresh))
    return share_id(tx, name) or fresh


def model_setting(tx: Tx) -> ModelSetting | None:
    """Read which model an admin chose for this server."""
    rows = tx.rows(sa.select(t.setting.c.value).where(t.setting.c.name == MODEL_SETTING))
    return load_setting(rows[0].value) if rows else None


def keep_model_setting(tx: Tx, setting: ModelSetting | None) -> None:
    """Keep the model that an admin chose, or forget it; of two at once the last one counts."""
    of_it = t.setting.c.name == MODEL_SETTING
    if setting is None:
        tx.run(sa.delete(t.setting).where(of_it))
        return
    # Made first: then the update finds it, also where two are the first ones.
    tx.run(insert_new(tx, t.setting).values(name=MODEL_SETTING, value=setting.dumped()))
    tx.run(sa.update(t.setting).where(of_it).values(value=setting.dumped()))


def kept_channels(tx: Tx) -> list[KeptChannel]:
    """List the channels that admins added on the page or by command."""
    named = t.setting.c.name.startswith(_CHANNEL, autoescape=True)
    rows = tx.rows(sa.select(t.setting.c.value).where(named).order_by(t.setting.c.name))
    return [load_kept(row.value) for row in rows]


def keep_channel(tx: Tx, channel: KeptChannel, *, before: KeptChannel | None) -> bool:
    """Keep a new channel, or one in the place of what was kept `before`; False when somebody was faster."""
    name, value = _CHANNEL + channel.name, channel.dumped()
    tx.ring(CHANNELS_BELL)
    if before is None:
        fresh = insert_new(tx, t.setting).values(name=name, value=value)
        return bool(tx.rows(fresh.returning(t.setting.c.name)))
    of_it = (t.setting.c.name == name, t.setting.c.value == before.dumped())
    return tx.run(sa.update(t.setting).where(*of_it).values(value=value)) == 1


def drop_channel(tx: Tx, name: str) -> None:
    """Forget a channel that was added. What its listener knows stays: it says which addresses need a contact."""
    tx.run(sa.delete(t.setting).where(t.setting.c.name == _CHANNEL + name))
    tx.ring(CHANNELS_BELL)


@dataclass(frozen=True, kw_only=True)
class KeptAnswer:
    """The first answer to a request, for those who ask again."""

    body_sha256: str
    status: int
    answer: str


def kept_answer(tx: Tx, *, user_id: str, path: str, key: str) -> KeptAnswer | None:
    c = t.idempotency.c
    if tx.postgres:
        # Two first requests at once: the second waits here for the first one's answer.
        tx.rows(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(f"{user_id} {path} {key}", 0))))
    rows = tx.rows(
        sa.select(c.body_sha256, c.status, c.answer).where(
            c.user_id == user_id, c.path == path, c.key == key, c.created_at > tx.now() - IDEMPOTENCY_KEPT
        )
    )
    return KeptAnswer(body_sha256=rows[0][0], status=rows[0][1], answer=rows[0][2]) if rows else None


def keep_answer(tx: Tx, *, user_id: str, path: str, key: str, kept: KeptAnswer) -> None:
    c = t.idempotency.c
    tx.run(sa.delete(t.idempotency).where(c.user_id == user_id, c.path == path, c.key == key))
    tx.run(
        sa.insert(t.idempotency).values(
            user_id=user_id,
            path=path,
            key=key,
            body_sha256=kept.body_sha256,
            status=kept.status,
            answer=kept.answer,
            created_at=tx.now(),
        )
    )


def prune(tx: Tx, *, keep_runs: timedelta) -> int:
    """Drop what is older than it is kept: finished runs with their steps, ended approvals and questions with their
    cards, old answers, dead workers, spent codes.
    """
    now = tx.now()
    gone = [
        n
        for (n,) in tx.rows(
            sa.select(t.run.c.n)
            .where(
                t.run.c.finished_at < now - keep_runs,
                # The newest run of a living job stays: it is how the job was last.
                ~sa.exists().where(t.job.c.last_run_id == t.run.c.id, t.job.c.removed_at.is_(None)),
                ~sa.exists().where(t.inbound.c.run_id == t.run.c.id, t.inbound.c.state == "waiting"),
            )
            .limit(_BATCH)
        )
    ]
    if gone:
        ids = sa.select(t.run.c.id).where(t.run.c.n.in_(gone))
        turns = sa.select(t.turn.c.id).where(t.turn.c.run_id.in_(ids))
        tx.run(sa.delete(t.step).where(t.step.c.turn_id.in_(turns)))
        tx.run(sa.delete(t.inbound).where(t.inbound.c.run_id.in_(ids)))
        tx.run(sa.delete(t.gate).where(t.gate.c.run_id.in_(ids)))
        tx.run(sa.delete(t.run).where(t.run.c.n.in_(gone)))
    tx.run(sa.delete(t.idempotency).where(t.idempotency.c.created_at < now - IDEMPOTENCY_KEPT))
    tx.run(sa.delete(t.worker).where(t.worker.c.beat_at < now - timedelta(hours=1)))
    # A sign-in that is missing was ended by somebody: one that only ran out does not undo the yes that was given by it.
    needed = sa.exists().where(
        t.approval.c.answered_with == t.token.c.id, t.approval.c.state.in_(("approved", "running"))
    )
    tx.run(sa.delete(t.token).where(t.token.c.expires_at < now, t.token.c.kind != "token", ~needed))
    # The newest dream says up to where it looked; of the others only undo had a use, and newer ones ended that.
    newer = t.dream.alias("newer")
    followed = sa.exists().where(newer.c.user_id == t.dream.c.user_id, newer.c.n > t.dream.c.n)
    tx.run(sa.delete(t.dream).where(t.dream.c.created_at < now - keep_runs, followed))
    # An item leaves the inbox before the note that it was seen does.
    tx.run(sa.delete(t.inbox_seen).where(t.inbox_seen.c.seen_at < now - inbox.KEPT_FOR))
    gone_rows = alerts.prune(tx, now - keep_runs, _BATCH)
    return len(gone) + _prune_asked(tx, now - keep_runs) + gone_rows


def _prune_asked(tx: Tx, before: datetime) -> int:
    """Drop approvals and questions that ended long ago. The messages that showed them stay, as words."""
    count = 0
    for table, column, kind in (
        (t.approval, t.card.c.approval_id, "approval"),
        (t.question, t.card.c.question_id, "question"),
    ):
        ended = sa.select(table.c.id).where(table.c.finished_at < before).order_by(table.c.n).limit(_BATCH)
        if gone := [ref for (ref,) in tx.rows(ended)]:
            tx.run(sa.delete(t.card).where(column.in_(gone)))
            tx.run(sa.delete(t.inbox_seen).where(t.inbox_seen.c.kind == kind, t.inbox_seen.c.ref.in_(gone)))
            count += tx.run(sa.delete(table).where(table.c.id.in_(gone)))
    return count


def prune_apart(tx: Tx, before: datetime) -> int:
    """Drop the sessions of isolated runs whose runs are gone, with all that is in them; say how many.

    One with something open, or touched since, stays. What their calls used is summed under the conversation, and stays.
    """
    found = tx.rows(_apart(before).order_by(t.session.c.updated_at).limit(_APART_BATCH))
    if not found:
        return 0
    # Locked, and looked at again: somebody may be writing there.
    sessions.lock(tx, [session_id for (session_id,) in found])
    ids = [session_id for (session_id,) in tx.rows(_apart(before).where(t.session.c.id.in_([n for (n,) in found])))]
    turn_ids = sa.select(t.turn.c.id).where(t.turn.c.session_id.in_(ids))
    delivery_ids = sa.select(t.delivery.c.id).where(t.delivery.c.session_id.in_(ids))
    tx.run(sa.delete(t.part).where(t.part.c.delivery_id.in_(delivery_ids)))
    for table in _OF_SESSION:
        tx.run(sa.delete(table).where(table.c.session_id.in_(ids)))
    tx.run(sa.delete(t.step).where(t.step.c.turn_id.in_(turn_ids)))
    tx.run(sa.delete(t.turn).where(t.turn.c.session_id.in_(ids)))
    return tx.run(sa.delete(t.session).where(t.session.c.id.in_(ids)))


def _apart(before: datetime) -> sa.Select[tuple[int]]:
    c = t.session.c
    there = [
        sa.exists().where(t.run.c.id == sa.func.substr(c.key, len(ISOLATED) + 1)),
        sa.exists().where(t.turn.c.session_id == c.id, t.turn.c.state != "closed"),
        sa.exists().where(t.inbound.c.session_id == c.id, t.inbound.c.state == "waiting"),
        sa.exists().where(t.delivery.c.session_id == c.id, t.delivery.c.state == "pending"),
        *(sa.exists().where(table.c.session_id == c.id) for table in _KEEPING),
    ]
    apart = (c.parent_id.is_not(None), c.key.startswith(ISOLATED), c.updated_at < before)
    return sa.select(c.id).where(*apart, *(~one for one in there))


# What goes with a session, in an order that foreign keys allow; and what keeps it: approvals, jobs and the like.
_OF_SESSION = (t.delivery, t.outbound, t.inbound, t.message, t.address, t.hook)
_KEEPING = [
    table
    for table in t.metadata.sorted_tables
    if "session_id" in table.c and table.c.session_id.foreign_keys and table not in (*_OF_SESSION, t.turn, t.run)
]


def prune_usage(tx: Tx) -> int:
    """Drop sums of usage that no question reaches any more, and what was announced about budgets long ago."""
    day = (tx.now() - USAGE_KEPT).date().isoformat()
    noted = (tx.now() - inbox.KEPT_FOR).date().isoformat()
    # By user, as the key is ordered.
    everybody = sa.select(t.user.c.id)
    tx.run(sa.delete(t.budget_note).where(t.budget_note.c.user_id.in_(everybody), t.budget_note.c.day < noted))
    return tx.run(sa.delete(t.usage_sum).where(t.usage_sum.c.user_id.in_(everybody), t.usage_sum.c.day < day))
