"""`turns list` and `turns get`: what the agent did, for people and as JSON."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from homing.cli.format import dollars, spent
from homing.client.home import known_token
from homing.client.remote import Client
from homing.settings import load
from support.commands import Homing
from support.sandboxes import need_bubblewrap


def test_a_turn_is_listed_and_shown_by_a_beginning_of_its_id(homing: Homing, server: str) -> None:
    homing("send", "cli:main", "remember I like \x1b]0;pears\x07", "--wait")
    [turn] = homing("turns", "list", "--json").objects
    listed = homing("turns", "list", "main").out
    assert turn["id"] in listed
    assert "answered" in listed
    shown = homing("turns", "get", turn["id"][:9])
    assert shown.code == 0
    for part in ("tool remember", "I like \\u001b]0;pears", "model offline", "Used", "$0.00"):
        assert part in shown.out, shown.out
    assert "\x1b" not in shown.out
    whole = homing("turns", "get", turn["id"], "--json").object
    assert [step["kind"] for step in whole["steps"]] == ["model", "tool", "model"]
    assert json.loads(whole["steps"][1]["arguments"])["text"].startswith("I like")


def test_an_unknown_turn_is_refused_with_a_sentence(homing: Homing, server: str) -> None:
    homing("send", "cli:main", "hello", "--wait")
    said = homing("turns", "get", "turn_nowhere")
    assert (said.code, said.err.splitlines()[0]) == (2, "There is no turn turn_nowhere.")
    assert "of cli:main. For another conversation: -s SESSION" in said.err


def test_steps_are_counted_without_gaps_and_a_cut_text_says_how_to_see_more(homing: Homing, server: str) -> None:
    homing("send", "garden", f"remember I like {'pears ' * 80}", "--wait")
    [turn] = homing("turns", "list", "garden", "--json").objects
    shown = homing("turns", "get", turn["id"][:9], "-s", "garden").out
    steps = [line.split()[1] for line in shown.splitlines() if line.startswith("Step ")]
    assert steps == ["1", "2", "3"]
    assert f"homing turns get {turn['id']} --json" in shown
    homing("send", "cli:main", "remember I like figs", "--wait")
    [turn] = homing("turns", "list", "--json").objects
    assert "--json" not in homing("turns", "get", turn["id"]).out


def test_prices_are_said_with_as_many_digits_as_they_need() -> None:
    said = [dollars({"cost_usd": cost}) for cost in (None, 0, 0.00001, 0.00123, 0.1, 12.345)]
    assert said == ["price unknown", "$0.00", "less than $0.0001", "$0.0012", "$0.1", "$12.35"]
    assert spent({"input_tokens": 1000, "output_tokens": 234, "cost_usd": None}) == "1,234 tokens, price unknown"
    assert spent({"input_tokens": 0, "output_tokens": 0, "cost_usd": None}) == ""


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_command_that_a_person_stopped_is_shown_as_stopped(homing: Homing, server: str, home: Path) -> None:
    need_bubblewrap()
    # As root a program inside has another uid, and must be able to pass.
    home.parent.chmod(0o755)
    homing("send", "cli:main", "$ sleep 600")

    def runs_a_command() -> bool:
        turns = homing("turns", "list", "--json").objects
        steps = homing("turns", "get", turns[0]["id"], "--json").object["steps"] if turns else []
        return any(step["kind"] == "tool" and step["state"] == "running" for step in steps)

    _until(runs_a_command)
    client = Client(server, known_token(load()))
    client.ask("cancel_turn", session_key="cli:main")
    client.close()
    _until(lambda: homing("turns", "list", "--json").object["outcome"] == "cancelled")
    shown = homing("turns", "get", homing("turns", "list", "--json").object["id"]).out
    assert "tool run_command  stopped" in shown, shown
    assert "unknown" not in shown
