"""MCP over a sandboxed program's stdin and stdout: one JSON message per line, each of bounded length."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from homing.sandbox.bubblewrap import EMPTY, Bubblewrap
from homing.sandbox.commands import Command
from homing.sandbox.hosts import Hosts
from homing.sandbox.running import Pipes, open_program
from homing.tools.mcp_servers.line import CHATTER, MAX_MESSAGE, TOO_LONG, Line, LineState

_CHUNK = 64 << 10
_SHOWN = 200
_MAX_UNREADABLE = 1000
# A server never loads code, or a setting that names code, which the agent's own programs wrote.
_OURS = {"HOME": EMPTY, "PYTHONNOUSERSITE": "1", "PYTHONSAFEPATH": "1"}

In = anyio.abc.ObjectSendStream[SessionMessage | Exception]
Out = anyio.abc.ObjectReceiveStream[SessionMessage]


@dataclass(frozen=True, kw_only=True)
class Program:
    """What is run, and in which sandbox."""

    bubblewrap: Bubblewrap
    command: Command
    args: tuple[str, ...]
    workspace: Path
    shows_workspace: bool
    hosts: Hosts | None
    env: Mapping[str, str]


@asynccontextmanager
async def open_stdio(program: Program, state: LineState) -> AsyncGenerator[Line]:
    """Run the program for as long as the block lasts, with a line to it."""
    command = program.command
    async with open_program(
        program.bubblewrap,
        [str(command.path), *program.args],
        workspace=program.workspace,
        shows_workspace=program.shows_workspace,
        cwd=EMPTY,
        reads=command.reads,
        environment=command.environment,
        hosts=program.hosts,
        env={"PATH": command.search_path, **program.env, **_OURS},
    ) as pipes:
        state.errors = lambda: pipes.errors
        into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, out_of = anyio.create_memory_object_stream[SessionMessage](0)
        async with into, incoming, outgoing, out_of, anyio.create_task_group() as both:
            both.start_soon(_read, pipes, into, state)
            both.start_soon(_write, pipes, out_of, into)
            try:
                yield Line(streams=(incoming, outgoing), state=state)
            finally:
                both.cancel_scope.cancel()


async def _read(pipes: Pipes, into: In, state: LineState) -> None:
    """Hand over each line as a message, until the program's output ends or a line is longer than we hold."""
    rest = bytearray()
    async with into:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            while chunk := await pipes.stdout.read(_CHUNK):
                *lines, last = chunk.split(b"\n")
                for line in lines:
                    message = _message(bytes(rest + line), state)
                    rest.clear()
                    if message is not None:
                        await into.send(message)
                if state.unreadable_lines > _MAX_UNREADABLE:
                    state.why = CHATTER
                    break
                # A program that prints without end must not keep everybody else waiting.
                await asyncio.sleep(0)
                rest += last
                if len(rest) > MAX_MESSAGE:
                    state.why = TOO_LONG
                    break
        state.ended = True


async def _write(pipes: Pipes, out_of: Out, into: In) -> None:
    try:
        async for message in out_of:
            pipes.stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await pipes.stdin.drain()
    except (OSError, anyio.ClosedResourceError):
        # It no longer listens: no answer will come.
        await into.aclose()


def _message(line: bytes, state: LineState) -> SessionMessage | None:
    """Read a message; a banner or a log line, which does not belong here, is left out and remembered."""
    if not line.strip():
        return None
    try:
        if not line.lstrip().startswith(b"{"):
            raise ValueError("not a JSON object")
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        state.unreadable_lines += 1
        state.unreadable = state.unreadable or state.redact(line.decode(errors="replace"))[:_SHOWN].strip()
        return None
