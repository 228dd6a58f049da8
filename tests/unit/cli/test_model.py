"""`homing model`: the key comes from a prompt or a pipe, and is never shown."""

import pytest

from homing.agent import model_trial
from homing.agent.choice import _NEEDS  # pyright: ignore[reportPrivateUsage]
from homing.testing import StubModelServer
from support.commands import Homing

KEY = "sk-test-0123456789abcdefghij"
SMALL = "openai-chat:stub-small"


def test_a_model_is_listed_chosen_with_a_piped_key_used_and_shown(
    homing: Homing, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _, names in _NEEDS.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(model_trial, "LOCAL_SERVERS", ())
    with StubModelServer() as stub:
        stub.key = KEY
        listed = homing("model", "list", "--base-url", stub.openai_url)
        assert SMALL in listed.out
        assert f"Did you mean {stub.openai_url}?" in homing("model", "list", "--base-url", stub.url).out
        lacking = homing("model", "set", "openai:gpt-5")
        assert (lacking.code, "--key < FILE" in lacking.err) == (2, True)
        refused = homing("model", "set", SMALL, "--base-url", stub.openai_url, "--key", stdin=f"{KEY}x\n")
        assert (refused.code, "Incorrect API key provided: ***" in refused.err) == (2, True)
        chosen = homing("model", "set", SMALL, "--base-url", stub.openai_url, "--key", stdin=f"{KEY}\n")
        assert chosen.code == 0, chosen.err
        assert "kept in Homing's home" in chosen.out
        stub.reply("From the stub.")
        assert "From the stub." in homing("send", "cli:main", "hello", "--wait").out
        shown = homing("model", "get", "--json").object
        assert (shown["model"], shown["chosen"]["base_url"]) == (SMALL, stub.openai_url)
        assert SMALL in homing("status").out
        assert SMALL in homing("doctor").out
        assert "answered by" in homing("sessions", "update", "cli:main", "--model", SMALL).out
        assert homing("model", "set", "auto", "--json").object["source"] == "found"
        for said in (listed, lacking, refused, chosen):
            assert KEY not in said.out + said.err


def test_a_local_model_without_its_address_is_told_to_name_one(
    homing: Homing, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)
    said = homing("model", "set", "ollama:llama3.2")
    assert said.code == 2
    assert "homing model set ollama:llama3.2 --base-url http://127.0.0.1:11434/v1" in said.err
