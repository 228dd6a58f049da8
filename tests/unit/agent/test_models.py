"""Which model answers, and what is asked of it."""

import subprocess
import sys
from typing import get_args

import pytest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import KnownModelName
from pydantic_ai.models.function import FunctionModel

from homing.agent.choice import _PROVIDERS  # pyright: ignore[reportPrivateUsage]
from homing.agent.models import Models, choose, read_thinking
from homing.model.errors import Invalid, ModelFailed


def test_the_setting_wins_over_any_key():
    choice = choose("openai-chat:gpt-5", {"ANTHROPIC_API_KEY": "x"})
    assert (choice.name, choice.offline) == ("openai-chat:gpt-5", False)
    assert "HOMING_MODEL" in choice.why


def test_offline_may_be_chosen_although_a_key_is_there():
    assert choose("offline", {"OPENAI_API_KEY": "x"}).offline


@pytest.mark.parametrize(
    ("env", "prefix"),
    [
        ({"OPENAI_API_KEY": "x"}, "openai:"),
        ({"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://localhost/v1"}, "openai-chat:"),
        ({"ANTHROPIC_API_KEY": "x"}, "anthropic:"),
        ({"DEEPSEEK_API_KEY": "x"}, "deepseek:"),
    ],
)
def test_a_key_finds_its_model(env, prefix):
    choice = choose(None, env)
    assert choice.name.startswith(prefix)
    assert not choice.offline
    assert next(iter(env)) in choice.why


def test_without_a_key_it_is_offline_and_says_how_to_add_one():
    choice = choose(None, {"OPENAI_API_KEY": ""})
    assert choice.offline
    assert "ANTHROPIC_API_KEY" in choice.why


def test_a_key_whose_library_is_missing_is_passed_over():
    assert choose(None, {"MISTRAL_API_KEY": "x"}).offline


def test_the_models_found_by_key_are_known_ones():
    known = get_args(KnownModelName.__value__)
    assert [provider.model for provider in _PROVIDERS if provider.model not in known] == []


@pytest.mark.parametrize("name", ["nobody:model", "gpt-5", "mistral:mistral-large-latest"])
async def test_a_model_that_cannot_be_made_is_a_permanent_failure(name):
    with pytest.raises(ModelFailed, match="cannot be used") as failure:
        await Models().get(name)
    assert failure.value.permanent


async def test_a_missing_key_is_a_permanent_failure_that_names_it(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ModelFailed, match="ANTHROPIC_API_KEY") as failure:
        await Models().get("anthropic:claude-sonnet-5-5")
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(("text", "level"), [("off", False), ("on", True), (" High ", "high"), ("low", "low")])
def test_thinking_levels_are_read(text, level):
    assert read_thinking(text) == level


def test_an_unknown_thinking_level_is_refused_with_the_known_ones():
    with pytest.raises(Invalid, match="off, on, minimal, low, medium, high"):
        Models().settings("offline", thinking="furious")


def test_only_real_providers_are_told_not_to_retry_by_themselves():
    assert Models().settings("openai:gpt-5").get("max_retries") == 0
    assert Models().settings("offline") == {}


def test_importing_the_models_loads_no_provider():
    program = (
        "import homing.agent.models, homing.agent.loop, sys; print('openai' in sys.modules, 'anthropic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_choosing_a_model_loads_no_agent_framework():
    program = "import homing.agent.choice, sys; print('pydantic_ai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_a_profile_tells_whether_a_model_can_call_tools() -> None:
    deaf = FunctionModel(lambda messages, info: ModelResponse(parts=[]), profile={"supports_tools": False})
    models = Models(extra={"deaf": deaf, "plain": FunctionModel(lambda messages, info: ModelResponse(parts=[]))})
    assert not models.calls_tools("deaf")
    for name in ("plain", "offline", "openai-chat:gpt-5", "nobody:nothing"):
        assert models.calls_tools(name), name


async def test_a_model_is_loaded_before_anybody_asks_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    models = Models()
    await models.load("openai-chat:gpt-5", None)
    [made] = models._made.values()  # pyright: ignore[reportPrivateUsage]
    assert await models.get("openai-chat:gpt-5") is made
    await models.close()


@pytest.mark.parametrize("name", ["offline", "nobody:knows", "mistral:large"])
async def test_loading_a_model_that_cannot_be_made_harms_nothing(name):
    await Models().load(name, None)
