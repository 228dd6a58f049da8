"""What stands in a lane, the turn it becomes, and the claim under which a worker holds it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from urllib.parse import urlsplit

from homing.model.approvals import visible_json
from homing.model.errors import shortened
from homing.model.people import Source
from homing.model.runs import Trigger

Outcome = Literal["answered", "empty", "failed", "cancelled"]
Stop = Literal["cancel", "timeout", "leave", "lost"]
StepKind = Literal["model", "tool", "inject", "summary", "retry"]

OVERTAKEN_FOR = timedelta(minutes=10)
MAX_ATTEMPTS = 3
_ABOUT = 60
_ABOUT_READ = 500


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What model calls used. The names are those of the columns of steps, turns and runs."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_nano_usd: int | None = 0
    """Billionths of a dollar; None when the price of one of the calls is not known."""

    def __add__(self, other: "Usage") -> "Usage":
        costs = self.cost_nano_usd, other.cost_nano_usd
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_nano_usd=None if costs[0] is None or costs[1] is None else costs[0] + costs[1],
        )


@dataclass(frozen=True, kw_only=True)
class CallUsage(Usage):
    """What one model call used, with what only the sums keep."""

    cached_tokens: int = 0
    """Of the input tokens, those that the provider had kept from an earlier call."""
    thinking_tokens: int = 0
    """Of the output tokens, those that nobody is shown."""


NOTHING_USED = Usage()
USAGE = tuple(vars(NOTHING_USED))


@dataclass(frozen=True, kw_only=True)
class Inbound:
    """One thing for a session: it wakes the lane, or is a note that the next turn takes along."""

    n: int
    id: str
    session_id: int
    lane_id: int
    user_id: str
    source: Source
    text: str
    line: Literal["people", "machines", "note"]
    mode: Literal["inject", "queue"]
    state: Literal["waiting", "taken", "withdrawn"]
    run_id: str | None
    job_id: str | None
    sender_id: str | None
    address: str | None
    depth: int
    meta: Mapping[str, object]
    files: Sequence[Mapping[str, object]]
    turn_id: str | None
    injected: bool
    queued_at: datetime


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a turn was opened for and may do. Kept with it as JSON; what an older row does not say has its default."""

    revision: int | None = None
    """Of the job's definition that runs; with `trigger`, `job_name` and `message` only of a scheduled turn."""
    trigger: Trigger | None = None
    quiet: bool = False
    may_schedule: bool = False
    context: Literal["session", "since_last", "none"] = "session"
    job_name: str | None = None
    message: str | None = None
    outside: str | None = None
    """The source of content that no person wrote there; what the turn remembers is unconfirmed."""
    max_cost_usd_per_day: float | None = None
    """Of the job, as it was when its run opened."""
    rights: Source | None = None
    """Of a turn that an approval's end opened: what the turn that asked was, and so what this one may do (rule 46)."""
    system: str | None = None
    """Which of Homing's own jobs it runs for."""
    until_n: int | None = None
    """Of memory upkeep: the last message that it was shown."""
    guest: bool = False
    """Somebody who is not the session's user opened it: it has few tools and no memories (rule 60)."""
    trial: bool = False
    """It tries an automation: it changes nothing, and its tools only read (ADR 0074)."""
    history_lane: int | None = None
    """Of a trial: the lane whose conversation the automation would see."""
    gated: bool = False
    """Its run's script let it through; what that asked to remember is kept if the turn closes well."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One pass of an agent over a session, from opening to closing."""

    id: str
    lane_id: int
    session_id: int
    user_id: str
    agent_id: str
    agent_revision: int | None = None
    """Of the agent as it was at the opening; None in turns that 0.1.0 opened."""
    source: Source
    run_id: str | None
    job_id: str | None
    state: Literal["running", "closed"] = "running"
    outcome: Outcome | None = None
    reason: str | None = None
    worker_id: str | None
    claimed_until: datetime | None
    fence: int = 1
    attempts: int = 1
    deadline_at: datetime | None
    cancel_requested_at: datetime | None = None
    cancel_reason: str | None = None
    address: str | None
    sender_id: str | None
    depth: int
    model: str
    thinking: str | None
    prompt: str
    policy: Policy
    error: str | None = None
    opening_seq: int | None
    closing_seq: int | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_nano_usd: int | None = None
    opened_at: datetime
    closed_at: datetime | None = None

    @property
    def of_job(self) -> bool:
        """Say whether it does an automation's work: for a run, or to try it."""
        return self.source == "run" or self.policy.trial

    @property
    def acts_as(self) -> Source:
        """Say whose rights it has: its own source's, or those of the turn that asked for the approval it is about."""
        return self.policy.rights or self.source


