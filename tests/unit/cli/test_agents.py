"""Agents by commands alone: made, read, changed, talked to, removed."""

from pathlib import Path

import pytest

from homing.model.agents import BUILT_IN, INSTRUCTIONS
from support.commands import Homing


def test_an_agent_is_made_changed_talked_to_and_removed_by_commands_alone(homing: Homing, server: str) -> None:
    made = homing("agents", "add", "Fruit Research", "--instructions", "Only fruit.", "--host", "example.org", "--json")
    assert made.object["id"] == "fruit-research"
    shown = homing("agents", "get", "research")
    assert all(word in shown.out for word in ("Fruit Research", "Only fruit.", "example.org", "recall", "(defaults)"))
    assert "fruit-research" in homing("agents", "list").out
    changed = homing("agents", "update", "fruit", "--name", "Pears", "--no-host", "example.org", "--host", "b.example")
    assert changed.out.strip() == "Changed Pears (fruit-research): revision 2."
    assert homing("agents", "get", "pears", "--json").object["hosts"] == ["b.example"]
    said = homing("chat", "--agent", "pears", stdin="help\n")
    assert "remind me" in said.out
    assert homing("sessions", "get", "cli:fruit-research", "--json").object["agent_id"] == "fruit-research"
    refused = homing("agents", "remove", "pears")
    assert (refused.code, "1 conversation uses the agent fruit-research" in refused.err) == (2, True)
    assert "homing sessions update SESSION --agent main" in refused.err
    moved = homing("sessions", "update", "cli:fruit-research", "--agent", "main", "--json")
    assert moved.object["agent_id"] == "main"
    assert homing("agents", "remove", "pears").out.strip() == "Removed Pears (fruit-research)."
    assert [one["id"] for one in homing("agents", "list", "--json").objects] == ["main"]


def test_a_chat_with_an_agent_in_a_conversation_of_another_says_how_to_change_that(homing: Homing, server: str) -> None:
    homing("agents", "add", "Research")
    homing("send", "garden", "hello")
    said = homing("chat", "garden", "--agent", "research")
    assert said.code == 2
    assert "homing sessions update cli:garden --agent research" in said.err
    assert "no agent nobody" in homing("chat", "--agent", "nobody").err


def test_a_chat_in_which_nothing_was_said_leaves_no_conversation(homing: Homing, server: str) -> None:
    homing("agents", "add", "Research")
    assert homing("chat", "--agent", "research", stdin="\n").code == 0
    assert homing("sessions", "list", "--json").objects == []
    assert homing("agents", "remove", "research").code == 0


def test_what_was_asked_and_is_not_so_is_said_in_the_answer(
    homing: Homing, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOMING_SECRET_KNOWN", "x")
    homing("agents", "add", "Gardener")
    second = homing("agents", "add", "Gardener", "--secret", "NOPE", "--secret", "KNOWN", "--host", "localhost")
    assert "The id gardener is taken, so it is gardener-2." in second.out
    assert "The secret NOPE has no value here: set HOMING_SECRET_NOPE" in second.out
    assert "KNOWN" not in second.out
    assert "localhost is this machine, which is reached only with a port" in second.out
    removed = homing("agents", "update", "gardener-2", "--no-host", "nothere.org", "--no-host", "LOCALHOST")
    assert "Note: nothere.org was not among its hosts." in removed.out
    assert homing("agents", "get", "gardener-2", "--json").object["hosts"] == []
    named = homing("agents", "add", "Gardener", "--id", "third")
    assert "taken" not in named.out
    assert homing("agents", "delete", "third").code == 0
    homing("send", "garden", "hello")
    assert "with main" in homing("sessions", "update", "garden", "--agent", "main").out


def test_one_tool_is_switched_off_without_a_word_about_the_others(homing: Homing) -> None:
    changed = homing("agents", "update", "main", "--tool", "run_command=deny", "--tool", "fetch_url=deny", "--json")
    allowed = {name for name, tool in BUILT_IN.items() if tool.default == "allow"} - {"run_command", "fetch_url"}
    tools = changed.object["tools"]
    assert {name for name, policy in tools.items() if policy == "allow"} == allowed
    assert tools["run_command"] == tools["fetch_url"] == "deny"
    again = homing("agents", "update", "main", "--tool", "fetch_url", "--json").object["tools"]
    assert (again["fetch_url"], again["run_command"]) == ("allow", "deny")
    assert homing("agents", "update", "main", "--no-tools", "--tool", "recall", "--json").object["tools"] == {
        "recall": "allow"
    }
    assert homing("agents", "update", "main", "--default-tools", "--json").object["tools"] is None


def test_instructions_come_from_a_file_or_from_stdin_and_go_back_to_the_default(homing: Homing, tmp_path: Path) -> None:
    file = tmp_path / "soul.md"
    file.write_text("You are a gardener.\n", "utf-8")
    made = homing("agents", "add", "Gardener", "--instructions", f"@{file}", "--json")
    assert made.object["instructions"] == "You are a gardener.\n"
    piped = homing("agents", "update", "gardener", "--instructions", "-", "--json", stdin="Only roses.")
    assert piped.object["instructions"] == "Only roses."
    back = homing("agents", "update", "gardener", "--instructions", "", "--json")
    assert back.object["instructions"] == INSTRUCTIONS
    file.write_bytes(b"\xff\xfe")
    assert "not UTF-8" in homing("agents", "update", "gardener", "--instructions", f"@{file}").err
    assert "cannot be read" in homing("agents", "update", "gardener", "--instructions", f"@{file}s").err


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("add", "X", "--tool", "dance"), "There is no tool dance. The tools are: schedule_task"),
        (("add", "X", "--tool", "run_command=ask"), "comes with approvals"),
        (
            ("add", "X", "--tool", "run_command=maybe"),
            "--tool is written NAME, NAME=allow or NAME=deny, not run_command",
        ),
        (("add", "X", "--host", "*.org"), "it would open a whole top-level domain"),
        (("add", "X", "--tool", "=deny"), "A name of a tool is empty. The tools are"),
        (("update", "main", "--revision", "9", "--name", "x"), "Somebody changed it meanwhile"),
        (("update", "main"), "Say what to change"),
        (("update", "main", "--default-tools", "--no-tools"), "--default-tools cannot be combined"),
        (("update", "nobody", "--name", "x"), "There is no agent nobody"),
        (("remove", "main"), "main cannot be removed"),
        (("remove", ""), "Say which agent"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(homing: Homing, args: tuple[str, ...], sentence: str) -> None:
    said = homing("agents", *args)
    assert said.code == 2
    assert sentence in said.err
