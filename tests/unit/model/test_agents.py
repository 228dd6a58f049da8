"""What an agent may do with a tool, and what an edit takes away from a turn in progress."""

import pytest

from homing.model.agents import BUILT_IN, Agent, ToolPolicy

TODAY = Agent(id="main", name="Main", instructions="", hosts=("a.example", "b.example"))


def test_null_tools_are_the_defaults_and_a_tool_that_is_not_named_is_denied() -> None:
    assert {name: TODAY.policy(name) for name in BUILT_IN} == {name: tool.default for name, tool in BUILT_IN.items()}
    assert TODAY.policy("format_disk") == "deny"
    assert Agent(id="a", name="A", instructions="", tools={"recall": "allow"}).policy("remember") == "deny"


@pytest.mark.parametrize(
    ("tools", "name"),
    [(None, "schedule_task"), ({"cron": "allow"}, "cron"), ({"schedule_task": "deny"}, None), ({}, None)],
)
def test_the_scheduler_has_one_name(tools: dict[str, ToolPolicy] | None, name: str | None) -> None:
    assert Agent(id="a", name="A", instructions="", tools=tools).scheduler == name


def test_an_edit_takes_away_at_once_and_adds_only_for_later_turns() -> None:
    opened = Agent(
        id="a", name="A", instructions="", tools={"recall": "allow", "fetch_url": "allow"}, hosts=("a.example",)
    )
    edited = Agent(
        id="a",
        name="A",
        instructions="",
        tools={"recall": "ask", "remember": "allow"},
        hosts=("b.example",),
        revision=2,
    )
    now = opened.narrowed(edited)
    assert (now.policy("recall"), now.policy("fetch_url"), now.policy("remember")) == ("ask", "deny", "deny")
    assert now.hosts == ()
    assert opened.narrowed(opened) is opened
