"""The flags by which a job is described: one for every field of the table, the same for add and update."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from homing.cli.problems import refused
from homing.model.contract import Json
from homing.model.job_fields import FIELDS, HOW, JobField

_WHEN = "When (one of these)"


def _flag(name: str, *flags: str, kind: type = str, panel: str | None = _WHEN, about: str) -> Parameter:
    option = typer.Option(*flags, help=about, rich_help_panel=panel)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option])


def _flag_of(row: JobField) -> Parameter:
    spelled = row.attribute.replace("_", "-")
    flags = row.flags or ((f"--{spelled}/--no-{spelled}" if row.kind is bool else f"--{spelled}"),)
    return _flag(row.attribute, *flags, kind=bool if row.kind is bool else str, panel=row.panel, about=row.help)


_FLAGS = (
    _flag("when", about="'in 10 minutes', 'every weekday at 8', '0 9 * * 1-5'."),
    _flag("at", about="Once: 10m, 2026-11-20T18:00, 'tomorrow 9:30'."),
    _flag("every", about="Again and again: 30m, 2h, 1d."),
    _flag("cron", about="Five fields, or six with seconds first."),
    _flag("interval", about="With --cron: every n-th of its days, or of its weeks, counts."),
    _flag("tz", about="IANA time zone; else the session's."),
    *map(_flag_of, FIELDS),
    _flag("reminder", "--reminder/--no-reminder", kind=bool, panel=HOW, about="Send the message word for word."),
)


def with_job_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command a flag for every field of a job; its first argument gets what was given, by attribute."""
    [_, *own] = signature(command).parameters.values()
    names = [flag.name for flag in _FLAGS]

    def flagged(**given: Any) -> None:
        command({name: given.pop(name) for name in names}, **given)

    own = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own]
    flagged.__doc__ = command.__doc__
    flagged.__signature__ = signature(command).replace(parameters=[*own, *_FLAGS])  # pyright: ignore[reportFunctionMemberAccess]
    return flagged


def fields_of(given: dict[str, Any]) -> Json:
    """Put together the fields that flags name; an empty text clears a field."""
    body, payload = _schedule(given), Json()
    for row in FIELDS:
        if given[row.attribute] is not None:
            (payload if row.part == "payload" else body)[row.name] = _value(row, given[row.attribute])
    if given["reminder"] is not None:
        kind = "reminder" if given["reminder"] else "agent_turn"
        if payload.get("kind", kind) != kind:
            raise refused("--reminder and --kind do not agree; give one of them.")
        payload["kind"] = kind
    return body | {"payload": payload} if payload else body


def _schedule(given: dict[str, Any]) -> Json:
    named = [name for name in ("when", "at", "every", "cron") if given[name] is not None]
    if len(named) > 1:
        shown = " and ".join(f"--{name}" for name in named)
        raise refused(f"{shown} are two schedules; give one of them.", code="schedule_twice")
    body: Json = {} if given["tz"] is None else {"timezone": given["tz"]}
    if named == ["when"]:
        body["when"] = given["when"]
    elif named:
        body["schedule"] = {"kind": named[0], named[0]: given[named[0]]}
    if given["interval"] is not None:
        if named != ["cron"]:
            raise refused("--interval belongs to --cron; in words say for example 'every 2 weeks on monday at 8'.")
        body["schedule"]["interval"] = given["interval"]
    return body


def _value(row: JobField, given: Any) -> Any:
    if row.kind in (int, float):
        return _number(given, row)
    if row.kind is list:
        return [part.strip() for part in given.split(",") if part.strip()]
    return None if given == "" else row.spoken(given)


def _number(text: str, row: JobField) -> float | int | None:
    if text in ("", "none"):
        return None
    try:
        return row.kind(text)
    except ValueError:
        raise refused(f"--{row.attribute.replace('_', '-')} must be a number, not {text!r}.") from None
