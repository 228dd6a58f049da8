"""What may be asked about jobs."""

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from homing.model.jobs import PayloadKind, Status
from homing.operations.shapes.base import Ask, Count, Long, Name, PageAsk, Short, Text, Whole

Id = Annotated[str, Field(min_length=1, max_length=256)]
Key = Annotated[str, Field(min_length=1, max_length=300)]
Seconds = Annotated[float, Field(ge=0, le=604_800, allow_inf_nan=False)]


def _snake(word: object) -> object:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", word).lower() if isinstance(word, str) else word


# system-event and agentTurn are what other programs call them.
Spelled = BeforeValidator(_snake)
Schedule = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [{"type": "object", "additionalProperties": True}, {"type": "string"}],
            "description": 'A phrase, or an object: {"kind": "cron", "cron": "0 9 * * 1-5", "tz": "Asia/Shanghai"}',
        }
    ),
]

_ANSWERED = frozenset(
    "kind status user_id agent_id words next origin created_at updated_at removed_at state recent deduped"
    " warnings".split()
)


class PayloadAsk(Ask):
    """What a job does; on an update, fields given change."""

    kind: Annotated[PayloadKind, Spelled] | None = None
    message: Text | None = None
    model: Short | None = None
    thinking: Short | None = None
    timeout_seconds: Seconds | None = None
    context: Literal["session", "since_last", "none"] | None = None


class JobFields(Ask):
    """The fields of a job that somebody may write. `when` is short for schedule, `message` for payload.message."""

    name: Name | None = None
    description: Long | None = None
    enabled: bool | None = None
    sender_id: Short | None = None
    when: Short | None = None
    timezone: Short | None = None
    schedule: Schedule = None
    message: Text | None = None
    payload: PayloadAsk | None = None
    session: Literal["main", "isolated"] | None = None
    write_back: Literal["full", "summary", "none"] | None = None
    continue_: bool | None = Field(default=None, validation_alias="continue")
    wake: Annotated[Literal["now", "next_heartbeat"], Spelled] | None = None
    catch_up: Literal["latest", "skip"] | None = None
    catch_up_window_seconds: Annotated[Whole, Field(ge=0, le=315_360_000)] | None = None
    quiet: bool | None = None
    delete_after_run: bool | None = None
    dedupe_key: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    starts_at: Short | None = None
    ends_at: Short | None = None
    max_runs: Annotated[Whole, Field(ge=1, le=1_000_000_000)] | None = None
    may_schedule: bool | None = None


class AddJob(JobFields):
    """Add a job to a session. An agent's session is that of its turn, whatever it names."""

    read_only: ClassVar[frozenset[str]] = _ANSWERED | {"revision"}

    id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    session_key: Key | None = None


class JobRef(Ask):
    """One job."""

    job_id: Id


class UpdateJob(JobFields, JobRef):
    """Fields given change, null means the default; with `revision`, only if nobody was faster."""

    read_only: ClassVar[frozenset[str]] = _ANSWERED | {"id", "session_key"}

    revision: Count | None = None


class DisableJob(JobRef):
    """Pause a job: why, and until when."""

    reason: Short | None = None
    until: Short | None = None


class SkipJob(JobRef):
    """Leave out a job's next times, so many."""

    count: Whole = Field(default=1, ge=1, le=100)


class UndoJob(JobRef):
    """Take back the last change of a job: the one that made this revision."""

    revision: Count


class WhyJob(JobRef):
    """Ask why a job did or did not run, now or at an instant."""

    at: Short | None = None


class ListJobs(PageAsk):
    """List one's own jobs; an agent's own session's unless `all`."""

    session_key: Key | None = None
    enabled: bool | None = None
    status: Status | None = None
    q: Short | None = None
    sort: Literal["next", "name", "updated", "last"] = "next"
    recent: Annotated[Whole, Field(ge=0, le=100)] | None = None
    all: bool = False


class GetJob(JobRef):
    """Read one job."""

    recent: Annotated[Whole, Field(ge=0, le=100)] | None = None


class AdminListJobs(PageAsk):
    """List everybody's jobs."""

    user_id: Short | None = None
    session_key: Key | None = None
    enabled: bool | None = None
    status: Status | None = None
    q: Short | None = None
    sort: Literal["next", "name", "updated", "last"] = "next"


class ListUpcoming(Ask):
    """Ask what fires between two instants."""

    from_: Short | None = Field(default=None, validation_alias="from")
    to: Short | None = None
    session_key: Key | None = None


class PreviewSchedule(Ask):
    """Ask what a schedule means before anything is kept."""

    when: Short | None = None
    text: Short | None = None
    schedule: Schedule = None
    timezone: Short | None = None
    count: Whole = Field(default=3, ge=1, le=100)
    after: Short | None = None
    session_key: Key | None = None
