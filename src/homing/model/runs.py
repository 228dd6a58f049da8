"""One due instant of one job: its identity, its states and the words for how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

Trigger = Literal["timer", "catch_up", "manual", "retry"]
RunState = Literal["queued", "running", "ok", "error", "skipped", "cancelled"]
ISOLATED = "cron:"
"""How the keys of sessions begin in which isolated runs work."""
ACTIVE: tuple[RunState, ...] = ("queued", "running")
TRIGGERS: tuple[Trigger, ...] = ("timer", "catch_up", "manual", "retry")
SCHEDULED: tuple[Trigger, ...] = ("timer", "catch_up", "retry")
"""All but those asked for by hand."""
COUNTED: tuple[Trigger, ...] = ("timer", "catch_up")
"""These use up `max_runs`; retries are further tries at one instant."""
UNTOLD = 0
"""The revision of a timer's run that waits for its gate: no stream tells of it before the gate has decided."""
SILENCE = ("NO_REPLY", "HEARTBEAT_OK")
"""Other agents' prompts ask for these words when there is no news. A scheduled answer that is one reports nothing."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One due instant of a job, and what became of it."""

    id: str
    job_id: str
    job_name: str
    session_id: int
    session_key: str
    lane_id: int
    user_id: str
    trigger: Trigger
    scheduled_for: datetime
    tz: str
    state: RunState
    reason: str | None
    revision: int
    rev: int
    attempt: int
    queued_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    lateness_ms: int | None
    missed_count: int | None
    missed_until: datetime | None
    summary: str | None
    error: str | None
    prompt_id: str | None
    prompt_version: int | None
    prompt_sha256: str | None
    prompt: str | None
    variables: Mapping[str, object] | None
    turn_id: str | None
    opening_seq: int | None
    closing_seq: int | None
    next_run_at: datetime | None
    input_tokens: int
    output_tokens: int
    cost_nano_usd: int | None

    @property
    def untold(self) -> bool:
        """Say whether nobody is told of it: it waits for its gate, and may be counted in another row."""
        return self.state == "queued" and self.rev == UNTOLD


def epoch_ms(instant: datetime) -> int:
    """Count milliseconds since 1970."""
    return (instant - _EPOCH) // _MILLISECOND


def epoch_us(instant: datetime) -> int:
    """Count microseconds since 1970: an instant as a number, exactly."""
    return (instant - _EPOCH) // timedelta(microseconds=1)


def from_epoch_us(microseconds: int) -> datetime:
    """Give the instant of a count of microseconds."""
    return _EPOCH + timedelta(microseconds=microseconds)


def run_id(job_id: str, scheduled_for: datetime, trigger: Trigger, retry: int = 0) -> str:
    """Spell a run's identity: one planned instant of a job can be written once only."""
    base = f"{job_id}:{epoch_ms(scheduled_for)}"
    match trigger:
        case "manual":
            return f"{base}:m"
        case "retry":
            return f"{base}:r{retry}"
        case _:
            return base


def isolated_key(run: str) -> str:
    """Name the session of its own in which an isolated run works."""
    return f"{ISOLATED}{run}"


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """A prompt as used, and where it came from."""

    id: str
    version: int
    sha256: str
    text: str
    variables: Mapping[str, object]

    @property
    def ref(self) -> dict[str, object]:
        return {"id": self.id, "version": self.version, "sha256": self.sha256}
