"""`approvals list`, `get`, `approve`, `deny`: what agents ask to be allowed, shown whole before it is answered."""

import json
import sys
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.format import APPROVAL_GLYPHS, away, in_zone, instant, moment, now
from homing.cli.output import draw_on_stdout
from homing.cli.problems import Problem, refused
from homing.cli.resources import Limit, OfSession, Resource, at, find_among_newest, list_by_state
from homing.model.approvals import visible_json
from homing.model.contract import Json
from homing.model.words import AUDIENCES, SOURCES

ApprovalId = Annotated[str, typer.Argument(metavar="ID", help="An id or a unique beginning of one.")]
Digest = Annotated[
    str | None, typer.Option(help="What you looked at: the digest that `approvals get` shows. It is not asked again.")
]
Note = Annotated[str | None, typer.Option(help="A sentence for the agent and the record.")]


def _sign(approval: Json) -> Any:
    from homing.cli import widgets

    return widgets.sign(APPROVAL_GLYPHS, approval["state"])


_APPROVALS = Resource(
    noun="approval",
    prefix="appr",
    none="No agent has asked for an approval.",
    columns={
        "": _sign,
        "id": "id",
        "what": "title",
        "asked ({zone})": at("asked_at"),
        "in": "session_key",
        "state": "words",
    },
    gives=("what", "state", "in"),
    fold=True,
)


def list_approvals(
    state: Annotated[str | None, typer.Option(help="pending, done, denied, expired …")] = None,
    session: OfSession = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List what agents asked to be allowed, newest first."""
    list_by_state(_APPROVALS, "approvals", state, session, limit, as_json=as_json)


def get(
    approval_id: ApprovalId,
    whole: Annotated[bool, typer.Option("--whole", help="Also the whole lock of packages, with every hash.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show an approval: everything that will run, who asked, and what became of it."""
    with connected(as_json) as connection:
        approval = _find(connection, approval_id)
        connection.screen.show(approval, lambda: _card(approval, connection.settings.timezone, whole=whole))


def approve(approval_id: ApprovalId, digest: Digest = None, note: Note = None, as_json: AsJson = False) -> None:
    """Approve what an agent asked for; shows all of it and asks first."""
    with connected(as_json) as connection:
        approval = _find(connection, approval_id)
        if digest is None:
            _ask_first(connection, approval)
        answer = _answer(connection, approval, "approve", digest or approval["digest"], note)
        later = f"How it went: homing approvals get {answer['id']}"
        connection.screen.show(answer, lambda: f"{answer['id']}: {answer['words']}. {later}")


def deny(approval_id: ApprovalId, digest: Digest = None, note: Note = None, as_json: AsJson = False) -> None:
    """Deny what an agent asked for; it is told, with your note."""
    with connected(as_json) as connection:
        approval = _find(connection, approval_id)
        answer = _answer(connection, approval, "deny", digest or approval["digest"], note)
        connection.screen.show(answer, lambda: f"{answer['id']}: {answer['words']}. The agent is told.")


def _answer(connection: Connection, approval: Json, decision: str, digest: str, note: str | None) -> Json:
    return connection.server.ask(
        "answer_approval", approval_id=approval["id"], decision=decision, digest=digest, note=note
    )


def _ask_first(connection: Connection, approval: Json) -> None:
    """Show the whole card to a person and let them decide; where nobody can look, the digest has to be named."""
    approval_id = approval["id"]
    if connection.screen.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise refused(
            "There is no terminal to confirm on. Pass --digest to say which request you reviewed.",
            code="asked",
            hint=f"`homing approvals get {approval_id}` shows what will run, and its digest.",
        )
    draw_on_stdout(_card(approval, connection.settings.timezone, whole=True))
    if (short := _without_lock(approval)) is not None:
        # The lock may have pushed what matters off the screen.
        draw_on_stdout(short)
    if approval["state"] == "pending" and not typer.confirm("Approve this?"):
        raise refused(
            "Nothing was answered.", code="asked", hint=f"To say no: homing approvals deny {approval_id} [--note TEXT]"
        )


def _find(connection: Connection, given: str) -> Json:
    if not given.strip():
        raise refused("Say which approval: its id is empty.")
    try:
        return connection.server.ask("get_approval", approval_id=given)
    except Problem as problem:
        if problem.code not in ("not_found", "invalid"):
            raise
    return find_among_newest(connection, _APPROVALS, "approvals", given)


def _without_lock(approval: Json) -> str | None:
    """Give what a request for packages shows without its hashes; None for any other request."""
    args = approval["args"]
    if approval["tool"] != "install_packages" or "lock" not in args:
        return None
    short = {name: value for name, value in args.items() if name != "lock"}
    return visible_json(json.dumps(short, indent=2, sort_keys=True, ensure_ascii=False))


def _card(approval: Json, zone: str, *, whole: bool) -> Any:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from homing.cli import widgets

    def clock(field: str) -> str:
        return f"{moment(in_zone(approval[field], zone), now())} {zone}"

    def quiet(text: str) -> Text:
        return Text(text, style=widgets.QUIET)

    open_ = approval["state"] == "pending"
    short = None if whole else _without_lock(approval)
    asked_by = SOURCES[approval["asked_by"]] if approval["turn_id"] else "an administrator, as a change of the agent"
    rows = [
        ("Tool", approval["tool"]),
        ("Agent", approval["agent_id"]),
        ("Asked in", f"{approval['session_key']}, by {asked_by}, {clock('asked_at')}"),
        ("Automation", approval["job_id"]),
        ("May answer", AUDIENCES[approval["audience"]]),
        ("Open until", f"{clock('expires_at')} ({away(instant(approval['expires_at']), now())})" if open_ else None),
        ("Digest", approval["digest"]),
        ("Answered", f"by {approval['answered_by']}, {clock('answered_at')}" if approval["answered_at"] else None),
        ("Note", approval["note"]),
        ("Error", approval["error"]),
    ]
    head = Text.assemble(
        _sign(approval), " ", (approval["id"], "bold"), f"  {approval['words']}\n", (approval["title"], "bold")
    )
    reason = [quiet("The agent's own words:"), Padding(Text(approval["reason"] or ""), (0, 0, 0, 2))]
    result = [quiet("What came of it:"), Padding(Text(approval["result"] or ""), (0, 0, 0, 2))]
    return Group(
        head,
        widgets.facts(rows),
        *(reason if approval["reason"] else []),
        *(Text(f"Note: {warning}", style="yellow") for warning in approval["warnings"] if open_),
        quiet("What will run, all of it:" if open_ else "What was asked, all of it:"),
        Padding(Text(approval["shown"] if short is None else short, overflow="fold"), (0, 0, 0, 2)),
        *(
            []
            if short is None
            else [quiet(f"Left out: the lock with every hash. homing approvals get {approval['id']} --whole")]
        ),
        *(result if approval["result"] else []),
    )
