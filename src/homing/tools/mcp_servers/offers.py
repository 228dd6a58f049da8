"""The tools of an agent's MCP servers, as a turn is given them: read from rows, and nothing is started.

Before each call the row is read again: a server that was removed or switched off, or a tool that a person has not
accepted as it is, is refused with a sentence. Whatever a server does, the turn goes on.
"""

from collections.abc import Iterable, Mapping
from functools import partial

import structlog

from homing.agent.frames import frame
from homing.agent.text import MAX_RESULT_BYTES, cut
from homing.model.agents import BUILT_IN, Agent
from homing.model.errors import Forbidden, ToolFailed
from homing.model.mcp_servers import McpServer, McpTool, tool_name
from homing.operations.mcp_servers import note_failed_start, note_start
from homing.store import Store, Tx, mcp_servers
from homing.tools.mcp_servers.keeper import McpServers
from homing.tools.mcp_servers.line import ServerFailed
from homing.tools.tool import CallContext, OutsideTool
from homing.tools.workspace import workspace_owner

log = structlog.get_logger(__name__)

# Longer than a start and a call may take by themselves: one that goes beyond has not returned after being stopped.
_SECONDS = 120.0
# A frame's own words must fit as well.
_MOST = MAX_RESULT_BYTES - 1024
_OWN_NAMES = (*BUILT_IN, "nothing_to_report")


def mcp_tools(agent: Agent, servers: McpServers, store: Store, *, unified: bool) -> list[OutsideTool]:
    """Give the tools of an agent's servers that a person accepted; a call of some needs an approval."""
    offers: dict[str, OutsideTool] = {}
    for server, tool in _offered(agent.mcp_servers):
        offer = _offer(server, tool, servers, store, unified)
        # A server may choose a name that ours for another tool looks like; providers refuse two tools of one name.
        offers.setdefault(offer.name, offer)
    return list(offers.values())


def _offered(servers: Iterable[McpServer]) -> Iterable[tuple[McpServer, McpTool]]:
    return ((server, tool) for server in servers for tool in server.offered)


def _offer(server: McpServer, tool: McpTool, servers: McpServers, store: Store, unified: bool) -> OutsideTool:
    async def call(context: CallContext, arguments: Mapping[str, object]) -> str:
        now, owner = await store.read(partial(_look, server=server, context=context))
        _check(server, tool, now, approved=context.approved)
        assert now

        async def note(started: McpServer, outcome: tuple[McpTool, ...] | str) -> McpServer | None:
            if not isinstance(outcome, str):
                return await store.write(lambda tx: note_start(tx, started, outcome))
            log.warning("mcp_server_failed", agent=server.agent_id, server=server.name, turn_id=context.turn.id)
            # A user's own files may be the cause: that must not take the server from everybody else.
            counts = not started.sees_workspace(context.agent.all_hosts)
            return await store.write(
                lambda tx: note_failed_start(tx, started, outcome, counts=counts, turn=context.turn, unified=unified)
            )

        try:
            called = await servers.call(now, context.agent, owner, tool.name, arguments, note)
        except ServerFailed as failed:
            said = f"\n{frame('mcp.error', cut(failed.said, 4096), name=server.name)}" if failed.said else ""
            raise ToolFailed(f"{failed.detail}{said}") from None
        text = frame("mcp.result", cut(called.text, _MOST), name=server.name)
        if called.failed:
            raise ToolFailed(text)
        return text

    return OutsideTool(
        name=tool_name(server.name, tool.name, taken=_OWN_NAMES),
        description=frame("mcp.description", tool.description or tool.name, name=server.name),
        parameters={"type": "object", **tool.schema},
        run=call,
        repeatable=tool.repeatable,
        reads_only=tool.reads_only,
        seconds=_SECONDS,
        asks=server.policy_of(tool) == "ask",
        sha256=server.call_sha256(tool),
    )


def _look(tx: Tx, *, server: McpServer, context: CallContext) -> tuple[McpServer | None, tuple[str, ...]]:
    now = mcp_servers.get(tx, server.agent_id, server.name)
    return now and now.seen_at(tx.now()), workspace_owner(tx, context)


def _check(server: McpServer, tool: McpTool, now: McpServer | None, *, approved: bool) -> None:
    """Refuse a call of what is not offered any more."""
    if now is None:
        raise Forbidden(f"The MCP server {server.name} was removed while this turn was running.")
    if found := next((offered for offered in now.offered if offered.name == tool.name), None):
        if now.policy_of(found) == "ask" and not approved:
            raise Forbidden("Each call of this tool needs a person's approval from the next turn on.")
        return
    if now.state == "failing":
        # Its error holds the server's own words: people read them on its row.
        raise Forbidden(
            f"The MCP server {server.name} does not start at the moment, so its tools are off. It is tried again later."
        )
    known = next((one for one in now.tools if one.name == tool.name), None)
    if now.state == "off" or (known is not None and known.accepted):
        raise Forbidden(f"This tool of the MCP server {server.name} was switched off while this turn was running.")
    raise Forbidden(
        f"The tool {tool.name} of the MCP server {server.name} is not as a person accepted it, so it is off until"
        " somebody accepts it again."
    )
