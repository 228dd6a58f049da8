"""A run as it is shown; in lists without prompt, variables, error and steps."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from homing.model.messages import Delivery
from homing.model.runs import Run, RunState, Trigger
from homing.model.turns import Step
from homing.model.words import RUN_STATES, TRIGGERS, reason_words
from homing.operations.shapes.base import Answer, local
from homing.operations.shapes.delivery import CarriedShape
from homing.operations.shapes.turn import RetryShape, UsageShape, error_summary, retries_of, usage_shape
from homing.store.gates import EndedGate

WaitingFor = Literal["session", "slot", "gate", "worker"]


class PromptRefShape(Answer):
    id: str
    version: int
    sha256: str


class StepShape(Answer):
    n: int
    kind: Literal["model", "tool"]
    name: str
    duration_ms: int | None


class GateShape(Answer):
    """How the script of a run ended: what it printed, and what it found."""

    ended: Literal["exit", "timeout", "output", "lost"]
    """By itself, after its time, at the limit of its output; `lost`: its worker stopped three times in the middle."""
    code: int | None
    out: str | None
    err: str | None
    data: Any = None


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
    error_summary: str | None
    prompt_ref: PromptRefShape | None
    prompt: str | None = None
    variables: dict[str, Any] | None = None
    session_key: str
    turn_id: str | None
    opening_seq: int | None
    closing_seq: int | None
    next_run_at: str | None
    usage: UsageShape
    gate: GateShape | None = None
    steps: list[StepShape] = Field(default_factory=list[StepShape])
    retries: list[RetryShape] = Field(default_factory=list[RetryShape])
    deliveries: list[CarriedShape]


class RunRow(RunShape):
    """A run as shown in lists and events."""

    error: str | None = Field(default=None, exclude=True)
    prompt: str | None = Field(default=None, exclude=True)
    variables: dict[str, Any] | None = Field(default=None, exclude=True)
    gate: GateShape | None = Field(default=None, exclude=True)
    steps: list[StepShape] = Field(default_factory=list[StepShape], exclude=True)
    retries: list[RetryShape] = Field(default_factory=list[RetryShape], exclude=True)


def run_row(run: Run, *, waiting_for: WaitingFor | None = None, deliveries: Sequence[Delivery] = ()) -> RunRow:
    """Show a run in a list."""
    return RunRow.of(run, **_more(run, waiting_for, deliveries))


def run_shape(
    run: Run,
    *,
    waiting_for: WaitingFor | None = None,
    deliveries: Sequence[Delivery] = (),
    steps: Sequence[Step] = (),
    gate: EndedGate | None = None,
) -> RunShape:
    """Show a run whole."""
    shown = [StepShape.of(step) for step in steps if step.kind in ("model", "tool")]
    variables = dict(run.variables or {})
    more = _more(run, waiting_for, deliveries)
    looked = GateShape.of(gate, data=(gate.said or {}).get("data")) if gate else None
    return RunShape.of(run, variables=variables, steps=shown, retries=retries_of(steps), gate=looked, **more)


def _more(run: Run, waiting_for: WaitingFor | None, deliveries: Sequence[Delivery]) -> dict[str, Any]:
    """Give what a run does not hold as it is shown; its schedule's instants are on the clock of its zone."""
    ref = None
    if run.prompt_id is not None and run.prompt_version is not None and run.prompt_sha256 is not None:
        ref = PromptRefShape(id=run.prompt_id, version=run.prompt_version, sha256=run.prompt_sha256)
    took = None
    if run.started_at is not None and run.finished_at is not None:
        took = int((run.finished_at - run.started_at).total_seconds() * 1000)
    return {
        "trigger_words": TRIGGERS[run.trigger],
        "scheduled_for": local(run.scheduled_for, run.tz),
        "state_words": RUN_STATES[run.state],
        "waiting_for": waiting_for,
        "reason_words": reason_words(run.reason),
        "duration_ms": took,
        "missed_until": local(run.missed_until, run.tz),
        "prompt_ref": ref,
        "next_run_at": local(run.next_run_at, run.tz),
        "error_summary": error_summary(run.error),
        "usage": usage_shape(run),
        "deliveries": [CarriedShape.of(delivery) for delivery in deliveries],
    }
