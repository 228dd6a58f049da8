"""`send_message`: the agent writes to an address, another agent or another conversation that was granted to it."""

from collections.abc import Mapping

from homing.model.agents import SEND_MESSAGE
from homing.model.bounds import MAX_MESSAGE
from homing.model.errors import Invalid
from homing.model.sessions import Session
from homing.operations.agent_messages import send
from homing.operations.context import Context
from homing.store.steps import Done
from homing.tools.tool import ToolSpec
from homing.tools.typed_arguments import list_of, parameters, read_arguments

_PARAMETERS = parameters(
    required=["to", "text"],
    to={
        "type": "string",
        "description": "An agent's id (research), an address (email:anna@example.org) or a conversation (web:plans)",
    },
    text={"type": "string", "description": "What to tell them; they see nothing else of this conversation"},
    files=list_of("string", "Ids of files of this conversation to send along (file_...)"),
)


def send_message(ctx: Context, session: Session, arguments: Mapping[str, object]) -> Done:
    """Send it; give the words for the model."""
    given = read_arguments(SEND_MESSAGE, _PARAMETERS, arguments)
    text = given["text"].strip()
    if not text:
        raise Invalid("text is empty; write something.", field="text", code="missing")
    if len(text) > MAX_MESSAGE:
        raise Invalid(f"text has at most {MAX_MESSAGE:,} characters.", field="text", code="too_long")
    return Done(text=send(ctx, session, to=given["to"], text=text, file_ids=given.get("files", ())))


OFFER = ToolSpec(
    name=SEND_MESSAGE,
    description="Send a message to another agent, another conversation or an address outside. Only where a person has"
    " allowed it. Not for this conversation: your answer reaches it by itself. Another agent answers later, in a turn"
    " of its own.",
    parameters=_PARAMETERS,
    function=send_message,
)
