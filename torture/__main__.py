"""Wage campaigns and say what they showed; the exit code is 1 when a promise did not hold."""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from torture.campaign import Outcome, wage
from torture.sabotage import SABOTAGES


def main() -> None:
    """Read the arguments, wage one campaign for each seed."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), required=True)
    parser.add_argument("--engine", choices=("own", "restate"), default="own", help="restate: it drives 3 of 4 workers")
    parser.add_argument("--seconds", type=float, default=1200.0, help="how long the chaos lasts")
    parser.add_argument("--seed", type=int, nargs="*", help="one campaign each; by default one from the clock")
    parser.add_argument("--keep", type=Path, help="a folder for rows and logs; else kept only after a violation")
    parser.add_argument("--break", dest="broken", choices=SABOTAGES, help="break this guard, and see it found")
    options = parser.parse_args()
    if options.engine == "restate" and options.database != "postgresql":
        parser.error("--engine restate needs --database postgresql: several workers")
    seeds: list[int] = options.seed or [time.time_ns() % 1_000_000]
    bad = False
    for seed in seeds:
        folder = _folder(options.keep, options.database, seed)
        print(
            f"torture {options.database}, engine {options.engine}: seed {seed}, {options.seconds:g} s, in {folder}",
            flush=True,
        )
        outcome = asyncio.run(
            wage(
                options.database, seconds=options.seconds, seed=seed, folder=folder, say=_say, broken=options.broken,
                restate=options.engine == "restate",
            )
        )  # fmt: skip
        _tell(options.database, options.engine, seed, outcome)
        if outcome.violations or not outcome.settled:
            bad = True
        elif not options.keep:
            shutil.rmtree(folder)
    sys.exit(1 if bad else 0)


def _folder(keep: Path | None, database: str, seed: int) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix=f"homing-torture-{database}-{seed}-"))
    folder = keep / f"{database}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder.absolute()


def _say(text: str) -> None:
    print(f"  {text}", flush=True)


def _tell(database: str, engine: str, seed: int, outcome: Outcome) -> None:
    for violation in outcome.violations[:50]:
        print(f"VIOLATION {violation}")
    result = {
        "metric": "torture", "value": len(outcome.violations), "unit": "violations", "database": database,
        "engine": engine,
        "seed": seed, "settled": outcome.settled, "events": outcome.events, "proved": outcome.counts,
    }  # fmt: skip
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
