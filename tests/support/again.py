"""Gives the files of at most three failed tests a second run, alone; only `.ci/run` does so, after a red group.

A test that fails twice is red. One that passes the second time is named at the end of the run: it is a fault to look
for, in the test or in the product (ADR 0079).
"""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAILED = ROOT / ".pytest_cache/v/cache/lastfailed"
FLAKY = ROOT / ".cache/flaky"
MOST = 3


def main() -> int:
    failed: list[str] = sorted(json.loads(FAILED.read_text())) if FAILED.exists() else []
    if not 1 <= len(failed) <= MOST:
        print(f"No second run: {len(failed)} failed tests, and only 1 to {MOST} are run again.")
        return 1
    print("Failed once, run again alone:", *failed, sep="\n  ", flush=True)
    code = pytest.main(["-n", "0", *sorted({nodeid.split("::", maxsplit=1)[0] for nodeid in failed})])
    if code == pytest.ExitCode.OK:
        FLAKY.parent.mkdir(exist_ok=True)
        with FLAKY.open("a") as flaky:
            flaky.writelines(f"{nodeid}\n" for nodeid in failed)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
