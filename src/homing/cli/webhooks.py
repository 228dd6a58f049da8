"""`webhooks add`, `list`, `remove`: URLs of yours that get a session's messages."""

from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.lookup import find_one
from homing.model.contract import Json


def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where messages are POSTed.")], as_json: AsJson = False
) -> None:
    """Make a webhook; its secret is shown once."""
    with connected(as_json) as connection:
        webhook = connection.server.ask("add_webhook", url=url)
        connection.screen.show(webhook, lambda: _made(webhook))


def list_webhooks(as_json: AsJson = False) -> None:
    """List your webhooks."""
    with connected(as_json) as connection:

        def drawn(found: list[Json]) -> Any:
            return _table(found)

        connection.screen.show_all(connection.server.pages("list_webhooks"), drawn)


def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or unique beginnings of them.")],
    as_json: AsJson = False,
) -> None:
    """Remove webhooks; what is still on its way there is given up."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_webhooks"))
        for given in ids:
            webhook = find_one(known, given.removeprefix("webhook:"), "webhook", "wh")
            connection.server.ask("remove_webhook", webhook_id=webhook["id"])
            connection.screen.show(webhook, lambda w=webhook: f"Removed {w['id']}.")


def _made(webhook: Json) -> str:
    return (
        f"{webhook['address']}  (add it to a session's addresses)\n"
        f"{webhook['secret']}\nKeep the secret: it is shown only now. It proves that a message is from Homing."
    )


def _table(webhooks: list[Json]) -> Any:
    from rich.text import Text

    from homing.cli import widgets
    from homing.cli.format import away, instant, now

    if not webhooks:
        return Text("No webhooks. Make one: homing webhooks add URL")
    rows = [(one["address"], one["url"], away(instant(one["created_at"]), now())) for one in webhooks]
    return widgets.Listing(headings=("address", "url", "since"), rows=rows, gives=("url",), fold=True)
