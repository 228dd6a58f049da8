"""Run one soak, print what was seen, and end with 1 when a bound was broken."""

import argparse
import json
import sys

from soak.house import House
from soak.run import soak


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m soak")
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    ask = parser.parse_args()
    with House(ask.database) as house:
        seen = soak(house, ask.seconds)
        violations = seen.violations()
        told = {"soak": ask.database, "seconds": ask.seconds, **seen.told(), "violations": violations}
        sys.stdout.write(json.dumps(told) + "\n")
        if violations:
            sys.stdout.write(f"The log is in {house.keep()}.\n")
            raise SystemExit(1)


if __name__ == "__main__":
    main()
