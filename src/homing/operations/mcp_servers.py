"""MCP servers of an agent (rule 45): add, change, try, accept, remove; and what workers report of them.

A server is started once before its row is written, outside any transaction. One that does not come up is kept as
`failing`, with its error: an admin can mend it and try again. Its tools are on only after a person has accepted them.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

from homing.model.agents import Agent
from homing.model.errors import Conflict, Failed, Invalid, NotFound
from homing.model.mcp_servers import (
    FAILED_STARTS,
    FIRST_RETRY,
    McpServer,
    McpTool,
    Secret,
    ServerPolicy,
    Transport,
    check_command,
    check_env_name,
    names_a_secret,
)
from homing.model.turns import Turn
from homing.operations.agents import CHANGED
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.operations.notes import give_note
from homing.operations.shapes.base import Listing
from homing.operations.shapes.mcp_server import (
    AcceptMcpTools,
    AddMcpServer,
    ListMcpServers,
    McpServerRef,
    McpServerShape,
    RemovedServerShape,
    TestedServerShape,
    UpdateMcpServer,
    read_values,
    shown_tools,
)
from homing.sandbox.hosts import check_hosts
from homing.store import Tx, agents, lanes, mcp_servers, people, sessions, turns

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OUR_HEADERS = re.compile(
    r"(host|content-.*|connection|transfer-encoding|accept.*|mcp-.*|last-event-id|cookie)", re.IGNORECASE
)
_PLAIN = re.compile(r"[\t\x20-\x7e]*")
_LONGEST_ERROR = 2000


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What one start of a server has shown: its tools, or why it did not come up. Neither: it was not started."""

    base_revision: int = 0
    tools: tuple[McpTool, ...] | None = None
    error: str | None = None

    def told(self, server: McpServer, *, accept: bool = False) -> McpServer:
        if self.tools is not None:
            return server.listed(self.tools, accept=accept)
        return server if self.error is None else server.did_not_start(self.error, at_once=True)


def list_mcp_servers(ctx: Context, ask: ListMcpServers) -> Listing[McpServerShape]:
    """List an agent's MCP servers."""
    agent = _agent(ctx, ask.agent_id)
    return Listing(items=[McpServerShape.show(server) for server in mcp_servers.listed(ctx.tx, agent.id)])


async def prepare_add_mcp_server(desk: Desk, ask: AddMcpServer) -> Tried:
    """Check a new server and start it once."""

    def look(ctx: Context) -> tuple[Agent, str]:
        agent = _agent(ctx, ask.agent_id)
        if mcp_servers.get(ctx.tx, agent.id, ask.name) is not None:
            raise _known(ask)
        return agent, ctx.caller.user_id

    agent, user_id = await desk.read(look)
    server = _new(ask)
    return await _try(desk, server, agent, user_id)


def add_mcp_server(ctx: Context, ask: AddMcpServer, tried: Tried) -> McpServerShape:
    """Give an agent an MCP server: it is started once, and the tools it has then are accepted."""
    # Held: an agent that is removed takes all its servers with it.
    agents.hold(ctx.tx, ask.agent_id)
    agent = _agent(ctx, ask.agent_id)
    server = _new(ask)
    _check(server, agent)
    made = mcp_servers.add(ctx.tx, tried.told(server, accept=True))
    if made is None:
        raise _known(ask)
    _audit(ctx, "add_mcp_server", made)
    return McpServerShape.show(made)


def plan_server(tx: Tx, agent: Agent, ask: AddMcpServer) -> McpServer:
    """Give the server that an agent asks for, or refuse what can never be added."""
    if mcp_servers.get(tx, agent.id, ask.name) is not None:
        raise _known(ask)
    server = _new(ask)
    _check(server, agent)
    return server


def keep_server(tx: Tx, agent: Agent, server: McpServer, tools: tuple[McpTool, ...], *, by: str) -> McpServer:
    """Add a server that was approved and came up; the tools that it has then are accepted."""
    _check(server, agent)
    made = mcp_servers.add(tx, server.listed(tools, accept=True))
    if made is None:
        raise Conflict(f"The agent {agent.id} has an MCP server {server.name} already.")
    tx.ring(CHANGED)
    detail = {"name": made.name, "transport": made.transport, "revision": made.revision}
    people.audit(tx, user_id=by, action="add_mcp_server", object_id=agent.id, detail=detail)
    return made


