"""`homing import` and `homing export`: jobs as a file. They work on the database itself, so on its own machine."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homing.cli.connection import AsJson
from homing.cli.home import make_home
from homing.cli.output import draw_on_stdout, note, write_json
from homing.cli.problems import FAILED, refused
from homing.cli.visible import json_text
from homing.settings import Settings, load

if TYPE_CHECKING:
    from homing.operations.import_formats import Source
    from homing.operations.importing import Entry
    from homing.wiring import Homing


def import_file(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|FOLDER",
            help="A jobs.json of nanobot, OpenClaw or EVA, an export of Homing; or a folder with SOUL.md, AGENTS.md …",
        ),
    ],
    apply: Annotated[bool, typer.Option("--apply", help="Import; without this, only a preview.")] = False,
    agent: Annotated[str | None, typer.Option("--agent", help="Of a folder: the agent's id; else its name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Import jobs of another program, paused if bound to a chat; or the persona in a folder, which becomes an agent."""
    if file != "-" and Path(file).is_dir():
        from homing.cli.persona import import_folder

        import_folder(Path(file), agent, apply=apply, as_json=as_json)
        return
    if agent is not None:
        raise refused("--agent names the agent that a folder becomes, and this is not a folder.")
    from homing.operations.import_formats import records_in

    source, records = records_in(_read(file))
    homing = _open(load())
    entries = asyncio.run(_import_all(homing, records, source, apply=apply))
    if as_json:
        for entry in entries:
            write_json(asdict(entry) | {"applied": apply and entry.taken})
    else:
        draw_on_stdout(_drawn(entries, apply=apply))
    refusals = [entry for entry in entries if not entry.taken and entry.id is None]
    if refusals:
        raise typer.Exit(FAILED)


def export(
    target: Annotated[str, typer.Argument(metavar="FILE", help="Where to; - is stdout.")] = "-",
    history: Annotated[bool, typer.Option("--history", help="Include the conversations.")] = False,
    as_json: Annotated[bool, typer.Option("--json", hidden=True, help="It is JSON in any case.")] = False,
) -> None:
    """Write your automations as a file that `homing import` reads."""
    del as_json
    from homing.model.people import OWNER, Caller
    from homing.operations.context import Context
    from homing.operations.exporting import export_jobs

    homing = _open(load())
    owner = Caller(user_id=OWNER, role="admin", door="cli")
    told = homing.store.write_now(
        lambda tx: export_jobs(Context(tx=tx, caller=owner, instance=homing.instance), history=history)
    )
    asyncio.run(homing.store.close())
    text = json_text(told, indent=2) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    path = Path(target)
    # What people said is in it.
    path.touch(mode=0o600)
    path.write_text(text, "utf-8")
    note(f"{len(told['jobs'])} automations are in {path}.")


def _open(settings: Settings) -> "Homing":
    if settings.url:
        raise refused(
            "HOMING_URL names a server elsewhere, and this works on the database itself.",
            hint="Run it on that machine, without HOMING_URL.",
        )
    from homing.cli.instance import open_instance
    from homing.cli.logs import quiet_logs

    quiet_logs()
    make_home(settings)
    return open_instance(settings)


def _read(file: str) -> object:
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8-sig"))
    except ValueError as error:
        raise refused(f"{file} is not JSON: {error}.") from None
    except RecursionError:
        raise refused(f"{file} is nested too deeply to be a jobs file.") from None
    except OSError as error:
        raise refused(f"{file} cannot be read: {error.strerror}.") from None


async def _import_all(
    homing: "Homing", records: Sequence[object], source: "Source | None", *, apply: bool
) -> "list[Entry]":
    from homing.wiring import ServerHands

    try:
        return [await _import(homing, raw, n, source, apply=apply) for n, raw in enumerate(records, 1)]
    finally:
        if isinstance(hands := homing.instance.hands, ServerHands):
            await hands.close()
        await homing.store.close()


async def _import(homing: "Homing", raw: object, n: int, source: "Source | None", *, apply: bool) -> "Entry":
    from homing.model.people import OWNER, Caller
    from homing.operations.context import Context
    from homing.operations.hands import Desk
    from homing.operations.importing import import_record, try_record

    caller = Caller(user_id=OWNER, role="admin", door="import")
    desk = Desk(
        store=homing.store,
        context=lambda tx: Context(tx=tx, caller=caller, instance=homing.instance),
        hands_or_none=homing.instance.hands,
    )
    # One transaction a record: what is wrong with one takes nothing else along.
    found = await desk.write(lambda ctx: import_record(ctx, raw, n=n, source=source, apply=False))
    # A preview runs nothing of a file that nobody has decided to trust yet.
    if not (apply and found.taken):
        return found
    if (fault := await try_record(desk, raw, source)) is not None:
        return replace(found, id=None, taken=False, detail=fault)
    return await desk.write(lambda ctx: import_record(ctx, raw, n=n, source=source, apply=True))


def _drawn(entries: Sequence["Entry"], *, apply: bool) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli import widgets

    rows = [_row(entry) for entry in entries]
    table = widgets.Listing(headings=("", "name", "when", "then"), rows=rows, gives=("then", "when"), fold=True)
    taken = sum(entry.taken for entry in entries)
    left = f", {len(entries) - taken} not" if taken < len(entries) else ""
    ending = (
        f"{taken} came in{left}." if apply else f"{taken} would come in{left}. Nothing is changed yet: add --apply."
    )
    return Group(table, Text(ending))


def _row(entry: "Entry") -> tuple[Any, ...]:
    from rich.text import Text

    if not entry.taken:
        return Text("✕", style="red"), entry.name, "", Text(entry.detail or "", style="red")
    state = "goes on" if entry.enabled else "paused until you enable it"
    where = f"{entry.session_key}{f' → {entry.address}' if entry.address else ''}"
    return Text("●", style="green"), entry.name, entry.words or "", f"{where}: {state}. {entry.detail or ''}".strip()
