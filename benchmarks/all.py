"""`make bench`: every measurement, peers in turn round after round, and the tables of docs/ made from it.

Each measurement is a process of its own, and all of them share one PostgreSQL. JSON lines go to stdout, progress to
stderr. `--quick` takes small sizes, for development: it prints the tables and leaves docs/ as they are.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from benchmarks._figures import BESIDE, FIGURES
from benchmarks._machine import load, machine
from benchmarks._page import DOCS, figures_table, floors_table, put
from benchmarks._results import Results
from homing.testing.postgres import PostgresServer

LONGEST_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How large a run is."""

    rounds: int
    due: int
    due_pg: int
    turns: int
    stored: int
    small: int
    repeat: int


FULL = Sizes(rounds=5, due=10_000, due_pg=5000, turns=4000, stored=1_000_000, small=2000, repeat=15)
QUICK = Sizes(rounds=2, due=2000, due_pg=1000, turns=800, stored=50_000, small=500, repeat=5)


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks all")
    parser.add_argument("--quick", action="store_true", help="small sizes, about five minutes, docs/ untouched")
    parser.add_argument("--rounds", type=int, help="how often peers are measured in turn")
    ask = parser.parse_args(argv)
    sizes = QUICK if ask.quick else FULL
    rounds = ask.rounds or sizes.rounds
    begun, load_then = time.monotonic(), load()
    if load_then > 1:
        _note(begun, f"the machine is busy (load {load_then:.1f}): ratios may still tell, wall times will not")
    results, failed = Results(), list[str]()
    plan = [("rounds", f"round {n + 1} of {rounds}", one) for n in range(rounds) for one in _in_turn(sizes)]
    plan += [("once", "once", one) for one in _once(sizes, quick=ask.quick)]
    # One server for all who are measured, as durable as in production; they find it by the environment.
    with PostgresServer.shared(fsync=True) as server:
        for i, (part, when, one) in enumerate(plan, 1):
            _note(begun, f"{i} of {len(plan)}, {when}: {' '.join(one)}")
            if not _measure(one, part, results):
                failed.append(" ".join(one))
        version = server.sql("show server_version")
    _write(results, machine(version, load_then, (time.monotonic() - begun) / 60, rounds), quick=ask.quick)
    if failed:
        print(f"Not measured: {'; '.join(failed)}", file=sys.stderr)
        raise SystemExit(1)


def _in_turn(sizes: Sizes) -> list[list[str]]:
    due = ["dispatch", "--due", str(sizes.due), "--stored", str(2 * sizes.due)]
    due_pg = ["dispatch", "--database", "postgresql", "--due", str(sizes.due_pg), "--stored", str(2 * sizes.due_pg)]
    turns = ["turns", "--turns", str(sizes.turns)]
    return [
        due,
        [*due, "--who", "apscheduler"],
        [*due, "--who", "apscheduler-wal"],
        [*due, "--who", "raw"],
        due_pg,
        [*due_pg, "--who", "apscheduler"],
        [*due_pg, "--who", "raw"],
        turns,
        [*turns, "--who", "dbos"],
    ]


def _once(sizes: Sizes, *, quick: bool) -> list[list[str]]:
    small = ["dispatch", "--due", str(sizes.small), "--stored", str(2 * sizes.small)]
    turns = ["turns", "--turns", str(sizes.turns)]
    herd = ["herd", "--due", "10000", "--seconds", "10"] if quick else ["herd"]
    late = ["--jobs", "200", "--seconds", "4"] if quick else []
    return [
        ["lateness", "--stored", str(sizes.stored), *late],
        ["stored", "--stored", str(sizes.stored), "--due", str(sizes.due)],
        ["chat"],
        ["chat", "--database", "postgresql"],
        ["takeover", "--repeat", str(max(3, sizes.repeat // 3))],
        ["commands", "--repeat", str(max(10, sizes.repeat))],
        ["schedules"],
        ["sandbox"],
        [*small, "--slots", "8"],
        [*small, "--sessions", "100"],
        [*small, "--who", "apscheduler"],
        [*turns, "--workers", "1"],
        [*turns, "--workers", "2"],
        herd,
    ]


def _measure(one: list[str], part: str, results: Results) -> bool:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks", *one],
            stdout=subprocess.PIPE, text=True, timeout=LONGEST_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"  it took longer than {LONGEST_SECONDS} s and was ended", file=sys.stderr, flush=True)
        return False
    for text in done.stdout.splitlines():
        line: dict[str, Any] = {**json.loads(text), "part": part}
        results.lines.append(line)
        print(json.dumps(line), flush=True)
    return done.returncode == 0


def _write(results: Results, about: str, *, quick: bool) -> None:
    floors, figures = f"{floors_table(results)}\n\n{figures_table(results, BESIDE)}", figures_table(results, FIGURES)
    if quick:
        print(f"{about}\n\n{floors}\n\n{figures}", file=sys.stderr, flush=True)
        return
    put(DOCS / "benchmarks.md", f"{about}\n\n{floors}")
    put(DOCS / "scale.md", f"{about}\n\n{figures}")
    print("Written: docs/benchmarks.md, docs/scale.md", file=sys.stderr, flush=True)


def _note(begun: float, text: str) -> None:
    minutes, seconds = divmod(int(time.monotonic() - begun), 60)
    print(f"[{minutes:02d}:{seconds:02d}] {text}", file=sys.stderr, flush=True)
