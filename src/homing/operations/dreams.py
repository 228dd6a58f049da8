"""Memory upkeep (`HOMING_DREAM`): every night facts are kept from what a user wrote, doubles merged, corrections made.

Only from what the user wrote in direct conversations (rules 24, 34, 60). What a person removed is never learned again.
One transaction applies everything, tells it in home in one quiet line, and keeps what was there for undo.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from homing.model.dreams import CRON, KEY, Change, Said, fingerprint, is_removed, read_changes
from homing.model.errors import Conflict, Forbidden, NotFound
from homing.model.ids import new_id
from homing.model.job_fields import DEFAULTS
from homing.model.jobs import Job
from homing.model.memories import Memory
from homing.model.messages import NewMessage
from homing.model.schedules import Cron, next_after
from homing.model.sessions import Session
from homing.model.usage import day_of
from homing.operations.context import Context, Instance
from homing.operations.homes import find_home
from homing.operations.shapes.people_asks import DreamRef, UndoneShape
from homing.settings import Settings
from homing.store import Tx, deliveries, dreams, jobs, memories, messages, people, sessions
from homing.store.lanes import lane_of

_NAME = "Memory upkeep"
_MESSAGE = "Look after what is remembered about the user."
_MOST_MEMORIES = 300


@dataclass(frozen=True, kw_only=True)
class Night:
    """What one time of upkeep is shown: the user's own words since the last, and the memories there are."""

    said: Sequence[Said]
    until_n: int
    memories: Sequence[Memory]


def look_back(tx: Tx, user_id: str, *, until_n: int | None = None) -> Night:
    """Read what there is to look after; `until_n` gives the same words again."""
    last = dreams.newest(tx, user_id)
    said, until = dreams.said_since(tx, user_id, last.until_n if last else 0, until_n=until_n)
    # Unconfirmed ones came from outside: nothing may become known by being merged.
    return Night(said=said, until_n=until, memories=memories.confirmed_of(tx, user_id, limit=_MOST_MEMORIES))


def has_news(tx: Tx, user_id: str) -> bool:
    """Say whether the user wrote anything since the last time."""
    last = dreams.newest(tx, user_id)
    return dreams.has_said(tx, user_id, last.until_n if last else 0)


def apply_changes(
    ctx: Context, home: Session, given: Mapping[str, object], *, until_n: int, job_id: str | None, run_id: str | None
) -> str:
    """Do what a model wants changed, all or nothing; say what was done in a sentence."""
    tx, user_id = ctx.tx, ctx.caller.user_id
    lane_id = lane_of(tx, home, unified=ctx.settings.unified_session)
    sessions.lock(tx, {home.id, lane_id})
    memories.lock(tx, user_id)
    last = dreams.newest(tx, user_id)
    if last is not None and last.until_n >= until_n:
        raise Conflict("This was done before; there is nothing left to do.")
    night = look_back(tx, user_id, until_n=until_n)
    said = {one.n: one for one in night.said}
    known = {memory.id: memory for memory in night.memories}
    changes = read_changes(given, memories=known.keys(), said=said.keys())
    done = _write(ctx, changes, known, said)
    seq = _tell(tx, home, lane_id, done, job_id=job_id, run_id=run_id)
    dreams.add(
        tx,
        done.id,
        user_id=user_id,
        session_id=home.id,
        seq=seq,
        until_n=until_n,
        added=done.added,
        before=done.before,
    )
    return done.words or "Nothing had to change."


@dataclass(kw_only=True)
class _Done:
    id: str
    noted: int = 0
    merged: int = 0
    forgotten: int = 0
    added: list[str]
    before: list[dict[str, Any]]

    @property
    def words(self) -> str:
        counts = {"noted": self.noted, "merged or corrected": self.merged, "forgotten": self.forgotten}
        told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        return f"{told[0].upper()}{told[1:]}." if told else ""


def _write(ctx: Context, changes: Sequence[Change], known: Mapping[str, Memory], said: Mapping[int, Said]) -> _Done:
    tx, user_id = ctx.tx, ctx.caller.user_id
    done = _Done(id=new_id("drm"), added=[], before=[])
    marks = dreams.marks(tx, user_id)
    texts = {memory.text for memory in known.values()}
    zone = ctx.zone()
    for change in changes:
        if change.text is not None and is_removed(fingerprint(user_id, change.text), marks):
            # A person's removal is final, whatever a model makes of their words.
            continue
        kept = {known[memory_id].text for memory_id in change.instead_of}
        if change.text is not None and change.text in texts - kept and not change.instead_of:
            continue
        if kept == {change.text}:
            continue
        done.before += dreams.take_out(tx, user_id, change.instead_of)
        texts -= kept
        if change.text is None:
            done.forgotten += len(change.instead_of)
            continue
        done.merged += bool(change.instead_of)
        done.noted += not change.instead_of
        texts.add(change.text)
        first = said[change.sources[0]] if change.sources else None
        added = memories.add_known(
            tx,
            user_id=user_id,
            session_id=first.session_id if first else None,
            text=change.text,
            source=_source(first, zone, merged=len(change.instead_of)),
        )
        if added is not None:
            done.added.append(added)
    return done


def _source(first: Said | None, zone: str, *, merged: int) -> str:
    if first is None:
        return f"{merged} memories that said the same"
    return f"what you wrote on {day_of(first.at, zone).isoformat()}"


