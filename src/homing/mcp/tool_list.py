"""What MCP clients are offered: three tools, or every operation except those with `mcp=False` in the contract.

Streams are not tools, and neither is what a model could use up (sign-in codes) or what decides who may act.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from mcp_types import Tool, ToolAnnotations
from pydantic import Field
from pydantic.json_schema import GenerateJsonSchema

from homing.model.bounds import MAX_MESSAGE
from homing.model.contract import OPERATIONS, Operation
from homing.operations.binding import bind
from homing.operations.shapes.base import Ask
from homing.operations.shapes.session_asks import SendMessage
from homing.tools import schedule_task

SCHEDULE = "schedule_task"
FEW = (SCHEDULE, "send_message", "list_messages")

BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS if operation.mcp}

_SESSION_KEY = {"type": "string", "description": "The conversation it belongs to, such as cli:main"}


class SendText(SendMessage):
    """What send_message takes as a tool: files cannot be added here, so there is always a text."""

    text: Annotated[str, Field(max_length=MAX_MESSAGE)]  # pyright: ignore[reportGeneralTypeIssues] - required again


def request_of(operation: Operation) -> type[Ask]:
    """Give what an operation is asked with at this door."""
    return SendText if operation.name == "send_message" else bind(operation).request


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
    schema = request_of(operation).model_json_schema(schema_generator=_Untitled)
    return Tool(
        name=operation.name,
        description=bind(operation).summary,
        input_schema={name: value for name, value in schema.items() if name not in ("title", "description")},
        annotations=ToolAnnotations(read_only_hint=operation.kind == "read"),
    )
