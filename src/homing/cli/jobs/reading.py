"""`cron status`, `list`, `get`, `runs`, `why`, `preview`: what only looks."""

from typing import Annotated, Any

import typer

from homing.cli.completion import jobs, sessions
from homing.cli.connection import AsJson, connected
from homing.cli.lookup import find_job, session_key
from homing.model.contract import Json

Ids = Annotated[
    list[str],
    typer.Argument(metavar="ID...", help="Ids, unique beginnings of them, or names.", autocompletion=jobs),
]
Id = Annotated[
    str, typer.Argument(metavar="ID", help="An id, a unique beginning of one, or a name.", autocompletion=jobs)
]


def status(as_json: AsJson = False) -> None:
    """Show whether the scheduler runs, what it has to do, and when it wakes next."""
    with connected(as_json) as connection:
        answer = connection.server.ask("get_status")

        def drawn() -> Any:
            from homing.cli.status import status_card

            return status_card(answer, alive=connection.server.alive)

        connection.screen.show(answer, drawn)


def list_jobs(
    enabled: Annotated[bool | None, typer.Option("--enabled/--disabled", help="Only these.")] = None,
    session: Annotated[
        str | None, typer.Option("-s", "--session", help="Of one session.", autocompletion=sessions)
    ] = None,
    q: Annotated[str | None, typer.Option(help="Words in its name, message or id.")] = None,
    status: Annotated[str | None, typer.Option(help="active, paused, attention or done.")] = None,
    sort: Annotated[str | None, typer.Option(help="next, name, updated or last.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The most to show.")] = None,
    system: Annotated[bool, typer.Option("--system", help="Homing's own: heartbeats, memory upkeep.")] = False,
    as_json: AsJson = False,
) -> None:
    """List automations, the next to fire first."""
    with connected(as_json) as connection:
        key = session_key(connection, session) if session else None
        query: Json = {"enabled": enabled, "session_key": key, "q": q, "status": status, "sort": sort, "recent": 10}
        if system:
            query["system"] = True

        def drawn(jobs: list[Json]) -> Any:
            from homing.cli.jobs.tables import jobs_table

            return jobs_table(jobs, enabled, key, q, status)

        connection.screen.show_all(connection.server.pages("list_jobs", limit=limit, **query), drawn)


def get(ids: Ids, as_json: AsJson = False) -> None:
    """Show an automation in full."""
    with connected(as_json) as connection:
        jobs = [find_job(connection.server, given) for given in ids]

        def drawn(found: list[Json]) -> Any:
            from rich.console import Group

            from homing.cli.jobs.tables import job_card

            return Group(*(job_card(job) for job in found))

        connection.screen.show_all(jobs, drawn)


def runs(
    job_id: Id,
    limit: Annotated[int, typer.Option(min=1, help="The most to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show its runs, newest first."""
    with connected(as_json) as connection:
        job = find_job(connection.server, job_id)

        def drawn(found: list[Json]) -> Any:
            from homing.cli.jobs.tables import runs_table

            return runs_table(found, job)

        connection.screen.show_all(connection.server.pages("list_runs", limit=limit, job_id=job["id"]), drawn)


def why(
    job_id: Id,
    at: Annotated[str | None, typer.Option(help="An instant, such as 2026-11-16T09:00.")] = None,
    as_json: AsJson = False,
) -> None:
    """Explain why it did or did not run."""
    with connected(as_json) as connection:
        job = find_job(connection.server, job_id)
        answer = connection.server.ask("why_job", job_id=job["id"], at=at)

        def drawn() -> Any:
            from rich.console import Group

            from homing.cli.jobs.sentences import why_card
            from homing.cli.jobs.tables import named

            return Group(named(job), why_card(answer))

        connection.screen.show(answer, drawn)


def preview(
    when: Annotated[str, typer.Argument(metavar="WHEN", help="'every weekday at 8', '0 9 * * 1-5' …")],
    tz: Annotated[str | None, typer.Option(help="IANA time zone; else yours.")] = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="How many instants.")] = 3,
    after: Annotated[str | None, typer.Option(help="An instant to start from.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a schedule means, without saving anything."""
    body: Json = {"when": when, "count": count}
    body |= {name: value for name, value in (("timezone", tz), ("after", after)) if value is not None}
    with connected(as_json) as connection:
        answer = connection.server.ask("preview_schedule", **body)

        def drawn() -> Any:
            from homing.cli.jobs.sentences import preview_card

            return preview_card(answer)

        connection.screen.show(answer, drawn)
