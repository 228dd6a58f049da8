"""F16: a warm Python script in Monty, and the same as bash, in the sandbox and bare; in turns, for an equal load."""

import argparse
import asyncio
import statistics
import time

from benchmarks._instance import say
from homing.model.scripts import Script, given_to_script
from homing.sandbox.trial import try_sandbox
from homing.tools.scripts import Scripts

PYTHON = 'import json\nprint(json.dumps({"wakeAgent": False, "state": state}))'
BASH = "echo '{\"wakeAgent\": false}'"


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gates")
    parser.add_argument("--repeat", type=int, default=200)
    ask = parser.parse_args(argv)
    asyncio.run(_measure(ask.repeat))


async def _measure(repeat: int) -> None:
    bubblewrap = await try_sandbox()

    async def sandbox():
        return bubblewrap

    scripts = Scripts(sandbox)
    python, bash = Script(text=PYTHON, language="python"), Script(text=BASH)
    first = await _run(scripts, python)
    rounds = [(await _run(scripts, python), await _run(scripts, bash), await _run_bare()) for _ in range(repeat)]
    await scripts.close()
    warm, inside, bare = (list(times) for times in zip(*rounds, strict=True))
    p95 = sorted(warm)[int(repeat * 0.95)]
    say("gate_monty", statistics.median(warm), "ms", p95_ms=round(p95, 2), first_ms=round(first, 1), repeat=repeat)
    more = {
        "against_monty": round(statistics.median(b / m for m, b, _ in rounds)),
        "against_bare": round(statistics.median(b / o for _, b, o in rounds), 1),
        "bare_ms": round(statistics.median(bare), 1),
    }
    say("gate_bash", statistics.median(inside), "ms", **more)


async def _run(scripts: Scripts, script: Script) -> float:
    given = given_to_script(job={"id": "job_1"}, scheduled_for="2026-11-17T09:00:00Z", state={"seen": [1, 2, 3]})
    begun = time.perf_counter()
    end = await scripts.run(script, given)
    assert end.code == 0, end
    return (time.perf_counter() - begun) * 1000


async def _run_bare() -> float:
    """The same bash without any wall, as a program that does it by hand would run it."""
    begun = time.perf_counter()
    process = await asyncio.create_subprocess_exec("bash", "-c", BASH, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert out
    return (time.perf_counter() - begun) * 1000
