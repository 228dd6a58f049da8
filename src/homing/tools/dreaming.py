"""What memory upkeep may call: one tool that changes memories from what the user wrote, all or nothing."""

from collections.abc import Mapping

from homing.model.sessions import Session
from homing.model.turns import Turn
from homing.operations.context import Context
from homing.operations.dreams import apply_changes

_FROM = {"type": "array", "items": {"type": "integer"}, "description": "Numbers of the messages that say so"}
_TEXT = {"type": "string", "description": "One short sentence about the user"}
DESCRIPTION = (
    "Change what is remembered about the user. add: new lasting facts. replace: one sentence for several that say the"
    " same, or for one that the user corrected. forget: what the user said is not true any more. Call it once."
)
PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "add": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["text", "from"],
                "properties": {"text": _TEXT, "from": _FROM},
            },
        },
        "replace": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["ids", "text"],
                "properties": {
                    "ids": {"type": "array", "items": {"type": "string"}, "description": "Ids of memories"},
                    "text": _TEXT,
                    "from": _FROM,
                },
            },
        },
        "forget": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "from"],
                "properties": {"id": {"type": "string", "description": "Id of a memory"}, "from": _FROM},
            },
        },
    },
}


def update_memories(ctx: Context, home: Session, turn: Turn, arguments: Mapping[str, object]) -> str:
    """Make the changes for the turn's user."""
    assert turn.policy.until_n is not None
    return apply_changes(ctx, home, arguments, until_n=turn.policy.until_n, job_id=turn.job_id, run_id=turn.run_id)
