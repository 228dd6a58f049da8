"""From a model's arguments to what it asked: one action, one job, and the job's fields by their public names.

Pure, and forgiving in everything but meaning: two schedules, two messages or a value nobody knows are refused.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

from homing.model.errors import Invalid
from homing.model.job_fields import FIELDS, JobField, PayloadKind, plain
from homing.model.schedules.spellings import KINDS
from homing.tools.arguments import Arguments, gather, opened
from homing.tools.spellings import ACTIONS, action_of

Action = Literal["add", "list", "get", "update", "remove", "enable", "disable", "run", "skip", "status", "undo"]

# Fields that another argument may say as well.
_TWOFOLD = ("message", "kind", "session")
_USED = {
    "list": {"job_id", "all", "limit", "enabled", "when"},
    "disable": {"job_id", "reason", "ends_at"},
    "skip": {"job_id", "count"},
    "undo": {"job_id", "revision"},
}
# Parts of a schedule that are not a time by themselves.
_BESIDES = ("kind", "anchor", "anchor_ms", "interval")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a model asked for. `fields` are the job's, by the names every door uses."""

    action: Action
    job: str | None = None
    fields: Mapping[str, object] = field(default_factory=dict[str, object])
    everywhere: bool = False
    enabled: bool | None = None
    when: str | None = None
    """The day or week that a list is about."""
    limit: int | None = None
    count: int | None = None
    reason: str | None = None
    until: str | None = None
    revision: int | None = None
    ignored: tuple[str, ...] = ()
    """Whose and where: the turn knows better."""
    unused: tuple[str, ...] = ()
    """What this action has no use for."""


def read(raw: Mapping[str, object]) -> Asked:
    """Read one call."""
    action = read_action(raw)
    given = gather(raw, nulls=action == "update")
    changes = action in ("add", "update")
    job = given.text("job_id")
    everywhere = action == "list" and (bool(given.flag("all")) or (job or "").lower() == "all")
    return Asked(
        action=action,
        job=job,
        fields=_fields(given, action) if changes else {},
        everywhere=everywhere,
        enabled=given.flag("enabled") if action == "list" else None,
        when=given.text("when") if action == "list" else None,
        limit=given.whole("limit"),
        count=given.whole("count"),
        reason=given.text("reason"),
        until=given.text("ends_at") if action == "disable" else None,
        revision=given.whole("revision"),
        ignored=tuple(dict.fromkeys(given.ignored)),
        unused=tuple(dict.fromkeys([*given.unknown, *([] if changes else _unused(given, action))])),
    )


def read_action(raw: Mapping[str, object]) -> Action:
    """Name the action; left out, it is add."""
    given = next((value for name, value in raw.items() if plain(name) == "action"), None)
    if given is None or given == "":
        return "add"
    action = action_of(given) if isinstance(given, str) else None
    if action is None:
        known = ", ".join(dict.fromkeys(ACTIONS.values()))
        raise Invalid(
            f"There is no action {json.dumps(given, default=str):.60}. Actions: {known}.",
            field="action",
            code="out_of_range",
        )
    return cast(Action, action)


def _unused(given: Arguments, action: str) -> list[str]:
    used = _USED.get(action, {"job_id"}) | {"action", "limit", "revision"}
    return [word.spelled for name, word in given.words.items() if name not in used] + list(given.schedule_parts)


def _fields(given: Arguments, action: Action) -> dict[str, object]:
    schedule, message = _when_and_message(given)
    fields = {**schedule, **_values(given, "job", "timing")}
    payload = _values(given, "payload") | {"kind": _payload_kind(given, action), "message": message}
    if payload := {name: value for name, value in payload.items() if value or name not in _TWOFOLD}:
        fields["payload"] = payload
    if session := _session(given):
        fields["session"] = session
    if action == "add":
        _check_complete(fields)
    elif not fields:
        raise Invalid("Nothing to change was given.", field="when", code="missing")
    return fields


def _check_complete(fields: Mapping[str, object]) -> None:
    payload = cast(Mapping[str, object], fields.get("payload", {}))
    has = {"when": "when" in fields or "schedule" in fields, "message": "message" in payload}
    if missing := [name for name, given in has.items() if not given]:
        verb = "is" if len(missing) == 1 else "are"
        raise Invalid(f"{' and '.join(missing)} {verb} missing.", field=missing[0], code="missing")


