"""Where people see whether programs can run: `homing doctor`, and the log of `homing up`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.sandboxes import need_bubblewrap


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "HOMING_HOME": str(tmp_path), "HOMING_MODEL": "offline", "HOMING_PORT": "0"}


def _doctor(env: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "homing", "doctor", "--json"]
    lines = subprocess.run(command, env=env, capture_output=True, text=True, check=False).stdout.splitlines()
    return next(finding for finding in map(json.loads, lines) if finding["what"] == "Sandbox")


def _event_of_up(env: dict[str, str]) -> str:
    """Start `homing up` and give its line about the sandbox."""
    command = [sys.executable, "-m", "homing", "up", "--no-open"]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            return next(line for line in process.stderr if "sandbox_" in line)
        finally:
            process.send_signal(signal.SIGTERM)
            process.stderr.read()


def test_doctor_and_the_log_of_up_say_that_the_sandbox_works(env: dict[str, str]) -> None:
    need_bubblewrap()
    found = _doctor(env)

    assert (found["state"], found["fix"]) == ("ok", None)
    assert found["said"].startswith("bubblewrap ")
    assert "sandbox_ready" in _event_of_up(env)


def test_doctor_says_when_the_shared_folder_is_another_than_the_databases(env: dict[str, str], tmp_path: Path) -> None:
    need_bubblewrap()
    assert "sandbox_ready" in _event_of_up(env)
    env["HOMING_SHARE"] = str(tmp_path / "elsewhere")
    found = _doctor(env)

    assert (found["state"], found["said"]) == ("note", "workspaces are off here")
    assert "Mount or restore that folder and set HOMING_SHARE to it." in found["fix"]
    assert not (tmp_path / "elsewhere").exists()
    event = _event_of_up(env)
    assert "sandbox_unavailable" in event
    assert "Workspaces are off here" in event


def test_doctor_and_the_log_of_up_say_that_it_is_switched_off(env: dict[str, str]) -> None:
    env["HOMING_SANDBOX"] = "off"
    found = _doctor(env)
    event = _event_of_up(env)

    assert (found["state"], found["said"]) == ("note", "programs cannot run here")
    assert found["fix"] == "Running programs is switched off here (HOMING_SANDBOX=off)."
    assert "sandbox_unavailable" in event
    assert "HOMING_SANDBOX=off" in event
