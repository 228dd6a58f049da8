"""Agents by commands alone: made, read, changed, talked to, removed."""

from pathlib import Path

import pytest

from homing.model.agents import BUILT_IN, INSTRUCTIONS
from support.commands import Homing
from support.package_index import serve_packages


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


def test_a_heartbeat_is_set_shown_and_taken_back_by_commands(homing: Homing, server: str, tmp_path: Path) -> None:
    (tmp_path / "list.md").write_text("- Are the pears ripe?", "utf-8")
    beat = ("--heartbeat-minutes", "30", "--active-hours", "08:00-22:00", "--checklist", f"@{tmp_path}/list.md")
    changed = homing("agents", "update", "main", *beat)
    assert "offline model does not go through it" in changed.out
    shown = homing("agents", "get", "main").out
    assert all(words in shown for words in ("every 30 minutes, 08:00-22:00", "- Are the pears ripe?"))
    refused = homing("agents", "update", "main", "--heartbeat-minutes", "often")
    assert (refused.code, "whole number of minutes" in refused.err) == (2, True)
    script = ("--heartbeat-script", "print(nobody)", "--heartbeat-script-language", "python")
    broken = homing("agents", "update", "main", *script)
    assert (broken.code, "The test run of the script failed." in broken.err) == (2, True)
    back = homing(
        "agents", "update", "main", "--heartbeat-minutes", "", "--checklist", "", "--active-hours", "", "--json"
    )
    assert back.object["heartbeat"] == {"minutes": None, "checklist": None, "active_hours": None}


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
        (("add", "X", "--tool", "recall=ask"), "Calls of recall cannot wait for an approval"),
        (
            ("add", "X", "--tool", "run_command=maybe"),
            "--tool is written NAME, NAME=allow, NAME=ask or NAME=deny, not run_command",
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


def test_packages_are_changed_one_by_one_and_the_answer_says_where_to_look(
    homing: Homing, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_packages() as index:
        for name, value in index.host.items():
            if name != "HOME":
                monkeypatch.setenv(name, value)
        index.add_wheel("owl")
        index.add_wheel("wren")
        said = homing("agents", "update", "main", "--pip", "owl", "--no-npm", "left-pad")
        assert said.code == 0, said.err
        assert "Note: left-pad was not among its packages." in said.out
        [approval] = homing("approvals", "list", "--json").objects
        assert f"Its packages are being installed. How it goes: homing approvals get {approval['id']}" in said.out
        shown = homing("approvals", "get", approval["id"]).out
        assert "by an administrator, as a change of the agent" in shown
        # Every hash is behind a flag.
        assert "--hash=" not in shown
        assert f"homing approvals get {approval['id']} --whole" in " ".join(shown.split())
        assert "--hash=" in homing("approvals", "get", approval["id"], "--whole").out
        assert "Answered" in shown
        busy = homing("agents", "update", "main", "--pip", "wren")
        assert (busy.code, "are being installed now" in busy.err) == (2, True)
        assert homing("agents", "update", "main", "--pip", "./owl").code == 2
