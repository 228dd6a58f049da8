"""What a tool is before it knows its turn: a built-in operation, or one that works outside the database."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from homing.agent.journal import Shown
from homing.model.agents import Agent
from homing.model.sessions import Session
from homing.model.turns import Turn
from homing.operations.context import Context
from homing.store.steps import Done

ToolFunction = Callable[[Context, Session, Mapping[str, object]], Done]


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A name, words for the model, and what it does in one transaction for one session."""

    name: str
    description: str
    parameters: Mapping[str, object]
    function: ToolFunction
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CallContext:
    """For whom an outside tool works. All of it comes from rows, nothing from what a model wrote."""

    turn: Turn
    session_key: str
    agent: Agent
    """As it was at the turn's opening, without what an edit has taken away since."""
    shown: Callable[[], Shown] = Shown
    """Works out what the model was shown when it made the call."""


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
