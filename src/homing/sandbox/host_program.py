"""Run a program of this machine that we trust, such as uv: with a clean environment, a bounded time, and no orphans.

What it prints is only for errors. It is killed with its whole group when its time is over, when we are cancelled or
killed, or when it fills the disk.
"""

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from homing.sandbox.bubblewrap import SEARCHED
from homing.sandbox.errors import NO_UTIL_LINUX, NoSandbox
from homing.sandbox.running import outlast

_KEPT = 32 << 10
_LOOK_SECONDS = 1.0

Ended = Literal["exit", "timeout", "cancelled", "full"]


@dataclass(frozen=True, kw_only=True)
class HostRan:
    """How it ended, and the end of what it printed."""

    ended: Ended
    code: int
    printed: str

    @property
    def well(self) -> bool:
        return self.ended == "exit" and self.code == 0


async def run_host_program(
    argv: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    seconds: float,
    is_full: Callable[[], bool] | None = None,
) -> HostRan:
    """Run a program in `folder` until it ends, `seconds` are over, or `is_full` says that it has written too much."""
    setpriv = shutil.which("setpriv", path=SEARCHED)
    if setpriv is None:
        raise NoSandbox(NO_UTIL_LINUX)
    program = _HostProgram([setpriv, "--pdeathsig", "KILL", *argv], folder, env)
    # A task of its own: a cancelled start would leave a process behind that nobody knows.
    over = asyncio.ensure_future(program.run())
    timer = asyncio.get_running_loop().call_later(seconds, program.stop, "timeout")
    watching = asyncio.ensure_future(_watch(program, is_full)) if is_full else None
    try:
        return await asyncio.shield(over)
    finally:
        timer.cancel()
        if watching:
            watching.cancel()
        if not over.done():
            program.stop("cancelled")
            await outlast(over)


class _HostProgram:
    def __init__(self, argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self._argv = argv
        self._folder = folder
        self._env = env
        self._process: Process | None = None
        self._ended: Ended | None = None

    def stop(self, ended: Ended) -> None:
        """Kill it with its group; `run` returns when all of it is gone."""
        self._ended = self._ended or ended
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def run(self) -> HostRan:
        # On the loop's own thread: the signal at our death follows the thread that started the program.
        self._process = await asyncio.create_subprocess_exec(
            *self._argv,
            cwd=self._folder,
            env=self._env,
            umask=0o022,
            start_new_session=True,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
        )
        if self._ended is not None:
            self.stop(self._ended)
        assert self._process.stdout
        # The output ends with the last process that has it, so nothing of it goes on after this.
        printed, code = await asyncio.gather(_tail(self._process.stdout), self._process.wait())
        return HostRan(ended=self._ended or "exit", code=code, printed=printed.decode(errors="replace"))


async def _watch(program: _HostProgram, is_full: Callable[[], bool]) -> None:
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        if await asyncio.to_thread(is_full):
            program.stop("full")


async def _tail(stream: asyncio.StreamReader) -> bytes:
    kept = bytearray()
    while chunk := await stream.read(_KEPT):
        kept += chunk
        del kept[:-_KEPT]
    return bytes(kept)
