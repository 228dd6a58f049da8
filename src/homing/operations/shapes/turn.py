"""A turn as it is shown: its steps, what they used, and what went wrong on the way."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from homing.model.errors import shortened
from homing.model.people import Source
from homing.model.runs import Run
from homing.model.sessions import Session
from homing.model.trials import NOT_CALLED
from homing.model.turns import MODEL_CALLS, NOTHING_USED, Inbound, Outcome, Step, Turn, Usage, usage_of
from homing.model.words import TURN_OUTCOMES, reason_words
from homing.operations.shapes.base import Answer, Ask, PageAsk, Text, utc
from homing.operations.shapes.job_asks import Id, Key
from homing.operations.shapes.script_asks import TriedScriptShape

MOST_SHOWN = 4_000
_MOST_ARGUMENTS = 2_000
_MOST_SENTENCE = 500
_TRACEBACK = "Traceback (most recent call last):"


class TurnRef(Ask):
    """One turn."""

    turn_id: Id


class TryJob(Ask):
    """Test an automation."""

    job_id: Id
    message: Text | None = None
    """Used instead of the automation's own message."""


class ListTurns(PageAsk):
    """List a session's turns, newest first."""

    session_key: Key


class UsageShape(Answer):
    """Tokens and their price."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """null: the price of one of the calls is not known."""


class RetryShape(Answer):
    """A model call that failed and was made again."""

    n: int
    model: str
    error: str
    """What the provider said."""
    at: str
    duration_ms: int | None
    wait_seconds: float


class TurnStepShape(Answer):
    """One call of a model or a tool, or a message that came meanwhile (`inject`)."""

    n: int
    kind: Literal["model", "tool", "inject", "summary"]
    name: str
    """The model that was asked, or the tool."""
    model: str | None
    """The model that answered, as the provider names it."""
    state: Literal["done", "running", "unknown"]
    """`unknown`: the call was begun, and nobody knows whether it took effect."""
    failed: bool
    arguments: str | None
    """JSON, as the model gave it."""
    result: str | None
    cut: bool
    """Arguments or result were longer than shown here."""
    started_at: str
    duration_ms: int | None
    usage: UsageShape | None


class NotedCall(Answer):
    """A call that a test did not make."""

    name: str
    arguments: str
    """JSON, as the model gave it."""


class TrialShape(Answer):
    """A test of an automation: the turn that runs it, or its result where no turn is needed."""

    id: str | None = None
    """The turn to read with get_turn; null where no model is asked."""
    job_id: str
    session_key: str | None = None
    """The separate session that the turn runs in."""
    state: Literal["waiting", "closed"]
    answer: str | None = None
    """What a reminder or an event would say; null when its script finds nothing to do."""
    script: TriedScriptShape | None = None
    """How its script ended, if it has one."""


class TurnShape(Answer):
    """One pass of an agent over a session."""

    id: str
    session_key: str
    agent_id: str
    source: Source
    run_id: str | None
    job_id: str | None
    state: Literal["waiting", "running", "closed"]
    """`waiting`: a test that no worker has started yet."""
    outcome: Outcome | None
    outcome_words: str | None
    reason: str | None
    reason_words: str | None
    error: str | None = None
    error_summary: str | None
    """What went wrong in a sentence, the provider's own where it gave one."""
    agent_revision: int | None
    """The version of the agent that it works with."""
    model: str
    depth: int
    guest: bool
    """Somebody who is not the conversation's user opened it: it had few tools and no memories."""
    attempts: int
    """How often a worker has taken it up: 1, unless one died or stopped in the middle."""
    opening_seq: int | None
    closing_seq: int | None
    started_at: str
    finished_at: str | None
    duration_ms: int | None
    usage: UsageShape
    trial: bool = False
    """It is a test of an automation (try_job): only this record is kept."""
    answer: str | None = None
    """Of a test: what would have been said."""
    would_have_called: list[NotedCall] = Field(default_factory=list[NotedCall])
    """Of a test: calls that were not made because they may change something, in order."""
    steps: list[TurnStepShape] = Field(default_factory=list[TurnStepShape])
    retries: list[RetryShape] = Field(default_factory=list[RetryShape])


class TurnRow(TurnShape):
    """A turn as shown in lists."""

    error: str | None = Field(default=None, exclude=True)
    answer: str | None = Field(default=None, exclude=True)
    would_have_called: list[NotedCall] = Field(default_factory=list[NotedCall], exclude=True)
    steps: list[TurnStepShape] = Field(default_factory=list[TurnStepShape], exclude=True)
    retries: list[RetryShape] = Field(default_factory=list[RetryShape], exclude=True)


