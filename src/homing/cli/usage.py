"""`usage`: what model calls used and cost, and what the month will come to."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.format import dollars
from homing.model.contract import Json


class By(StrEnum):
    """What the sums are of."""

    DAY = "day"
    JOB = "job"
    SESSION = "session"
    AGENT = "agent"
    MODEL = "model"


def usage(
    by: Annotated[By, typer.Option("--by", help="Sums by day, job, session, agent or model.")] = By.DAY,
    since: Annotated[str | None, typer.Option("--from", help="The first day, such as 2026-11-01.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="The last day; today unless given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what your model calls used and cost: the last 30 days, and a forecast of the month."""
    with connected(as_json) as connection:
        answer = connection.server.ask("get_usage", **{"by": by.value, "from": since, "to": until})
        connection.screen.show(answer, lambda: _card(answer, by.value))


def _card(answer: Json, by: str) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli import widgets

    rows = [
        [
            item["name"],
            str(item["turns"]),
            f"{item['input_tokens']:,}",
            f"{item['output_tokens']:,}",
            _price(item),
        ]
        for item in answer["items"]
    ]
    days = f"{answer['from']} to {answer['to']} ({answer['timezone']})"
    listing = widgets.Listing(headings=(by, "turns", "tokens in", "tokens out", "cost"), rows=rows, gives=(by,))
    budget = answer["budget_usd_per_day"]
    facts = widgets.facts(
        [
            ("Today", _sum(answer["today_usd"]) + ("" if budget is None else f" of {_sum(budget)}")),
            ("This month", _sum(answer["month_usd"])),
            ("Forecast", f"{_sum(answer['forecast_month_usd'])} for the whole month"),
        ]
    )
    shown = listing if rows else Text("No model calls in these days.")
    more = [Text("Showing the most expensive; there are more.", style=widgets.QUIET)] if answer["more"] else []
    return Group(Text(days, style=widgets.QUIET), shown, *more, facts)


def _sum(cost: float | None) -> str:
    return dollars({"cost_usd": cost})


def _price(item: Json) -> str:
    unknown = item["unpriced_calls"]
    if item["cost_usd"] is None or not unknown:
        return dollars(item)
    return f"{dollars(item)}, and {unknown} {'call' if unknown == 1 else 'calls'} of unknown price"
