"""Hostile clients beside normal load: a short soak. `python -m soak --seconds 1800` is the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 90


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_hostile_clients_are_borne_without_a_missed_instant(database: str) -> None:
    command = [sys.executable, "-m", "soak", "--seconds", str(SECONDS), "--database", database]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS + 280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["violations"] == []
    assert told["missed"] == 0
    assert told["turns"] > 0
