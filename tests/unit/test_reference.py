"""docs/reference/ and the README's table of settings are what the code says today."""

from homing.model.agents import BUILT_IN, SCHEDULERS
from support.reference import COMMAND, ROOT, pages


def test_the_reference_pages_are_those_that_the_code_gives() -> None:
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text]

    names = ", ".join(path.relative_to(ROOT).as_posix() for path in stale)
    assert not stale, f"{names}: differs from the code. Run `{COMMAND}` and commit the result."


def test_no_page_of_the_reference_is_left_behind() -> None:
    assert set((ROOT / "docs/reference").iterdir()) <= pages().keys()


def test_every_tool_that_an_agent_can_have_is_described() -> None:
    described = (ROOT / "docs/reference/tool.md").read_text("utf-8")
    missing = [name for name in BUILT_IN if f"## {name}\n" not in described and name not in SCHEDULERS]
    assert missing == []
