"""Run a program in the sandbox: to its end, its time or the limit of its output, or while somebody talks to it.

Afterwards none of its processes lives. On the loop's own thread: `--die-with-parent` follows the thread that started
bubblewrap.
"""

import asyncio
import json
import os
import re
import shlex
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from errno import E2BIG
from functools import partial
from pathlib import Path
from typing import Any, Literal

from homing.model.errors import Invalid
from homing.sandbox.bubblewrap import SEARCHED, WORKSPACE, Bubblewrap, forwarding
from homing.sandbox.environments import holding
from homing.sandbox.errors import NO_BUBBLEWRAP, NoSandbox, explain
from homing.sandbox.hosts import Hosts
from homing.sandbox.proxy import open_proxy
from homing.sandbox.seccomp import make_filter

MAX_OUTPUT = 64 << 10
KEPT_ERROR = 8 << 10
# Bubblewrap's own environment, which the program can read in /proc/1/environ. What a caller adds is handed to the
# program alone, by its input: a variable such as LD_PRELOAD must not reach bubblewrap, nor a secret any command line.
ENVIRONMENT = {"PATH": SEARCHED, "HOME": WORKSPACE, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 - inside
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Ended = Literal["exit", "timeout", "output", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How a program ended. `code` is its exit code, or 128 plus the number of the signal that ended it."""

    ended: Ended
    code: int
    out: bytes
    err: bytes


async def run(
    bubblewrap: Bubblewrap,
    argv: Sequence[str],
    *,
    workspace: Path,
    scratch: bool = False,
    reads: Sequence[Path] = (),
    files: Mapping[str, Path] | None = None,
    environment: Path | None = None,
    hosts: Hosts | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    seconds: float = 30.0,
) -> Ran:
    """Run a program in a workspace, with `reads` to read and the folders of `files` below /files; it reaches the
    network only where `hosts` allow it.

    With an environment (`sandbox/environments.py`), its programs come first and its packages are found. With
    `scratch` the program gets an empty workspace that ends with it; the folder only says which uid it has.
    """
    _check(argv)
    with holding(environment) as packages:
        program = _Program(_start_line(packages | dict(env or {})) + stdin)
        shown = _with(environment, reads)
        wrap = partial(bubblewrap.wrap, workspace=workspace, scratch=scratch, reads=shown, files=files)
        # A task of its own: a cancelled start would leave a process behind that nobody knows.
        over = asyncio.ensure_future(program.run(wrap, bubblewrap.python, argv, hosts))
        timer = asyncio.get_running_loop().call_later(seconds, program.stop, "timeout")
        try:
            return await asyncio.shield(over)
        finally:
            timer.cancel()
            if not over.done():
                program.stop("cancelled")
                await outlast(over)


@dataclass(frozen=True, kw_only=True)
class Pipes:
    """A program that runs and can be talked to."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    _stderr: bytearray

    @property
    def errors(self) -> bytes:
        """The end of what the program wrote to stderr."""
        return bytes(self._stderr)


@asynccontextmanager
async def open_program(
    bubblewrap: Bubblewrap,
    argv: Sequence[str],
    *,
    workspace: Path,
    shows_workspace: bool = True,
    cwd: str = WORKSPACE,
    reads: Sequence[Path] = (),
    environment: Path | None = None,
    hosts: Hosts | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncGenerator[Pipes]:
    """Run a program for as long as the block lasts, and talk to it; then it is killed with all its processes."""
    _check(argv)
    with holding(environment) as packages:
        program = _TalkingProgram(_start_line(packages | dict(env or {})))
        shown = _with(environment, reads)
        wrap = partial(bubblewrap.wrap, workspace=workspace, shows_workspace=shows_workspace, cwd=cwd, reads=shown)
        # A task of its own, as in `run`.
        over = asyncio.ensure_future(program.run(wrap, bubblewrap.python, argv, hosts))
        try:
            await asyncio.wait([over, program.pipes], return_when=asyncio.FIRST_COMPLETED)
            if over.done():
                # It never began: this raises the sentence that says why.
                over.result()
            yield program.pipes.result()
        finally:
            program.stop("cancelled")
            await outlast(over)


def _with(environment: Path | None, reads: Sequence[Path]) -> Sequence[Path]:
    return reads if environment is None else (*reads, environment)


class _Program:
    """A started sandbox: it waits for our word first, and then becomes the program."""

    _goes_on = False

    def __init__(self, given: bytes) -> None:
        self._given = given
        self._ended: Ended | None = None
        self._process: Process | None = None
        # The first process inside: when it is gone, so are all the others.
        self._first: int | None = None

    def stop(self, ended: Ended) -> None:
        """Kill everything inside; `run` returns when it is gone."""
        self._ended = self._ended or ended
        with suppress(ProcessLookupError):
            if self._first is not None:
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            elif self._process is not None and self._process.returncode is None:
                # What has left this group already waits for its input, and finds its end.
                os.killpg(self._process.pid, signal.SIGKILL)

    async def run(
        self, wrap: Callable[..., list[str]], python: str | None, argv: Sequence[str], hosts: Hosts | None
    ) -> Ran:
        async with AsyncExitStack() as held:
            proxy = None
            if hosts is not None:
                argv = forwarding(python, argv)
                proxy = await held.enter_async_context(open_proxy(hosts, goes_on=self._goes_on))
            filter_fd, info_fd = _memory_file(held, make_filter()), _memory_file(held)
            command = wrap(argv, proxy=proxy, filter_fd=filter_fd, info_fd=info_fd)
            self._process = await _start(command, filter_fd, info_fd)
            held.callback(self._release)
            assert self._process.stdout
            assert self._process.stderr
            if self._ended is not None:
                self.stop(self._ended)
            out, err = self._process.stdout, self._process.stderr
            if await out.read(1):
                with suppress(ProcessLookupError):
                    self._first = os.pidfd_open(json.loads(os.pread(info_fd, 4096, 0))["child-pid"])
                if self._ended is not None:
                    self.stop(self._ended)
            kept_out, kept_err, code, _ = await asyncio.gather(
                self._read(out), self._read_errors(err), self._process.wait(), self._feed()
            )
            if self._first is not None:
                # Bubblewrap ends with the program; what that left behind is killed, and this waits for the last of it.
                self.stop("exit")
                await _readable(self._first)
                _reap(self._first)
            elif self._ended is None:
                raise explain(kept_err.decode(errors="replace"))
        return Ran(ended=self._ended or "exit", code=code if code >= 0 else 128 - code, out=kept_out, err=kept_err)

    def _release(self) -> None:
        """Let go of what is left, killed: what waits for its first line finds the end of its input instead."""
        self.stop("exit")
        assert self._process
        assert self._process.stdin
        self._process.stdin.close()
        if self._first is not None:
            os.close(self._first)
            self._first = None

    async def _feed(self) -> None:
        assert self._process
        stdin = self._process.stdin
        assert stdin
        if self._first is not None and self._ended is None:
            with suppress(ConnectionError):
                stdin.write(self._given)
                await stdin.drain()
        stdin.close()

    async def _read(self, stream: asyncio.StreamReader) -> bytes:
        """Read to the very end, since `wait` hangs while a pipe is left unread; keep the beginning."""
        kept = bytearray()
        while chunk := await stream.read(MAX_OUTPUT):
            kept += chunk[: MAX_OUTPUT - len(kept)]
            if len(kept) >= MAX_OUTPUT:
                self.stop("output")
        return bytes(kept)

    async def _read_errors(self, stream: asyncio.StreamReader) -> bytes:
        return await self._read(stream)


class _TalkingProgram(_Program):
    """Lends its pipes to somebody else until it is stopped."""

    _goes_on = True

    def __init__(self, given: bytes) -> None:
        super().__init__(given)
        self.pipes: asyncio.Future[Pipes] = asyncio.get_running_loop().create_future()
        self._stderr = bytearray()
        self._stopped = asyncio.Event()

    def stop(self, ended: Ended) -> None:
        super().stop(ended)
        self._stopped.set()

    async def _feed(self) -> None:
        assert self._process
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        if self._first is None or self._ended is not None:
            self._stopped.set()
            return
        with suppress(ConnectionError):
            stdin.write(self._given)
            await stdin.drain()
        if not self.pipes.done():
            self.pipes.set_result(Pipes(stdin=stdin, stdout=stdout, _stderr=self._stderr))

    async def _read(self, stream: asyncio.StreamReader) -> bytes:
        """Leave the output to the caller; what it did not read is read away, for `wait`."""
        await self._stopped.wait()
        while await stream.read(MAX_OUTPUT):
            pass
        return b""

    async def _read_errors(self, stream: asyncio.StreamReader) -> bytes:
        while chunk := await stream.read(MAX_OUTPUT):
            self._stderr += chunk
            del self._stderr[:-KEPT_ERROR]
        return bytes(self._stderr)


async def outlast(task: "asyncio.Future[Any]") -> None:
    """Wait for a task that has been stopped, however often we are cancelled meanwhile."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    if not task.cancelled():
        task.exception()


async def _start(command: Sequence[str], *fds: int) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            env=ENVIRONMENT,
            cwd="/",
            pass_fds=fds,
            start_new_session=True,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )
    except FileNotFoundError:
        raise NoSandbox(NO_BUBBLEWRAP) from None
    except OSError as error:
        if error.errno == E2BIG:
            raise _invalid("The command is too long; write it to a file and run that.") from None
        raise NoSandbox(f"The sandbox cannot be started here: {error}.") from error


def _start_line(env: Mapping[str, str]) -> bytes:
    """Make the line that begins the program and sets what is added to its environment."""
    for name, value in env.items():
        if not _NAME.fullmatch(name) or "\n" in value or not _can_be_given(value):
            raise ValueError(f"{name} cannot be set for a program")
    return os.fsencode("".join([":", *(f"; export {name}={shlex.quote(value)}" for name, value in env.items()), "\n"]))


def _check(argv: Sequence[str]) -> None:
    if not argv or not all(map(_can_be_given, argv)):
        raise _invalid("A command is at least one word, each without NUL and in valid Unicode.")


def _can_be_given(word: str) -> bool:
    try:
        return b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        return False


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, field="argv", code="out_of_range")


def _memory_file(held: AsyncExitStack, data: bytes = b"") -> int:
    fd = os.memfd_create("homing")
    held.callback(os.close, fd)
    os.pwrite(fd, data, 0)
    return fd


def _reap(pidfd: int) -> None:
    # Its parent ended first, so where we are a container's init it has become our child.
    with suppress(ChildProcessError):
        os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOHANG)


async def _readable(fd: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)
