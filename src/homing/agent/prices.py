"""What a model call cost, by the price list that comes with Pydantic AI."""

from decimal import Decimal

from pydantic_ai.messages import ModelResponse

from homing.agent.choice import OFFLINE
from homing.model.turns import Usage

_NANO = Decimal(10) ** 9


def usage_of_call(response: ModelResponse, name: str) -> Usage:
    """Give what a call used, and its price at its time for the model that the provider says has answered."""
    used = response.usage
    return Usage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cost_nano_usd=0 if name == OFFLINE else _cost(response),
    )


def _cost(response: ModelResponse) -> int | None:
    try:
        # Some gateways name the price themselves.
        known = response.usage.cost
        return round((response.cost().total_price if known is None else Decimal(known)) * _NANO)
    except Exception:  # noqa: BLE001 - an unknown model, or usage the list cannot price; a turn never fails for that
        return None
