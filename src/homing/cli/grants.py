"""`grants list`, `add`, `remove`: addresses that an agent may also write to."""

from typing import Annotated, Any

import typer

from homing.cli.asking import AsJson, asking
from homing.cli.naming import find_one
from homing.cli.server import Json, pages, part

OfUser = Annotated[str | None, typer.Option("--user", help="Another user's, for admins.")]


def list_grants(user: OfUser = None, as_json: AsJson = False) -> None:
    """List the addresses that agents may also write to for you."""
    with asking(as_json) as desk:

        def drawn(found: list[Json]) -> Any:
            return _table(found)

        desk.screen.show_all(pages(desk.server, "/api/grants", {"user": user}), drawn)


def add(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Such as email:anna@example.org.")],
    agent: Annotated[str | None, typer.Option("--agent", help="Which agent; else main.")] = None,
    user: OfUser = None,
    as_json: AsJson = False,
) -> None:
    """Let an agent write to an address; mail addresses take an admin."""
    with asking(as_json) as desk:
        body = {"address": address, "agent_id": agent, "user": user}
        grant = desk.server.ask("POST", "/api/grants", {name: said for name, said in body.items() if said is not None})
        desk.screen.show(grant, lambda: _added(grant))


def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, unique beginnings of them, or addresses.")],
    user: OfUser = None,
    as_json: AsJson = False,
) -> None:
    """Take grants back; what is still on its way there is refused."""
    with asking(as_json) as desk:
        known = list(pages(desk.server, "/api/grants", {"user": user}))
        for said in ids:
            by_address = [grant["id"] for grant in known if grant["address"] == said]
            grant = find_one(known, by_address[0] if len(by_address) == 1 else said, "grant", "grt")
            desk.server.ask("DELETE", f"/api/grants/{part(grant['id'])}")
            desk.screen.show(
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

    from homing.cli import draw
    from homing.cli.look import away, instant, now

    if not grants:
        return Text("No grants. Make one: homing grants add email:NAME@HOST")
    rows = [
        (grant["id"], grant["agent_id"], grant["address"], away(instant(grant["created_at"]), now()))
        for grant in grants
    ]
    return draw.Listing(headings=("id", "agent", "address", "since"), rows=rows, gives=("address",), fold=True)
