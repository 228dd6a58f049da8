"""What may be asked about runs, and about what is to come."""

from pydantic import Field

from homing.model.runs import RunState
from homing.operations.shapes.base import Answer, Ask, PageAsk, Short
from homing.operations.shapes.job import ScheduleShape
from homing.operations.shapes.job_asks import Id, Key


class RunRef(Ask):
    """One run."""

    run_id: Id


class ListRuns(PageAsk):
    """List runs, newest first."""

    job_id: Id | None = None
    session_key: Key | None = None
    state: RunState | None = None
    from_: Short | None = Field(default=None, validation_alias="from")
    to: Short | None = None


class UpcomingShape(Answer):
    """A time at which a job runs, or a day with many of them."""

    job_id: str
    job_name: str
    session_key: str
    at: str
    count: int


class UpcomingList(Answer):
    """Upcoming runs, soonest first; `more` if the list was cut off."""

    items: list[UpcomingShape]
    more: bool


class PreviewShape(Answer):
    """What a schedule means."""

    schedule: ScheduleShape
    words: str
    timezone: str
    next: list[str]
    warnings: list[str]


class ExplainedRun(Answer):
    """A run with what became of it, in a sentence."""

    id: str
    scheduled_for: str
    state: RunState
    reason: str | None
    sentence: str


class WhyShape(Answer):
    """Why a job did or did not run, in plain sentences."""

    job_id: str
    answer: str
    next_run_at: str | None
    timezone: str
    runs: list[ExplainedRun]
