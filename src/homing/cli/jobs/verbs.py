"""`cron remove`, `enable`, `disable`, `skip`, `undo`: one word for several. Each is tried; the worst counts."""

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.jobs.reading import Ids
from homing.cli.lookup import find_job
from homing.cli.output import note, write_json
from homing.cli.problems import Problem, exit_code, told
from homing.model.contract import Json


def remove(ids: Ids, as_json: AsJson = False) -> None:
    """Remove automations; it can be undone for 30 days."""
    _each(ids, as_json, lambda connection, job: connection.server.ask("remove_job", job_id=job["id"]), _removed)


def enable(ids: Ids, as_json: AsJson = False) -> None:
    """Enable automations again."""
    _each(
        ids,
        as_json,
        lambda connection, job: connection.server.ask("enable_job", job_id=job["id"]),
        _named("Enabled"),
    )


def disable(
    ids: Ids,
    reason: Annotated[str | None, typer.Option(help="Why; shown with the automation.")] = None,
    until: Annotated[str | None, typer.Option(help="Enable it again at this time.")] = None,
    as_json: AsJson = False,
) -> None:
    """Pause automations: a waiting run is withdrawn, a running one finishes."""
    _each(
        ids,
        as_json,
        lambda connection, job: connection.server.ask("disable_job", job_id=job["id"], reason=reason, until=until),
        _named("Paused"),
    )


def skip(
    ids: Ids,
    count: Annotated[int, typer.Option(min=1, max=100, help="How many times.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Skip the next run."""
    _each(
        ids,
        as_json,
        lambda connection, job: connection.server.ask("skip_job", job_id=job["id"], count=count),
        _named("Skipped"),
    )


def undo(
    ids: Ids,
    revision: Annotated[int | None, typer.Option(help="The revision that the change made; else the newest.")] = None,
    as_json: AsJson = False,
) -> None:
    """Undo the last change: an added automation is removed, a removed one comes back."""
    _each(ids, as_json, lambda connection, job: _undo(connection, job, revision), _undone, find=_maybe_removed)


def _undo(connection: Connection, job: Json, revision: int | None) -> Json:
    wanted = revision if revision is not None else job["revision"]
    return connection.server.ask("undo_job", job_id=job["id"], revision=wanted)


def _maybe_removed(connection: Connection, given: str) -> Json:
    return find_job(connection.server, given, removed=True)


def _each(
    ids: Sequence[str],
    as_json: bool,
    act: Callable[[Connection, Json], Json],
    sentence: Callable[[Json], str],
    find: Callable[[Connection, str], Json] = lambda connection, given: find_job(connection.server, given),
) -> None:
    worst: Problem | None = None
    with connected(as_json) as connection:
        for given in ids:
            try:
                job = act(connection, find(connection, given))
            except Problem as problem:
                if len(ids) == 1:
                    raise
                note(told(problem, as_json=as_json))
                worst = problem
                continue
            _show(job, sentence(job), as_json=as_json)
    if worst is not None:
        raise typer.Exit(exit_code(worst))


def _show(job: Json, sentence: str, *, as_json: bool) -> None:
    if as_json:
        write_json(job)
        return
    from homing.cli.jobs.tables import changed
    from homing.cli.output import draw_on_stdout

    draw_on_stdout(changed(job, sentence))


def _named(verb: str) -> Callable[[Json], str]:
    return lambda job: f'{verb} "{job["name"]}" ({job["id"]}).'


def _removed(job: Json) -> str:
    return f'Removed "{job["name"]}" ({job["id"]}). To take it back: homing cron undo {job["id"]}'


def _undone(job: Json) -> str:
    if job["removed_at"]:
        return f'Undone: "{job["name"]}" ({job["id"]}) is removed.'
    return f'Undone: "{job["name"]}" ({job["id"]}) is as it was.'
