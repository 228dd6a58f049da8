"""docs/failure.md promises a test for each row; a row without one, or with a dead link, is a promise without proof."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "failure.md"


def test_every_row_of_the_failure_table_names_its_test() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    told = [row for row in rows if not row.startswith(("| killed while |", "| what |", "| guard |"))]
    assert len(told) > 20
    assert [row for row in told if "](" not in row and "torture" not in row] == []


def test_every_link_of_the_failure_page_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text())
    assert [link for link in links if not (PAGE.parent / link).exists()] == []
