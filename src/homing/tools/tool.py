"""What a built-in tool is, before it knows its turn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from homing.model.sessions import Session
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
