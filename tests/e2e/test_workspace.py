"""`homing up` is killed while an agent's command runs: nothing of the command lives on, and the turn goes on."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from homing.agent.tool_calls import UNKNOWN_OUTCOME
from homing.testing import StubModelServer, tool_call
from support.sandbox_driver import alive
from support.sandboxes import need_bubblewrap

PATIENCE = 60.0
TOKEN = "hom_workspace_owner_token"

pytestmark = pytest.mark.slow


@contextmanager
def up(home: Path, stub: StubModelServer, **more: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start everything in a process of its own; give it with its address."""
    env = os.environ | stub.environment() | {"HOMING_HOME": str(home), "HOMING_MODEL": "openai-chat:stub"} | more
    env |= {"HOMING_TOKEN": TOKEN, "HOMING_CLAIM_SECONDS": "1", "PYTHONUNBUFFERED": "1", "KEY_OF_OURS": TOKEN}
    command = [sys.executable, "-m", "homing", "up", "--no-open", "--port", "0"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout
            said = ""
            for line in process.stdout:
                said += line
                if "  Open " in line:
                    yield process, line.split()[-1].partition("/sign-in")[0].rstrip("/")
                    return
            raise AssertionError(said)
        finally:
            process.kill()
            assert process.stdout
            process.stdout.read()


def say(url: str, text: str, *, wait: bool = False) -> str:
    request = Request(
        f"{url}/api/sessions/web:chat/messages{'?wait=60' if wait else ''}",
        data=json.dumps({"text": text}).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    with urlopen(request, timeout=PATIENCE) as answer:
        return answer.read().decode()


def until(true: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"Waited until {what}."
        time.sleep(0.02)


def test_a_command_dies_with_its_homing_and_is_not_run_again(tmp_path: Path) -> None:
    need_bubblewrap()
    mark = f"7{secrets.randbelow(10**8):08}"
    command = f"echo begun >> log; setsid sleep {mark} & trap '' TERM HUP; sleep {mark}"
    with StubModelServer() as stub:
        stub.when("go", tool_call("run_command", {"command": command, "seconds": 600}), "I do not know.")
        stub.when("look", tool_call("read_file", {"path": "log"}), "Begun once.")
        with up(tmp_path, stub) as (process, url):
            say(url, "go")
            until(lambda: len(alive(mark)) >= 3, "the command runs")
            process.send_signal(signal.SIGKILL)
            process.wait()
            until(lambda: not alive(mark), "all of the command is dead")
        with up(tmp_path, stub) as (_, url):
            until(lambda: len(stub.requests) >= 2, "the turn was taken up")
            assert UNKNOWN_OUTCOME in stub.requests[1].text
            say(url, "look", wait=True)
            assert "]\\nbegun\\n\\n[end" in stub.requests[-1].text
        assert alive(mark) == []


def test_a_command_sees_nothing_of_the_process_that_runs_it(tmp_path: Path) -> None:
    need_bubblewrap()
    look = f"env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; cat {tmp_path}/homing.db {tmp_path}/token"
    with StubModelServer() as stub:
        stub.when("go", tool_call("run_command", {"command": look}), "Done.")
        with up(tmp_path, stub) as (_, url):
            say(url, "go", wait=True)
        told = stub.requests[-1].text

    assert "Exit code" in told
    assert "HOME=/workspace" in told
    assert TOKEN not in told
    assert "SQLite format" not in told
    assert told.count("No such file or directory") >= 2
