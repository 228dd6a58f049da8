"""Run one measurement by its name."""

import importlib
import pkgutil
import sys

import benchmarks

NAMES = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_"))


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        print(f"Name a measurement: {', '.join(NAMES)}", file=sys.stderr)
        raise SystemExit(2)
    importlib.import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])


if __name__ == "__main__":
    main()
