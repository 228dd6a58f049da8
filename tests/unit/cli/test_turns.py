"""`turns list` and `turns get`: what the agent did, for people and as JSON."""

import json

from homing.cli.format import dollars, spent
from support.commands import Homing


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
    assert (said.code, said.err.strip()) == (2, "There is no turn turn_nowhere.")


def test_prices_are_said_with_as_many_digits_as_they_need() -> None:
    said = [dollars({"cost_usd": cost}) for cost in (None, 0, 0.00001, 0.00123, 0.1, 12.345)]
    assert said == ["price unknown", "$0.00", "less than $0.0001", "$0.0012", "$0.1", "$12.35"]
    assert spent({"input_tokens": 1000, "output_tokens": 234, "cost_usd": None}) == "1,234 tokens, price unknown"
    assert spent({"input_tokens": 0, "output_tokens": 0, "cost_usd": None}) == ""
