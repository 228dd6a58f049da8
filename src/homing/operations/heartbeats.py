"""The heartbeat: system jobs with which an agent looks around by itself, and is silent if there is nothing.

A session gets one with the first event that waits for it. An agent with a checklist gets one for each of its users, in
their home (rules 31, 59): in the home itself if that is the agent's conversation, else apart, with a report to it. What
an agent does not say about its heartbeat, `HOMING_HEARTBEAT_MINUTES` and `HOMING_ACTIVE_HOURS` do.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from homing.model.agents import Agent
from homing.model.heartbeats import CHECKLIST, EVENTS, BeatJob, Heartbeat, beat_job_of
from homing.model.hours import read_hours
from homing.model.ids import new_id
from homing.model.job_fields import DEFAULTS
from homing.model.jobs import DueJob, Job
from homing.model.scripts import Language, Script
from homing.model.sessions import Session
from homing.operations.homes import find_home
from homing.settings import Settings
from homing.store import Tx, agents, jobs, people, sessions

MESSAGE = (
    "Look at what was added to this conversation since the last turn, and act on it where it needs you."
    " If nothing of it concerns the user now, call nothing_to_report."
)
_CHECKLIST_MESSAGE = "Go through the checklist of the heartbeat."


def heartbeat_of(agent: Agent | None, settings: Settings) -> Heartbeat:
    """Say how an agent looks around; a removed one does not."""
    if agent is None or agent.removed_at is not None:
        return Heartbeat()
    given = agent.heartbeat
    minutes, hours = given.get("minutes"), given.get("active_hours")
    checklist, text = str(given.get("checklist") or "").strip(), given.get("script")
    language = cast(Language, given.get("script_language") or "bash")
    return Heartbeat(
        minutes=settings.heartbeat_minutes if minutes is None else cast(int, minutes),
        checklist=checklist or None,
        hours=read_hours(str(hours)) if hours else settings.active_hours,
        script=Script(text=str(text), language=language, hosts=agent.all_hosts) if text else None,
    )


def give_heartbeats(tx: Tx, due: Sequence[DueJob], settings: Settings) -> set[int]:
    """Give a heartbeat to each session into which an event is about to be inserted that waits for one.

    Return the sessions of such events that a heartbeat will look at.
    """
    beating = _beating(tx, due, settings)
    now = tx.now()
    # In order: two schedulers that wait for each other's new rows must not do so in a ring.
    for session_id in sorted(set(beating) - jobs.with_heartbeat(tx, list(beating))) if beating else ():
        session = sessions.get(tx, session_id)
        beat = BeatJob(name=EVENTS, minutes=beating[session_id].minutes, tz=_zone(tx, session, settings))
        jobs.revive_or_insert(tx, _new(session, session.agent_id, EVENTS, beat, now) | {"message": MESSAGE})
    return set(beating)


def looked_at(tx: Tx, due: Sequence[DueJob], settings: Settings) -> set[int]:
    """Name the sessions of events for the next heartbeat in which one beats."""
    beating = _beating(tx, due, settings)
    return jobs.with_heartbeat(tx, list(beating)) if beating else set()


def _beating(tx: Tx, due: Sequence[DueJob], settings: Settings) -> dict[int, Heartbeat]:
    wanting = {
        job.session_id: job.agent_id
        for job in due
        if job.payload_kind == "system_event" and job.wake == "next_heartbeat"
    }
    if not wanting:
        return {}
    known = agents.get_many(tx, set(wanting.values()))
    beats = {session_id: heartbeat_of(known.get(agent_id), settings) for session_id, agent_id in wanting.items()}
    return {session_id: beat for session_id, beat in beats.items() if beat.minutes}


def wanted_beat(tx: Tx, job: Job, settings: Settings) -> tuple[Heartbeat, BeatJob] | None:
    """Say how a system job should beat by now; None when it is switched off, or its place is another."""
    key = job.dedupe_key or ""
    if not key.startswith(CHECKLIST):
        beat = heartbeat_of(agents.get(tx, job.agent_id), settings)
        return (beat, BeatJob(name=job.name, minutes=beat.minutes, tz=job.timing.schedule.tz)) if beat.minutes else None
    found = _checklist_of(tx, job.user_id, agents.get(tx, key.removeprefix(CHECKLIST)), settings)
    if found is None or found[0].id != job.session_id:
        return None
    return found[1], found[2]


def lacking_checklists(tx: Tx, settings: Settings) -> list[tuple[str, str]]:
    """Name the users and agents whose checklist has no system job, or one that is not as it should be."""
    return [
        (user_id, agent.id)
        for agent in agents.listed(tx)
        if heartbeat_of(agent, settings).has_checklist
        for user_id in sessions.users_with(tx, agent.id)
        if (found := _checklist_of(tx, user_id, agent, settings)) is not None
        if _is_lacking(jobs.by_dedupe_key(tx, found[0].id, CHECKLIST + agent.id), agent, found[2])
    ]


def give_checklist(tx: Tx, user_id: str, agent_id: str, settings: Settings) -> bool:
    """Give a user the system job of an agent's checklist, or correct the one they have; say whether that was needed."""
    agent = agents.get(tx, agent_id)
    found = _checklist_of(tx, user_id, agent, settings)
    if agent is None or found is None:
        return False
    home, _, beat = found
    key = CHECKLIST + agent_id
    if (job := jobs.by_dedupe_key(tx, home.id, key)) is not None:
        jobs.lock(tx, [job.id])
    # Adding a job locks its session: one that is being deleted gets none.
    sessions.lock(tx, [home.id])
    if sessions.get(tx, home.id).deleted_at is not None:
        return False
    job = jobs.by_dedupe_key(tx, home.id, key)
    if not _is_lacking(job, agent, beat):
        return False
    now = tx.now()
    if job is None:
        jobs.insert_system(tx, _new(home, agent_id, key, beat, now) | {"message": _CHECKLIST_MESSAGE})
    else:
        redefine(tx, job, beat, awake=True)
    return True


