"""What may be asked about jobs."""

import re
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, create_model

from homing.model.job_fields import FIELDS, JobField
from homing.model.jobs import Status
from homing.operations.shapes.base import NOT_BOOL, Ask, Count, PageAsk, Short, Text, Whole

Id = Annotated[str, Field(min_length=1, max_length=256)]
Key = Annotated[str, Field(min_length=1, max_length=300)]


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
    " warnings script_state usage".split()
)


def _asked(row: JobField) -> Any:
    """Say what a request may give for a field. Null means the default."""
    kinds: dict[Any, Any] = {
        bool: bool,
        int: Annotated[int, Field(ge=row.least, le=row.most), NOT_BOOL],
        float: Annotated[float, Field(ge=row.least, le=row.most, allow_inf_nan=False)],
        list: Annotated[list[Short], Field(max_length=row.most)],
    }
    text: Any = Annotated[str, Field(min_length=row.least, max_length=row.most)]
    chosen: Any = Annotated[Literal[row.choices], Spelled] if row.choices else kinds.get(row.kind, text)
    return chosen | None


def _table(*parts: str) -> Any:
    """Make a request of the table's fields. Type checkers see them as Any."""
    rows: dict[str, Any] = {row.name: (_asked(row), None) for row in FIELDS if row.part in parts}
    return create_model("Fields", __base__=Ask, **rows)


class PayloadAsk(_table("payload"), Ask):
    """What a job does; on an update, fields given change."""


class JobAsk(_table("job", "timing"), Ask):
    """The fields of a job that somebody may write. `when` is short for schedule, `message` for payload.message."""

    when: Short | None = None
    timezone: Short | None = None
    schedule: Schedule = None
    message: Text | None = None
    payload: PayloadAsk | None = None


class AddJob(JobAsk):
    """Add a job to a session. An agent's session is that of its turn, whatever it names."""

    read_only: ClassVar[frozenset[str]] = _ANSWERED | {"revision"}

    id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    session_key: Key | None = None
    if TYPE_CHECKING:

        def __init__(self, **fields: Any) -> None: ...


class JobRef(Ask):
    """One job."""

    job_id: Id


class UpdateJob(JobAsk, JobRef):
    """Fields given change, null means the default; with `revision`, only if nobody was faster."""

    read_only: ClassVar[frozenset[str]] = _ANSWERED | {"id", "session_key"}

    revision: Count | None = None
    if TYPE_CHECKING:

        def __init__(self, *, job_id: str, **fields: Any) -> None: ...


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


class _JobFilter(PageAsk):
    session_key: Key | None = None
    enabled: bool | None = None
    status: Status | None = None
    q: Short | None = None
    sort: Literal["next", "name", "updated", "last"] = "next"


class ListJobs(_JobFilter):
    """List one's own jobs; an agent's own session's unless `all`."""

    recent: Annotated[int, Field(ge=0, le=100), NOT_BOOL] | None = None
    all: bool = False
    removed: bool = False
    """List removed ones instead, which `undo_job` can bring back for 30 days."""
    system: bool = False
    """List Homing's own instead: heartbeats and the memory upkeep. Nobody can change them here."""


class GetJob(JobRef):
    """Read one job."""

    recent: Annotated[int, Field(ge=0, le=100), NOT_BOOL] | None = None


class AdminListJobs(_JobFilter):
    """List everybody's jobs."""

    user_id: Short | None = None


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
