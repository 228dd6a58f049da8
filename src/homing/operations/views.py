"""Nouns become answers here: what the rows beside them say is gathered for a whole page at once."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from homing.model.jobs import Job
from homing.model.messages import Message
from homing.model.people import User
from homing.model.runs import Run
from homing.model.sessions import Session
from homing.model.turns import Inbound, Turn
from homing.model.usage import NOTHING, day_of
from homing.operations.context import Context
from homing.operations.homes import find_home
from homing.operations.shapes.job import JobShape, job_shape
from homing.operations.shapes.message import MessageShape, message_shape
from homing.operations.shapes.run import RunRow, RunShape, WaitingFor, run_row, run_shape
from homing.operations.shapes.session import SessionShape, session_shape
from homing.operations.status import why_nothing_fires
from homing.operations.workers import agents_for_few, can_run_bash
from homing.store import (
    approvals,
    deliveries,
    gates,
    inbounds,
    job_lists,
    jobs,
    lanes,
    messages,
    people,
    questions,
    run_lists,
    runs,
    sessions,
    steps,
    turns,
    usage,
)

SHOWN_IN_LANE = 20
# With today, thirty days.
USED_BEFORE = timedelta(days=29)


def show_jobs(ctx: Context, found: Sequence[Job], *, recent: int | None = None) -> list[JobShape]:
    """Show jobs with what is active, what did not arrive, and on request their last runs, the newest first."""
    ids = [job.id for job in found]
    active = runs.active_runs(ctx.tx, ids) if ids else {}
    ran = [job.id for job in found if job.last_run_id is not None]
    undelivered = job_lists.undelivered(ctx.tx, ran) if ran else set[str]()
    last = run_lists.recent(ctx.tx, ids, recent) if recent else {}
    # Also of those that never ran: a trial costs as much as a run.
    used = usage.spent_by_jobs(ctx.tx, ids, since=day_of(ctx.now, ctx.zone()) - USED_BEFORE) if ids else {}
    shapes: list[JobShape] = []
    for job in found:
        run = active.get(job.id)
        # One whose gate has not decided may come to nothing.
        run = None if run is not None and run.untold else run
        shapes.append(
            job_shape(
                job,
                now=ctx.now,
                active_run_id=run.id if run else None,
                running_at=run.started_at if run else None,
                undelivered=job.id in undelivered,
                used=used.get(job.id, NOTHING),
                recent=None if recent is None else last.get(job.id, [])[::-1],
            )
        )
    return shapes


def show_job(ctx: Context, job: Job, *, deduped: bool = False, warnings: Sequence[str] = ()) -> JobShape:
    """Show one job as an answer to a change: what promises a time says if nothing will keep the promise."""
    [shape] = show_jobs(ctx, [job])
    if job.next_run_at is not None and (silent := why_nothing_fires(ctx)):
        warnings = [*warnings, silent]
    if not deduped and not warnings:
        return shape
    return shape.model_copy(update={"deduped": deduped, "warnings": list(warnings) or None})


def show_runs(ctx: Context, found: Sequence[Run]) -> list[RunRow]:
    """Show runs as lists do."""
    waiting = _waiting_for(ctx, found)
    carried = run_lists.deliveries_of(ctx.tx, [run.id for run in found]) if found else {}
    return [run_row(run, waiting_for=waiting.get(run.id), deliveries=carried.get(run.id, ())) for run in found]


def show_run(ctx: Context, run: Run) -> RunShape:
    """Show one run whole, with prompt and steps."""
    kept = steps.shown(ctx.tx, run.turn_id, most=0) if run.turn_id else []
    carried = run_lists.deliveries_of(ctx.tx, [run.id])
    waiting_for = _waiting_for(ctx, [run]).get(run.id)
    return run_shape(
        run,
        waiting_for=waiting_for,
        deliveries=carried.get(run.id, ()),
        steps=kept,
        gate=gates.of_run(ctx.tx, run.id),
    )


def _waiting_for(ctx: Context, found: Sequence[Run]) -> dict[str, WaitingFor]:
    """A queued run at the head of a free lane waits for a slot, or for a worker that can do it; others for their
    session. One that is in no lane yet waits for its gate, or for a worker that can run its script.
    """
    queued = [run for run in found if run.state == "queued"]
    if not queued:
        return {}
    heads = {head.inbound.run_id: head for head in lanes.take_heads(ctx.tx, {run.lane_id for run in queued})}
    few = agents_for_few(ctx.tx) if heads else frozenset[str]()
    chats = sessions.get_many(ctx.tx, {head.inbound.session_id for head in heads.values()}) if few else {}
    left = {run_id for run_id, head in heads.items() if few and chats[head.inbound.session_id].agent_id in few}
    behind = [run.id for run in queued if run.id not in heads]
    looking = gates.waiting(ctx.tx, behind) if behind else {}
    left |= {run_id for run_id, language in looking.items() if language == "bash" and not can_run_bash(ctx.tx)}

    def waits_for(run: Run) -> WaitingFor:
        if run.id in left:
            return "worker"
        return "gate" if run.id in looking else "slot" if run.id in heads else "session"

    return {run.id: waits_for(run) for run in queued}


def show_messages(ctx: Context, found: Sequence[Message]) -> list[MessageShape]:
    """Show messages of one session with how far each got."""
    carried = deliveries.of_messages(ctx.tx, found[0].session_id, [m.seq for m in found]) if found else {}
    asked = approvals.get_many(ctx.tx, [str(m.meta["approval_id"]) for m in found if m.kind == "approval"])
    promised = {m.seq: f"promise:{m.seq}" for m in found if "promise" in m.meta}
    kept = jobs.with_dedupe_keys(ctx.tx, found[0].session_id, promised.values()) if promised else {}
    asking = questions.get_many(ctx.tx, [str(m.meta["question_id"]) for m in found if m.kind == "question"])
    return [
        message_shape(
            message,
            carried.get(message.seq, ()),
            approval=asked.get(str(message.meta.get("approval_id"))) if message.kind == "approval" else None,
            kept_by=kept.get(promised.get(message.seq, "")),
            question=asking.get(str(message.meta.get("question_id"))) if message.kind == "question" else None,
        )
        for message in found
    ]


def show_session(ctx: Context, session: Session) -> SessionShape:
    """Show one session."""
    [shape] = show_sessions(ctx, [session])
    return shape


def show_sessions(ctx: Context, found: Sequence[Session]) -> list[SessionShape]:
    """Show sessions with who is in and who waits. A chat shows its own things, also of a lane that it shares."""
    if not found:
        return []
    tx = ctx.tx
    ids = [session.id for session in found]
    lane_ids = set(ids) | sessions.unified_of(tx, {(session.user_id, session.agent_id) for session in found})
    open_turns = turns.open_turns_of(tx, lane_ids)
    waiting = inbounds.waiting_of(tx, lane_ids, ids, SHOWN_IN_LANE)
    sizes = inbounds.waiting_sizes(tx, lane_ids, ids)
    addresses = sessions.addresses(tx, ids)
    automations = job_lists.count_bound(tx, ids)
    last = messages.last_of(tx, ids)
    unread = messages.unread(tx, ids)
    users = {user_id: people.get_user(tx, user_id) for user_id in {session.user_id for session in found}}
    sources = {session.branch_of for session in found if session.branch_of is not None}
    living = {i: source.key for i, source in sessions.get_many(tx, sources).items() if source.deleted_at is None}
    homes = {home.id for user in users.values() if user is not None and (home := find_home(tx, user)) is not None}
    return [
        session_shape(
            session,
            timezone=_zone(ctx, session, users[session.user_id]),
            turn=_own_turn(session, open_turns),
            busy=_is_busy(session, waiting.get(session.id, ()), open_turns),
            waiting=waiting.get(session.id, ()),
            waiting_size=sizes.get(session.id, 0),
            addresses=addresses[session.id],
            home=session.id in homes,
            automations=automations.get(session.id, (0, 0)),
            last_message=last.get(session.id),
            unread=unread.get(session.id, 0),
            branch_of=living.get(session.branch_of) if session.branch_of is not None else None,
        )
        for session in found
    ]


def _own_turn(session: Session, open_turns: Mapping[int, Turn]) -> Turn | None:
    return next((turn for turn in open_turns.values() if turn.session_id == session.id), None)


def _is_busy(session: Session, waiting: Sequence[Inbound], open_turns: Mapping[int, Turn]) -> bool:
    lane_id = waiting[0].lane_id if waiting else session.id
    return lane_id in open_turns


def _zone(ctx: Context, session: Session, user: User | None) -> str:
    return session.timezone or (user.timezone if user else None) or ctx.settings.timezone