def _when_and_message(given: Arguments) -> tuple[dict[str, object], str | None]:
    schedule = _schedule(given)
    message, text = given.text("message"), given.text("text")
    if message is None or text is None or text == message:
        return schedule, message or text
    # Beside a message, a text can only be the schedule's.
    if "when" in schedule or "schedule" in schedule:
        raise Invalid("message and text are two messages; give one of them.", field="text", code="wrong_type")
    return {**schedule, "when": text}, message


def _schedule(given: Arguments) -> dict[str, object]:
    found: dict[str, dict[str, object]] = {}
    if when := given.text("when"):
        found["when"] = {"when": when}
    if "schedule" in given and given.words["schedule"].value is not None:
        found["schedule"] = _whole_schedule(given.words["schedule"].value)
    first, again = given.text("process_after"), given.text("recurrence")
    if again:
        found["recurrence"] = {"when": again}
    elif first:
        found["processAfter"] = {"schedule": {"at": first}}
    parts = _of_kind(given.schedule_parts)
    times = [name for name in parts if name not in _BESIDES]
    found |= {name: {"schedule": parts} for name in times}
    if len(found) > 1:
        names = " and ".join(found)
        raise Invalid(f"{names} are {len(found)} schedules; give one of them.", field="when", code="schedule_twice")
    if not times and (loose := [name for name in given.schedule_parts if name != "kind"]):
        owner = "cron" if loose[0] == "interval" else "every_ms, every or cron"
        raise Invalid(f"{loose[0]} belongs to {owner}.", field=loose[0], code="unknown_field")
    schedule = _in_zone(next(iter(found.values()), dict[str, object]()), given.text("tz"))
    return {**schedule, "starts_at": first} if first and again else schedule


def _of_kind(parts: Mapping[str, object]) -> dict[str, object]:
    """Where every field was filled in, the kind says which one counts."""
    kind = str(parts.get("kind", "")).lower()
    chosen = [name for name in parts if KINDS.get(plain(name)) == kind]
    return {name: value for name, value in parts.items() if name in chosen or name in _BESIDES or not chosen}


def _whole_schedule(value: object) -> dict[str, object]:
    value = opened(value)
    if isinstance(value, Mapping):
        return {"schedule": dict(cast(Mapping[str, object], value))}
    if isinstance(value, str):
        return {"when": value.strip()}
    raise Invalid(
        f"schedule is {json.dumps(value, default=str):.60}, but must be a phrase such as 'every weekday at 8' or an "
        "object with one of at, every_ms, cron.",
        field="schedule",
        code="wrong_type",
    )


def _in_zone(found: dict[str, object], tz: str | None) -> dict[str, object]:
    if tz is None:
        return found
    if "schedule" not in found:
        return {**found, "timezone": tz}
    schedule = cast(dict[str, object], found["schedule"])
    named = next((value for key, value in schedule.items() if plain(key) in ("tz", "timezone") and value), None)
    if named not in (None, tz):
        raise Invalid(f"tz is given twice: {named} and {tz}.", field="tz", code="schedule_twice")
    return {"schedule": schedule if named else {**schedule, "tz": tz}}


def _values(given: Arguments, *parts: str) -> dict[str, object]:
    rows = [row for row in FIELDS if row.part in parts and row.name in given and row.name not in _TWOFOLD]
    values = {row.name: _value(given, row) for row in rows}
    # A flag or a name has nothing to clear, so null is not an answer to it.
    kept = {row.name for row in rows if row.kind is bool or row.name == "name"}
    return {name: value for name, value in values.items() if value is not None or name not in kept}


def _value(given: Arguments, row: JobField) -> object:
    if row.choices:
        return given.choice(row.name, *row.choices)
    read = {bool: given.flag, int: given.whole, float: given.number, list: given.texts}.get(row.kind, given.text)
    return read(row.name)


def _payload_kind(given: Arguments, action: Action) -> str | None:
    kind, reminder = given.choice("kind", *get_args(PayloadKind)), given.flag("reminder")
    if reminder and kind not in (None, "reminder"):
        raise Invalid(f"It cannot be a reminder and of the kind {kind}.", field="reminder", code="wrong_type")
    if reminder:
        return "reminder"
    return "agent_turn" if reminder is False and action == "update" and kind is None else kind


def _session(given: Arguments) -> str | None:
    session, isolated = given.choice("session", "main", "isolated"), given.flag("isolated")
    if isolated is None:
        return session
    wanted = "isolated" if isolated else "main"
    if session not in (None, wanted):
        raise Invalid(
            f"session is {session}, but isolated is {json.dumps(isolated)}.", field="isolated", code="wrong_type"
        )
    return wanted
