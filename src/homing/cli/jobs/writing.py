"""`cron add` and `cron update`."""

import sys
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.jobs import flags as f
from homing.cli.lookup import find_job, session_key
from homing.cli.problems import Problem, refused
from homing.model.contract import Json

_HELP = "Try `homing cron add --help`."
_EXAMPLE = 'homing cron add "in 10 minutes" "Time to stretch"'


def add(
    when_given: Annotated[str | None, typer.Argument(metavar="WHEN", help="'in 10 minutes', 'weekdays at 8' …")] = None,
    message_given: Annotated[str | None, typer.Argument(metavar="MESSAGE", help="What to do then.")] = None,
    name: f.Name = None,
    message: f.Message = None,
    when: f.When = None,
    at: f.At = None,
    every: f.Every = None,
    cron: f.Cron = None,
    interval: f.Interval = None,
    tz: f.Tz = None,
    until: f.Until = None,
    session: Annotated[str | None, typer.Option("-s", "--session", help="A key or a title; else cli:main.")] = None,
    isolated: f.Isolated = None,
    reminder: f.Reminder = None,
    quiet: f.Quiet = None,
    delete_after_run: f.DeleteAfterRun = None,
    kind: f.Kind = None,
    model: f.Model = None,
    thinking: f.Thinking = None,
    timeout_seconds: f.Timeout = None,
    context: f.Context = None,
    write_back: f.WriteBack = None,
    continue_: f.Continue = None,
    wake: f.Wake = None,
    may_schedule: f.MaySchedule = None,
    starts_at: f.StartsAt = None,
    max_runs: f.MaxRuns = None,
    catch_up: f.CatchUp = None,
    catch_up_window_seconds: f.CatchUpWindow = None,
    description: f.Description = None,
    enabled: f.Enabled = None,
    dedupe_key: f.DedupeKey = None,
    sender_id: f.SenderId = None,
    job_id: Annotated[str | None, typer.Option("--id", help="An id of your own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add an automation: `homing cron add "every weekday at 8" "Say good morning"`."""
    given = dict(locals())
    _take_positionals(given)
    # Somebody who gives a name alone has said what it is about.
    given["message"] = given["message"] or name
    _check_complete(given)
    body = f.fields_of(given)
    if job_id is not None:
        body["id"] = job_id
    with connected(as_json) as connection:
        body["session_key"] = session_key(connection, session)
        job = _add(connection, body)
        connection.screen.show(job, lambda: _drawn(job, _added(job)))


def update(
    job_id: Annotated[str, typer.Argument(metavar="ID", help="An id, a unique beginning of one, or a name.")],
    when_given: Annotated[str | None, typer.Argument(metavar="WHEN", help="A new schedule.")] = None,
    message_given: Annotated[str | None, typer.Argument(metavar="MESSAGE", help="A new message.")] = None,
    name: f.Name = None,
    message: f.Message = None,
    when: f.When = None,
    at: f.At = None,
    every: f.Every = None,
    cron: f.Cron = None,
    interval: f.Interval = None,
    tz: f.Tz = None,
    until: f.Until = None,
    isolated: f.Isolated = None,
    reminder: f.Reminder = None,
    quiet: f.Quiet = None,
    delete_after_run: f.DeleteAfterRun = None,
    kind: f.Kind = None,
    model: f.Model = None,
    thinking: f.Thinking = None,
    timeout_seconds: f.Timeout = None,
    context: f.Context = None,
    write_back: f.WriteBack = None,
    continue_: f.Continue = None,
    wake: f.Wake = None,
    may_schedule: f.MaySchedule = None,
    starts_at: f.StartsAt = None,
    max_runs: f.MaxRuns = None,
    catch_up: f.CatchUp = None,
    catch_up_window_seconds: f.CatchUpWindow = None,
    description: f.Description = None,
    enabled: f.Enabled = None,
    dedupe_key: f.DedupeKey = None,
    sender_id: f.SenderId = None,
    revision: Annotated[int | None, typer.Option(help="Only if nobody was faster.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change what is given of an automation; an empty value ('') goes back to the default."""
    given = dict(locals())
    _take_positionals(given)
    body = f.fields_of(given)
    if not body:
        raise refused("Say what to change, for example --message or --when.", hint="Try `homing cron update --help`.")
    if revision is not None:
        body["revision"] = revision
    with connected(as_json) as connection:
        found = find_job(connection.server, job_id)
        job = connection.server.ask("update_job", job_id=found["id"], **body)
        connection.screen.show(job, lambda: _drawn(job, f'Updated "{job["name"]}" ({job["id"]}).'))


def _take_positionals(given: dict[str, Any]) -> None:
    """Beside a schedule flag the one word that is left is the message, as in `add --at 10m "Take a break"`."""
    positionals = [given.pop("when_given"), given.pop("message_given")]
    flagged = any(given[name] is not None for name in ("when", "at", "every", "cron"))
    words = [word for word in positionals if word is not None]
    wanted = ["message"] if flagged else ["when", "message"]
    if len(words) > len(wanted):
        raise refused(f"There are two schedules: {words[0]!r}, and one in a flag. Give one of them.", hint=_HELP)
    for name, word in zip(wanted, words, strict=False):
        if given[name] is not None:
            raise refused(f"The {name} is given twice: {word!r} and --{name} {given[name]!r}.", hint=_HELP)
        given[name] = word
    if given["message"] == "-":
        given["message"] = sys.stdin.read().strip()


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
