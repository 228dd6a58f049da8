"""`add_mcp_server`: an agent asks for an MCP server (rule 45).

The card shows every field of the row. After a yes the server is started once, and the tools that it has then are
accepted; one that does not come up changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from homing.model.actions import ActionResult, Asked
from homing.model.errors import Conflict, Failed, Invalid, NotFound
from homing.model.mcp_servers import FOUND_OUT, McpServer, McpTool, Secret, Value, names_a_secret
from homing.operations.approvals import Request, hold_places
from homing.operations.context import Instance
from homing.operations.hands import NO_HANDS, Hands
from homing.operations.mcp_servers import keep_server, plan_server
from homing.operations.shapes.base import read
from homing.operations.shapes.mcp_server import AddMcpServer
from homing.store import Store, Tx, agents
from homing.tools.tool import CallContext, Plan, RequestTool
from homing.tools.typed_arguments import list_of

NAME = "add_mcp_server"
_SECONDS = 120.0
_NAMED = 20
_NO_SANDBOX = (
    "A server with a command needs the sandbox, which does not work on this machine: `homing doctor` says why. A server"
    " with a url needs none."
)
_VALUES = {"type": "object", "description": 'By name: a text, or {"secret": "NAME"} for one of your secrets'}
_PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "description": "Small letters, digits and -; its tools are called name_tool"},
        "command": {"type": "string", "description": "A program of this machine or of your packages, not uvx or npx"},
        "args": list_of("string", "Its arguments"),
        "env": _VALUES,
        "url": {"type": "string", "description": "Instead of a command: a server over HTTP, with https"},
        "headers": _VALUES,
        "hosts": list_of("string", "What the program may reach, such as api.example.org"),
        "reason": {"type": "string", "description": "What you need it for, in one sentence for who decides"},
    },
}


def offer(store: Store, instance: Instance, *, sandbox: bool) -> RequestTool:
    """Give the tool."""

    async def prepare(context: CallContext, arguments: Mapping[str, object]) -> Plan:
        given = _given(arguments)
        reason = given.pop("reason", None)
        ask = read(AddMcpServer, {"agent_id": context.agent.id, **given})
        server = await store.read(lambda tx: plan_server(tx, context.agent, ask))
        if server.transport == "stdio" and not sandbox:
            raise Conflict(_NO_SANDBOX, code="no_sandbox")
        _check_values(server)
        _hands(instance).check_mcp_server(server, context.agent)
        return lambda ctx, home, agent: Request(
            tool=NAME,
            args=card_of(plan_server(ctx.tx, agent, ask)),
            title=f"{agent.name} asks for the MCP server {server.name}",
            reason=str(reason) if reason is not None else None,
            audience="admin",
        )

    return RequestTool(
        name=NAME,
        description=(
            "Ask an administrator to give you an MCP server, whose tools you can then call. It is started after a yes,"
            " and you are told which tools it has. A package that it needs comes first, with install_packages."
        ),
        parameters=_PARAMETERS,
        prepare=prepare,
        action=lambda asked: _AddServer(asked=asked, instance=instance),
    )


def _check_values(server: McpServer) -> None:
    """Refuse what a model would write into a row and onto a card although it is a secret."""
    for name, value in server.env.items():
        if not isinstance(value, Secret) and names_a_secret(name):
            how = f'{{"{name}": {{"secret": "NAME"}}}} with one of your secrets'
            raise Invalid(
                f"The value of {name} would be shown and stored: give {how}.", field="env", code="out_of_range"
            )


def _hands(instance: Instance) -> Hands:
    if instance.hands is None:
        raise Conflict(NO_HANDS, code="no_sandbox")
    return instance.hands


def _given(arguments: Mapping[str, object]) -> dict[str, Any]:
    known: Any = _PARAMETERS["properties"]
    given = {name: value for name, value in arguments.items() if value is not None}
    if unknown := [name for name in given if name not in known]:
        detail = f"{NAME} has no {unknown[0]:.80}. It takes {', '.join(known)}."
        raise Invalid(detail, field=unknown[0][:80], code="unknown_field")
    return given


def card_of(server: McpServer) -> dict[str, object]:
    """Give every field of a server that somebody chooses: what is not here is not approved."""
    wanted = [field.name for field in fields(server) if field.name not in FOUND_OUT]
    return {name: _spelled(getattr(server, name)) for name in wanted}


def _spelled(value: object) -> object:
    if isinstance(value, Secret):
        return {"secret": value.name}
    if isinstance(value, Mapping):
        return {name: _spelled(one) for name, one in cast("Mapping[str, object]", value).items()}
    return list(cast("tuple[str]", value)) if isinstance(value, tuple) else value


def server_of(card: Mapping[str, Any]) -> McpServer:
    """Read back what `card_of` gave."""
    read_back: dict[str, Any] = {name: tuple(card[name]) for name in ("args", "hosts")}
    for name in ("env", "headers"):
        read_back[name] = {key: _value_of(value) for key, value in card[name].items()}
    return McpServer(**{**card, **read_back})


def _value_of(given: str | Mapping[str, str]) -> Value:
    return given if isinstance(given, str) else Secret(name=given["secret"])


@dataclass(frozen=True, kw_only=True)
class _AddServer:
    """Starts the server once, and adds its row in the transaction that ends the approval."""

    asked: Asked
    instance: Instance
    # A start that nobody keeps does no harm.
    repeatable: bool = True
    seconds: float = _SECONDS

    async def work(self) -> tuple[McpTool, ...]:
        asked = self.asked
        server, hands = server_of(asked.arguments), _hands(self.instance)
        hands.check_mcp_server(server, asked.agent)
        try:
            return await hands.list_mcp_tools(server, asked.agent, asked.approval.user_id)
        except Failed as failed:
            raise Failed(getattr(failed, "for_people", failed.detail)) from None

    def finish(self, tx: Tx, worked: tuple[McpTool, ...]) -> ActionResult:
        approval = self.asked.approval
        hold_places(tx, approval, unified=self.instance.settings.unified_session)
        # Held: an agent that is removed takes all its servers with it.
        agent = agents.hold(tx, approval.agent_id)
        if agent is None or agent.removed_at is not None:
            raise NotFound(f"There is no agent {approval.agent_id} any more.")
        server = server_of(self.asked.arguments)
        made = keep_server(tx, agent, server, worked, by=approval.answered_by or agent.id)
        names = [tool.name for tool in made.tools]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        left_out = f" {made.error}" if made.error else ""
        tools = f" with the tools {', '.join(names[:_NAMED])}{more}." if names else ". It offers no tools."
        text = f"Added {made.name}{tools}{left_out}"
        return ActionResult(text=text, outside=f"the MCP server {made.name}")