def redefine(tx: Tx, job: Job, beat: BeatJob, *, awake: bool = False) -> Job:
    """Write over a locked system job what follows from its agent, user and home by now; `awake` enables it, too."""
    before, now = beat_job_of(job), tx.now()
    values = _columns(beat, now)
    if before.minutes == beat.minutes and job.next_run_at is not None:
        # It keeps its times.
        for name in ("anchor", "next_run_at"):
            del values[name]
    if before.script != beat.script:
        values["script_state"] = None
    if awake:
        values |= {"enabled": True, "disabled_by": None, "disabled_reason": None, "consecutive_failures": 0}
    changed = jobs.change(tx, job, values)
    assert changed is not None, "the job is locked"
    return changed


def _is_lacking(job: Job | None, agent: Agent, beat: BeatJob) -> bool:
    if job is None:
        return True
    match job.disabled_by:
        case None:
            return beat_job_of(job) != beat
        case "done":
            return True
        case "engine":
            # It failed again and again: it is tried again once somebody changed the agent.
            since = job.last_run_at or job.updated_at
            return agent.updated_at is not None and agent.updated_at > since
        case "person":
            return False


def _checklist_of(
    tx: Tx, user_id: str, agent: Agent | None, settings: Settings
) -> tuple[Session, Heartbeat, BeatJob] | None:
    """Say where and how an agent's checklist beats for a user."""
    heartbeat = heartbeat_of(agent, settings)
    user = people.get_user(tx, user_id)
    if agent is None or user is None or not heartbeat.has_checklist:
        return None
    home = find_home(tx, user)
    if home is None:
        return None
    apart = home.agent_id != agent.id
    beat = BeatJob(
        name=f"{EVENTS} of {agent.name}" if apart else EVENTS,
        minutes=heartbeat.minutes,
        tz=_zone(tx, home, settings),
        isolated=apart,
        script=heartbeat.script,
    )
    return home, heartbeat, beat


def _zone(tx: Tx, session: Session, settings: Settings) -> str:
    user = people.get_user(tx, session.user_id)
    return session.timezone or (user.timezone if user else None) or settings.timezone


def _new(session: Session, agent_id: str, key: str, beat: BeatJob, now: datetime) -> dict[str, Any]:
    return {
        **DEFAULTS,
        "id": new_id("job"),
        "session_id": session.id,
        "user_id": session.user_id,
        "agent_id": agent_id,
        "kind": "system",
        "schedule_kind": "every",
        "catch_up": "skip",
        "quiet": True,
        # What one that works apart found is shown as it is: it opens no further turn.
        "continues": False,
        "dedupe_key": key,
        "origin_door": "api",
        **_columns(beat, now),
    }


def _columns(beat: BeatJob, now: datetime) -> dict[str, Any]:
    script: Mapping[str, Any] = {"script": None, "script_language": "bash", "script_hosts": [], "script_seconds": 30}
    if beat.script is not None:
        script = {
            "script": beat.script.text,
            "script_language": beat.script.language,
            "script_hosts": list(beat.script.hosts),
            "script_seconds": beat.script.seconds,
        }
    return {
        "name": beat.name,
        "every_ms": beat.minutes * 60_000,
        "anchor": now,
        "tz": beat.tz,
        "isolated": beat.isolated,
        "next_run_at": now + timedelta(minutes=beat.minutes),
        **script,
    }
