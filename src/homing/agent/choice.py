"""Which model to use when nobody says: the one whose key is at hand, else `offline`, always with the reason why."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
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


@dataclass(frozen=True, kw_only=True)
class ChoosableProvider:
    """A provider whose key a person may give."""

    provider: str
    name: str
    model: str
    """What to begin with."""
    has_key: bool
    installed: bool


_PROVIDERS = (
    _Provider(key="ANTHROPIC_API_KEY", sdk="anthropic", model="anthropic:claude-sonnet-5-5"),
    _Provider(key="OPENAI_API_KEY", sdk="openai", model="openai:gpt-6.1-terra"),
    _Provider(key="GOOGLE_API_KEY", sdk="google.genai", model="google:gemini-flash-latest"),
    _Provider(key="GEMINI_API_KEY", sdk="google.genai", model="google:gemini-flash-latest"),
    _Provider(key="MISTRAL_API_KEY", sdk="mistralai", model="mistral:mistral-large-latest"),
    _Provider(key="GROQ_API_KEY", sdk="groq", model="groq:openai/gpt-oss-120b"),
    _Provider(key="DEEPSEEK_API_KEY", sdk="openai", model="deepseek:deepseek-chat"),
)


# What each provider of Pydantic AI needs: the SDK, and one of these variables.
_NEEDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic", ("ANTHROPIC_API_KEY",)),
    "openai": ("openai", ("OPENAI_API_KEY", "OPENAI_BASE_URL")),
    "openai-chat": ("openai", ("OPENAI_API_KEY", "OPENAI_BASE_URL")),
    "openai-responses": ("openai", ("OPENAI_API_KEY", "OPENAI_BASE_URL")),
    "google": ("google.genai", ("GOOGLE_API_KEY", "GEMINI_API_KEY")),
    "mistral": ("mistralai", ("MISTRAL_API_KEY",)),
    "groq": ("groq", ("GROQ_API_KEY",)),
    "deepseek": ("openai", ("DEEPSEEK_API_KEY",)),
    "openrouter": ("openai", ("OPENROUTER_API_KEY",)),
    "ollama": ("openai", ("OLLAMA_BASE_URL",)),
    "azure": ("openai", ("AZURE_OPENAI_API_KEY",)),
    "cohere": ("cohere", ("CO_API_KEY",)),
    "together": ("openai", ("TOGETHER_API_KEY",)),
    "fireworks": ("openai", ("FIREWORKS_API_KEY",)),
    "github": ("openai", ("GITHUB_API_KEY",)),
    "moonshotai": ("openai", ("MOONSHOTAI_API_KEY",)),
    "cerebras": ("openai", ("CEREBRAS_API_KEY",)),
    "xai": ("xai_sdk", ("XAI_API_KEY",)),
    "huggingface": ("huggingface_hub", ("HF_TOKEN",)),
    "bedrock": ("boto3", ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE")),
}


_NAMES = {
    "anthropic": "Anthropic",
    "openai": "OpenAI",
    "google": "Google",
    "mistral": "Mistral",
    "groq": "Groq",
    "deepseek": "DeepSeek",
}
_OPENROUTER = "openrouter:openrouter/auto"


def choosable_providers(env: Mapping[str, str]) -> list[ChoosableProvider]:
    """List the providers that need nothing but a key."""
    models = {provider.model.partition(":")[0]: provider.model for provider in _PROVIDERS}
    models["openrouter"] = _OPENROUTER
    return [
        ChoosableProvider(
            provider=provider,
            name=_NAMES.get(provider, "OpenRouter"),
            model=model,
            has_key=any(env.get(key) for key in _NEEDS[provider][1]),
            installed=_is_installed(_NEEDS[provider][0]),
        )
        for provider, model in models.items()
    ]


def needs_key(name: str) -> bool:
    """Say whether a key is all that a model lacks: its provider is known, and its package installed."""
    provider, colon, model = name.partition(":")
    return bool(colon and model) and provider in _NEEDS and _is_installed(_NEEDS[provider][0])


def why_unusable(name: str, env: Mapping[str, str], *, default: str) -> str | None:
    """Say why a model of that name cannot be asked from here, and what comes nearest; None when it can.

    Only the provider is judged: which models it has today, it alone knows.
    """
    provider, colon, model = name.partition(":")
    needs = _NEEDS.get(provider) if colon and model else None
    if needs is None:
        return f"There is no model {name:.80}. {_nearest(name, env, default)}"
    sdk, keys = needs
    if not any(env.get(key) for key in keys):
        return f"The model {name:.80} cannot be used: {keys[0]} is not set on this server. " + _nearest(
            name, env, default
        )
    if not _is_installed(sdk):
        return f"The model {name:.80} cannot be used: the package {sdk} is not installed on this server."
    return None


def _nearest(name: str, env: Mapping[str, str], default: str) -> str:
    """Suggest the nearest usable name: ours for the same model, else what can be used here."""
    provider, slash, model = name.partition("/")
    if slash and model and provider in _NEEDS:
        return f"Did you mean {provider}:{model:.80}?"
    ready = [provider.model for provider in _PROVIDERS if env.get(provider.key) and _is_installed(provider.sdk)]
    usable = list(dict.fromkeys(one for one in (default, *ready, OFFLINE) if one != name))
    near = get_close_matches(name, usable, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return f"A model is named provider:model; available here, for example: {', '.join(usable)}."


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
        why="No model was chosen and no key was found. Choose one in Settings or with `homing model set`, or set"
        " ANTHROPIC_API_KEY or OPENAI_API_KEY and start again.",
    )


def _is_installed(sdk: str) -> bool:
    try:
        return find_spec(sdk) is not None
    except ModuleNotFoundError:
        return False