def turn_row(turn: Turn, session_key: str, used: Usage | None) -> TurnRow:
    """Show a turn in a list; `used` is what one that runs has used so far."""
    more = _more(turn, session_key)
    return TurnRow.of(turn, **(more if used is None else more | {"usage": usage_shape(used)}))


def turn_shape(
    turn: Turn, session_key: str, steps: Sequence[Step], *, claimed: bool, answer: str | None = None
) -> TurnShape:
    """Show a turn whole; `claimed` says whether a worker is at it now, `answer` what a trial ended with."""
    more = _more(turn, session_key) | {"answer": answer}
    if turn.policy.trial:
        more["would_have_called"] = [
            NotedCall(name=step.name, arguments=shortened(step.args or "{}", _MOST_ARGUMENTS))
            for step in steps
            if step.kind == "tool" and step.result == NOT_CALLED
        ]
    if turn.state == "running":
        more["usage"] = usage_shape(usage_of(steps))
    shown = [_step(step, claimed=claimed) for step in steps if step.kind != "retry"]
    return TurnShape.of(turn, steps=shown, retries=retries_of(steps), **more)


def unbegun_trial(turn_id: str, inbound: Inbound, session: Session) -> TurnShape:
    """Show a trial that no worker has begun: it waits, or was cancelled before one could."""
    waits = inbound.state == "waiting"
    return TurnShape(
        id=turn_id,
        session_key=session.key,
        agent_id=session.agent_id,
        source=inbound.source,
        run_id=None,
        job_id=inbound.job_id,
        state="waiting" if waits else "closed",
        outcome=None if waits else "cancelled",
        outcome_words=None if waits else TURN_OUTCOMES["cancelled"],
        reason=None,
        reason_words=None,
        error_summary=None,
        agent_revision=None,
        model="",
        depth=inbound.depth,
        guest=False,
        attempts=0,
        opening_seq=None,
        closing_seq=None,
        started_at=str(utc(inbound.queued_at)),
        finished_at=None,
        duration_ms=None,
        usage=usage_shape(NOTHING_USED),
        trial=True,
    )


def usage_shape(used: Usage | Step | Turn | Run) -> UsageShape:
    """Show tokens and their price in dollars."""
    nano = used.cost_nano_usd
    return UsageShape.of(used, cost_usd=None if nano is None else nano / 1e9)


def retries_of(steps: Sequence[Step]) -> list[RetryShape]:
    """Show the model calls that failed and were made again."""
    return [
        RetryShape.of(
            step,
            model=step.name,
            error=step.result,
            at=utc(step.begun_at),
            wait_seconds=json.loads(step.args or "{}").get("wait_seconds", 0),
        )
        for step in steps
        if step.kind == "retry"
    ]


def error_summary(error: str | None) -> str | None:
    """Give the sentence of a full error: its first paragraph."""
    if error is None:
        return None
    if error.startswith(_TRACEBACK):
        # As errors were kept before 0.2: the sentence comes last, behind the name of its type.
        last = error.rstrip().splitlines()[-1]
        return shortened(last.partition(": ")[2] or last, _MOST_SENTENCE)
    return shortened(error.partition("\n\n")[0].strip(), _MOST_SENTENCE)


def _more(turn: Turn, session_key: str) -> dict[str, Any]:
    ends_at = turn.closed_at
    return {
        "session_key": session_key,
        "outcome_words": None if turn.outcome is None else TURN_OUTCOMES[turn.outcome],
        "reason_words": reason_words(turn.reason),
        "error_summary": error_summary(turn.error),
        "attempts": turn.fence,
        "guest": turn.policy.guest,
        "trial": turn.policy.trial,
        "started_at": utc(turn.opened_at),
        "finished_at": utc(ends_at),
        "duration_ms": None if ends_at is None else int((ends_at - turn.opened_at).total_seconds() * 1000),
        "usage": usage_shape(turn),
    }


def _step(step: Step, *, claimed: bool) -> TurnStepShape:
    said, model = _said(step)
    result, arguments = shortened(said, MOST_SHOWN), shortened(step.args or "", _MOST_ARGUMENTS)
    return TurnStepShape.of(
        step,
        model=model,
        state="done" if step.state == "done" else "running" if claimed else "unknown",
        arguments=arguments or None,
        result=result if step.state == "done" else None,
        cut=(result, arguments) != (said, step.args or ""),
        started_at=utc(step.begun_at),
        usage=usage_shape(step) if step.kind in MODEL_CALLS else None,
    )


def _said(step: Step) -> tuple[str, str | None]:
    """Give what a call answered; a model's response is kept as the agent's own JSON."""
    if step.kind != "model" or not step.result:
        return step.result or "", None
    [response] = json.loads(step.result)
    texts = [str(part["content"]) for part in response["parts"] if part["part_kind"] == "text"]
    return "".join(texts), response.get("model_name")