async def prepare_update_mcp_server(desk: Desk, ask: UpdateMcpServer) -> Tried:
    """Start a server once as it would be after the change, if the change matters for that."""

    def look(ctx: Context) -> tuple[Agent, McpServer, McpServer, str]:
        agent, server = _agent(ctx, ask.agent_id), _server(ctx, ask)
        changed = _changed(server, ask)
        _check(changed, agent)
        return agent, server, changed, ctx.caller.user_id

    agent, server, changed, user_id = await desk.read(look)
    base = Tried(base_revision=server.revision)
    if changed.state == "off" or not (_start_differs(server, changed) or server.state in ("off", "failing")):
        return base
    return replace(await _try(desk, changed, agent, user_id), base_revision=server.revision)


def update_mcp_server(ctx: Context, ask: UpdateMcpServer, tried: Tried) -> McpServerShape:
    """Change an MCP server. Tools that are not as they were accepted stay off until they are accepted again."""
    agent = _agent(ctx, ask.agent_id)
    server = mcp_servers.lock(ctx.tx, agent.id, ask.name)
    if server is None:
        raise _missing(ask)
    wanted = tried.base_revision if ask.revision is None else ask.revision
    if server.revision != wanted or server.revision != tried.base_revision:
        raise Conflict(
            f"Somebody changed it meanwhile: it is at revision {server.revision}. Look at it again, then repeat the"
            " change.",
            code="stale_revision",
            extra={"current": McpServerShape.show(server).plain()},
        )
    changed = _changed(server, ask)
    _check(changed, agent)
    written = mcp_servers.change(ctx.tx, tried.told(changed))
    _audit(ctx, "update_mcp_server", written)
    return McpServerShape.show(written)


def remove_mcp_server(ctx: Context, ask: McpServerRef) -> RemovedServerShape:
    """Take an MCP server from an agent; a call of a turn in progress is refused from now on."""
    server = _server(ctx, ask)
    if not mcp_servers.remove(ctx.tx, server.agent_id, server.name):
        raise _missing(ask)
    _audit(ctx, "remove_mcp_server", server)
    return RemovedServerShape(agent_id=server.agent_id, name=server.name)


async def test_mcp_server(desk: Desk, ask: McpServerRef) -> TestedServerShape:
    """Start an MCP server once, and say which tools it has or why it did not come up."""

    def look(ctx: Context) -> tuple[Agent, McpServer, str]:
        return _agent(ctx, ask.agent_id), _server(ctx, ask), ctx.caller.user_id

    agent, server, user_id = await desk.read(look)
    tried = await _try(desk, server, agent, user_id)

    def write(ctx: Context) -> McpServer:
        now = mcp_servers.lock(ctx.tx, server.agent_id, server.name)
        if now is None:
            raise _missing(ask)
        if not now.is_same(server):
            # It was changed meanwhile: what was found out is not about it any more.
            return now
        # A server that is off stays off.
        return mcp_servers.note(ctx.tx, now if now.state == "off" else tried.told(now))

    told = await desk.write(write)
    return TestedServerShape(state=told.state, tools=shown_tools(told), error=tried.error or told.error)


def accept_mcp_tools(ctx: Context, ask: AcceptMcpTools) -> McpServerShape:
    """Accept the tools of an MCP server as they are now: the new and the changed ones are on from now on."""
    agent = _agent(ctx, ask.agent_id)
    server = mcp_servers.lock(ctx.tx, agent.id, ask.name)
    if server is None:
        raise _missing(ask)
    if server.tools_sha256 != ask.tools_sha256:
        raise Conflict(
            "The tools are not the ones that you looked at. Look at them again, then accept them.",
            extra={"current": McpServerShape.show(server).plain()},
        )
    accepted = mcp_servers.note(ctx.tx, server.accept())
    _audit(ctx, "accept_mcp_tools", accepted)
    return McpServerShape.show(accepted)


