"""An MCP server in public: what may be asked about it, and how it is shown."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from homing.model.mcp_servers import (
    UPPER_NAME,
    McpServer,
    McpTool,
    Secret,
    ServerPolicy,
    ServerState,
    ToolChange,
    Transport,
    Value,
)
from homing.operations.shapes.base import Answer, Ask, Count, plainly

AgentId = Annotated[str, Field(min_length=1, max_length=64)]
ServerName = Annotated[
    str, Field(pattern=r"^[a-z0-9-]{1,24}$"), plainly("must have 1 to 24 small letters, digits and -, such as time")
]
SecretName = Annotated[str, Field(pattern=UPPER_NAME)]
Word = Annotated[str, Field(min_length=1, max_length=4096)]
Args = Annotated[list[Annotated[str, Field(max_length=4096)]], Field(max_length=64)]
Entries = Annotated[list[Annotated[str, Field(min_length=1, max_length=256)]], Field(max_length=64)]


class SecretValue(BaseModel):
    """A value that is kept elsewhere: one of the agent's secrets, by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    secret: SecretName


Given = Annotated[
    Annotated[str, Field(max_length=8192)] | SecretValue,
    plainly(
        'must be a text of at most 8,192 characters, or {"secret": NAME} with the name of a secret in capital letters,'
        " digits and _"
    ),
]
Values = Annotated[dict[str, Given], Field(max_length=64)]


class ListMcpServers(Ask):
    agent_id: AgentId


class McpServerRef(Ask):
    agent_id: AgentId
    name: ServerName


class AddMcpServer(Ask):
    """A program in the sandbox (`command`), or a server over HTTP (`url`)."""

    read_only: ClassVar[frozenset[str]] = frozenset({"state", "error", "tools", "tools_sha256", "revision"})

    agent_id: AgentId
    name: ServerName
    transport: Transport | None = None
    command: Word | None = None
    args: Args = Field(default_factory=list[str])
    url: Annotated[str, Field(min_length=1, max_length=2048)] | None = None
    env: Values = Field(default_factory=dict[str, Given])
    headers: Values = Field(default_factory=dict[str, Given])
    hosts: Entries = Field(default_factory=list[str])
    policy: ServerPolicy | None = None


class UpdateMcpServer(Ask):
    """Fields given change, null means the default; `enabled: false` switches a server off."""

    read_only: ClassVar[frozenset[str]] = frozenset({"state", "error", "tools", "tools_sha256", "transport"})

    agent_id: AgentId
    name: ServerName
    command: Word | None = None
    args: Args | None = None
    url: Annotated[str, Field(min_length=1, max_length=2048)] | None = None
    env: Values | None = None
    headers: Values | None = None
    hosts: Entries | None = None
    policy: ServerPolicy | None = None
    tool_policies: Annotated[dict[str, ServerPolicy | None], Field(max_length=128)] | None = None
    """By tool; null: the server's policy."""
    enabled: bool | None = None
    revision: Count | None = None


class AcceptMcpTools(Ask):
    """`tools_sha256` names what was looked at."""

    agent_id: AgentId
    name: ServerName
    tools_sha256: Annotated[str, Field(min_length=1, max_length=64)]


class McpToolShape(Answer):
    name: str
    description: str
    input_schema: dict[str, Any]
    policy: ServerPolicy
    accepted: bool
    change: ToolChange | None
    """How it differs from what was accepted last; null: not at all."""


class McpServerShape(Answer):
    agent_id: str
    name: str
    transport: Transport
    command: str | None
    args: list[str]
    url: str | None
    env: dict[str, str | SecretValue]
    headers: dict[str, str | SecretValue]
    hosts: list[str]
    policy: ServerPolicy
    state: ServerState
    error: str | None
    retry_at: str | None
    """When turns are offered the tools of a failing server again; null: a person has to test it."""
    tools: list[McpToolShape]
    tools_sha256: str
    revision: int
    created_at: str
    updated_at: str

    @classmethod
    def show(cls, server: McpServer) -> Self:
        """Show a server; secrets are names here as everywhere."""
        return cls.of(
            server,
            args=list(server.args),
            hosts=list(server.hosts),
            env=_shown(server.env),
            headers=_shown(server.headers),
            tools=shown_tools(server),
        )


class TestedServerShape(Answer):
    """What one start of a server has shown."""

    state: ServerState
    tools: list[McpToolShape]
    error: str | None


class RemovedServerShape(Answer):
    agent_id: str
    name: str
    removed: bool = True


def shown_tools(server: McpServer) -> list[McpToolShape]:
    return [_shown_tool(server, tool) for tool in server.tools]


def _shown_tool(server: McpServer, tool: McpTool) -> McpToolShape:
    return McpToolShape.of(tool, input_schema=dict(tool.schema), policy=tool.policy or server.policy)


def _shown(values: Any) -> dict[str, str | SecretValue]:
    return {name: SecretValue(secret=v.name) if isinstance(v, Secret) else v for name, v in values.items()}


def read_values(given: dict[str, str | SecretValue]) -> dict[str, Value]:
    """Turn what was asked into values of the model."""
    return {name: Secret(name=v.secret) if isinstance(v, SecretValue) else v for name, v in given.items()}
