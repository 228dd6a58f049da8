"""A short slice of the torture (`make torture` is the long one): real processes, chaos, and the independent checker."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
SEED = 466


@pytest.mark.slow
@pytest.mark.xdist_group("torture")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_chaos_breaks_no_promise(database: str, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "torture", "--database", database, "--seconds", str(SECONDS), "--seed", str(SEED),
        "--keep", str(tmp_path),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, _story(done, tmp_path)
    shown = json.loads(done.stdout.splitlines()[-1])
    assert shown["value"] == 0
    assert shown["settled"]
    # A slice in which nothing happened proves nothing.
    assert shown["events"]["kill"], shown
    assert min(shown["proved"][noun] for noun in ("accepted", "turn", "run")) >= 3, shown


def _story(done: "subprocess.CompletedProcess[str]", folder: Path) -> str:
    logs = [f"{path.name}:\n{path.read_text()[-3000:]}" for path in sorted(folder.glob("*/*.log"))]
    return "\n\n".join([done.stdout, done.stderr, *logs])
