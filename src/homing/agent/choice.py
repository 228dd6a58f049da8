"""Which model to use when nobody says: the one whose key is at hand, else `offline`, always with the reason why."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

OFFLINE = "offline"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The model of an installation, and why it is that one."""

    name: str
    offline: bool
    why: str


@dataclass(frozen=True, kw_only=True)
class _Provider:
    key: str
    sdk: str
    model: str


_PROVIDERS = (
    _Provider(key="ANTHROPIC_API_KEY", sdk="anthropic", model="anthropic:claude-sonnet-5-5"),
    _Provider(key="OPENAI_API_KEY", sdk="openai", model="openai:gpt-6.1-terra"),
    _Provider(key="GOOGLE_API_KEY", sdk="google.genai", model="google:gemini-flash-latest"),
    _Provider(key="GEMINI_API_KEY", sdk="google.genai", model="google:gemini-flash-latest"),
    _Provider(key="MISTRAL_API_KEY", sdk="mistralai", model="mistral:mistral-large-latest"),
    _Provider(key="GROQ_API_KEY", sdk="groq", model="groq:openai/gpt-oss-120b"),
    _Provider(key="DEEPSEEK_API_KEY", sdk="openai", model="deepseek:deepseek-chat"),
)


def choose(setting: str | None, env: Mapping[str, str]) -> Choice:
    """Choose the model: the setting, else the first key found whose SDK is installed, else `offline`."""
    if setting == OFFLINE:
        return Choice(name=OFFLINE, offline=True, why="HOMING_MODEL says offline: no AI model is called.")
    if setting:
        return Choice(name=setting, offline=False, why=f"HOMING_MODEL says {setting}.")
    for provider in _PROVIDERS:
        if env.get(provider.key) and _is_installed(provider.sdk):
            name = provider.model
            # Behind another address stands another server, and what those speak is the older chat protocol.
            if provider.key == "OPENAI_API_KEY" and env.get("OPENAI_BASE_URL"):
                name = name.replace("openai:", "openai-chat:")
            return Choice(name=name, offline=False, why=f"{provider.key} is set and HOMING_MODEL is not.")
    return Choice(
        name=OFFLINE,
        offline=True,
        why="No model key was found. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or HOMING_MODEL to a model's name such "
        "as openai-chat:gpt-5, and start again.",
    )


def _is_installed(sdk: str) -> bool:
    try:
        return find_spec(sdk) is not None
    except ModuleNotFoundError:
        return False
