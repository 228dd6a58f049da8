"""A short slice of the torture (`make torture` is the long one): real processes, chaos, and the independent checker."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.sandboxes import need_bubblewrap
from torture.restate_server import find_program

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
SEED = 466


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_chaos_breaks_no_promise(database: str, tmp_path: Path) -> None:
    done = _torture(tmp_path, "--database", database, "--seconds", str(SECONDS))
    assert done.returncode == 0, _story(done, tmp_path)
    shown = json.loads(done.stdout.splitlines()[-1])
    assert shown["value"] == 0
    assert shown["settled"]
    # A slice in which nothing happened proves nothing.
    assert shown["events"]["kill"], shown
    assert min(shown["proved"][noun] for noun in ("accepted", "turn", "run")) >= 3, shown


@pytest.mark.slow
def test_chaos_with_kills_of_restate_and_its_workers_breaks_no_promise(tmp_path: Path) -> None:
    if find_program() is None:
        pytest.skip("need restate-server: make test-faults installs it")
    options = ("--database", "postgresql", "--engine", "restate", "--seconds", str(SECONDS))
    done = _torture(tmp_path, *options)
    assert done.returncode == 0, _story(done, tmp_path)
    shown = json.loads(done.stdout.splitlines()[-1])
    assert shown["value"] == 0
    assert shown["settled"]
    assert shown["events"]["kill"], shown
    assert shown["events"]["kill restate"], shown
    assert min(shown["proved"][noun] for noun in ("accepted", "turn", "run")) >= 3, shown


@pytest.mark.slow
def test_chaos_finds_a_command_that_outlives_its_killed_worker(tmp_path: Path) -> None:
    need_bubblewrap()
    # However short the chaos is, one of its kills waits for a command that goes on.
    done = _torture(tmp_path, "--database", "sqlite", "--seconds", "12", "--break", "survive")
    assert done.returncode == 1, _story(done, tmp_path)
    assert "VIOLATION command_survived" in done.stdout, _story(done, tmp_path)


def _torture(folder: Path, *arguments: str, seed: int = SEED) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "torture", *arguments, "--seed", str(seed), "--keep", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


def _story(done: "subprocess.CompletedProcess[str]", folder: Path) -> str:
    logs = [f"{path.name}:\n{path.read_text()[-3000:]}" for path in sorted(folder.glob("*/*.log"))]
    return "\n\n".join([done.stdout, done.stderr, *logs])
