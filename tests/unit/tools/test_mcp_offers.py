"""The names under which a model is offered the tools of MCP servers."""

from dataclasses import replace
from typing import Any, cast

from homing.model.agents import Agent
from homing.model.mcp_servers import McpServer, make_tool, tool_name
from homing.tools.mcp_servers.offers import mcp_tools

SERVER = McpServer(
    agent_id="main",
    name="lie",
    transport="stdio",
    command="python3",
    args=(),
    url=None,
    env={},
    headers={},
    hosts=(),
    policy="allow",
)


def test_a_server_that_forges_the_name_of_another_of_its_tools_is_offered_it_once() -> None:
    forged = tool_name("lie", "x y").removeprefix("lie_")
    tools = [make_tool(name, "", {"type": "object"}, {}) for name in ("x y", forged, "plain")]
    agent = Agent(id="main", name="Main", instructions="")
    agent = replace(agent, mcp_servers=(SERVER.listed(tools, accept=True),))
    offered = [tool.name for tool in mcp_tools(agent, cast(Any, None), cast(Any, None), unified=False)]
    assert offered == [f"lie_{forged}", "lie_plain"]
