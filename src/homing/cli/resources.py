"""`hooks`, `webhooks`, `push`, `memories`, `deliveries`, `grants`: their commands, and the columns of their tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.format import DELIVERY_GLYPHS, away, in_zone, instant, moment, now, why_empty
from homing.cli.lookup import find_one, session_key
from homing.cli.problems import Problem, refused
from homing.model.contract import Json

_NEWEST = 200
_SESSION = "A key or a title; else cli:main."
_OUTCOMES = {"sent": "delivered", "pending": "on its way", "dead": "not delivered"}

Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or unique beginnings of them.")]
Limit = Annotated[int | None, typer.Option(min=1, help="The most to show.")]
OfSession = Annotated[str | None, typer.Option("-s", "--session", help=_SESSION)]
OfUser = Annotated[str | None, typer.Option("--user", help="Another user's, for admins.")]
SessionArgument = Annotated[str | None, typer.Argument(metavar="SESSION", help=_SESSION)]


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A kind of thing. Headings and `none` may name what the command adds to each: a key, a zone."""

    noun: str
    prefix: str
    none: str
    """What is shown instead of an empty table."""
    columns: Mapping[str, str | Callable[[Json], Any]]
    """Heading to field, or to what makes the cell."""
    gives: tuple[str, ...]
    fold: bool = False


def since(field: str, otherwise: str = "") -> Callable[[Json], str]:
    """Make a cell that says how far an instant is."""
    return lambda one: away(instant(one[field]), now()) if one[field] else otherwise


def at(field: str, otherwise: str = "") -> Callable[[Json], str]:
    """Make a cell of an instant on the clock of the zone."""
    return lambda one: moment(in_zone(one[field], one["zone"]), now()) if one[field] else otherwise


def _sign(delivery: Json) -> Any:
    from homing.cli import widgets

    return widgets.sign(DELIVERY_GLYPHS, delivery["state"])


def _when(delivery: Json) -> str:
    """Say which time it is; when one was given up is not kept."""
    if delivery["state"] == "dead":
        return "gave up"
    verb, field = ("sent", "sent_at") if delivery["state"] == "sent" else ("next try", "next_attempt_at")
    if delivery["skipped"]:
        return f"not sent: {delivery['skipped']}"
    doubt = ", may have arrived twice" if delivery["unsure"] and verb == "sent" else ""
    return f"{verb} {at(field)(delivery)}{doubt}"


def _origin(memory: Json) -> str:
    place = memory["session_key"] or ""
    if memory["confirmed"]:
        return f"{place} ({memory['source']})".strip() if memory["source"] else place
    return f"{place} (unconfirmed: {memory['source']})".strip()


def _outcome(delivery: Json) -> str:
    return "not needed" if delivery["skipped"] else _OUTCOMES[delivery["state"]]


_HOOKS = Resource(
    noun="hook",
    prefix="hook",
    none="No hooks in {key}. Make one: homing hooks add {key}",
    columns={
        "id": "id",
        "name": "name",
        "session": "key",
        "since": since("created_at"),
        "paused": since("paused_until"),
    },
    gives=("name",),
)
_WEBHOOKS = Resource(
    noun="webhook",
    prefix="wh",
    none="No webhooks. Make one: homing webhooks add URL",
    columns={"address": "address", "url": "url", "since": since("created_at")},
    gives=("url",),
    fold=True,
)
_PUSH = Resource(
    noun="browser",
    prefix="push",
    none="No browsers. Open the page in one, then turn notifications on in Settings.",
    columns={"id": "id", "name": "name", "since": since("created_at"), "last": since("last_at", "nothing yet")},
    gives=("name",),
)
_MEMORIES = Resource(
    noun="memory",
    prefix="mem",
    none="Nothing is remembered yet. Say `remember …` in a chat, or: homing memories add TEXT",
    columns={"id": "id", "text": "text", "from": _origin, "since": since("created_at")},
    gives=("text",),
    fold=True,
)
_DELIVERIES = Resource(
    noun="dead delivery",
    prefix="dlv",
    none="Nothing was sent to other channels.",
    columns={
        "": _sign,
        "id": "id",
        "to": "address",
        "when ({zone})": _when,
        "tries": lambda one: str(one["attempts"]),
        "outcome": lambda one: one["error"] or _outcome(one),
    },
    gives=("outcome", "to"),
    fold=True,
)


