"""Writes tables into pages: only what stands between two marks is made, the rest of a page is somebody's own words."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks._figures import Figure
from benchmarks._floors import FLOORS, Floor, verdict
from benchmarks._results import Missing, Results

DOCS = Path(__file__).resolve().parents[1] / "docs"
BEGIN = "<!-- made by `make bench`: do not edit -->"
END = "<!-- end of what `make bench` makes -->"


def floors_table(results: Results, floors: Sequence[Floor] = FLOORS) -> str:
    """Draw one row a floor, with its verdict."""
    rows = ["| # | what | floor | measured | verdict | `python -m benchmarks …` |", "| --- " * 6 + "|"]
    for floor in floors:
        words, judged = verdict(floor, results)
        rows.append(f"| {floor.id} | {floor.what} | {floor.floor} | {words} | {judged} | `{floor.command}` |")
    return "\n".join(rows)


def figures_table(results: Results, figures: Sequence[Figure]) -> str:
    """Draw one row a figure, with the command that gives it."""
    rows = ["| figure | measured | `python -m benchmarks …` |", "| --- " * 3 + "|"]
    for figure in figures:
        try:
            value = figure.draw(results)
        except Missing:
            value = "–"
        rows.append(f"| {figure.what} | {value} | `{figure.command}` |")
    return "\n".join(rows)


def put(page: Path, made: str) -> None:
    """Replace what a page has between the marks."""
    page.write_text(replaced(page.read_text(), made))


def replaced(text: str, made: str) -> str:
    """Give the text of a page with its made part renewed."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"The page has lost its marks; put these two lines where the table belongs: {BEGIN} {END}")
    return f"{before}{BEGIN}\n\n{made.strip()}\n\n{END}{after}"
