"""The checker finds nothing where nothing is wrong, and knows what it looked at."""

from pathlib import Path

from torture.checks import check
from torture.evidence import gather


def test_a_house_that_worked_in_peace_breaks_no_promise(house: Path) -> None:
    evidence = gather(f"sqlite:///{house / 'homing.db'}", house)
    assert [str(violation) for violation in check(evidence)] == []


def test_there_is_something_of_everything_to_look_at(house: Path) -> None:
    evidence = gather(f"sqlite:///{house / 'homing.db'}", house)
    assert all(evidence.rows.values()), {table: len(rows) for table, rows in evidence.rows.items()}
    assert evidence.calls
    assert evidence.letters
    assert {deed["tool"] for deed in evidence.deeds} == {"deed", "look"}