def _granted(grant: Json) -> str:
    if grant["host"]:
        return f"host {grant['host']}"
    paused = f" (paused until {grant['paused_until']})" if grant["paused_until"] else ""
    return f"{_written_to(grant)}{paused}"


def _written_to(grant: Json) -> str:
    """Name what an agent may write to: an address, another agent or a conversation."""
    if grant["to_agent_id"]:
        return f"agent {grant['to_agent_id']}"
    return f"conversation {grant['session_key']}" if grant["session_key"] else grant["address"]


_GRANTED = ("address", "to_agent_id", "session_key", "host")

_GRANTS = Resource(
    noun="grant",
    prefix="grt",
    none="No grants. Make one: homing grants add email:NAME@HOST, or with --to-agent, --session or --host",
    columns={"id": "id", "agent": "agent_id", "may reach": _granted, "since": since("created_at")},
    gives=("may reach",),
    fold=True,
)


def add_hook(
    session: SessionArgument = None,
    name: Annotated[str | None, typer.Option("-n", "--name", help="What it is for.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a hook; its URL is shown only once."""
    with connected(as_json) as connection:
        hook = connection.server.ask("add_hook", session_key=session_key(connection, session), name=name)
        connection.screen.show(hook, lambda: f"{hook['url']}\nKeep it: it is shown only now ({hook['id']}).")


def list_hooks(session: SessionArgument = None, as_json: AsJson = False) -> None:
    """List a session's hooks."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        show_all(connection, _HOOKS, connection.server.pages("list_hooks", session_key=key), key=key)


def remove_hooks(ids: Ids, session: OfSession = None, as_json: AsJson = False) -> None:
    """Remove hooks."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        known = list(connection.server.pages("list_hooks", session_key=key))
        try:
            for hook in _meant(_HOOKS, known, ids):
                connection.server.ask("remove_hook", session_key=key, hook_id=hook["id"])
                connection.screen.show(hook, partial("Closed {id}.".format, **hook))
        except Problem as problem:
            if problem.code != "not_found":
                raise
            hint = "For a hook of another session, name it: homing hooks remove ID --session SESSION"
            raise refused(f"{problem.detail.rstrip('.')} in {key}.", code="not_found", hint=hint) from None


def add_webhook(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where messages are POSTed.")], as_json: AsJson = False
) -> None:
    """Add a webhook; its secret is shown only once."""
    with connected(as_json) as connection:
        webhook = connection.server.ask("add_webhook", url=url)
        connection.screen.show(
            webhook,
            lambda: (
                f"{webhook['address']}  (add it to a session's addresses)\n{webhook['secret']}\n"
                "Keep the secret: it is shown only now. It proves that a message is from Homing."
            ),
        )


def list_webhooks(as_json: AsJson = False) -> None:
    """List your webhooks."""
    with connected(as_json) as connection:
        show_all(connection, _WEBHOOKS, connection.server.pages("list_webhooks"))


def remove_webhooks(ids: Ids, as_json: AsJson = False) -> None:
    """Remove webhooks; messages on their way there are dropped."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_webhooks"))
        for webhook in _meant(_WEBHOOKS, known, (given.removeprefix("webhook:") for given in ids)):
            connection.server.ask("remove_webhook", webhook_id=webhook["id"])
            connection.screen.show(webhook, partial("Removed {id}.".format, **webhook))


def list_push(as_json: AsJson = False) -> None:
    """List your browsers that get notifications."""
    with connected(as_json) as connection:
        show_all(connection, _PUSH, connection.server.pages("list_push"))


def remove_push(ids: Ids, as_json: AsJson = False) -> None:
    """Send a browser no more notifications."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_push"))
        for browser in _meant(_PUSH, known, (given.removeprefix("push:") for given in ids)):
            connection.server.ask("remove_push", push_id=browser["id"])
            connection.screen.show(browser, partial("Removed {name} ({id}).".format, **browser))


def list_memories(
    q: Annotated[str | None, typer.Option(help="Words to look for.")] = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List what is remembered about you."""
    with connected(as_json) as connection:
        found = connection.server.pages("list_memories", limit=limit, q=q)
        show_all(connection, _MEMORIES, found, none=why_empty(_MEMORIES.none, "memories list", q))


def add_memory(text: Annotated[str, typer.Argument(metavar="TEXT", help="One fact.")], as_json: AsJson = False) -> None:
    """Remember a fact in all your conversations."""
    with connected(as_json) as connection:
        memory = connection.server.ask("add_memory", text=text)
        connection.screen.show(memory, lambda: f"Remembered ({memory['id']}).")


def confirm_memories(ids: Ids, as_json: AsJson = False) -> None:
    """Keep facts that came from a hook, an automation or other outside text."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_memories"))
        for memory in _meant(_MEMORIES, known, ids):
            confirmed = connection.server.ask("confirm_memory", memory_id=memory["id"])
            connection.screen.show(confirmed, partial('Confirmed "{text}" ({id}).'.format, **confirmed))


