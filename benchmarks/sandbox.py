"""F16: a program in the sandbox against the same program bare, in turn."""

import argparse
import asyncio
import statistics
import tempfile
import time
from asyncio.subprocess import PIPE
from pathlib import Path

from benchmarks._instance import say
from homing.sandbox.bubblewrap import Bubblewrap
from homing.sandbox.running import ENVIRONMENT, run
from homing.sandbox.trial import try_sandbox
from homing.sandbox.workspaces import make_workspace

PROGRAM = ["/usr/bin/python3", "-I", "-c", "pass"]


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks sandbox")
    parser.add_argument("--repeat", type=int, default=40)
    ask = parser.parse_args(argv)
    asyncio.run(_measure(ask.repeat))


async def _measure(repeat: int) -> None:
    begun = time.perf_counter()
    bubblewrap = await try_sandbox()
    tried_ms = (time.perf_counter() - begun) * 1000
    with tempfile.TemporaryDirectory(prefix="homing-sandbox-bench-") as folder:
        workspace = Path(folder) / "workspace"
        Path(folder).chmod(0o755)  # noqa: ASYNC240 - nothing else runs here
        make_workspace(workspace)
        await _bare()
        pairs = [(await _inside(bubblewrap, workspace), await _bare()) for _ in range(repeat)]
    inside, bare = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    say("sandbox", ratio, "x", inside_ms=round(inside, 1), bare_ms=round(bare, 1), repeat=repeat)
    say("sandbox_trial", tried_ms, "ms")


async def _inside(bubblewrap: Bubblewrap, workspace: Path) -> float:
    begun = time.perf_counter()
    ran = await run(bubblewrap, PROGRAM, workspace=workspace)
    assert ran.code == 0, ran
    return (time.perf_counter() - begun) * 1000


async def _bare() -> float:
    begun = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*PROGRAM, env=ENVIRONMENT, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    await process.communicate()
    return (time.perf_counter() - begun) * 1000
