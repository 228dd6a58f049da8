"""The heartbeat: a system job that lets an agent look at what was inserted into its session, and is silent otherwise.

Off unless `HOMING_HEARTBEAT_MINUTES` is set. A session gets one with the first event that waits for it.
"""

from collections.abc import Sequence
from datetime import timedelta

from homing.model.ids import new_id
from homing.model.job_fields import DEFAULTS
from homing.model.jobs import DueJob
from homing.settings import Settings
from homing.store import Tx, jobs, people, sessions

KEY = "heartbeat"
MESSAGE = (
    "Look at what was added to this conversation since the last turn, and act on it where it needs you."
    " If nothing of it concerns the user now, call nothing_to_report."
)


def give_heartbeats(tx: Tx, due: Sequence[DueJob], settings: Settings) -> None:
    """Give a heartbeat to each session into which an event is about to be inserted that waits for one."""
    minutes = settings.heartbeat_minutes
    wanting = {
        job.session_id: job for job in due if job.payload_kind == "system_event" and job.wake == "next_heartbeat"
    }
    if not minutes or not wanting:
        return
    now = tx.now()
    # In order: two schedulers that wait for each other's new rows must not do so in a ring.
    for session_id in sorted(set(wanting) - jobs.with_heartbeat(tx, list(wanting))):
        session = sessions.get(tx, session_id)
        user = people.get_user(tx, session.user_id)
        zone = session.timezone or (user.timezone if user else None) or settings.timezone
        jobs.revive_or_insert(
            tx,
            DEFAULTS
            | {
                "id": new_id("job"),
                "session_id": session_id,
                "user_id": session.user_id,
                "agent_id": session.agent_id,
                "kind": "system",
                "name": KEY,
                "schedule_kind": "every",
                "every_ms": minutes * 60_000,
                "anchor": now,
                "tz": zone,
                "message": MESSAGE,
                "catch_up": "skip",
                "quiet": True,
                "dedupe_key": KEY,
                "origin_door": "api",
                "next_run_at": now + timedelta(minutes=minutes),
            },
        )