def undo_dream(
    dream_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the upkeep, such as drm_k3v9x2mq7a.")],
    as_json: AsJson = False,
) -> None:
    """Take the last memory upkeep back: memories are as they were before it."""
    with connected(as_json) as connection:
        undone = connection.server.ask("undo_dream", id=dream_id)
        told = f"Undone: {undone['restored']} memories are back, {undone['removed']} that it had added are gone."
        connection.screen.show(undone, lambda: told)


def remove_memories(ids: Ids, as_json: AsJson = False) -> None:
    """Forget facts."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_memories"))
        for memory in _meant(_MEMORIES, known, ids):
            connection.server.ask("remove_memory", memory_id=memory["id"])
            connection.screen.show(memory, partial('Forgot "{text}" ({id}).'.format, **memory))


def list_deliveries(
    state: Annotated[str | None, typer.Option(help="pending, sent or dead.")] = None,
    session: Annotated[str | None, typer.Option("-s", "--session", help="Of one session.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List messages on their way to other channels, newest first."""
    list_by_state(_DELIVERIES, "deliveries", state, session, limit, as_json=as_json)


def retry_deliveries(ids: Ids, as_json: AsJson = False) -> None:
    """Try dead deliveries again."""
    with connected(as_json) as connection:
        for given in ids:
            try:
                delivery = connection.server.ask("retry_delivery", delivery_id=given)
            except Problem as problem:
                if problem.code != "not_found":
                    raise
                dead = list(connection.server.pages("list_deliveries", state="dead"))
                found = find_one(dead, given, _DELIVERIES.noun, _DELIVERIES.prefix)
                delivery = connection.server.ask("retry_delivery", delivery_id=found["id"])
            connection.screen.show(delivery, lambda d=delivery: f"Trying {d['id']} to {d['address']} again.")


def list_grants(user: OfUser = None, as_json: AsJson = False) -> None:
    """List the addresses, agents and conversations that your agents may also write to, and the hosts they may reach."""
    with connected(as_json) as connection:
        show_all(connection, _GRANTS, connection.server.pages("list_grants", user=user))


