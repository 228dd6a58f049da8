"""Weigh the source: logical lines (one per statement, as `tokenize` counts them) and files per room.

`testing/` is a product of its own and migrations are written once, so both are listed below the sum.
"""

import tokenize
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "homing"


def logical_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(token.type == tokenize.NEWLINE for token in tokenize.tokenize(file.readline))


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return "migrations" if "migrations" in parts else parts[0] if len(parts) > 1 else "(top)"


def main(_arguments: Sequence[str] = ()) -> None:
    lines, files = Counter[str](), Counter[str]()
    for path in SOURCE.rglob("*.py"):
        lines[room_of(path)] += logical_lines(path)
        files[room_of(path)] += 1
    apart = ("testing", "migrations")
    for room in sorted(lines.keys() - set(apart)):
        print(f"{lines[room]:8,} {files[room]:4} files  {room}")
    print(f"{sum(lines.values()) - sum(lines[r] for r in apart):8,} {sum(files.values()):4} files  all rooms")
    for room in apart:
        print(f"{lines[room]:8,} {files[room]:4} files  {room} (not counted)")


if __name__ == "__main__":
    main()
