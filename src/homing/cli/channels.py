"""`channels`: where messages come from and go to. Fields of a channel are typed or piped in, never arguments."""

import sys
from typing import Annotated

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.problems import FAILED, Problem, refused
from homing.cli.resources import Resource, show_all
from homing.model.channel_info import MAIL
from homing.model.contract import Json

_MAX_PIPED_CHARS = 50_000


def _strangers(channel: Json) -> str:
    count = channel["strangers"]["count"]
    return "" if not count else f"{count} {'message' if count == 1 else 'messages'} from people who aren't linked"


_CHANNELS = Resource(
    noun="channel",
    prefix="",
    none="No channels are set up. Add one: homing channels add telegram",
    columns={
        "name": "name",
        "kind": "kind",
        "state": "state",
        "account": lambda one: one["account"] or "",
        "strangers": _strangers,
        "error": lambda one: one["error"] or "",
    },
    gives=("error", "account"),
    fold=True,
)


_KINDS = Resource(
    noun="kind of channel",
    prefix="",
    none="No kinds of channels are known.",
    columns={
        "kind": "kind",
        "fields": lambda one: ", ".join(f["name"] + ("" if f["required"] else " (optional)") for f in one["fields"]),
    },
    gives=("fields",),
    fold=True,
)


def list_channels(as_json: AsJson = False) -> None:
    """List the channels that are set up, with their state, account and error."""
    with connected(as_json) as connection:
        show_all(connection, _CHANNELS, connection.server.ask("list_channels")["items"])


def list_kinds(as_json: AsJson = False) -> None:
    """List the kinds of channels that can be added, and their fields."""
    with connected(as_json) as connection:
        show_all(connection, _KINDS, connection.server.ask("list_channel_kinds")["items"])


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name; its addresses begin with it and a colon.")],
    kind: Annotated[
        str | None, typer.Option(help="Its kind, if it differs from the name: see `homing channels kinds`.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a channel. Enter its fields when asked, or pipe in lines FIELD=VALUE. It works at once after sign-in."""
    with connected(as_json) as connection:
        given = {"kind": kind} if kind is not None else {}
        fields = _read_fields(_kind(connection, kind or name), keep=False)
        channel = connection.server.ask("add_channel", name=name, fields=fields, **given)
        connection.screen.show(channel, lambda: _works(channel))


def update(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A channel that was added, such as telegram.")],
    as_json: AsJson = False,
) -> None:
    """Change fields of a channel, such as its token: enter them when asked, or pipe them in. It counts at once."""
    with connected(as_json) as connection:
        known = {one["name"]: one["kind"] for one in connection.server.ask("list_channels")["items"]}
        fields = _read_fields(_kind(connection, known.get(name, name)), keep=True)
        channel = connection.server.ask("update_channel", name=name, fields=fields)
        connection.screen.show(channel, lambda: _works(channel))


def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A channel that was added, such as telegram.")],
    as_json: AsJson = False,
) -> None:
    """Remove a channel that was added on the page or by command. It stops at once."""
    with connected(as_json) as connection:
        gone = connection.server.ask("remove_channel", name=name)
        connection.screen.show(gone, lambda: f"Removed the channel {name}.")


def _works(channel: Json) -> str:
    then = {
        "code": f" Link a chat: homing channels link {channel['name']}",
        "mail": f" Link your address: homing channels verify {channel['name']} you@example.org",
    }.get(channel["linking"], "")
    return f"{channel['name']} works{' as ' + channel['account'] if channel['account'] else ''}.{then}"


def _kind(connection: Connection, kind: str) -> Json | None:
    """Look up a kind; None for an unknown one, which the server refuses."""
    kinds = connection.server.ask("list_channel_kinds")["items"]
    return next((one for one in kinds if one["kind"] == kind), None)


def _read_fields(kind: Json | None, *, keep: bool) -> dict[str, str]:
    """Ask for each field without showing secrets; piped in, each line is FIELD=VALUE."""
    if not sys.stdin.isatty():
        lines = [line.strip() for line in sys.stdin.read(_MAX_PIPED_CHARS).splitlines()]
        cut = [line.partition("=") for line in lines if line]
        if any(not equals for _, equals, _ in cut):
            raise refused("Each line of the input must be FIELD=VALUE.", hint="For example: token=4664:…")
        return {name.strip(): value.strip() for name, _, value in cut}
    given: dict[str, str] = {}
    for field in kind["fields"] if kind is not None else ():
        note = " (leave empty to keep it)" if keep else "" if field["required"] else " (optional)"
        value = typer.prompt(
            f"{field['name']}{note}", hide_input=field["secret"], err=True, default="", show_default=False
        )
        given |= {field["name"]: value} if value.strip() else {}
    return given


def send_test(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The channel, such as telegram.")],
    address: Annotated[
        str | None, typer.Argument(metavar="ADDRESS", help="Where to send a test message, such as telegram:7.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Sign in to a channel; with an address, also send a test message there."""
    with connected(as_json) as connection:
        tried = connection.server.ask("test_channel", name=name, address=address)
        what = f"{name} works as {tried['account']}." + (f" A test message went to {address}." if address else "")
        connection.screen.show(tried, lambda: what if tried["ok"] else f"{name} does not work: {tried['error']}")
        if not tried["ok"]:
            raise typer.Exit(FAILED)


def verify(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The mail channel, usually email.")] = None,
    address: Annotated[
        str | None, typer.Argument(metavar="ADDRESS", help="Your mail address, such as anna@example.org.")
    ] = None,
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="The code that came by mail.")] = None,
    as_json: AsJson = False,
) -> None:
    """Prove that a mail address is yours: without CODE one is sent to it; with CODE it is linked to you."""
    with connected(as_json) as connection:
        if name is None or address is None:
            raise _incomplete(connection.server.ask("list_channels")["items"], name)
        given = {"code": code} if code is not None else {}
        told = connection.server.ask("verify_address", name=name, address=address, **given)
        again = f"homing channels verify {name} {told['address']} CODE"
        asked = f"A code was sent to {told['address']}. It works once, for ten minutes: {again}"
        linked = f"{told['address']} is yours: what you write from there reaches your agent."
        connection.screen.show(told, lambda: linked if told["id"] else asked)


def _incomplete(channels: list[Json], given: str | None) -> Problem:
    """Say what is missing, with a command that works here."""
    mail = [channel["name"] for channel in channels if channel["kind"] == MAIL]
    if not mail:
        hint = "Add one first: homing channels add email"
        return refused("No mail account is set up here, so no mail address can be verified.", hint=hint)
    address = given if given is not None and "@" in given else "you@example.org"
    name = given if given in mail else mail[0]
    what = "a mail account and your address" if given is None else "both: a mail account and your address"
    return refused(f"Give {what}.", hint=f"For example: homing channels verify {name} {address}")
