"""How our own tests are spread over workers."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
SHARING = """
import os
import pytest

@pytest.mark.parametrize("number", range(8))
def test_it(number):
    with open("workers", "a") as workers:
        print(os.environ["PYTEST_XDIST_WORKER"], number, file=workers)
"""


def test_tests_that_share_a_house_stay_on_one_worker_in_their_order(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "e2e" / "page"
    folder.mkdir(parents=True)
    (folder / "test_sharing.py").write_text(SHARING)
    (tmp_path / "pytest.ini").touch()
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "support.scheduling"]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ran = [line.split() for line in (tmp_path / "workers").read_text().splitlines()]
    assert len({worker for worker, _ in ran}) == 1
    assert [int(number) for _, number in ran] == list(range(8))
