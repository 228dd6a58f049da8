"""Agents: named configurations that admins edit. Which tools there are, and what an agent may do with each."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from homing.model.errors import Invalid
from homing.model.mcp_servers import McpServer, ServerPolicy
from homing.model.model_setting import ModelSetting

MAIN = "main"
"""The agent that exists from the start and cannot be removed."""

SCHEDULERS = ("schedule_task", "cron", "schedule_message")
"""The names of the one tool that works with jobs; an agent is offered it under one of them and understood under all."""

SEND_MESSAGE = "send_message"

MAX_ID = 32
MAX_INSTRUCTIONS = 32_768
INSTRUCTIONS = (
    "You are a helpful assistant in a lasting conversation. You have a sense of time: you can come back to this"
    " conversation later by yourself. Answer briefly and plainly."
)
"""What an agent is told that has no instructions of its own."""

ToolPolicy = ServerPolicy
_STRICTER: tuple[ToolPolicy, ...] = ("deny", "ask", "allow")


def id_from_name(name: str) -> str:
    """Make an agent's id of a name: small letters, digits and -."""
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:MAX_ID].strip("-") or "agent"


def check_id(agent_id: str) -> str:
    """Refuse what cannot be the id of an agent."""
    if not re.fullmatch(rf"[a-z0-9-]{{1,{MAX_ID}}}", agent_id):
        raise Invalid(
            f"An agent's id has 1 to {MAX_ID} small letters, digits and -, such as research.",
            field="id",
            code="out_of_range",
        )
    return agent_id


@dataclass(frozen=True, kw_only=True)
class BuiltInTool:
    """A tool that Homing brings along."""

    name: str
    default: ToolPolicy = "allow"
    """What an agent may do with it whose `tools` is null."""
    workspace: bool = False
    """Needs the sandbox and a workspace: absent where there is none."""
    may_ask: bool = True
    """Whether a call of it can wait for an approval; what only reads our rows, or asks itself, cannot."""
    always_asks: bool = False
    """Each call of it is a request to a person: there is no allowing it once and for all."""

    @property
    def policies(self) -> tuple[ToolPolicy, ...]:
        """Name the policies that it can have."""
        allow: tuple[ToolPolicy, ...] = () if self.always_asks else ("allow",)
        ask: tuple[ToolPolicy, ...] = ("ask",) if self.may_ask else ()
        return (*allow, *ask, "deny")


BUILT_IN: Mapping[str, BuiltInTool] = {
    tool.name: tool
    for tool in (
        BuiltInTool(name="schedule_task"),
        BuiltInTool(name="cron", default="deny"),
        BuiltInTool(name="schedule_message", default="deny"),
        BuiltInTool(name="remember"),
        BuiltInTool(name="recall", may_ask=False),
        BuiltInTool(name="forget"),
        BuiltInTool(name="ask_question", may_ask=False),
        BuiltInTool(name=SEND_MESSAGE),
        BuiltInTool(name="fetch_url"),
        BuiltInTool(name="search_web"),
        BuiltInTool(name="read_file", workspace=True),
        BuiltInTool(name="write_file", workspace=True),
        BuiltInTool(name="edit_file", workspace=True),
        BuiltInTool(name="list_files", workspace=True),
        BuiltInTool(name="run_command", workspace=True),
        BuiltInTool(name="send_file", workspace=True),
        BuiltInTool(name="request_access", default="ask", always_asks=True),
        BuiltInTool(name="install_packages", default="ask", workspace=True, always_asks=True),
        BuiltInTool(name="add_mcp_server", default="ask", always_asks=True),
    )
}


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A named configuration: model, instructions, tools with their policies, and what they may reach."""

    id: str
    name: str
    model: str | None = None
    """None: the server's."""
    thinking: str | None = None
    instructions: str
    tools: Mapping[str, ToolPolicy] | None = None
    """None: this version's defaults. A tool that is not named is not offered."""
    hosts: tuple[str, ...] = ()
    """What programs and servers of this agent may reach, and `fetch_url` beyond public addresses (rule 41)."""
    granted_hosts: tuple[str, ...] = ()
    """The same by a grant: given one by one, and taken back without an edit."""
    secrets: tuple[str, ...] = ()
    """Names of secrets that its MCP servers may be given."""
    guest_tools: tuple[str, ...] = ()
    heartbeat: Mapping[str, object] = field(default_factory=dict[str, object])
    environment: str | None = None
    """The digest of its packages; a build changes it, not an edit."""
    revision: int = 1
    created_at: datetime | None = None
    updated_at: datetime | None = None
    removed_at: datetime | None = None
    has_host_grants: bool = False
    has_mcp_servers: bool = False
    server_model: ModelSetting | None = None
    """What this server's admin chose for agents without a model of their own; read with the agent."""
    mcp_servers: tuple[McpServer, ...] = ()
    """Read for a turn only, and only where there are any."""

    def policy(self, tool: str) -> ToolPolicy:
        """Say what this agent may do with a tool."""
        if self.tools is None:
            return BUILT_IN[tool].default if tool in BUILT_IN else "deny"
        return self.tools.get(tool, "deny")

    def asks(self, tool: str) -> bool:
        """Say whether each call of a built-in tool waits for a person's approval."""
        return tool in BUILT_IN and self.policy(tool) == "ask"

    @property
    def all_hosts(self) -> tuple[str, ...]:
        """Name what it may reach, by its definition and by grants."""
        return tuple(dict.fromkeys((*self.hosts, *self.granted_hosts)))

    @property
    def scheduler(self) -> str | None:
        """Name the scheduling tool: two names for one tool only confuse a model."""
        return next((name for name in SCHEDULERS if self.policy(name) != "deny"), None)

    @property
    def uses_workspace(self) -> bool:
        """Say whether it is offered a tool that needs a workspace."""
        return any(tool.workspace and self.policy(tool.name) != "deny" for tool in BUILT_IN.values())

    def narrowed(self, now: "Agent") -> "Agent":
        """Give this agent without what has been taken away since (rule 40); what was added is not in it."""
        if not set(self.granted_hosts) <= set(now.all_hosts):
            granted = tuple(host for host in self.granted_hosts if host in now.all_hosts)
            return replace(self, granted_hosts=granted).narrowed(now)
        if now.revision == self.revision:
            return self
        names = BUILT_IN.keys() | (self.tools or {}).keys()
        strictest = {name: min(self.policy(name), now.policy(name), key=_STRICTER.index) for name in sorted(names)}
        return replace(
            self,
            tools=strictest,
            hosts=tuple(host for host in self.hosts if host in now.all_hosts),
            secrets=tuple(name for name in self.secrets if name in now.secrets),
            guest_tools=tuple(name for name in self.guest_tools if name in now.guest_tools),
        )


DEFINITION = ("name", "model", "thinking", "instructions", "tools", "hosts", "secrets", "guest_tools", "heartbeat")
"""The fields that people edit: together they are what one revision holds."""
