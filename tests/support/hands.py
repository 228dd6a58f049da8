"""Hands that start nothing: every MCP server is there, with one tool."""

from homing.model.agents import Agent
from homing.model.mcp_servers import McpServer, McpTool, make_tool


class StillHands:
    """For tests that are about something else than servers."""

    def check_mcp_server(self, server: McpServer, agent: Agent) -> None:
        pass

    async def list_mcp_tools(self, server: McpServer, agent: Agent, user_id: str) -> tuple[McpTool, ...]:
        return (make_tool("echo", "Gives the text back.", {"type": "object"}, {}),)
