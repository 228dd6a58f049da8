"""Counts tests and seconds per folder and names what was skipped.

In CI a skip is a failure, and so are fewer tests than `tests/counts` says: only a commit can lower a count.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

STRICT = os.environ.get("HOMING_CI") == "1"
COUNTS = Path(__file__).resolve().parents[1] / "counts"

_RAN = pytest.StashKey[Counter[str]]()
_SECONDS = pytest.StashKey[defaultdict[str, float]]()
_SKIPPED = pytest.StashKey[Counter[str]]()


class _Tally:
    """Listens to every report; with pytest-xdist, in the process that hands out the tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._stash = config.stash

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        folder = _folder(report.nodeid)
        self._stash[_SECONDS][folder] += report.duration
        if report.when == "call" or (report.when == "setup" and report.failed):
            self._stash[_RAN][folder] += 1
        if report.skipped:
            self._stash[_SKIPPED][_reason(report)] += 1


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    config.stash[_RAN] = Counter()
    config.stash[_SKIPPED] = Counter()
    config.stash[_SECONDS] = defaultdict(float)
    config.pluginmanager.register(_Tally(config), "homing-tally")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if STRICT and not hasattr(session.config, "workerinput") and _missing(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        # Tests that disappeared are not to be found by a second run of those that failed (support/again.py).
        session.config.cache.set("cache/lastfailed", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.section("tests and seconds per folder")
    for folder, seconds in sorted(config.stash[_SECONDS].items()):
        terminalreporter.write_line(f"{folder:12} {config.stash[_RAN][folder]:6} {seconds:8.0f} s")
    if STRICT:
        for line in _missing(config):
            terminalreporter.write_line(line, red=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    skipped: Counter[str] = config.stash.get(_SKIPPED, Counter())
    if skipped and not STRICT:
        reasons = "; ".join(f"{count} ({reason})" for reason, count in sorted(skipped.items()))
        print(f"Skipped on this machine: {reasons}. `bash .ci/run` installs what they need and runs them.")


def _missing(config: pytest.Config) -> list[str]:
    """Tell which folder, asked for as a whole, ran fewer tests than it is known to have."""
    if config.option.keyword or config.option.markexpr or config.option.lf:
        return []
    known = dict(line.split() for line in COUNTS.read_text().splitlines())
    asked = {Path(argument).name for argument in config.args if Path(argument).parent.name == "tests"}
    return [
        f"tests/{folder}: {config.stash[_RAN][folder]} tests ran, tests/counts says {known[folder]}."
        for folder in sorted(asked & known.keys())
        if config.stash[_RAN][folder] < int(known[folder])
    ]


def _folder(nodeid: str) -> str:
    parts = Path(nodeid.split("::", maxsplit=1)[0]).parts
    return parts[1] if len(parts) > 1 else nodeid


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else "skipped"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return _refuse_skip(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return _refuse_skip(report)


def _refuse_skip(report: Report) -> Report:
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"Nothing is skipped in CI: {report.longreprtext}"
    return report
