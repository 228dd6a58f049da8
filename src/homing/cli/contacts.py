"""`channels link` and `contacts`: who may talk to your agents through a channel."""

import shutil
import sys
from functools import partial
from typing import Annotated

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.format import away, instant, now
from homing.cli.lookup import find_one, session_key
from homing.cli.resources import Ids, Resource, show_all, since
from homing.model.contract import Json
from homing.model.qr import qr_lines


def _rules(contact: Json) -> str:
    if contact["kind"] == "person":
        return "has blocked this account" if contact["blocked"] else ""
    who = "everyone" if contact["who"] == "everyone" else "linked people"
    return f"{who}; answers {'everything' if contact['wakes'] == 'all' else 'when addressed'}"


_CONTACTS = Resource(
    noun="contact",
    prefix="con",
    none="No contacts. Link a chat: homing channels link NAME",
    columns={
        "id": "id",
        "name": "name",
        "kind": "kind",
        "address": "address",
        "session": "session_key",
        "last": since("last_at"),
        "rules": _rules,
    },
    gives=("name", "address"),
    fold=True,
)


def link(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The channel, such as telegram.")],
    session: Annotated[
        str | None, typer.Option("-s", "--session", help="A conversation to link; else the chat gets its own.")
    ] = None,
    group: Annotated[bool, typer.Option("--group", help="Link a group that you are in.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a code that links a chat to you; it is shown once and works for ten minutes."""
    with connected(as_json) as connection:
        key = session_key(connection, session) if session else None
        made = connection.server.ask("link_channel", name=name, session_key=key, group=group)
        where = "in the group" if group else f"to {made['account'] or name}"
        lines = [
            *(_to_scan(made["url"]) if made["url"] else []),
            *([f"Open {made['url']}", "or"] if made["url"] else []),
            f"send this {where}: {made['say']}",
            f"It works once, and ends {away(instant(made['expires_at']), now())}.",
        ]
        connection.screen.show(made, lambda: "\n".join(lines))


def _to_scan(url: str) -> list[str]:
    """Draw the link for a phone's camera, where a person looks at a terminal that is wide enough."""
    return qr_lines(url, shutil.get_terminal_size().columns) if sys.stdout.isatty() else []


def list_contacts(as_json: AsJson = False) -> None:
    """List the people and groups that may talk to your agents."""
    with connected(as_json) as connection:
        show_all(connection, _CONTACTS, connection.server.pages("list_contacts"))


def update_contact(
    contact: Annotated[str, typer.Argument(metavar="ID", help="An id or a unique beginning of it.")],
    who: Annotated[str | None, typer.Option("--who", help="linked or everyone.")] = None,
    wakes: Annotated[str | None, typer.Option("--wakes", help="addressed or all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say for a group who may talk there, and what is answered."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_contacts"))
        found = find_one(known, contact, _CONTACTS.noun, _CONTACTS.prefix)
        given = {name: value for name, value in (("who", who), ("wakes", wakes)) if value is not None}
        changed = connection.server.ask("update_contact", contact_id=found["id"], **given)
        connection.screen.show(changed, lambda: f"{changed['name']}: {_rules(changed)}.")


def remove_contacts(ids: Ids, as_json: AsJson = False) -> None:
    """Remove contacts: they are not heard any more, and nothing is sent to them."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_contacts"))
        for contact in [find_one(known, given, _CONTACTS.noun, _CONTACTS.prefix) for given in ids]:
            connection.server.ask("remove_contact", contact_id=contact["id"])
            connection.screen.show(contact, partial("Removed {name} ({id}).".format, **contact))
