"""How thinking over a turn can end, and the short lines people read when it did not end well."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from homing.model.errors import Failed, ModelFailed, OverBudget
from homing.model.promises import Promise
from homing.model.turns import NOTHING_USED, CalledTool, Outcome, Turn, Usage


@dataclass(frozen=True, kw_only=True)
class TurnResult:
    """The result of a turn, ready to be closed with."""

    outcome: Outcome
    text: str
    """What people see; for a failure one short line without any provider's words."""
    shown: str = ""
    """The part of an answer that people saw before it was stopped; it stays, with `text` behind it."""
    reason: str | None = None
    """The run's reason: null, empty, quiet · model, tool, timeout, interrupted, budget ·
    asked, removed, session_deleted."""
    error: str | None = None
    """The full story, for the record only."""
    permanent: bool = False
    history: str | None = None
    model: str | None = None
    usage: Usage = NOTHING_USED
    cards: Sequence[Mapping[str, object]] = ()
    called: Mapping[str, CalledTool] = field(default_factory=dict[str, CalledTool])
    """The tools it called, by the keys of the calls."""
    promise: Promise | None = None
    """What the answer promises to do later, where it could have been scheduled and was not."""

    @property
    def closing(self) -> str:
        """What the conversation keeps."""
        text = self.text or (NOTHING if self.reason == "quiet" else EMPTY)
        return f"{self.shown}\n\n{text}" if self.shown else text


EMPTY = "(The answer was empty.)"
NOTHING = "(There was nothing to report.)"
BROKEN_TOOL = "I could not finish this: a tool did not work."


def failed(error: Failed, full: str) -> TurnResult:
    """A model or tool said no, or there is no money left to ask."""
    if isinstance(error, OverBudget):
        return TurnResult(
            outcome="failed", text=f"I stopped. {error.detail}", reason="budget", error=error.detail, permanent=True
        )
    if isinstance(error, ModelFailed):
        reason, text = "model", f"I could not answer: {_why_no_answer(error)}"
    else:
        reason, text = "tool", "I could not finish this: a tool did not come back."
    told = f"{error.detail}\n\n{full}"
    return TurnResult(outcome="failed", text=text, reason=reason, error=told, permanent=error.permanent)


def _why_no_answer(error: ModelFailed) -> str:
    match error.cause:
        case "key":
            return "the model's provider refused the key. Check it (see `homing doctor`)."
        case "name":
            return "the model's provider does not know this model. Check its name (see `homing doctor`)."
        case "credit":
            return "the account at the model's provider has no credit or quota left."
        case "limit":
            return "the model's provider reported a rate limit at every attempt. Try again in a few minutes."
        case "server":
            return "the model's server reported an error at every attempt. Try again later."
        case None if error.permanent:
            return "the model refused the request. Check its name and key (see `homing doctor`)."
        case None:
            return "the model did not respond, even after several tries."


def broken(full: str) -> TurnResult:
    """Report a bug of Homing's own; the run record has the full error."""
    return TurnResult(
        outcome="failed",
        text="I could not finish this: something went wrong inside Homing.",
        reason="tool",
        error=full,
        permanent=True,
    )


def timed_out(turn: Turn, doing: str | None = None, *, at_most: float | None = None) -> TurnResult:
    """Say that a turn's time is up; the record tells what it was waiting for."""
    ceilings = [at_most] if at_most is not None else []
    if turn.deadline_at is not None:
        ceilings.append((turn.deadline_at - turn.opened_at).total_seconds())
    seconds = min(ceilings, default=0)
    return TurnResult(
        outcome="failed",
        text=f"I stopped: this took longer than {_seconds(seconds)}.",
        reason="timeout",
        error=f"timed out after {seconds:g} s" + (f", {doing}" if doing else ""),
    )


def interrupted(turn: Turn) -> TurnResult:
    return TurnResult(
        outcome="failed",
        text="I was interrupted several times while working on this, and stopped.",
        reason="interrupted",
        error=f"interrupted: {turn.attempts - 1} workers died at this turn without a new step",
    )


def cancelled(turn: Turn) -> TurnResult:
    reason = turn.cancel_reason or "asked"
    text = "Stopped: the automation was removed." if reason == "removed" else "Stopped."
    return TurnResult(outcome="cancelled", text=text, reason=reason)


def _seconds(seconds: float) -> str:
    if seconds >= 120 and seconds % 60 == 0:
        return f"{seconds / 60:g} minutes"
    return "1 second" if seconds == 1 else f"{seconds:g} seconds"
