"""`cron run`: now, and with --watch until it is over."""

import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, Connection, connected, need_server
from homing.cli.jobs.reading import Ids
from homing.cli.lookup import find_job
from homing.cli.output import note
from homing.cli.problems import FAILED, Problem, exit_code, told
from homing.model.contract import Json

# The first looks come quickly, since most runs are short; a long one is not asked after too often.
_FIRST_SECONDS, _LONGEST_SECONDS = 0.1, 1.0


def run(
    ids: Ids,
    watch: Annotated[bool, typer.Option("--watch", help="Wait until it ends; exit 1 if it fails.")] = False,
    force: Annotated[
        bool, typer.Option("--force", hidden=True, help="A paused one runs as well, with or without.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run automations now; their schedule stays as it is."""
    del force  # said by old habits: a disabled job runs by asking
    with connected(as_json) as connection:
        if watch:
            need_server(connection, "--watch")
        started, worst = _start_each(connection, ids)
        ended = [_show(connection, _watch(connection, one) if watch else one) for one in started]
    if worst is not None:
        raise typer.Exit(exit_code(worst))
    if watch and any(one["state"] != "ok" for one in ended):
        raise typer.Exit(FAILED)


def _start_each(connection: Connection, ids: Sequence[str]) -> tuple[list[Json], Problem | None]:
    """Start all that can be; one that cannot does not hide the others."""
    started: list[Json] = []
    worst: Problem | None = None
    for given in ids:
        try:
            started.append(_start(connection, given))
        except Problem as problem:
            if len(ids) == 1:
                raise
            note(told(problem, as_json=connection.screen.as_json))
            worst = problem
    return started, worst


def _show(connection: Connection, run: Json) -> Json:
    connection.screen.show(run, lambda: _drawn(connection, run))
    return run


def _start(connection: Connection, given: str) -> Json:
    job = find_job(connection.server, given)
    return connection.server.ask("run_job", job_id=job["id"])


def _watch(connection: Connection, run: Json) -> Json:
    pause, shown = _FIRST_SECONDS, ""
    while run["state"] in ("queued", "running"):
        given = "waiting for its session" if run["state"] == "queued" else "running"
        if given != shown and not connection.screen.as_json:
            note(f"{run['job_name']}: {given}")
            shown = given
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_SECONDS)
        run = connection.server.ask("get_run", run_id=run["id"])
    return run


def _drawn(connection: Connection, run: Json) -> Any:
    from rich.console import Group
    from rich.markdown import Markdown
    from rich.text import Text

    from homing.cli import widgets
    from homing.cli.format import RUN_GLYPHS, outcome, spent, took

    took_so_long = f", took {took(run['duration_ms'])}" if run["duration_ms"] is not None else ""
    used = f", {spent(run['usage'])}" if spent(run["usage"]) else ""
    line = Text.assemble(
        widgets.sign(RUN_GLYPHS, run["state"]),
        " ",
        (run["job_name"], "bold"),
        f": {outcome(run)}{took_so_long}{used}",
        (f"  {run['id']}", widgets.QUIET),
    )
    parts: list[Any] = [line]
    if answer := _answer(connection, run):
        parts.append(Markdown(answer))
    if run["error_summary"]:
        parts.append(Text(run["error_summary"], style="red"))
    return Group(*parts)


def _answer(connection: Connection, run: Json) -> str | None:
    seq = run["closing_seq"]
    if seq is None:
        return None
    items = connection.server.ask("list_messages", session_key=run["session_key"], after=seq - 1, limit=1)["items"]
    return items[0]["text"] if items and items[0]["seq"] == seq else None
