"""docs/layout.md, the walk through the code for a stranger, names only what exists; docs/data.md has every table."""

import ast
import re
from pathlib import Path

import pytest

from homing.store.tables import metadata

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/homing"
PAGE = (ROOT / "docs/layout.md").read_text("utf-8")
NEW = {"channels/sms.py"}
"""What the page tells a reader to write."""


def defined(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text("utf-8")).body if hasattr(node, "name")}  # type: ignore[attr-defined]


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`([\w/]+\.py(?:::\w+)?)`", PAGE)) - NEW))
def test_every_place_that_the_layout_names_exists(named: str) -> None:
    path, _, name = named.partition("::")

    assert (SOURCE / path).is_file(), f"docs/layout.md names {path}, which is not there"
    assert not name or name in defined(SOURCE / path), f"docs/layout.md names {named}, which is not there"


def test_the_layout_lists_every_room() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    table = PAGE.partition("| --- | --- |")[2].partition("\n\n")[0]

    assert rooms - {"__init__.py", "__main__.py"} == set(
        re.findall(r"`([\w.]+)`", "\n".join(row.split("|")[1] for row in table.splitlines() if "|" in row))
    )


def test_each_walk_is_short_enough_to_be_read() -> None:
    for section in PAGE.split("\n## ")[2:]:
        assert len(section.strip().splitlines()) <= 2 + 15, section.splitlines()[0]


def test_the_page_of_tables_lists_every_table() -> None:
    page = (ROOT / "docs/data.md").read_text("utf-8")

    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(metadata.tables)
