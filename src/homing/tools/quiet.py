"""The way to say nothing: in a quiet scheduled turn an agent without news calls this instead of answering."""

from collections.abc import Mapping

from homing.model.sessions import Session
from homing.operations.context import Context
from homing.store.steps import Done
from homing.tools.tool import ToolSpec


def nothing_to_report(ctx: Context, session: Session, arguments: Mapping[str, object]) -> Done:
    """Say that it is noted. The step itself is the record from which the closing is made."""
    return Done(text="Noted. The user is not disturbed; end now without an answer.")


OFFER = ToolSpec(
    name="nothing_to_report",
    description="There is no news: say nothing to the user this time. Call it instead of writing an answer.",
    parameters={
        "type": "object",
        "properties": {"note": {"type": "string", "description": "What was checked, in a few words, for the record"}},
    },
    function=nothing_to_report,
    reads_only=True,
)
