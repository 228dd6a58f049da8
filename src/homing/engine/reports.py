"""What comes home from a turn beside its closing: a quiet one's line, and the report of one that worked apart."""

from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from homing.engine.closing_turn import ClosingTurn
from homing.model.brakes import DEEPEST
from homing.model.jobs import Job
from homing.model.messages import SENT_TO, Kind, Message, NewMessage
from homing.operations.brakes import is_beyond, stop_job
from homing.store import Tx, deliveries, inbounds, messages
from homing.store.inbounds import NewInbound


def status_line(
    closing: ClosingTurn, before: Message | None, meta: Mapping[str, object], tx: Tx
) -> tuple[str, dict[str, object]]:
    """Rule 26: one line that counts, instead of chatter."""
    assert closing.job is not None
    count = 1 + (int(str(before.meta.get("checked", 1))) if before else 0)
    zone = ZoneInfo(closing.job.timing.schedule.tz)
    last = _wall(tx.now(), zone)
    note = f" {closing.result.text}" if closing.result.text else ""
    times = "Checked once" if count == 1 else f"Checked {count} times"
    return f"{times}, last {last}: nothing to report.{note}", {**meta, "checked": count}


def _wall(instant: datetime, zone: ZoneInfo) -> str:
    return f"{instant.astimezone(zone):%H:%M} {zone.key}"


def status_before(tx: Tx, closing: ClosingTurn) -> Message | None:
    """Find the line that a newer one replaces: it counts for the same job, and nothing was said since."""
    # A status line laid in from an isolated run stands after everything that is there.
    below = closing.turn.opening_seq if closing.parent is None else closing.parent.seq + 1
    assert below is not None
    before = messages.last_visible(tx, closing.home.id, below)
    same = before is not None and before.kind == "status" and before.job_id == closing.turn.job_id
    return before if same else None


def fold(tx: Tx, closing: ClosingTurn, closing_seq: int | None) -> None:
    """Hide a quiet turn's opening, and the status line that this one replaces."""
    if not closing.quiet or closing_seq is None or closing.turn.opening_seq is None:
        return
    before = status_before(tx, closing)
    seqs = [closing.turn.opening_seq] + ([before.seq] if before is not None else [])
    messages.fold(tx, closing.session.id, seqs)
    messages.detach_notes(tx, closing.turn.id)


def report(tx: Tx, closing: ClosingTurn) -> None:
    """Rule 22: what an isolated run found goes home to the bound session; a failure as a short note."""
    parent, job, result = closing.parent, closing.job, closing.result
    if parent is None or job is None or closing.turn.run_id is None or parent.deleted_at is not None:
        return
    if job.kind == "system" and job.write_back == "none":
        # What it changed it has told itself; that it failed is in its run.
        return
    meta = {**closing.request.opened.meta, "report": True}
    if closing.sent_to:
        meta |= {SENT_TO: list(closing.sent_to)}
    if result.outcome == "failed":
        text = f'The automation "{job.name}" failed in its own session: {result.text}'
        _lay_in(tx, closing, job, text, meta, kind="note")
        return
    if job.write_back == "none":
        return
    if closing.newsless:
        before = status_before(tx, closing)
        text, meta = status_line(closing, before, meta, tx)
        messages.fold(tx, parent.id, [before.seq] if before else [])
        _lay_in(tx, closing, job, text, meta, kind="status")
        return
    if result.outcome != "answered":
        return
    text = closing.summary if job.write_back == "summary" else result.text
    if not job.continues:
        _lay_in(tx, closing, job, text, meta, kind="report")
        return
    replaced = inbounds.withdraw_reports(tx, parent.id, job.id)
    count = 1 + sum(int(str(old.meta.get("count", 1))) for old in replaced)
    depth = closing.turn.depth + 1
    if is_beyond(tx, job.id, session_id=parent.id, lane_id=closing.home_lane, depth=depth):
        # Rule 35: what was found is not lost, but it opens no turn.
        _lay_in(tx, closing, job, text, {**meta, "count": count}, kind="report")
        if depth <= DEEPEST:
            stop_job(tx, job, home=parent, lane_id=closing.home_lane, run_id=closing.turn.run_id)
        return
    inbounds.take_in(
        tx,
        [
            NewInbound(
                session_id=parent.id,
                lane_id=closing.home_lane,
                user_id=parent.user_id,
                source="report",
                text=text,
                line="machines",
                job_id=job.id,
                sender_id=job.sender_id,
                depth=depth,
                meta={**meta, "count": count},
            )
        ],
    )


def _lay_in(tx: Tx, closing: ClosingTurn, job: Job, text: str, meta: Mapping[str, object], *, kind: Kind) -> None:
    """Write a message no turn wrote into the bound session, and owe it to its people."""
    message = NewMessage(
        session_id=closing.home.id,
        lane_id=closing.home_lane,
        role="user" if kind == "report" else "assistant",
        kind=kind,
        text=text,
        job_id=job.id,
        run_id=closing.turn.run_id,
        meta=meta,
        unasked=kind != "status",
    )
    deliveries.post(tx, [message], without={0: closing.sent_to})