def note_start(tx: Tx, server: McpServer, tools: tuple[McpTool, ...]) -> McpServer | None:
    """Write which tools a worker found when it started a server. Give it as it is now; None if it was changed."""
    now = _unchanged(tx, server)
    return None if now is None else _noted(tx, now, now.listed(tools))


def note_failed_start(
    tx: Tx, server: McpServer, error: str, *, counts: bool, turn: Turn, unified: bool
) -> McpServer | None:
    """Write that a start failed; at the third in a row that counts, the people of the conversation get one note.

    Under the turn's fence: a worker that lost the turn writes nothing.
    """
    home = sessions.get(tx, turn.session_id)
    if home.parent_id is not None:
        home = sessions.get(tx, home.parent_id)
    # Sessions are locked before the rest.
    lane_id = lanes.enter(tx, home, unified=unified)
    turns.hold(tx, turn.id, turn.fence)
    now = _unchanged(tx, server)
    if now is None:
        return None
    told = now.did_not_start(error[:_LONGEST_ERROR], counts=counts)
    if told.state == "failing" and now.state != "failing":
        text = (
            f"The MCP server {server.name} of the agent {server.agent_id} did not start {FAILED_STARTS} times in a row,"
            f" so its tools are disabled. They are offered again in {FIRST_RETRY.seconds // 60} minutes, and after each"
            f" further failure twice as late. To try it now: homing mcp-servers test {server.name} --agent"
            f" {server.agent_id}"
        )
        give_note(tx, home=sessions.get(tx, home.id), lane_id=lane_id, text=text)
    return _noted(tx, now, told)


def _unchanged(tx: Tx, server: McpServer) -> McpServer | None:
    now = mcp_servers.lock(tx, server.agent_id, server.name)
    return now if now is not None and now.is_same(server) else None


def _noted(tx: Tx, now: McpServer, told: McpServer) -> McpServer:
    # One that failed again is noted although nothing else is new: the time until the next try begins again.
    return mcp_servers.note(tx, told) if told != now or told.state == "failing" else told


async def _try(desk: Desk, server: McpServer, agent: Agent, user_id: str) -> Tried:
    _check(server, agent)
    hands = desk.hands
    hands.check_mcp_server(server, agent)
    try:
        return Tried(tools=await hands.list_mcp_tools(server, agent, user_id))
    except Failed as failed:
        return Tried(error=getattr(failed, "for_people", failed.detail)[:_LONGEST_ERROR])


def _new(ask: AddMcpServer) -> McpServer:
    if (ask.command is None) == (ask.url is None):
        raise _invalid("Give a command (a program on this machine) or a url (a server over HTTP), one of them.", "url")
    transport: Transport = "stdio" if ask.command is not None else "http"
    if ask.transport not in (None, transport):
        given = "command" if transport == "stdio" else "url"
        raise _invalid(f"A server with a {given} has the transport {transport}.", "transport")
    server = McpServer(
        agent_id=ask.agent_id,
        name=ask.name,
        transport=transport,
        command=ask.command,
        args=tuple(ask.args),
        url=ask.url,
        env=read_values(ask.env),
        headers=read_values(ask.headers),
        hosts=tuple(ask.hosts),
        policy="allow",
    )
    return replace(server, policy=ask.policy or _usual_policy(server))


def _usual_policy(server: McpServer) -> ServerPolicy:
    """Rule 42: what stays inside the sandbox needs no question."""
    inside = server.transport == "stdio" and not server.hosts and not server.secrets
    return "allow" if inside else "ask"


def _changed(server: McpServer, ask: UpdateMcpServer) -> McpServer:
    values: dict[str, Any] = {}
    if ask.gave("command"):
        values["command"] = ask.command
    if ask.gave("url"):
        values["url"] = ask.url
    for name in ("args", "hosts"):
        if ask.gave(name):
            values[name] = tuple(getattr(ask, name) or ())
    for name in ("env", "headers"):
        if ask.gave(name):
            values[name] = read_values(getattr(ask, name) or {})
    changed = replace(server, **values)
    wanted = changed.command if changed.transport == "stdio" else changed.url
    other = changed.url if changed.transport == "stdio" else changed.command
    if wanted is None or other is not None:
        raise _invalid("A server keeps its transport. Remove it, and add it again with the other one.", "url")
    if ask.gave("policy"):
        changed = replace(changed, policy=ask.policy or _usual_policy(changed))
    if ask.tool_policies:
        changed = _with_policies(changed, ask.tool_policies)
    if ask.enabled is not None:
        state = "off" if not ask.enabled else "pending" if changed.state == "off" else changed.state
        changed = replace(changed, state=state)
    return changed


