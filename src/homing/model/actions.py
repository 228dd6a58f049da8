"""Actions that people approved: what was asked for, and what it gave."""

from collections.abc import Mapping
from dataclasses import dataclass

from homing.model.agents import Agent
from homing.model.approvals import Approval, Ended
from homing.model.turns import Turn


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked for, with the rows that it is about."""

    approval: Approval
    turn_or_none: Turn | None
    """The one that asked; none where an admin changed something themselves."""
    agent: Agent
    """As it was when that turn was opened, without what was taken away since."""

    @property
    def turn(self) -> Turn:
        assert self.turn_or_none is not None
        return self.turn_or_none

    @property
    def arguments(self) -> Mapping[str, object]:
        return self.approval.arguments


@dataclass(frozen=True, kw_only=True)
class ActionResult:
    """What an action gave: words for the agent, and where they come from if not from us."""

    text: str
    outside: str | None = None
    ended: Ended | None = None
    """Why it was not done after all, where what it was approved for does not hold any more."""
