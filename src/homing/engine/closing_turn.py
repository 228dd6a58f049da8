"""What a worker is done with: a turn's ending, and the rows it is closed with."""

from collections.abc import Sequence
from dataclasses import dataclass

from homing.engine.opening import Opened
from homing.engine.turn_result import TurnResult
from homing.model.jobs import Job
from homing.model.messages import ASKING_TURN
from homing.model.sessions import Session
from homing.model.turns import Turn

_SUMMARY = 200


@dataclass(frozen=True, kw_only=True)
class ClosingRequest:
    """A turn this worker is done with."""

    opened: Opened
    fence: int
    result: TurnResult


@dataclass(frozen=True, kw_only=True)
class ClosingTurn:
    """One ending with its locked rows, read after the locks."""

    request: ClosingRequest
    turn: Turn
    result: TurnResult
    session: Session
    parent: Session | None
    job: Job | None
    """Read only where more of it changes than its counters."""
    home_lane: int
    sent_to: Sequence[str] = ()
    """Addresses to which a tool of this turn sent already; its answer does not go there again (case 62)."""
    asker: Session | None = None
    """Of a turn that another agent opened: the conversation that waits for its answer."""
    asker_lane: int = 0

    @property
    def asking_turn_id(self) -> str | None:
        """Of a turn that another agent opened: the turn that asked."""
        asked = self.request.opened.meta.get(ASKING_TURN)
        return str(asked) if asked else None

    @property
    def home(self) -> Session:
        """The bound session: an isolated run's rows and reports belong to its parent."""
        return self.parent or self.session

    @property
    def rev(self) -> int:
        """The home's revision with this closing: its lock is held, so the next one is known before it is written."""
        return self.home.rev + 1

    @property
    def scheduled(self) -> bool:
        return self.turn.policy.trigger != "manual"

    def same_revision(self, job: Job) -> bool:
        """Tell whether the definition that ran is still the job's."""
        return self.turn.policy.revision == job.revision

    @property
    def silent(self) -> bool:
        """Rule 28: a turn of a deleted session leaves neither message nor outbound."""
        return self.session.deleted_at is not None or self.result.reason == "session_deleted"

    @property
    def newsless(self) -> bool:
        """A scheduled turn with nothing to say leaves one status line at home, and nothing is pushed outside."""
        return self.turn.source == "run" and self.result.reason in {"quiet", "empty"}

    @property
    def quiet(self) -> bool:
        """Its closing is that line itself; an isolated one closes in its own session, and the line is laid in."""
        return self.newsless and self.parent is None

    @property
    def summary(self) -> str:
        """What was answered, in a line."""
        text = " ".join(self.result.text.split())
        return text if len(text) <= _SUMMARY else text[: _SUMMARY - 1] + "…"
