"""F12: `homing cron list` from the shell to its answer, with a server running, and without one."""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._instance import say

JOBS = 10


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks commands")
    parser.add_argument("--repeat", type=int, default=15)
    ask = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="homing-commands-") as home:
        env = {name: value for name, value in os.environ.items() if not name.startswith("HOMING_")}
        env |= {"HOMING_HOME": home, "HOMING_MODEL": "offline", "HOMING_PORT": "0", "HOMING_TIMEZONE": "UTC"}
        # An installed program has its bytecode.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        for n in range(JOBS):
            _homing(env, "cron", "add", "every day at 9", f"look again {n}")
        alone = _timed(env, ask.repeat)
        server = subprocess.Popen([_program(), "up", "--no-open"], env=env, stdout=subprocess.PIPE, text=True)
        assert server.stdout
        for line in server.stdout:
            if "Next wake" in line:
                break
        try:
            served = _timed(env, ask.repeat)
        finally:
            server.send_signal(signal.SIGTERM)
            server.stdout.read()
            server.wait(30)
    more = {"jobs": JOBS, "repeat": ask.repeat}
    say("command_list", statistics.median(served), "ms", best_ms=round(min(served), 1), server=True, **more)
    say("command_list", statistics.median(alone), "ms", best_ms=round(min(alone), 1), server=False, **more)
    bare = [_ms([sys.executable, "-c", "pass"], env) for _ in range(5)]
    say("command_bare_python", statistics.median(bare), "ms")


def _timed(env: dict[str, str], repeat: int) -> list[float]:
    command = [_program(), "cron", "list"]
    _ms(command, env)
    return [_ms(command, env) for _ in range(repeat)]


def _ms(command: list[str], env: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, env=env, check=True, capture_output=True)
    return (time.perf_counter() - begun) * 1000


def _homing(env: dict[str, str], *arguments: str) -> None:
    subprocess.run([_program(), *arguments], env=env, check=True, capture_output=True)


def _program() -> str:
    return str(Path(sys.executable).parent / "homing")
