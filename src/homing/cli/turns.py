"""`turns list` and `turns get`: what an agent did, and what it cost."""

from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.format import TURN_GLYPHS, in_zone, moment, now, spent, took
from homing.cli.lookup import find_one, session_key
from homing.cli.problems import Problem
from homing.cli.resources import Limit, OfSession, Resource, SessionArgument, at, show_all
from homing.model.contract import Json

_NEWEST = 200
_SHOWN = 300


def _sign(turn: Json) -> Any:
    from homing.cli import widgets

    return widgets.sign(TURN_GLYPHS, turn["outcome"] or "running")


def _became(turn: Json) -> str:
    words = turn["outcome_words"] or "running"
    why = turn["error_summary"] or turn["reason_words"]
    return f"{words}: {why}" if why else words


_TURNS = Resource(
    noun="turn",
    prefix="turn",
    none="No turns in {key} yet.",
    columns={
        "": _sign,
        "id": "id",
        "when ({zone})": at("started_at"),
        "by": "source",
        "took": lambda turn: took(turn["duration_ms"]),
        "used": lambda turn: spent(turn["usage"]),
        "outcome": _became,
    },
    gives=("outcome", "used"),
    fold=True,
)


def list_turns(session: SessionArgument = None, limit: Limit = 20, as_json: AsJson = False) -> None:
    """List what the agent did in a conversation, newest first."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        found = connection.server.pages("list_turns", limit=limit, session_key=key)
        show_all(connection, _TURNS, found, key=key, zone=connection.settings.timezone)


def get(
    turn_id: Annotated[str, typer.Argument(metavar="ID", help="An id or a unique beginning of one.")],
    session: OfSession = None,
    as_json: AsJson = False,
) -> None:
    """Show what the agent did in one turn: each step, its result, tokens and cost."""
    with connected(as_json) as connection:
        try:
            turn = connection.server.ask("get_turn", turn_id=turn_id)
        except Problem as problem:
            if problem.code != "not_found":
                raise
            key = session_key(connection, session)
            known = list(connection.server.pages("list_turns", limit=_NEWEST, session_key=key))
            turn = connection.server.ask("get_turn", turn_id=_find(known, turn_id, key)["id"])
        connection.screen.show(turn, lambda: _card(turn, connection.settings.timezone))


def _find(known: list[Json], given: str, key: str) -> Json:
    try:
        return find_one(known, given, "turn", "turn")
    except Problem as problem:
        if problem.code == "not_found":
            problem.hint = (
                f"Looked for among the newest {_NEWEST} turns of {key}. For another conversation: -s SESSION. A whole"
                " id is found in all of them."
            )
        raise


def _card(turn: Json, zone: str) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli import widgets

    head = Text.assemble(
        _sign(turn), " ", (turn["id"], "bold"), f"  {_became(turn)}", (f"  {turn['session_key']}", widgets.QUIET)
    )
    rows = [
        ("When", f"{moment(in_zone(turn['started_at'], zone), now())} {zone}, by {turn['source']}"),
        ("Run", turn["run_id"]),
        ("Agent", turn["agent_id"]),
        ("Model", turn["model"]),
        ("Took", took(turn["duration_ms"])),
        ("Used", spent(turn["usage"])),
        ("Taken up", f"{turn['attempts']} times" if turn["attempts"] > 1 else None),
        *(("Retry", _retry(retry, zone)) for retry in turn["retries"]),
        # Their own numbers have gaps: a call takes one when it begins and another when it ends.
        *((f"Step {n}", _step(step, stopped=turn["reason"] == "asked")) for n, step in enumerate(turn["steps"], 1)),
    ]
    cut = any(step["cut"] or any(len(text) > _SHOWN for text in _texts(step)) for step in turn["steps"])
    more = f"Long texts are cut here. More of each: homing turns get {turn['id']} --json"
    return Group(head, widgets.facts(rows), *([Text(more, style=widgets.QUIET)] if cut else []))


def _retry(retry: Json, zone: str) -> str:
    at_wall = f"{in_zone(retry['at'], zone):%H:%M:%S}"
    return f"{at_wall} {retry['model']}: {retry['error']} (waited {retry['wait_seconds']:g} s)"


def _texts(step: Json) -> list[str]:
    return [text for text in (step["arguments"], step["result"]) if text]


def _step(step: Json, *, stopped: bool) -> Any:
    from rich.text import Text

    from homing.cli import widgets

    begun = {"running": "running now", "unknown": "stopped" if stopped else "outcome unknown"}
    state = begun.get(step["state"]) or ("failed" if step["failed"] else "")
    called = step["model"] or step["name"]
    used = spent(step["usage"]) if step["usage"] else ""
    facts = ", ".join(filter(None, (state, took(step["duration_ms"]), used)))
    drawn = Text.assemble((f"{step['kind']} {called}", "bold"), (f"  {facts}" if facts else "", widgets.QUIET))
    for text in _texts(step):
        drawn.append(f"\n{text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}")
    return drawn
