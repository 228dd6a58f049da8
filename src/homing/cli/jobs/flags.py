"""The flags by which a job is described: one for every field, the same for add and update."""

from typing import Annotated, Any

import typer

from homing.cli.problems import refused
from homing.model.contract import Json

_WHEN = "When (one of these)"
_HOW = "How it runs"
_BOUNDS = "Bounds"
_REST = "Everything else"

Name = Annotated[str | None, typer.Option("-n", "--name", help="2 to 5 words; else the message's beginning.")]
Message = Annotated[str | None, typer.Option("-m", "--message", help="What to do then; - reads it from stdin.")]
When = Annotated[
    str | None,
    typer.Option(help="'in 10 minutes', 'every weekday at 8', '0 9 * * 1-5'.", rich_help_panel=_WHEN),
]
At = Annotated[str | None, typer.Option(help="Once: 10m, 2026-11-20T18:00, 'tomorrow 9:30'.", rich_help_panel=_WHEN)]
Every = Annotated[str | None, typer.Option(help="Again and again: 30m, 2h, 1d.", rich_help_panel=_WHEN)]
Cron = Annotated[str | None, typer.Option(help="Five fields, or six with seconds first.", rich_help_panel=_WHEN)]
Interval = Annotated[
    str | None,
    typer.Option(help="With --cron: every n-th of its days, or of its weeks, counts.", rich_help_panel=_WHEN),
]
Tz = Annotated[str | None, typer.Option(help="IANA time zone; else the session's.", rich_help_panel=_WHEN)]
Until = Annotated[
    str | None, typer.Option("--until", "--ends-at", help="Stop repeating then.", rich_help_panel=_BOUNDS)
]
StartsAt = Annotated[str | None, typer.Option(help="Not before; the first run.", rich_help_panel=_BOUNDS)]
MaxRuns = Annotated[str | None, typer.Option(help="Stop after so many runs.", rich_help_panel=_BOUNDS)]
CatchUp = Annotated[str | None, typer.Option(help="Missed times: latest or skip.", rich_help_panel=_BOUNDS)]
CatchUpWindow = Annotated[
    str | None, typer.Option("--catch-up-window-seconds", help="How late is too late.", rich_help_panel=_BOUNDS)
]
Isolated = Annotated[
    bool | None,
    typer.Option("--isolated/--no-isolated", help="In a session of its own; reports back.", rich_help_panel=_HOW),
]
Reminder = Annotated[
    bool | None,
    typer.Option("--reminder/--no-reminder", help="Send the message word for word.", rich_help_panel=_HOW),
]
Quiet = Annotated[
    bool | None, typer.Option("--quiet/--no-quiet", help="Silent when there is no news.", rich_help_panel=_HOW)
]
DeleteAfterRun = Annotated[
    bool | None,
    typer.Option("--delete-after-run/--keep-after-run", help="Remove it after a good run.", rich_help_panel=_HOW),
]
Kind = Annotated[str | None, typer.Option(help="agent_turn, reminder or system_event.", rich_help_panel=_HOW)]
Model = Annotated[str | None, typer.Option(help="Another model for its turns.", rich_help_panel=_HOW)]
Thinking = Annotated[str | None, typer.Option(help="How hard: off, low, medium, high …", rich_help_panel=_HOW)]
Timeout = Annotated[str | None, typer.Option("--timeout-seconds", help="300 unless told.", rich_help_panel=_HOW)]
Context = Annotated[str | None, typer.Option(help="session, since_last or none.", rich_help_panel=_HOW)]
WriteBack = Annotated[str | None, typer.Option(help="Of an isolated run: full, summary, none.", rich_help_panel=_HOW)]
Continue = Annotated[
    bool | None,
    typer.Option("--continue/--no-continue", help="An isolated report continues the chat.", rich_help_panel=_HOW),
]
Wake = Annotated[str | None, typer.Option(help="Of a system_event: now or next_heartbeat.", rich_help_panel=_HOW)]
MaySchedule = Annotated[
    bool | None,
    typer.Option("--may-schedule/--may-not-schedule", help="Its turns may add automations.", rich_help_panel=_HOW),
]
Description = Annotated[str | None, typer.Option(help="A note for yourself.", rich_help_panel=_REST)]
Enabled = Annotated[bool | None, typer.Option("--enabled/--disabled", help="Begin paused.", rich_help_panel=_REST)]
DedupeKey = Annotated[
    str | None, typer.Option(help="A second add with this key changes the first.", rich_help_panel=_REST)
]
SenderId = Annotated[str | None, typer.Option(help="On whose behalf it runs.", rich_help_panel=_REST)]

_PLAIN = (
    "name",
    "message",
    "description",
    "enabled",
    "sender_id",
    "write_back",
    "wake",
    "catch_up",
    "quiet",
    "delete_after_run",
    "dedupe_key",
    "starts_at",
    "may_schedule",
)
_PAYLOAD = ("kind", "model", "thinking", "context")


def fields_of(given: dict[str, Any]) -> Json:
    """Put together the fields that flags name; an empty text clears a field."""
    body: Json = {name: _text(given[name]) for name in _PLAIN if given[name] is not None}
    body |= _schedule(given)
    if given["until"] is not None:
        body["ends_at"] = _text(given["until"])
    if given["continue_"] is not None:
        body["continue"] = given["continue_"]
    if given["isolated"] is not None:
        body["session"] = "isolated" if given["isolated"] else "main"
    for name in ("max_runs", "catch_up_window_seconds"):
        if given[name] is not None:
            body[name] = _number(given[name], name, int)
    if payload := _payload(given):
        body["payload"] = payload
    return body


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


def _payload(given: dict[str, Any]) -> Json:
    payload: Json = {name: _text(given[name]) for name in _PAYLOAD if given[name] is not None}
    if given["reminder"] is not None:
        kind = "reminder" if given["reminder"] else "agent_turn"
        if payload.get("kind", kind) != kind:
            raise refused("--reminder and --kind do not agree; give one of them.")
        payload["kind"] = kind
    if given["timeout_seconds"] is not None:
        payload["timeout_seconds"] = _number(given["timeout_seconds"], "timeout_seconds", float)
    return payload


def _text(value: Any) -> Any:
    return None if value == "" else value


def _number(text: str, name: str, kind: type[int] | type[float]) -> float | int | None:
    if text in ("", "none"):
        return None
    try:
        return kind(text)
    except ValueError:
        raise refused(f"--{name.replace('_', '-')} must be a number, not {text!r}.") from None
