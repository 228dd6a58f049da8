"""What a tool is before it knows its turn: a built-in operation, one that works outside the database, or a request."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from homing.agent.journal import Shown
from homing.model.actions import Asked
from homing.model.agents import Agent
from homing.model.sessions import Session
from homing.model.turns import Turn
from homing.operations.actions import Action
from homing.operations.approvals import Request
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.store.steps import Done

ToolFunction = Callable[[Context, Session, Mapping[str, object]], Done]
Prepare = Callable[[Desk, Mapping[str, object], Callable[[Context], Session]], Awaitable[ToolFunction]]
"""Looks and tries before the transaction, and changes nothing; gives what the call does then."""


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A name, words for the model, and what it does in one transaction for one session."""

    name: str
    description: str
    parameters: Mapping[str, object]
    function: ToolFunction
    aliases: tuple[str, ...] = ()
    prepare: Prepare | None = None
    seconds: float = 60.0
    reads_only: bool = False
    """It changes nothing, so a test of an automation may call it."""


@dataclass(frozen=True, kw_only=True)
class CallContext:
    """For whom an outside tool works. All of it comes from rows, nothing from what a model wrote."""

    turn: Turn
    session_key: str
    agent: Agent
    """As it was at the turn's opening, without what an edit has taken away since."""
    shown: Callable[[], Shown] = Shown
    """Works out what the model was shown when it made the call."""
    approved: bool = False
    """A person saw this very call and said yes."""


@dataclass(frozen=True, kw_only=True)
class OutsideTool:
    """A tool that works outside the database: its step is begun before and kept after, as `repeatable` says.

    What it gives back comes from outside: it frames it as data that names its source (rule 34).
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    run: Callable[[CallContext, Mapping[str, object]], Awaitable[str]]
    repeatable: bool
    """Running it twice does no harm, so a call cut off by a crash is made again."""
    seconds: float
    reads_only: bool = False
    """It changes nothing anywhere, so a test of an automation may call it."""
    asks: bool = False
    """Each call waits for a person's approval (of a built-in tool the agent's policy says that)."""
    sha256: str | None = None
    """Of its definition, and of who is called, where others than us write that."""


class Outdated(Exception):
    """What was found out before the transaction does not hold in it: find it out again."""


Plan = Callable[[Context, Session, Agent], "Request | str"]
"""Makes the request in the transaction that asks, or says why nobody need be asked. May raise `Outdated`."""


@dataclass(frozen=True, kw_only=True)
class RequestTool:
    """A tool that only asks. What can be found out without a person is found out before one is asked."""

    name: str
    description: str
    parameters: Mapping[str, object]
    prepare: Callable[[CallContext, Mapping[str, object]], Awaitable[Plan]]
    """Looks up what the card shows, outside any transaction."""
    action: Callable[[Asked], Action]
    """Makes what is done after a yes."""
    seconds: float = 60.0