def _tell(tx: Tx, home: Session, lane_id: int, done: _Done, *, job_id: str | None, run_id: str | None) -> int | None:
    if not done.words or home.deleted_at is not None:
        return None
    line = NewMessage(
        session_id=home.id,
        lane_id=lane_id,
        role="assistant",
        kind="status",
        text=done.words,
        job_id=job_id,
        run_id=run_id,
        meta={"cron_job_id": job_id, "cron_job_name": _NAME, "cron_run_id": run_id, "dream_id": done.id},
    )
    [seq], _ = deliveries.post(tx, [line])
    return seq


def undo_dream(ctx: Context, ask: DreamRef) -> UndoneShape:
    """Take the last memory upkeep back: the memories are as they were before it. Only a person can."""
    if ctx.caller.turn is not None or ctx.caller.door == "mcp":
        raise Forbidden("Only a person may undo the memory upkeep.")
    tx, user_id = ctx.tx, ctx.caller.user_id
    last = dreams.newest(tx, user_id)
    if last is None or not dreams.is_of(tx, user_id, ask.id):
        raise NotFound(f"There is no memory upkeep {ask.id}. Its line in your home conversation has the id.")
    home = sessions.get(tx, last.session_id)
    lane_id = lane_of(tx, home, unified=ctx.settings.unified_session)
    sessions.lock(tx, {home.id, lane_id})
    memories.lock(tx, user_id)
    last = dreams.newest(tx, user_id)
    assert last is not None
    if last.id != ask.id:
        raise Conflict(f"A newer one followed: only the last, {last.id}, can be undone.", code="nothing_to_undo")
    if not dreams.note_undone(tx, last.id):
        raise Conflict("It is undone already.", code="nothing_to_undo")
    gone = dreams.take_out(tx, user_id, last.added)
    dreams.put_back(tx, last.before)
    back = {row["text"] for row in last.before}
    for row in gone:
        # A person took it back, so it is not learned again.
        if row["text"] not in back:
            dreams.add_mark(tx, user_id, fingerprint(user_id, row["text"]))
    _tell_undone(tx, last, home, lane_id)
    return UndoneShape(id=last.id, restored=len(last.before), removed=len(gone))


def _tell_undone(tx: Tx, last: dreams.Dream, home: Session, lane_id: int) -> None:
    if last.seq is None or home.deleted_at is not None:
        return
    messages.fold(tx, home.id, [last.seq])
    text = "Undone: what is remembered is as before."
    line = NewMessage(
        session_id=home.id,
        lane_id=lane_id,
        role="assistant",
        kind="status",
        text=text,
        # By it an open page takes the line that was undone away, and its button.
        meta={"cron_job_name": _NAME, "undone_dream_id": last.id},
    )
    deliveries.post(tx, [line])


def wanted_dream(tx: Tx, job: Job, instance: Instance) -> tuple[str, str] | None:
    """Say in which zone and with which agent a user's upkeep should run; None when it is off, or home is another."""
    user = people.get_user(tx, job.user_id)
    home = find_home(tx, user) if user is not None and instance.settings.dream else None
    if user is None or home is None or home.id != job.session_id:
        return None
    return user.timezone or instance.settings.timezone, home.agent_id


def lacking_dreams(tx: Tx, settings: Settings) -> list[str]:
    """Name the users who have a home and no upkeep there."""
    if not settings.dream:
        return []
    return [
        user_id
        for user_id in people.user_ids(tx)
        if (user := people.get_user(tx, user_id)) is not None
        if (home := find_home(tx, user)) is not None
        if (job := jobs.by_dedupe_key(tx, home.id, KEY)) is None or job.disabled_by == "done"
    ]


def give_dream(tx: Tx, user_id: str, settings: Settings) -> bool:
    """Give a user the system job of the upkeep, or wake the one that rests; say whether that was needed."""
    user = people.get_user(tx, user_id)
    home = find_home(tx, user) if user is not None and settings.dream else None
    if user is None or home is None:
        return False
    if (job := jobs.by_dedupe_key(tx, home.id, KEY)) is not None:
        jobs.lock(tx, [job.id])
    sessions.lock(tx, [home.id])
    if sessions.get(tx, home.id).deleted_at is not None:
        return False
    job, zone, now = jobs.by_dedupe_key(tx, home.id, KEY), user.timezone or settings.timezone, tx.now()
    if job is None:
        jobs.insert_system(tx, _new(home, zone, now))
    elif job.disabled_by == "done":
        on = {"enabled": True, "disabled_by": None, "disabled_reason": None}
        jobs.change(tx, job, on | {"tz": zone, "agent_id": home.agent_id, "next_run_at": _next(zone, now)})
    else:
        return False
    return True


def _next(zone: str, now: datetime) -> datetime | None:
    return next_after(Cron(cron=CRON, tz=zone), now)


def _new(home: Session, zone: str, now: datetime) -> dict[str, Any]:
    return {
        **DEFAULTS,
        "id": new_id("job"),
        "session_id": home.id,
        "user_id": home.user_id,
        "agent_id": home.agent_id,
        "kind": "system",
        "name": _NAME,
        "schedule_kind": "cron",
        "cron": CRON,
        "tz": zone,
        "message": _MESSAGE,
        "context": "none",
        "isolated": True,
        "write_back": "none",
        "continues": False,
        "dedupe_key": KEY,
        "origin_door": "api",
        "next_run_at": _next(zone, now),
    }
