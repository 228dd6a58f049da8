"""`tokens create`, `list`, `revoke`."""

from typing import Annotated, Any

import typer

from homing.cli.asking import AsJson, asking
from homing.cli.naming import find_one
from homing.cli.server import Json, pages, part


def create(
    user: Annotated[str | None, typer.Option(help="For whom; a new name makes a user. Else yourself.")] = None,
    role: Annotated[str | None, typer.Option(help="user or admin.")] = None,
    expires: Annotated[str | None, typer.Option(help="30d, 2027-01-01 …; else never.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token; it is shown once."""
    given = (("user", user), ("role", role), ("expires", expires))
    body = {name: value for name, value in given if value is not None}
    with asking(as_json) as desk:
        token = desk.server.ask("POST", "/api/tokens", body)
        desk.screen.show(token, lambda: _made(token))


def list_tokens(as_json: AsJson = False) -> None:
    """List your tokens, without their secrets."""
    with asking(as_json) as desk:

        def drawn(found: list[Json]) -> Any:
            return _table(found, desk.settings.timezone)

        desk.screen.show_all(pages(desk.server, "/api/tokens", {}), drawn)


def revoke(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or unique beginnings of them.")],
    as_json: AsJson = False,
) -> None:
    """Make tokens worthless."""
    with asking(as_json) as desk:
        known: list[Json] = list(pages(desk.server, "/api/tokens", {}))
        for said in ids:
            # An admin may revoke tokens that are not in their own list: an id that looks whole is taken as it is.
            token = {"id": said} if _looks_whole(said) else find_one(known, said, "token", "tok")
            desk.server.ask("DELETE", f"/api/tokens/{part(token['id'])}")
            desk.screen.show(token, lambda t=token: f"Revoked {t['id']}.")


def _looks_whole(said: str) -> bool:
    return said.startswith("tok_") and len(said) == len("tok_") + 10


def _made(token: Json) -> str:
    return f"{token['token']}\nKeep it: it is shown only now ({token['id']}, for {token['user_id']}, {token['role']})."


def _table(tokens: list[Json], zone: str) -> Any:
    from rich.text import Text

    from homing.cli import draw
    from homing.cli.look import away, in_zone, instant, moment, now

    if not tokens:
        return Text("No tokens.")
    rows = [
        (
            token["id"],
            token["user_id"],
            token["role"],
            away(instant(token["created_at"]), now()),
            moment(in_zone(token["expires_at"], zone), now()) if token["expires_at"] else "never",
        )
        for token in tokens
    ]
    return draw.Listing(headings=("id", "user", "role", "since", f"expires ({zone})"), rows=rows, gives=("user",))
