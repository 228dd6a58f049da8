"""`grants list`, `add`, `remove`: addresses that an agent may also write to."""

from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.lookup import find_one
from homing.model.contract import Json

OfUser = Annotated[str | None, typer.Option("--user", help="Another user's, for admins.")]


def list_grants(user: OfUser = None, as_json: AsJson = False) -> None:
    """List the addresses that agents may also write to for you."""
    with connected(as_json) as connection:

        def drawn(found: list[Json]) -> Any:
            return _table(found)

        connection.screen.show_all(connection.server.pages("list_grants", user=user), drawn)


def add(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Such as email:anna@example.org.")],
    agent: Annotated[str | None, typer.Option("--agent", help="Which agent; else main.")] = None,
    user: OfUser = None,
    as_json: AsJson = False,
) -> None:
    """Let an agent write to an address; mail addresses take an admin."""
    with connected(as_json) as connection:
        grant = connection.server.ask("add_grant", address=address, agent_id=agent, user=user)
        connection.screen.show(grant, lambda: _added(grant))


def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, unique beginnings of them, or addresses.")],
    user: OfUser = None,
    as_json: AsJson = False,
) -> None:
    """Take grants back; what is still on its way there is refused."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_grants", user=user))
        for given in ids:
            by_address = [grant["id"] for grant in known if grant["address"] == given]
            grant = find_one(known, by_address[0] if len(by_address) == 1 else given, "grant", "grt")
            connection.server.ask("remove_grant", grant_id=grant["id"])
            connection.screen.show(
                grant, lambda g=grant: f"Removed {g['id']}: {g['agent_id']} no longer writes to {g['address']}."
            )


def _added(grant: Json) -> str:
    lines = [f"{grant['agent_id']} may write to {grant['address']} ({grant['id']})."]
    lines += [f"Note: {warning}" for warning in grant["warnings"]]
    return "\n".join(
        [*lines, f"To get a conversation there: homing sessions update SESSION --address {grant['address']}"]
    )


def _table(grants: list[Json]) -> Any:
    from rich.text import Text

    from homing.cli import widgets
    from homing.cli.format import away, instant, now

    if not grants:
        return Text("No grants. Make one: homing grants add email:NAME@HOST")
    rows = [
        (grant["id"], grant["agent_id"], grant["address"], away(instant(grant["created_at"]), now()))
        for grant in grants
    ]
    return widgets.Listing(headings=("id", "agent", "address", "since"), rows=rows, gives=("address",), fold=True)
