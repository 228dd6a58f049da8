"""A run as it is shown; in lists without prompt, variables, error and steps."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from homing.model.messages import Delivery
from homing.model.runs import Run, RunState, Trigger
from homing.model.turns import Step
from homing.model.words import RUN_STATES, TRIGGERS, reason_words
from homing.operations.shapes.base import Answer, local, utc
from homing.operations.shapes.delivery import CarriedShape, carried_shape

WaitingFor = Literal["session", "slot"]


class PromptRefShape(Answer):
    id: str
    version: int
    sha256: str


class UsageShape(Answer):
    input_tokens: int
    output_tokens: int


class StepShape(Answer):
    n: int
    kind: Literal["model", "tool"]
    name: str
    duration_ms: int | None


class RunShape(Answer):
    """One due instant of a job, and what became of it."""

    id: str
    job_id: str
    job_name: str
    trigger: Trigger
    trigger_words: str
    scheduled_for: str
    state: RunState
    state_words: str
    waiting_for: WaitingFor | None
    reason: str | None
    reason_words: str | None
    queued_at: str
    started_at: str | None
    finished_at: str | None
    duration_ms: int | None
    lateness_ms: int | None
    attempt: int
    missed_count: int | None
    missed_until: str | None
    summary: str | None
    error: str | None = None
    prompt_ref: PromptRefShape | None
    prompt: str | None = None
    variables: dict[str, Any] | None = None
    session_key: str
    turn_id: str | None
    opening_seq: int | None
    closing_seq: int | None
    next_run_at: str | None
    usage: UsageShape
    steps: list[StepShape] = Field(default_factory=list[StepShape])
    deliveries: list[CarriedShape]


class RunRow(RunShape):
    """A run as lists and events give it."""

    error: str | None = Field(default=None, exclude=True)
    prompt: str | None = Field(default=None, exclude=True)
    variables: dict[str, Any] | None = Field(default=None, exclude=True)
    steps: list[StepShape] = Field(default_factory=list[StepShape], exclude=True)


def run_row(run: Run, *, waiting_for: WaitingFor | None = None, deliveries: Sequence[Delivery] = ()) -> RunRow:
    """Show a run in a list."""
    return RunRow(**_plain(run, waiting_for, deliveries))


def run_shape(
    run: Run,
    *,
    waiting_for: WaitingFor | None = None,
    deliveries: Sequence[Delivery] = (),
    steps: Sequence[Step] = (),
) -> RunShape:
    """Show a run whole."""
    return RunShape(
        **_plain(run, waiting_for, deliveries),
        error=run.error,
        prompt=run.prompt,
        variables=dict(run.variables) if run.variables is not None else {},
        steps=[
            StepShape(n=step.n, kind=step.kind, name=step.name, duration_ms=step.duration_ms)
            for step in steps
            if step.kind != "inject"
        ],
    )


def _plain(run: Run, waiting_for: WaitingFor | None, deliveries: Sequence[Delivery]) -> dict[str, Any]:
    ref = None
    if run.prompt_id is not None and run.prompt_version is not None and run.prompt_sha256 is not None:
        ref = PromptRefShape(id=run.prompt_id, version=run.prompt_version, sha256=run.prompt_sha256)
    took = None
    if run.started_at is not None and run.finished_at is not None:
        took = int((run.finished_at - run.started_at).total_seconds() * 1000)
    return {
        "id": run.id,
        "job_id": run.job_id,
        "job_name": run.job_name,
        "trigger": run.trigger,
        "trigger_words": TRIGGERS[run.trigger],
        "scheduled_for": local(run.scheduled_for, run.tz),
        "state": run.state,
        "state_words": RUN_STATES[run.state],
        "waiting_for": waiting_for,
        "reason": run.reason,
        "reason_words": reason_words(run.reason),
        "queued_at": utc(run.queued_at),
        "started_at": utc(run.started_at),
        "finished_at": utc(run.finished_at),
        "duration_ms": took,
        "lateness_ms": run.lateness_ms,
        "attempt": run.attempt,
        "missed_count": run.missed_count,
        "missed_until": local(run.missed_until, run.tz),
        "summary": run.summary,
        "prompt_ref": ref,
        "session_key": run.session_key,
        "turn_id": run.turn_id,
        "opening_seq": run.opening_seq,
        "closing_seq": run.closing_seq,
        "next_run_at": local(run.next_run_at, run.tz),
        "usage": UsageShape(input_tokens=run.input_tokens, output_tokens=run.output_tokens),
        "deliveries": [carried_shape(delivery) for delivery in deliveries],
    }
