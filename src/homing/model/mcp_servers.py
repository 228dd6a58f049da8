"""MCP servers of an agent: how each is reached, the tools it offers, and which of those a person has accepted. Pure."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Literal

from homing.model.errors import Invalid

Transport = Literal["stdio", "http"]
ServerPolicy = Literal["allow", "ask", "deny"]
ToolChange = Literal["new", "changed"]
ServerState = Literal["pending", "ready", "failing", "changed", "off"]

UPPER_NAME = r"^[A-Z][A-Z0-9_]{0,63}$"
MAX_TOOLS = 128
MAX_DESCRIPTION = 1000
MAX_SCHEMA_BYTES = 64 << 10
MAX_DEFINITION_BYTES = 128 << 10
FAILED_STARTS = 3
FIRST_RETRY = timedelta(minutes=5)
LAST_RETRY = timedelta(hours=6)
_LONGEST_NAME = 64
_HASH = 8
_LOADERS = re.compile(
    r"(PATH|HOME|ENV|BASH_ENV|SHELLOPTS|IFS|TMPDIR|NODE_OPTIONS|NODE_PATH|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|CLASSPATH"
    r"|GIT_SSH.*|GIT_EXEC_PATH|(LD_|DYLD_|PYTHON|PERL5|HOMING_|.*_proxy$).*|.*_PROXY)",
)
_SECRET_NAMES = re.compile(r"(?i)(auth(?!ors?$)|cookie|key(?!word)|token|secret|passw|credential|signature)")
_RUNNERS = ("uvx", "uv", "npx", "pnpx", "bunx", "pipx", "docker", "podman")
_MANAGERS = {"uvx": "pip", "pipx": "pip", "npx": "npm", "pnpx": "npm", "bunx": "npm"}
_PACKAGE = re.compile(r"(?P<name>(@[a-z0-9._~-]+/)?[A-Za-z0-9][A-Za-z0-9._-]*)([@=]=?[^\s]*)?", re.ASCII)
_FETCHES = (
    "{command} fetches a package and runs it. Install the package for the agent instead (its tool install_packages), or"
    " on this machine, and give the server's own command."
)
_TWO_STEPS = (
    '{command} fetches a package and runs it. Take two steps instead. First install_packages with {manager} ["{name}"]'
    " (an administrator: homing agents update AGENT --{manager} {name}). When it is installed, add_mcp_server with the"
    " command {program}, or whatever the package calls its program, and only the arguments that are for the server."
)


FOUND_OUT = frozenset({"tools", "state", "error", "failed_starts", "revision", "created_at", "updated_at"})
"""The fields of a server that nobody asks for: what its starts have shown, and when it was written."""


@dataclass(frozen=True, kw_only=True)
class Secret:
    """A value that is named here and kept elsewhere."""

    name: str


Value = str | Secret


@dataclass(frozen=True, kw_only=True)
class McpTool:
    """A tool as its server describes it."""

    name: str
    description: str
    schema: Mapping[str, object]
    repeatable: bool
    sha256: str
    accepted_sha256: str | None = None
    """What a person accepted last; the tool is on only while it is still this."""
    reads_only: bool = False
    """Its server says that it changes nothing; False in rows from before this field."""
    policy: ServerPolicy | None = None
    """None: the server's."""

    @property
    def accepted(self) -> bool:
        return self.accepted_sha256 == self.sha256

    @property
    def change(self) -> ToolChange | None:
        """Say what a person who accepts it would accept."""
        if self.accepted:
            return None
        return "new" if self.accepted_sha256 is None else "changed"


