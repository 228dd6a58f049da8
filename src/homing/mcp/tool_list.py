"""What the side door offers: three tools, or every operation by its name.

Streams are not tools, and neither are sign-in, tokens and hook calls: a model could use codes up, or decide who acts.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from mcp_types import Tool, ToolAnnotations
from pydantic.json_schema import GenerateJsonSchema

from homing.model.contract import OPERATIONS, Operation
from homing.operations.binding import bind
from homing.tools import schedule_task

SCHEDULE = "schedule_task"
FEW = (SCHEDULE, "send_message", "list_messages")

BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS if operation.mcp}

_SESSION_KEY = {"type": "string", "description": "The conversation it belongs to, such as cli:main"}


class _Untitled(GenerateJsonSchema):
    """A model reads the schema, and a title says only what the name says."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@cache
def offered(*, every: bool) -> tuple[Tool, ...]:
    """List the tools: three, or all."""
    operations = [_operation_tool(operation) for operation in BY_NAME.values() if every or operation.name in FEW]
    return (_schedule_tool(), *operations)


def _schedule_tool() -> Tool:
    plain: Mapping[str, Any] = schedule_task.PARAMETERS
    schema = dict(plain) | {
        "required": ["session_key", *plain["required"]],
        "properties": {"session_key": _SESSION_KEY, **plain["properties"]},
    }
    return Tool(name=SCHEDULE, description=schedule_task.DESCRIPTION, input_schema=schema)


def _operation_tool(operation: Operation) -> Tool:
    schema = bind(operation).request.model_json_schema(schema_generator=_Untitled)
    return Tool(
        name=operation.name,
        description=bind(operation).summary,
        input_schema={name: value for name, value in schema.items() if name not in ("title", "description")},
        annotations=ToolAnnotations(read_only_hint=operation.kind == "read"),
    )
