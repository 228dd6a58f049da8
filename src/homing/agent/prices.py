"""What a model call cost, by the price list that comes with Pydantic AI."""

from decimal import Decimal

from genai_prices.data_snapshot import get_snapshot
from pydantic_ai.messages import ModelResponse

from homing.agent.choice import OFFLINE
from homing.model.turns import CallUsage

_NANO = Decimal(10) ** 9
_PROVIDERS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "google-gla": "google",
    "google-vertex": "google",
    "gemini": "google",
    "bedrock": "aws",
    "grok": "x-ai",
    "xai": "x-ai",
}


def usage_of_call(response: ModelResponse, name: str) -> CallUsage:
    """Give what a call used, and its price at its time for the model that the provider says has answered."""
    used = response.usage
    return CallUsage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_tokens=used.cache_read_tokens,
        thinking_tokens=used.output_reasoning_tokens or used.details.get("reasoning_tokens", 0),
        cost_nano_usd=0 if name == OFFLINE else _cost(response),
    )


def has_price(name: str) -> bool:
    """Say whether the price list knows a model, by the name that Pydantic AI has for it."""
    provider, _, model = name.partition(":")
    if name == OFFLINE:
        return True
    try:
        # `openai-chat` and `openai-responses` are ways to ask one provider.
        get_snapshot().find_provider_model(model, None, _PROVIDERS.get(provider, provider), None)
    except LookupError:
        return False
    return True


def _cost(response: ModelResponse) -> int | None:
    try:
        # Some gateways name the price themselves.
        known = response.usage.cost
        return round((response.cost().total_price if known is None else Decimal(known)) * _NANO)
    except Exception:  # noqa: BLE001 - an unknown model, or usage the list cannot price; a turn never fails for that
        return None