@dataclass(frozen=True, kw_only=True)
class McpServer:
    """A server of one agent."""

    agent_id: str
    name: str
    transport: Transport
    command: str | None
    args: tuple[str, ...]
    url: str | None
    env: Mapping[str, Value]
    headers: Mapping[str, Value]
    hosts: tuple[str, ...]
    policy: ServerPolicy
    tools: tuple[McpTool, ...] = ()
    state: ServerState = "pending"
    error: str | None = None
    failed_starts: int = 0
    revision: int = 1
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the secrets that it is given."""
        given = (*self.env.values(), *self.headers.values())
        return tuple(dict.fromkeys(value.name for value in given if isinstance(value, Secret)))

    def sees_workspace(self, agent_hosts: Iterable[str]) -> bool:
        """Say whether it may read files that its agent's own programs write: not if it has more than they have."""
        return self.transport == "stdio" and not self.secrets and set(self.hosts) <= set(agent_hosts)

    def is_same(self, other: "McpServer") -> bool:
        """Say whether another reading of it shows the same definition; one removed and added again is another."""
        return (self.agent_id, self.name, self.created_at, self.revision) == (
            other.agent_id,
            other.name,
            other.created_at,
            other.revision,
        )

    @property
    def tools_sha256(self) -> str:
        """A digest of what the server offers, accepted or not: who accepts names what they saw."""
        return _digest([[tool.name, tool.sha256] for tool in self.tools])

    def call_sha256(self, tool: McpTool) -> str:
        """A digest of what a call of a tool reaches: the server as it is started, and the tool as it is described.

        A person approves a call of this one: the same words from another program are another tool.
        """
        start = [self.name, self.transport, self.command, self.args, self.url, self.hosts]
        given = [_names_and_values(self.env), _names_and_values(self.headers)]
        return _digest([*start, *given, tool.sha256])

    def policy_of(self, tool: McpTool) -> ServerPolicy:
        return tool.policy or self.policy

    @property
    def offered(self) -> tuple[McpTool, ...]:
        """Tools that a turn may be given: accepted, and not denied."""
        if self.state not in ("ready", "changed"):
            return ()
        return tuple(tool for tool in self.tools if tool.accepted and self.policy_of(tool) != "deny")

    @property
    def retry_at(self) -> datetime | None:
        """Say when a turn may try a failing server again: later after each failure, and never if no tool is known."""
        if self.state != "failing" or self.updated_at is None or not any(tool.accepted for tool in self.tools):
            return None
        # A count that nobody watches must not become a number of days that no date can hold.
        doublings = min(max(self.failed_starts - FAILED_STARTS, 0), 10)
        return self.updated_at + min(FIRST_RETRY * 2**doublings, LAST_RETRY)

    def seen_at(self, now: datetime) -> "McpServer":
        """Give the server as a turn sees it: one that failed is offered again after a while; a call starts it."""
        if self.retry_at is None or now < self.retry_at:
            return self
        return replace(self, state="ready" if all(tool.accepted for tool in self.tools) else "changed")

    def listed(self, tools: Iterable[McpTool], *, accept: bool = False) -> "McpServer":
        """Give the server as it is after it came up with these tools: ready, or changed if some are not accepted."""
        before = {tool.name: tool for tool in self.tools}
        fitting, left_out = _bounded(tools)
        now = tuple(_kept(tool, before.get(tool.name), accept=accept) for tool in fitting)
        state: ServerState = "ready" if all(tool.accepted for tool in now) else "changed"
        return replace(self, tools=now, state=state, error=left_out, failed_starts=0)

    def accept(self) -> "McpServer":
        """Accept every tool as it is."""
        now = tuple(replace(tool, accepted_sha256=tool.sha256) for tool in self.tools)
        return replace(self, tools=now, state="ready" if self.state == "changed" else self.state)

    def did_not_start(self, error: str, *, at_once: bool = False, counts: bool = True) -> "McpServer":
        """Give the server after a start that failed; after the third in a row that counts its tools are left out."""
        failed = self.failed_starts + counts
        failing = at_once or failed >= FAILED_STARTS
        return replace(self, error=error, failed_starts=failed, state="failing" if failing else self.state)


