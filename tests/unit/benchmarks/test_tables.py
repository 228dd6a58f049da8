"""A table of figures is read as the truth: verdicts, medians and what is missing must be right."""

from collections.abc import Callable

import pytest

from benchmarks._figures import Figure
from benchmarks._floors import FLOORS, Floor, Measured
from benchmarks._page import BEGIN, DOCS, END, figures_table, floors_table, replaced
from benchmarks._results import Missing, Results


def _floor(judge: Callable[[Results], Measured]) -> Floor:
    return Floor(id="F0", what="speed", floor="2x", command="dispatch", judge=judge, why_not="the disk is slow.")


def _lines(metric: str, *values: float, **more: object) -> list[dict[str, object]]:
    return [{"metric": metric, "value": value, **more} for value in values]


def test_a_floor_that_is_reached_is_met() -> None:
    floor = _floor(lambda results: Measured(words="2.5x", met=True))
    assert "| F0 | speed | 2x | 2.5x | met | `dispatch` |" in floors_table(Results(), [floor])


def test_a_floor_that_is_not_reached_says_why() -> None:
    floor = _floor(lambda results: Measured(words="1.5x", met=False))
    assert "| 1.5x | **not met**: the disk is slow. |" in floors_table(Results(), [floor])


def test_a_floor_without_a_figure_is_neither_met_nor_excused() -> None:
    floor = _floor(lambda results: Measured(words=f"{results.median('absent', {'who': 'homing'})}", met=True))
    row = floors_table(Results(), [floor]).splitlines()[-1]
    assert "**not measured**: no line `absent who=homing`" in row
    assert "the disk is slow" not in row


def test_with_no_line_at_all_every_floor_is_not_measured() -> None:
    table = floors_table(Results())
    assert [f"| F{n} |" in table for n in range(1, 14)] == [True] * 13
    assert table.count("**not measured**") == len(FLOORS)


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    ours = _lines("dispatch", 100, 300, 40, who="homing")
    theirs = _lines("dispatch", 10, 100, 20, who="raw")
    assert Results(ours + theirs).ratio("dispatch", {"who": "homing"}, {"who": "raw"}) == 3


def test_dispatch_is_met_from_thirty_times_on() -> None:
    def judged(ours: float) -> Measured:
        marks = {"database": "sqlite", "part": "rounds"}
        lines = [
            *_lines("dispatch", ours, who="homing", **marks),
            *_lines("dispatch", 100, who="apscheduler", **marks),
            *_lines("dispatch", 200, who="apscheduler-wal", **marks),
            *_lines("dispatch", 4000, who="raw", **marks),
        ]
        return FLOORS[0].judge(Results(lines))

    assert judged(3000).met
    assert not judged(2990).met
    assert judged(3000).words == "30.0x (3,000 against 100/s); 15.0x of it in WAL; written by hand 40.0x"


def test_what_ran_once_beside_the_rounds_does_not_move_a_floor() -> None:
    marks = {"database": "sqlite", "who": "homing"}
    lines = _lines("dispatch", 900, part="rounds", **marks) + _lines("dispatch", 1, 2, part="once", **marks)
    assert Results(lines).median("dispatch", {**marks, "part": "rounds"}) == 900


def test_only_what_stands_between_the_marks_is_made_anew() -> None:
    page = f"My words.\n\n{BEGIN}\n\nold\n\n{END}\n\nMy other words.\n"
    assert replaced(page, "new") == f"My words.\n\n{BEGIN}\n\nnew\n\n{END}\n\nMy other words.\n"


def test_a_page_without_marks_is_not_overwritten() -> None:
    with pytest.raises(ValueError, match="lost its marks"):
        replaced("My words.", "new")


def test_a_figure_that_was_not_measured_is_a_dash() -> None:
    def draw(results: Results) -> str:
        raise Missing("turns")

    figure = Figure(what="turns", command="turns", draw=draw)
    assert figures_table(Results(), [figure]).endswith("| turns | – | `turns` |")


@pytest.mark.parametrize("page", ["benchmarks.md", "scale.md"])
def test_the_pages_of_the_docs_have_a_place_for_their_tables(page: str) -> None:
    assert "new table" in replaced((DOCS / page).read_text(), "new table")
