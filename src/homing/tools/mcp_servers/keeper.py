"""The MCP servers of one process: started at the first call, one per owner (agent and user), stopped when idle.

Imports the client only when a server is used: most processes never do.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from homing.model.agents import Agent
from homing.model.errors import Conflict, Forbidden, Invalid, Refused
from homing.model.mcp_servers import McpServer, McpTool, Secret, Value
from homing.sandbox.bubblewrap import Bubblewrap
from homing.sandbox.commands import find_command
from homing.sandbox.hosts import read_hosts
from homing.tools.environments import FindEnvironment, no_environment
from homing.tools.mcp_servers.line import ServerFailed

if TYPE_CHECKING:
    from homing.tools.mcp_servers.connection import Connection, Mode, OpenLine

IDLE_SECONDS = 300.0
MAX_RUNNING = 32

Owner = tuple[str, ...]
FindPlace = Callable[[Owner], Awaitable[tuple[Bubblewrap, Path]]]
"""Gives the sandbox and the owner's workspace, or refuses with the sentence that helps."""
NoteStart = Callable[[McpServer, tuple[McpTool, ...] | str], Awaitable[McpServer | None]]
"""Writes down what a start has shown; gives the server as it is now, None if it was changed meanwhile."""


@dataclass(frozen=True, kw_only=True)
class Called:
    """What a tool gave back, as text without secrets; `failed` is what the tool itself said."""

    text: str
    failed: bool


@dataclass(kw_only=True, eq=False)
class _Running:
    server: McpServer
    given: str
    connection: "Connection"
    used_at: float
    idle: asyncio.TimerHandle | None = None


@dataclass(frozen=True, kw_only=True)
class _Failure:
    """A start that failed: who waited for it fails with it, and does not try again at once."""

    server: McpServer
    given: str
    error: ServerFailed