def _bounded(tools: Iterable[McpTool]) -> tuple[list[McpTool], str | None]:
    """Take the tools whose definitions fit together: they are sent with every request to a model."""
    fitting, left_out, size = list[McpTool](), list[str](), 0
    for tool in tools:
        needed = len(json.dumps([tool.name, tool.description, tool.schema]))
        if size + needed > MAX_DEFINITION_BYTES:
            left_out.append(tool.name)
        else:
            size += needed
            fitting.append(tool)
    if not left_out:
        return fitting, None
    limit = f"the definitions of a server's tools have at most {MAX_DEFINITION_BYTES >> 10} kB together"
    return fitting, f"Some tools are left out, since {limit}: {', '.join(left_out)[:500]}."


def _kept(tool: McpTool, before: McpTool | None, *, accept: bool) -> McpTool:
    accepted = tool.sha256 if accept else before.accepted_sha256 if before else None
    return replace(tool, accepted_sha256=accepted, policy=before.policy if before else None)


def make_tool(name: str, description: str, schema: Mapping[str, object], hints: Mapping[str, object]) -> McpTool:
    """Make a tool from what a server says, or refuse one that cannot be offered to a model."""
    if not 1 <= len(name) <= 128:
        raise ValueError(f"a tool's name has {len(name)} characters; 1 to 128 are possible")
    size = len(json.dumps(schema))
    if size > MAX_SCHEMA_BYTES:
        raise ValueError(f"the schema of one has {size >> 10} kB; at most {MAX_SCHEMA_BYTES >> 10} are possible")
    # Of the whole description, before it is cut: a change behind the cut is a change too.
    digest = _digest({"name": name, "description": description, "schema": schema, "hints": hints})
    return McpTool(
        name=name,
        description=description[:MAX_DESCRIPTION],
        schema=schema,
        repeatable=hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True,
        reads_only=hints.get("readOnlyHint") is True,
        sha256=digest,
    )


def tool_name(server: str, tool: str, *, taken: Iterable[str] = ()) -> str:
    """Name a tool for the model: `server_tool`; what cannot be said so, or is taken, ends with a hash."""
    plain = f"{server}_{tool}"
    name = re.sub(r"[^A-Za-z0-9_-]", "_", plain)
    if name == plain and len(name) <= _LONGEST_NAME and name not in taken:
        return name
    return f"{name[: _LONGEST_NAME - _HASH - 1]}_{hashlib.sha256(plain.encode()).hexdigest()[:_HASH]}"


def is_secret_name(name: str) -> bool:
    return re.fullmatch(UPPER_NAME, name) is not None


def check_command(command: str, args: Sequence[str] = ()) -> None:
    """Refuse what would fetch its program from elsewhere, and say which steps lead to the same."""
    runner = PurePosixPath(command).name
    if runner not in _RUNNERS:
        return
    said, manager = _FETCHES.format(command=runner), _MANAGERS.get(runner)
    # An option may take the word behind it: only what surely is a package is named.
    words = [word for word in args if word not in ("-y", "--yes", "run")]
    found = _PACKAGE.fullmatch(words[0]) if words else None
    if manager is not None and found is not None:
        name = found["name"]
        program = name.rpartition("/")[2]
        said = _TWO_STEPS.format(command=runner, manager=manager, name=name, program=program)
    raise Invalid(said, field="command", code="out_of_range")


def check_env_name(name: str) -> None:
    """Refuse a variable that changes which code a program loads, or where it looks."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", name):
        raise Invalid(f"{name:.80} is not a name of a variable.", field="env", code="out_of_range")
    if _LOADERS.fullmatch(name):
        detail = f"{name} cannot be set: it changes which programs and libraries are run."
        raise Invalid(detail, field="env", code="out_of_range")


def names_a_secret(name: str) -> bool:
    """Say whether a header or a parameter of this name usually holds a secret, whose value must not be in a row."""
    return _SECRET_NAMES.search(name) is not None


def _names_and_values(values: Mapping[str, Value]) -> dict[str, object]:
    return {name: [value.name] if isinstance(value, Secret) else value for name, value in values.items()}


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
