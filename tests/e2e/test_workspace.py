"""`homing up` is killed while an agent's command runs: nothing of the command lives on, and the turn goes on."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from homing.agent.tool_calls import UNKNOWN_OUTCOME
from homing.testing import StubModelServer, tool_call
from support.sandbox_driver import alive
from support.sandboxes import need_bubblewrap, ordinary_user

PATIENCE = 60.0
TOKEN = "hom_workspace_owner_token"

pytestmark = pytest.mark.slow


@contextmanager
def up(
    home: Path, stub: StubModelServer, *, python: Sequence[str] = (sys.executable,), **more: str
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start everything in a process of its own; give it with its address."""
    env = os.environ | stub.environment() | {"HOMING_HOME": str(home), "HOMING_MODEL": "openai-chat:stub"} | more
    env |= {"HOMING_TOKEN": TOKEN, "HOMING_CLAIM_SECONDS": "1", "PYTHONUNBUFFERED": "1", "KEY_OF_OURS": TOKEN}
    command = [*python, "-m", "homing", "up", "--no-open", "--port", "0"]
    # In a folder that every user may be in.
    with subprocess.Popen(
        command, env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
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
            # The sandbox has the mark in its arguments before the command has begun.
            until(lambda: sum("'sleep" in one for one in alive(mark)) == 2, "both sleeps of the command run")
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


def test_an_ordinary_user_has_the_whole_of_it(tmp_path: Path) -> None:
    look = "id -u; echo $HOME; python3 -c 'print(6 * 7)' > sum; cat sum; cat /proc/1/environ | tr '\\0' '\\n'"
    with StubModelServer() as stub, ordinary_user() as (home, python, env):
        stub.when("go", tool_call("run_command", {"command": look}), tool_call("read_file", {"path": "sum"}), "Done.")
        with up(home, stub, python=python, **env) as (process, url):
            uids = next(line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if "Uid" in line)
            assert "0" not in uids.split()
            assert '"Done."' in say(url, "go", wait=True)
            with urlopen(f"{url}/", timeout=PATIENCE) as page:
                assert "<title>" in page.read().decode()
        assert (home / "homing.db").stat().st_uid == home.stat().st_uid != 0
        ran, read = stub.requests[1].text, stub.requests[2].text

    assert "Exit code 0" in ran
    assert "/workspace\\n42\\n" in ran
    assert TOKEN not in ran
    assert "\\n42\\n" in read
