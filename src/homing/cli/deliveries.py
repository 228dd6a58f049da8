"""`deliveries list`, `retry`."""

from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.lookup import find_one, session_key
from homing.cli.problems import Problem
from homing.model.contract import Json

_STATES = {"sent": "delivered", "pending": "next try then", "dead": "given up"}


def list_deliveries(
    state: Annotated[str | None, typer.Option(help="pending, sent or dead.")] = None,
    session: Annotated[str | None, typer.Option("-s", "--session", help="Of one session.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List messages on their way to other channels, newest first."""
    with connected(as_json) as connection:
        key = session_key(connection, session) if session else None

        def drawn(found: list[Json]) -> Any:
            return _table(found, connection.settings.timezone)

        connection.screen.show_all(
            connection.server.pages("list_deliveries", limit=limit, state=state, session_key=key), drawn
        )


def retry(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or unique beginnings of them.")],
    as_json: AsJson = False,
) -> None:
    """Try dead deliveries again."""
    with connected(as_json) as connection:
        for given in ids:
            try:
                delivery = connection.server.ask("retry_delivery", delivery_id=given)
            except Problem as problem:
                if problem.code != "not_found":
                    raise
                dead = list(connection.server.pages("list_deliveries", state="dead"))
                found = find_one(dead, given, "dead delivery", "dlv")
                delivery = connection.server.ask("retry_delivery", delivery_id=found["id"])
            connection.screen.show(delivery, lambda d=delivery: f"Trying {d['id']} to {d['address']} again.")


def _table(deliveries: list[Json], zone: str) -> Any:
    from rich.text import Text

    from homing.cli import widgets
    from homing.cli.format import DELIVERY_GLYPHS

    if not deliveries:
        return Text("Nothing was sent to other channels.")
    rows = [
        (
            widgets.sign(DELIVERY_GLYPHS, one["state"]),
            one["id"],
            one["address"],
            _when(one, zone),
            str(one["attempts"]),
            one["error"] or _STATES[one["state"]],
        )
        for one in deliveries
    ]
    headings = ("", "id", "to", f"when ({zone})", "tries", "outcome")
    return widgets.Listing(headings=headings, rows=rows, gives=("outcome", "to"), fold=True)


def _when(delivery: Json, zone: str) -> str:
    from homing.cli.format import in_zone, moment, now

    at = delivery["sent_at"] or delivery["next_attempt_at"]
    return moment(in_zone(at, zone), now()) if at else ""
