"""Sessions and messages as people read them."""

from collections.abc import Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from homing.cli import widgets
from homing.cli.files import told
from homing.cli.format import away, hook_of, in_zone, instant, moment, now, unkept_promise, why_empty
from homing.model.contract import Json

SPEAKERS = {"user": ("You", "bold cyan"), "assistant": ("Agent", "bold green")}
KINDS = {"scheduled": "scheduled", "reminder": "reminder", "report": "report", "note": "note", "status": "status"}


def sessions_table(sessions: Sequence[Json], *filters: object) -> RenderableType:
    """Draw sessions, newest activity first."""
    if not sessions:
        return Text(why_empty("No conversations yet. Begin one: homing chat", "sessions list", *filters))
    current = now()
    rows = [_row(session, current) for session in sessions]
    headings = ("", "key", "title", "new", "auto", "active", "last words")
    return widgets.Listing(headings=headings, rows=rows, gives=("last words", "title", "key"))


def _row(session: Json, current: datetime) -> tuple[str | Text, ...]:
    last = session["last_message"]
    return (
        Text("◐", style="cyan") if session["state"] == "running" else Text("○", style=widgets.QUIET),
        session["key"],
        Text(session["title"] or "", style="bold" if session["unread"] else ""),
        str(session["unread"] or ""),
        str(session["automations"]["enabled"] or ""),
        away(instant(session["updated_at"]), current),
        Text(_short(last["text"], 200) if last else "", style=widgets.QUIET),
    )


def session_card(session: Json, messages: Sequence[Json]) -> RenderableType:
    """Draw a session with what waits and its last messages."""
    current = now()
    zone = session["timezone"]
    counts = session["automations"]
    lane = session["lane"]
    rows: list[tuple[str, RenderableType | None]] = [
        ("Title", session["title"]),
        ("State", _state(session)),
        ("Waiting", f"{session['lane_size']}: " + ", ".join(_short(entry["text"]) for entry in lane) if lane else None),
        ("Unread", str(session["unread"]) if session["unread"] else None),
        ("Automations", f"{counts['enabled']} of {counts['total']} enabled" if counts["total"] else None),
        ("Addresses", ", ".join(session["addresses"])),
        ("Agent", session["agent_id"]),
        ("Zone", zone),
        ("Since", f"{moment(in_zone(session['created_at'], zone), current)} {zone}"),
    ]
    given = [message_lines(message, zone) for message in messages]
    return Group(Text(session["key"], style="bold"), widgets.facts(rows), *given)


def message_lines(message: Json, zone: str) -> Text:
    """Draw a message: who, when, and what."""
    who, style = SPEAKERS[message["role"]]
    who = hook_of(message) or who
    kind = KINDS.get(message["kind"])
    at = moment(in_zone(message["created_at"], zone), now())
    head = Text.assemble("\n", (who, style), (f"  {at} {zone}", widgets.QUIET), (f"  {kind}" if kind else "", "yellow"))
    dead = [delivery["address"] for delivery in message["deliveries"] if delivery["state"] == "dead"]
    if dead:
        head.append(f"  not delivered to {', '.join(dead)}", style="red")
    unkept = unkept_promise(message)
    files = "".join(f"\n{told(file)}" for file in message.get("files") or ())
    said = head.append(f"\n{message['text']}").append(files, style=widgets.QUIET)
    return said.append(f"\n{unkept}" if unkept else "", style="yellow")


def _state(session: Json) -> str:
    turn = session["turn"]
    return (
        "idle"
        if turn is None
        else f"running a turn of a {turn['source']} since {away(instant(turn['started_at']), now())}"
    )


def _short(text: str, most: int = 40) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
