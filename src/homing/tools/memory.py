"""What an agent keeps of a person beyond the conversation: remember, recall, forget. Always its own user's."""

from collections.abc import Mapping

from homing.agent.frames import clean_name, frame, one_line
from homing.agent.sources import UNCONFIRMED, outside_source
from homing.model.errors import Invalid, NotFound
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.memories import add_memory, list_memories, remove_memory
from homing.operations.shapes.base import read
from homing.operations.shapes.people_asks import AddMemory, ListMemories, MemoryRef, MemoryShape
from homing.store import messages, turns
from homing.store.steps import Done
from homing.tools.tool import ToolSpec

_FOUND_AT_MOST = 10
_LONGEST_QUERY = 256


def remember(ctx: Context, session: Session, arguments: Mapping[str, object]) -> Done:
    """Keep a fact."""
    ask = read(AddMemory, {"text": _text(arguments, "text", "the dog's name is Rex")})
    memory = add_memory(ctx, ask, source=_outside(ctx))
    return Done(text=f"Remembered: {_line(memory)}")


def _outside(ctx: Context) -> str | None:
    """Name what the model is shown in this turn that no person wrote: it may be what speaks here."""
    turn = ctx.caller.turn
    if turn is None or turn.outside:
        return turn.outside if turn else None
    # From earlier turns too: the model is shown all of a lane.
    if message := messages.last_from_outside(ctx.tx, turn.id):
        return outside_source(message)
    return turns.last_outside(ctx.tx, turn.id)


def recall(ctx: Context, session: Session, arguments: Mapping[str, object]) -> Done:
    """Find facts, one a line, each with its id."""
    query = _text(arguments, "query", "dog")
    found = list_memories(ctx, ListMemories(q=query[:_LONGEST_QUERY], limit=_FOUND_AT_MOST)).items
    if not found:
        return Done(text=f'No memory fits "{query[:_LONGEST_QUERY]}". Try other words.')
    return Done(text=frame("memory.found", "\n".join(f"- {_line(memory)}" for memory in found)))


def forget(ctx: Context, session: Session, arguments: Mapping[str, object]) -> Done:
    """Forget a fact."""
    memory_id = _text(arguments, "memory_id", "mem_k3v9x2mq7a")
    try:
        remove_memory(ctx, read(MemoryRef, {"memory_id": memory_id}))
    except NotFound:
        raise NotFound(f"There is no memory {memory_id}. Find its id with recall.") from None
    return Done(text=f"Forgot {memory_id}.")


def _text(arguments: Mapping[str, object], name: str, example: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f'{name} is missing. A correct call: {{"{name}": "{example}"}}', field=name, code="missing")
    return value.strip()


def _line(memory: MemoryShape) -> str:
    doubt = "" if memory.confirmed else f"; {UNCONFIRMED} {clean_name(memory.source or '')}"
    return f"{one_line(memory.text)} ({memory.id}{doubt})"


def _one_text(name: str, description: str) -> Mapping[str, object]:
    return {
        "type": "object",
        "required": [name],
        "properties": {name: {"type": "string", "description": description}},
    }


OFFERS: Mapping[str, ToolSpec] = {
    "remember": ToolSpec(
        name="remember",
        description="Keep a lasting fact about the user for every conversation to come.",
        parameters=_one_text("text", "One fact, as a whole sentence"),
        function=remember,
    ),
    "recall": ToolSpec(
        name="recall",
        description="Search what you remember about the user, also from other conversations.",
        parameters=_one_text("query", "A few words about it"),
        function=recall,
        reads_only=True,
    ),
    "forget": ToolSpec(
        name="forget",
        description="Forget a fact for good.",
        parameters=_one_text("memory_id", "From recall, such as mem_k3v9x2mq7a"),
        function=forget,
    ),
}
