"""`tokens create`, `list`, `revoke`, `rotate`."""

import asyncio
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.home import make_home
from homing.cli.lookup import find_one
from homing.cli.output import Screen, note
from homing.cli.problems import refused
from homing.cli.resources import Resource, at, show_all, since
from homing.client.base import BaseClient
from homing.model.contract import Json
from homing.settings import load

_TOKENS = Resource(
    noun="token",
    prefix="tok",
    none="No tokens.",
    columns={
        "id": "id",
        "name": "name",
        "user": "user_id",
        "role": lambda one: one["role"] + (" (owner)" if one["owner"] else ""),
        "since": since("created_at"),
        "last used": since("last_used_at", "never"),
        "expires ({zone})": at("expires_at", otherwise="never"),
    },
    gives=("name",),
)


def create(
    user: Annotated[str | None, typer.Option(help="Its user; a new name makes a new user. Default: you.")] = None,
    role: Annotated[str | None, typer.Option(help="user or admin.")] = None,
    expires: Annotated[str | None, typer.Option(help="30d, 2027-01-01 …; else with the token that makes it.")] = None,
    name: Annotated[str | None, typer.Option("-n", "--name", help="What it is for, such as `phone`.")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="It may answer approvals.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a token; it is shown only once, and ends with the token that made it."""
    given = (("user", user), ("role", role), ("expires", expires), ("name", name), ("approve", approve or None))
    body = {name: value for name, value in given if value is not None}
    with connected(as_json) as connection:
        token = connection.server.ask("create_token", **body)
        connection.screen.show(token, lambda: _made(token))


def list_tokens(
    user: Annotated[str | None, typer.Option(help="Another user's, as an admin.")] = None,
    everybody: Annotated[bool, typer.Option("--all", help="All users', as an admin.")] = False,
    as_json: AsJson = False,
) -> None:
    """List your tokens, without their secrets."""
    with connected(as_json) as connection:
        found = _tokens(connection.server, user, everybody=everybody)
        show_all(connection, _TOKENS, found, zone=connection.settings.timezone)


def _tokens(server: BaseClient, user: str | None, *, everybody: bool) -> Iterator[Json]:
    if not everybody:
        yield from server.pages("list_tokens", user=user)
        return
    for one in server.pages("list_users"):
        yield from server.pages("list_tokens", user=one["user_id"])


def revoke(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or unique beginnings of them.")],
    yes: Annotated[bool, typer.Option("--yes", help="Also revoke the owner's token, without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Revoke tokens, with everything made from them."""
    with connected(as_json) as connection:
        known: list[Json] = list(connection.server.pages("list_tokens"))
        # An admin may revoke tokens that are not in their own list: an id that looks whole is taken as it is.
        by_id = {token["id"]: token for token in known}
        meant: list[Json] = [
            by_id.get(given, {"id": given})
            if _looks_whole(given)
            else find_one(known, given, _TOKENS.noun, _TOKENS.prefix)
            for given in ids
        ]
        if not yes:
            _ask_about_owner(connection, [token["id"] for token in meant if token.get("owner")])
        for token in meant:
            connection.server.ask("revoke_token", token_id=token["id"])
            connection.screen.show(token, lambda t=token: f"Revoked {t['id']}.")


def rotate(as_json: AsJson = False) -> None:
    """Replace the owner's token of this home; the old one ends, with its browsers and the tokens made with it."""
    from homing.cli.instance import open_instance, rotate_owner
    from homing.cli.logs import quiet_logs

    settings = load()
    if settings.url:
        raise refused(
            "HOMING_URL names a server elsewhere, and the owner's token is in its home.",
            hint="Run it on that machine, without HOMING_URL.",
        )
    if settings.token:
        raise refused(
            f"HOMING_TOKEN is set, and this command replaces the token in {settings.token_file}.",
            hint="To replace that one, unset HOMING_TOKEN. If the server itself is started with HOMING_TOKEN, set it to"
            " a new long random text and start the server again: the old one ends then.",
        )
    quiet_logs()
    make_home(settings)
    homing = open_instance(settings)
    try:
        token, ended = rotate_owner(homing)
    finally:
        asyncio.run(homing.store.close())
    told = {"id": token.id, "token_file": str(settings.token_file), "ended": ended}
    sentence = f"The new token is in {settings.token_file}. {_ended_with(ended)}"
    Screen(as_json=as_json).show(told, lambda: f"{sentence}\n`homing open` gives a fresh link.")


def _ask_about_owner(connection: Connection, ids: list[str]) -> None:
    """Ask before the owner's token ends: every token, browser and link made from it ends as well."""
    if not ids:
        return
    sentence = f"{ids[0]} is the owner's token. Every token, browser and link that was made from it ends with it."
    if connection.screen.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise refused(
            sentence, code="asked", hint="To replace it: homing tokens rotate. To revoke it all the same, add --yes."
        )
    note(sentence)
    if not typer.confirm("Revoke it? (`homing tokens rotate` replaces it.)", err=True):
        raise refused("Nothing was revoked.", code="asked")


def _looks_whole(given: str) -> bool:
    return given.startswith("tok_") and len(given) == len("tok_") + 10


def _ended_with(ended: int) -> str:
    # The old token is one of them, if a server ever let it in.
    others = max(ended - 1, 0)
    if not others:
        return "Nothing else was signed in with the old one."
    return f"The old one ended, and {others} made from it (tokens, browsers, links)."


def _made(token: Json) -> str:
    return f"{token['token']}\nKeep it: it is shown only now ({token['id']}, for {token['user_id']}, {token['role']})."
