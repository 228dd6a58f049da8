"""`cron run`: now, and with --watch until it is over."""

import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from homing.cli.answers import note
from homing.cli.asking import AsJson, Desk, asking, need_server
from homing.cli.jobs.reading import Ids
from homing.cli.naming import find_job
from homing.cli.problems import FAILED, Problem
from homing.cli.server import Json, part, spelled

# The first looks come quickly, since most runs are short; a long one is not asked after too often.
_FIRST_SECONDS, _LONGEST_SECONDS = 0.1, 1.0


def run(
    ids: Ids,
    watch: Annotated[bool, typer.Option("--watch", help="Wait for its end; exit 1 if it fails.")] = False,
    force: Annotated[
        bool, typer.Option("--force", hidden=True, help="A paused one runs as well, with or without.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run automations now; their schedule stays as it is."""
    del force  # said by old habits: a disabled job runs by asking
    with asking(as_json) as desk:
        if watch:
            need_server(desk, "--watch")
        started, worst = _start_each(desk, ids)
        ended = [_show(desk, _watch(desk, one) if watch else one) for one in started]
    if worst is not None:
        raise typer.Exit(worst.exit_code)
    if watch and any(one["state"] != "ok" for one in ended):
        raise typer.Exit(FAILED)


def _start_each(desk: Desk, ids: Sequence[str]) -> tuple[list[Json], Problem | None]:
    """Start all that can be; one that cannot does not hide the others."""
    started: list[Json] = []
    worst: Problem | None = None
    for said in ids:
        try:
            started.append(_start(desk, said))
        except Problem as problem:
            if len(ids) == 1:
                raise
            note(problem.told(as_json=desk.screen.as_json))
            worst = problem
    return started, worst


def _show(desk: Desk, run: Json) -> Json:
    desk.screen.show(run, lambda: _drawn(desk, run))
    return run


def _start(desk: Desk, said: str) -> Json:
    job = find_job(desk.server, said)
    return desk.server.ask("POST", f"/api/jobs/{part(job['id'])}/run", {})


def _watch(desk: Desk, run: Json) -> Json:
    pause, told = _FIRST_SECONDS, ""
    while run["state"] in ("queued", "running"):
        said = "waiting for its session" if run["state"] == "queued" else "running"
        if said != told and not desk.screen.as_json:
            note(f"{run['job_name']}: {said}")
            told = said
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_SECONDS)
        run = desk.server.ask("GET", f"/api/runs/{part(run['id'])}")
    return run


def _drawn(desk: Desk, run: Json) -> Any:
    from rich.console import Group
    from rich.markdown import Markdown
    from rich.text import Text

    from homing.cli import draw
    from homing.cli.look import RUN_GLYPHS, outcome, took

    took_so_long = f", took {took(run['duration_ms'])}" if run["duration_ms"] is not None else ""
    line = Text.assemble(
        draw.sign(RUN_GLYPHS, run["state"]), " ", (run["job_name"], "bold"), f": {outcome(run)}{took_so_long}",
        (f"  {run['id']}", draw.QUIET),
    )  # fmt: skip
    parts: list[Any] = [line]
    if answer := _answer(desk, run):
        parts.append(Markdown(answer))
    if error := (run.get("error") or "").strip():
        # The record holds the whole trace (--json gives it); its last line is what people can use.
        parts.append(Text(error.splitlines()[-1], style="red"))
    return Group(*parts)


def _answer(desk: Desk, run: Json) -> str | None:
    seq = run["closing_seq"]
    if seq is None:
        return None
    path = spelled(f"/api/sessions/{part(run['session_key'])}/messages", {"after": seq - 1, "limit": 1})
    items = desk.server.ask("GET", path)["items"]
    return items[0]["text"] if items and items[0]["seq"] == seq else None
