"""Notes: messages that no turn wrote, in a conversation and queued for its people."""

from homing.model.jobs import Job
from homing.model.messages import NewMessage
from homing.model.sessions import Session
from homing.store import Tx, deliveries


def give_note(
    tx: Tx, *, home: Session, lane_id: int, text: str, job: Job | None = None, run_id: str | None = None
) -> None:
    """Write a note into a locked session, and queue it for its people."""
    if home.deleted_at is not None:
        return
    about = {"cron_job_id": job.id, "cron_job_name": job.name} if job is not None else {}
    note = NewMessage(
        session_id=home.id,
        lane_id=lane_id,
        role="assistant",
        kind="note",
        text=text,
        job_id=job.id if job is not None else None,
        run_id=run_id,
        meta=about,
        unasked=True,
    )
    deliveries.post(tx, [note])
