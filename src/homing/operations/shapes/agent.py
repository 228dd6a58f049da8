"""An agent as it is shown, and what may be asked about agents."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from homing.model.agents import MAX_INSTRUCTIONS, ToolPolicy
from homing.model.bounds import MAX_MESSAGE, MAX_SHORT
from homing.model.mcp_servers import ServerPolicy
from homing.model.packages import MAX_WHOLE
from homing.model.scripts import MAX_SCRIPT, Language
from homing.operations.shapes.base import NOT_BOOL, Answer, Ask, Count, Short
from homing.operations.shapes.job_asks import Id
from homing.operations.shapes.session_asks import Title

_Entry = Annotated[str, Field(min_length=1, max_length=MAX_SHORT)]
_Minutes = Annotated[int, Field(ge=0, le=7 * 24 * 60), NOT_BOOL]


def _hidden(value: object) -> bool:
    return value is None


class HeartbeatAsk(Ask):
    """When an agent looks around by itself; fields given change, null means the server's setting."""

    minutes: _Minutes | None = None
    checklist: Annotated[str, Field(max_length=MAX_MESSAGE)] | None = None
    active_hours: Short | None = None
    script: Annotated[str, Field(max_length=MAX_SCRIPT)] | None = None
    """Looks before each beat and says whether the agent is needed; it may reach the agent's hosts."""
    script_language: Language | None = None


class PackagesAsk(Ask):
    """All the packages that an agent is to have; a list that is left out is empty."""

    pip: Annotated[list[_Entry], Field(max_length=MAX_WHOLE)] | None = None
    npm: Annotated[list[_Entry], Field(max_length=MAX_WHOLE)] | None = None


class _AgentFields(Ask):
    """What people say about an agent."""

    read_only: ClassVar[frozenset[str]] = frozenset(
        {
            "model_in_effect",
            "tools_in_effect",
            "granted_hosts",
            "mcp_servers",
            "environment",
            "created_at",
            "updated_at",
            "warnings",
        }
    )

    model: Short | None = None
    thinking: Short | None = None
    instructions: Annotated[str, Field(max_length=MAX_INSTRUCTIONS)] | None = None
    tools: dict[str, ToolPolicy] | None = None
    hosts: Annotated[list[_Entry], Field(max_length=200)] | None = None
    secrets: Annotated[list[_Entry], Field(max_length=100)] | None = None
    guest_tools: Annotated[list[_Entry], Field(max_length=100)] | None = None
    heartbeat: HeartbeatAsk | None = None
    packages: PackagesAsk | None = None
    """Looked up at once and installed afterwards, as an approved request is (`environment` tells how it goes)."""


class AddAgent(_AgentFields):
    """Make an agent; without an id it gets one made from its name."""

    id: Short | None = None
    name: Title


class AgentRef(Ask):
    """One agent."""

    agent_id: Id


class UpdateAgent(_AgentFields, AgentRef):
    """Change an agent: fields given change, null means the default; `tools` and lists are replaced whole."""

    name: Title | None = None
    revision: Count | None = None


class HeartbeatShape(Answer):
    minutes: int | None = None
    checklist: str | None = None
    active_hours: str | None = None
    script: str | None = Field(default=None, exclude_if=_hidden)
    script_language: Language | None = Field(default=None, exclude_if=_hidden)


class ToolInEffect(Answer):
    """A built-in tool as an agent has it on this server."""

    name: str
    policy: ToolPolicy
    default: ToolPolicy
    """What it is for an agent whose `tools` is null."""
    policies: list[ToolPolicy]
    """Those that can be chosen for it."""
    state: Literal["offered", "denied", "unavailable"]
    why: str | None
    """Why an allowed tool is unavailable here, and what to do about it."""


class AgentServer(Answer):
    """An MCP server of an agent, in short."""

    name: str
    state: str
    policy: ServerPolicy
    tools: int
    offered: int
    """How many of the tools the agent may be given: accepted, and allowed without a question."""


class PackagesShape(Answer):
    """Names that an agent's packages were asked for by."""

    pip: list[str]
    npm: list[str]


class EnvironmentShape(Answer):
    """The packages of an agent as they are built, and how the newest build went."""

    digest: str | None
    state: Literal["none", "building", "ready", "failed"]
    error: str | None
    approval_id: str | None = None
    """The request or change that was built last, or is being built."""


class AgentShape(Answer):
    """A named configuration. Instructions, hosts, packages, secrets and heartbeat are left out for all but admins."""

    id: str
    name: str
    model: str | None
    """Null: the server's."""
    model_in_effect: str
    thinking: str | None
    instructions: str | None = Field(exclude_if=_hidden)
    tools: dict[str, ToolPolicy] | None
    """Null: this version's defaults. A tool that is not named is not offered."""
    tools_in_effect: list[ToolInEffect]
    hosts: list[str] | None = Field(exclude_if=_hidden)
    granted_hosts: list[str] | None = Field(exclude_if=_hidden)
    """What it may reach by grants, beside `hosts`."""
    packages: PackagesShape | None = Field(exclude_if=_hidden)
    environment: EnvironmentShape | None = Field(exclude_if=_hidden)
    secrets: list[str] | None = Field(exclude_if=_hidden)
    guest_tools: list[str]
    heartbeat: HeartbeatShape | None = Field(exclude_if=_hidden)
    mcp_servers: list[AgentServer]
    revision: int
    created_at: str
    updated_at: str
    warnings: list[str] | None = Field(default=None, exclude_if=_hidden)
