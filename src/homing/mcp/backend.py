"""The backend of an MCP server: it knows the tools and answers their calls."""

from collections.abc import Mapping
from typing import Any, Protocol

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, Tool

INSTRUCTIONS = (
    "Homing gives conversations a sense of time. Tools name a conversation by its session_key, such as cli:main."
    " send_message makes one that does not exist; schedule_task lets its agent come back to it later."
)


class Backend(Protocol):
    """Offers tools and answers calls: this process, or a running server."""

    async def tools(self) -> list[Tool]: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult: ...


def make_server(backend: Backend, version: str) -> Server:
    """Make the server of a backend. The library speaks the protocol, old and new; the backend does the rest."""

    async def list_tools(_: ServerRequestContext, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=await backend.tools())

    async def call_tool(_: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
        return await backend.call(params.name, params.arguments or {})

    return Server(
        "homing",
        version=version,
        title="Homing",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        # None of our arguments travels as a header; without this the library lists all tools at every call.
        get_tool_input_schema=lambda _: None,
    )
