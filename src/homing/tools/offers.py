"""What a tool of ours is, before it knows its turn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from homing.model.sessions import Session
from homing.operations.desk import Desk
from homing.store.steps import Done

Deed = Callable[[Desk, Session, Mapping[str, object]], Done]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A name, words for the model, and what it does in one transaction for one session."""

    name: str
    description: str
    parameters: Mapping[str, object]
    deed: Deed
    aliases: tuple[str, ...] = ()