class McpServers:
    """Starts servers, keeps them while they are used, and calls their tools."""

    def __init__(
        self,
        *,
        find_place: FindPlace,
        read_secret: Callable[[str], str | None],
        private: Sequence[Path],
        find_environment: FindEnvironment = no_environment,
    ) -> None:
        self._find_place = find_place
        self._find_environment = find_environment
        self._read_secret = read_secret
        self._private = private
        self._running: dict[tuple[Owner, str], _Running] = {}
        self._locks: dict[tuple[Owner, str], asyncio.Lock] = {}
        self._failures: dict[tuple[Owner, str], _Failure] = {}
        # How each server was found to speak: asking again may take ten seconds.
        self._modes: dict[tuple[str, str], Mode] = {}
        self._closing = set[asyncio.Task[None]]()

    def check_mcp_server(self, server: McpServer, agent: Agent) -> None:
        """Refuse a server that can never be used here."""
        if server.command is not None:
            read_hosts(server.hosts)
            if agent.environment is None:
                # Else it may be one of the agent's packages, which only a start looks into.
                find_command(server.command, private=self._private)
        if server.url is not None:
            from homing.tools.mcp_servers.checks import check_url  # noqa: PLC0415 - see above

            check_url(server.url, read_hosts(agent.all_hosts))
        self._secrets(server, agent)

    async def list_mcp_tools(self, server: McpServer, agent: Agent, user_id: str) -> tuple[McpTool, ...]:
        """Start a server once, and say which tools it has."""
        connection = await self._start(server, agent, (agent.id, user_id))
        await connection.close()
        return connection.tools

    async def call(
        self, server: McpServer, agent: Agent, owner: Owner, tool: str, args: Mapping[str, object], note: NoteStart
    ) -> Called:
        """Call a tool of a server, which is started if it does not run."""
        running = await self._use(server, agent, owner, tool, note)
        try:
            result = await running.connection.call(tool, args)
        finally:
            self._release((owner, server.name), running)
        from homing.tools.mcp_servers.results import text_of  # noqa: PLC0415 - see above

        return Called(text=running.connection.redacted(text_of(result)), failed=bool(result.is_error))

    async def close(self) -> None:
        """Stop every server."""
        for key in list(self._running):
            self._close_when_idle(key)
        while self._closing:
            await asyncio.gather(*self._closing, return_exceptions=True)

    async def _use(self, server: McpServer, agent: Agent, owner: Owner, tool: str, note: NoteStart) -> _Running:
        key = (owner, server.name)
        before = self._failures.get(key)
        async with self._locks.setdefault(key, asyncio.Lock()):
            running = self._running.get(key)
            try:
                secrets = self._secrets(server, agent)
            except Refused:
                if running is not None:
                    self._close_when_idle(key)
                raise
            given = _digest(secrets, agent)
            if running is not None and not (
                running.connection.alive and running.server.is_same(server) and running.given == given
            ):
                self._close_when_idle(key)
                running = None
            if running is None:
                _share_failure(self._failures.get(key), before, server, given)
                self._make_room()
                try:
                    connection = await self._start_and_note(server, agent, owner, tool, note)
                except ServerFailed as failed:
                    self._failures[key] = _Failure(server=server, given=given, error=failed)
                    raise
                self._failures.pop(key, None)
                running = _Running(server=server, given=given, connection=connection, used_at=time.monotonic())
                self._running[key] = running
            if running.idle is not None:
                running.idle.cancel()
            # Counted before anybody else looks: what is in use is not stopped.
            running.connection.calls_in_flight += 1
            return running

    async def _start_and_note(
        self, server: McpServer, agent: Agent, owner: Owner, tool: str, note: NoteStart
    ) -> "Connection":
        try:
            # What this machine lacks (a sandbox, the program, a secret) is refused, and is not the server's fault.
            connection = await self._start(server, agent, owner)
        except ServerFailed as failed:
            await note(server, failed.for_people)
            raise
        try:
            now = await note(server, connection.tools)
            if now is None:
                raise Conflict(f"The MCP server {server.name} was changed while it started. Call the tool again.")
            if tool not in {offered.name for offered in now.offered}:
                raise Forbidden(
                    f"The tool {tool} of the MCP server {server.name} is not as a person accepted it, so it is off"
                    " until somebody accepts it again."
                )
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _start(self, server: McpServer, agent: Agent, owner: Owner) -> "Connection":
        # The client's library takes half a second to import.
        await asyncio.to_thread(import_module, "homing.tools.mcp_servers.connection")
        from homing.tools.mcp_servers.connection import Connection  # noqa: PLC0415 - see above

        secrets = self._secrets(server, agent)
        open_line = await self._line(server, agent, owner, secrets)
        known = (server.agent_id, server.name)
        connection = Connection(open_line, secrets=secrets, mode=self._modes.get(known, "auto"))
        try:
            await connection.open()
        except ServerFailed:
            # It may have learnt another way to speak since.
            self._modes.pop(known, None)
            raise
        self._modes[known] = connection.mode
        return connection

    async def _line(self, server: McpServer, agent: Agent, owner: Owner, secrets: Mapping[str, str]) -> "OpenLine":
        if server.url is not None:
            from homing.tools.mcp_servers.http import open_http  # noqa: PLC0415 - see above

            return partial(open_http, server.url, _filled(server.headers, secrets), read_hosts(agent.all_hosts))
        from homing.tools.mcp_servers.stdio import Program, open_stdio  # noqa: PLC0415 - see above

        assert server.command
        bubblewrap, workspace = await self._find_place(owner)
        environment = await self._find_environment(agent)
        program = Program(
            bubblewrap=bubblewrap,
            command=find_command(
                server.command,
                private=self._private,
                environment=environment,
                # Where there are secrets, a package must not stand in for a program that everybody takes for the
                # system's.
                system_first=bool(server.secrets),
            ),
            args=server.args,
            workspace=workspace,
            shows_workspace=server.sees_workspace(agent.all_hosts),
            hosts=read_hosts(server.hosts) if server.hosts else None,
            env=_filled(server.env, secrets),
        )
        return partial(open_stdio, program)

    def _secrets(self, server: McpServer, agent: Agent) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in server.secrets:
            value = self._read_secret(name) if name in agent.secrets else None
            if value is None:
                raise Invalid(
                    f"The secret {name} is not set on this machine: put it into HOMING_SECRET_{name}, or into the file"
                    f" secrets/{name} of home with mode 0600, and add its name to the agent's secrets.",
                    field="env",
                    code="missing",
                )
            if not value.isprintable():
                raise Invalid(f"The secret {name} has more than one line.", field="env", code="out_of_range")
            found[name] = value
        return found

    def _release(self, key: tuple[Owner, str], running: _Running) -> None:
        """Stop a server that is out of order now, else when nobody has used it for a while."""
        running.connection.calls_in_flight -= 1
        running.used_at = time.monotonic()
        if running.connection.calls_in_flight:
            return
        if self._running.get(key) is not running or not running.connection.alive:
            self._close_when_idle(key, running)
            return
        loop = asyncio.get_running_loop()
        running.idle = loop.call_later(IDLE_SECONDS, self._close_when_idle, key, running)

    def _close_when_idle(self, key: tuple[Owner, str], running: _Running | None = None) -> None:
        """Take a server out of use; it is closed once its last call has ended."""
        running = running or self._running[key]
        if self._running.get(key) is running:
            del self._running[key]
        if running.idle is not None:
            running.idle.cancel()
        if not running.connection.calls_in_flight:
            task = asyncio.ensure_future(running.connection.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _make_room(self) -> None:
        if len(self._running) < MAX_RUNNING:
            return
        idle = [(run.used_at, key) for key, run in self._running.items() if not run.connection.calls_in_flight]
        if not idle:
            raise Conflict(f"{MAX_RUNNING} MCP servers are at work on this machine; try again later.")
        self._close_when_idle(min(idle)[1])


def _share_failure(last: _Failure | None, before: _Failure | None, server: McpServer, given: str) -> None:
    """Fail with the start that we waited for: one outage counts once."""
    if last is not None and last is not before and last.server.is_same(server) and last.given == given:
        raise ServerFailed(last.error.detail, said=last.error.said)


def _digest(secrets: Mapping[str, str], agent: Agent) -> str:
    """Name what a running server was given beside its row, without keeping it."""
    return hashlib.sha256(
        json.dumps([secrets, agent.all_hosts, agent.environment], sort_keys=True).encode()
    ).hexdigest()


def _filled(values: Mapping[str, Value], secrets: Mapping[str, str]) -> dict[str, str]:
    return {name: secrets[v.name] if isinstance(v, Secret) else v for name, v in values.items()}
