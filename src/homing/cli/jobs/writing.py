"""`cron add` and `cron update`."""

import sys
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.jobs.flags import fields_of, with_job_flags
from homing.cli.jobs.reading import Id
from homing.cli.lookup import find_job, session_to_write_to
from homing.cli.problems import Problem, refused
from homing.model.contract import Json

_HELP = "Try `homing cron add --help`."
_EXAMPLE = 'homing cron add "in 10 minutes" "Time to stretch"'


@with_job_flags
def add(
    given: Json,
    when_given: Annotated[str | None, typer.Argument(metavar="WHEN", help="'in 10 minutes', 'weekdays at 8' …")] = None,
    message_given: Annotated[str | None, typer.Argument(metavar="MESSAGE", help="What should happen.")] = None,
    session: Annotated[str | None, typer.Option("-s", "--session", help="A key or a title; else cli:main.")] = None,
    job_id: Annotated[str | None, typer.Option("--id", help="An id of your own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add an automation: `homing cron add "every weekday at 8" "Say good morning"`."""
    _take_positionals(given, when_given, message_given)
    # Somebody who gives a name alone has said what it is about.
    given["message"] = given["message"] or given["name"]
    _check_complete(given)
    body = fields_of(given)
    if job_id is not None:
        body["id"] = job_id
    with connected(as_json) as connection:
        body["session_key"] = session_to_write_to(connection, session)
        job = _add(connection, body)
        connection.screen.show(job, lambda: _drawn(job, _added(job)))


@with_job_flags
def update(
    given: Json,
    job_id: Id,
    when_given: Annotated[str | None, typer.Argument(metavar="WHEN", help="A new schedule.")] = None,
    message_given: Annotated[str | None, typer.Argument(metavar="MESSAGE", help="A new message.")] = None,
    revision: Annotated[int | None, typer.Option(help="Only if it is still at this revision.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change the given fields of an automation; an empty value ('') restores the default."""
    _take_positionals(given, when_given, message_given)
    body = fields_of(given)
    if not body:
        raise refused("Say what to change, for example --message or --when.", hint="Try `homing cron update --help`.")
    if revision is not None:
        body["revision"] = revision
    with connected(as_json) as connection:
        found = find_job(connection.server, job_id)
        job = connection.server.ask("update_job", job_id=found["id"], **body)
        connection.screen.show(job, lambda: _drawn(job, f'Updated "{job["name"]}" ({job["id"]}).'))


def _take_positionals(given: Json, *positionals: str | None) -> None:
    """Beside a schedule flag the one word that is left is the message, as in `add --at 10m "Take a break"`."""
    flagged = any(given[name] is not None for name in ("when", "at", "every", "cron"))
    words = [word for word in positionals if word is not None]
    wanted = ["message"] if flagged else ["when", "message"]
    if len(words) > len(wanted):
        raise refused(f"There are two schedules: {words[0]!r}, and one in a flag. Give one of them.", hint=_HELP)
    for name, word in zip(wanted, words, strict=False):
        if given[name] is not None:
            raise refused(f"The {name} is given twice: {word!r} and --{name} {given[name]!r}.", hint=_HELP)
        given[name] = word
    from_stdin = [name for name in ("message", "script") if given[name] == "-"]
    if len(from_stdin) > 1:
        raise refused("Only one of --message and --script can come from stdin.", hint=_HELP)
    for name in from_stdin:
        given[name] = sys.stdin.read().strip()


def _check_complete(given: Json) -> None:
    """Ask for what is missing in the words of this door."""
    if not any(given[name] for name in ("when", "at", "every", "cron")):
        raise refused("Say when, for example: " + _EXAMPLE, hint=_HELP)
    if not given["message"]:
        raise refused("The message is missing: say what to do then, for example: " + _EXAMPLE, hint=_HELP)


def _add(connection: Connection, body: Json) -> Json:
    try:
        return connection.server.ask("add_job", **body)
    except Problem as problem:
        if problem.code != "not_found" or not body["session_key"].startswith("cli:"):
            raise
    connection.server.ask("add_session", key=body["session_key"])
    return connection.server.ask("add_job", **body)


def _added(job: Json) -> str:
    done = "Changed" if job.get("deduped") else "Added"
    return f'{done} "{job["name"]}" ({job["id"]}) in {job["session_key"]}.'


def _drawn(job: Json, sentence: str) -> Any:
    from homing.cli.jobs.tables import changed

    return changed(job, sentence)
