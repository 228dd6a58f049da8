"""When an agent looks around by itself (rules 31, 59), and what its system job is like. Pure."""

from dataclasses import dataclass
from datetime import datetime, time
from zoneinfo import ZoneInfo

from homing.model.hours import is_within
from homing.model.jobs import Job
from homing.model.schedules import Every
from homing.model.scripts import Script

EVENTS = "heartbeat"
"""The key of the system job that looks at events in its session."""
CHECKLIST = "checklist:"
"""How the key of the system job begins that goes through an agent's checklist; the agent's id follows."""


@dataclass(frozen=True, kw_only=True)
class Heartbeat:
    """How often an agent looks around, when, at what, and which script looks first."""

    minutes: int = 0
    """0: never."""
    checklist: str | None = None
    hours: tuple[time, time] | None = None
    script: Script | None = None

    @property
    def has_checklist(self) -> bool:
        return self.minutes > 0 and self.checklist is not None

    def is_awake(self, now: datetime, tz: str) -> bool:
        """Say whether it is active at an instant, on the clock of a zone."""
        return self.hours is None or is_within(self.hours, now.astimezone(ZoneInfo(tz)).time())


@dataclass(frozen=True, kw_only=True)
class BeatJob:
    """What of a heartbeat's job follows from its agent, user and home: it is rewritten when they change."""

    name: str
    minutes: int
    tz: str
    isolated: bool = False
    script: Script | None = None


def beat_job_of(job: Job) -> BeatJob:
    """Read the same from a job as it is stored."""
    schedule = job.timing.schedule
    minutes = schedule.every_ms // 60_000 if isinstance(schedule, Every) else 0
    return BeatJob(name=job.name, minutes=minutes, tz=schedule.tz, isolated=job.isolated, script=job.gate)