@dataclass(frozen=True, kw_only=True)
class Step:
    """One model or tool call inside a turn, a message injected into it, or a model call that failed and was repeated.

    A `summary` is a model call too, for the earlier conversation. A `retry` keeps what the provider said as its result,
    and the wait that followed as its arguments.
    """

    n: int
    kind: StepKind
    name: str
    key: str
    state: Literal["begun", "done"]
    failed: bool
    args: str | None
    result: str | None
    cards: Sequence[Mapping[str, object]]
    duration_ms: int | None
    input_tokens: int
    output_tokens: int
    cost_nano_usd: int | None
    begun_at: datetime

    @property
    def usage(self) -> Usage:
        return Usage(**{name: getattr(self, name) for name in USAGE})


MODEL_CALLS: tuple[StepKind, ...] = ("model", "summary")


def usage_of(steps: Sequence[Step]) -> Usage:
    """Add up what the model calls among these steps used."""
    return sum((step.usage for step in steps if step.kind in MODEL_CALLS), NOTHING_USED)


def choose_head(person: Inbound | None, machine: Inbound | None, now: datetime) -> Inbound | None:
    """Pick who goes next in a free lane: people overtake, but nobody is overtaken for longer than ten minutes."""
    if person is None or machine is None:
        return person or machine
    overtaken = machine.n < person.n and now - machine.queued_at >= OVERTAKEN_FOR
    return machine if overtaken else person


def may_inject(inbound: Inbound, turn: Turn) -> bool:
    """Rule 2: only a person's message, only into a turn of the same person that answers to the same address.

    A turn that is to stop answers nothing more: what is said then is the next turn.
    """
    return (
        inbound.line == "people"
        and inbound.mode == "inject"
        and turn.source == "person"
        and turn.cancel_requested_at is None
        and inbound.session_id == turn.session_id
        and inbound.sender_id == turn.sender_id
        and inbound.address == turn.address
    )


@dataclass(frozen=True, kw_only=True)
class CalledTool:
    """A tool call in one line, as its turn's closing message names it; the step of the same number has the rest."""

    n: int
    name: str
    about: str
    failed: bool | None
    """None: it was begun, and nobody knows whether it took effect."""
    duration_ms: int | None


def called_tools(steps: Sequence[Step]) -> dict[str, CalledTool]:
    """Give a turn's tool calls in a line each, by the keys of the calls."""
    return {
        step.key: CalledTool(
            n=step.n,
            name=step.name,
            about=about_call(json.loads(step.args or "{}")),
            failed=step.failed if step.state == "done" else None,
            duration_ms=step.duration_ms,
        )
        for step in steps
        if step.kind == "tool"
    }


def about_call(args: Mapping[str, object]) -> str:
    """Say in a few words what a call is about: the host of its address, or the beginning of its first text."""
    text = next((value for value in args.values() if isinstance(value, str)), "")
    try:
        host = urlsplit(text).hostname if text.startswith(("http://", "https://")) else None
    except ValueError:
        host = None
    return shortened(visible_json(" ".join((host or text[:_ABOUT_READ]).split())), _ABOUT)