def _with_policies(server: McpServer, policies: dict[str, ServerPolicy | None]) -> McpServer:
    unknown = sorted(policies.keys() - {tool.name for tool in server.tools})
    if unknown:
        named = f"{server.name} has no tool {unknown[0]:.100}" if unknown[0] else "The name of a tool is empty"
        raise Invalid(f"{named}.", field="tool_policies", code="unknown_tool")
    tools = tuple(replace(tool, policy=policies.get(tool.name, tool.policy)) for tool in server.tools)
    return replace(server, tools=tools)


def _start_differs(before: McpServer, now: McpServer) -> bool:
    return any(
        getattr(before, name) != getattr(now, name) for name in ("command", "args", "url", "env", "headers", "hosts")
    )


def _check(server: McpServer, agent: Agent) -> None:
    """Refuse what no machine can make good."""
    if server.command is not None:
        check_command(server.command, server.args)
    for name in server.env:
        check_env_name(name)
    check_hosts(server.hosts)
    if server.transport == "http" and (server.env or server.args or server.hosts):
        raise _invalid("env, args and hosts are for programs; a server over HTTP has headers.", "env")
    if server.transport == "stdio" and server.headers:
        raise _invalid("headers are for servers over HTTP; a program has env.", "headers")
    for name, value in server.headers.items():
        if not name:
            raise _invalid("The name of a header is empty.", "headers")
        if not _HEADER.fullmatch(name) or _OUR_HEADERS.fullmatch(name):
            raise _invalid(f"The header {name:.80} cannot be set.", "headers")
        if not isinstance(value, Secret) and not _PLAIN.fullmatch(value):
            raise _invalid(f"The header {name} has characters that no header can have.", "headers")
        if not isinstance(value, Secret) and names_a_secret(name):
            how = f'put it into a secret of the agent, and give {{"{name}": {{"secret": "NAME"}}}}'
            raise _invalid(f"The value of the header {name} would be stored for everybody to read: {how}.", "headers")
    for value in server.env.values():
        if not isinstance(value, Secret) and "\n" in value:
            raise _invalid("A variable has one line.", "env")
    for secret in server.secrets:
        if secret not in agent.secrets:
            raise _invalid(
                f"The agent {agent.id} has no secret {secret}: add the name to its secrets first (update_agent).", "env"
            )


def _agent(ctx: Context, agent_id: str) -> Agent:
    agent = agents.get(ctx.tx, agent_id)
    if agent is None or agent.removed_at is not None:
        raise NotFound(f"There is no agent {agent_id}. List them with list_agents.")
    return agent


def _server(ctx: Context, ask: McpServerRef | UpdateMcpServer) -> McpServer:
    server = mcp_servers.get(ctx.tx, _agent(ctx, ask.agent_id).id, ask.name)
    if server is None:
        raise _missing(ask)
    return server


def _missing(ask: McpServerRef | UpdateMcpServer | AcceptMcpTools) -> NotFound:
    return NotFound(f"The agent {ask.agent_id} has no MCP server {ask.name}. List them with list_mcp_servers.")


def _known(ask: AddMcpServer) -> Conflict:
    return Conflict(f"The agent {ask.agent_id} has an MCP server {ask.name} already: change that, or choose a name.")


def _audit(ctx: Context, action: str, server: McpServer) -> None:
    ctx.tx.ring(CHANGED)
    detail = {"name": server.name, "transport": server.transport, "revision": server.revision}
    people.audit(ctx.tx, user_id=ctx.caller.user_id, action=action, object_id=server.agent_id, detail=detail)


def _invalid(detail: str, field: str) -> Invalid:
    return Invalid(detail, field=field, code="out_of_range")