def add_grant(
    address: Annotated[
        str | None, typer.Argument(metavar="ADDRESS", help="Such as email:anna@example.org.", show_default=False)
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Instead: a host that its programs may reach, such as example.org.")
    ] = None,
    to_agent: Annotated[
        str | None, typer.Option("--to-agent", help="Instead: another agent that it may write to, such as research.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="Instead: another conversation that it may write into.")
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Which agent; else main.")] = None,
    user: OfUser = None,
    as_json: AsJson = False,
) -> None:
    """Let an agent write to an address, another agent or a conversation, or reach a host; only an admin can grant hosts
    and addresses other than your own webhooks."""
    with connected(as_json) as connection:
        grant = connection.server.ask(
            "add_grant",
            address=address,
            host=host,
            to_agent_id=to_agent,
            session_key=session_key(connection, session) if session else None,
            agent_id=agent,
            user=user,
        )
        notes = [f"Note: {warning}" for warning in grant["warnings"]]
        if grant["host"] is not None:
            lines = [f"{grant['agent_id']} may reach {grant['host']} from its next turn on ({grant['id']}).", *notes]
        elif grant["address"] is None:
            lines = [f"{grant['agent_id']} may write to the {_written_to(grant)} ({grant['id']})."]
        else:
            lines = [
                f"{grant['agent_id']} may write to {grant['address']} ({grant['id']}).",
                *notes,
                f"To get a conversation there: homing sessions update SESSION --address {grant['address']}",
            ]
        connection.screen.show(grant, lambda: "\n".join(lines))


def remove_grants(
    ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="Ids, unique beginnings of them, or what was granted.")
    ],
    user: OfUser = None,
    as_json: AsJson = False,
) -> None:
    """Take grants back; messages on their way there are refused, and a host is closed at the next call."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_grants", user=user))
        named = [[grant["id"] for grant in known if given in (grant[name] for name in _GRANTED)] for given in ids]
        meant = [found[0] if len(found) == 1 else given for given, found in zip(ids, named, strict=True)]
        for grant in _meant(_GRANTS, known, meant):
            connection.server.ask("remove_grant", grant_id=grant["id"])
            sentence = "Removed {id}: {agent_id} no longer writes to {to}."
            if grant["host"] is not None:
                sentence = "Removed {id}: {agent_id} no longer reaches {host} by a grant."
            connection.screen.show(grant, partial(sentence.format, **grant, to=_written_to(grant)))


def show_all(
    connection: Connection, kind: Resource, found: Iterable[Json], *, none: str | None = None, **more: str
) -> None:
    """Show things in their table, or as JSON; `more` is known of each of them. `none` says why a table is empty."""
    connection.screen.show_all(found, partial(_table, kind, none or kind.none, more))


def list_by_state(
    kind: Resource, names: str, state: str | None, session: str | None, limit: int | None, *, as_json: bool
) -> None:
    """List things that have states and belong to conversations, newest first."""
    with connected(as_json) as connection:
        key = session_key(connection, session) if session else None
        found = connection.server.pages(f"list_{names}", limit=limit, state=state, session_key=key)
        none = why_empty(kind.none, f"{names} list", state, key)
        show_all(connection, kind, found, none=none, zone=connection.settings.timezone)


def find_among_newest(connection: Connection, kind: Resource, names: str, given: str) -> Json:
    """Find one of the newest things of a kind by a beginning of its id."""
    known = list(connection.server.pages(f"list_{names}", limit=_NEWEST))
    try:
        return find_one(known, given, kind.noun, kind.prefix)
    except Problem as problem:
        if problem.code == "not_found":
            problem.hint = f"`homing {names} list` shows the newest."
        raise


def _table(kind: Resource, none: str, more: Mapping[str, str], found: Sequence[Json]) -> Any:
    from rich.text import Text

    from homing.cli import widgets

    if not found:
        return Text(none.format(**more))
    rows = [
        tuple((one[cell] or "") if isinstance(cell, str) else cell(one) for cell in kind.columns.values())
        for one in ({**one, **more} for one in found)
    ]
    headings = tuple(heading.format(**more) for heading in kind.columns)
    return widgets.Listing(headings=headings, rows=rows, gives=kind.gives, fold=kind.fold)


def _meant(kind: Resource, known: list[Json], ids: Iterable[str]) -> list[Json]:
    """Find all of them before anything is done to the first."""
    return [find_one(known, given, kind.noun, kind.prefix) for given in ids]
