"""Jobs as other programs keep them: nanobot's, OpenClaw's and EVA's jobs.json, and our own export. Pure.

Read is what a record says; nothing is inferred. A record without a session of its own is unbound: it is never given to
a person's chat.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from homing.model.errors import Invalid
from homing.model.ids import is_id, new_id
from homing.model.job_fields import FIELDS, JobField, PayloadKind, plain

Source = Literal["homing", "nanobot", "openclaw", "eva"]
Record = Mapping[str, Any]

FORMAT = "homing-jobs"
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9_-]+")
_KINDS = {plain(kind): kind for kind in get_args(PayloadKind)}
_SCHEDULE_FIELDS = ("kind", "at", "at_ms", "every_ms", "cron", "expr", "anchor_ms", "tz")
_FOREIGN = [row for row in FIELDS if row.foreign]
_READ = (
    {name for row in _FOREIGN for name in row.spellings if row.part != "payload"}
    | frozenset(
        "id jobid enabled schedule payload state sessiontarget session delivery sessionkey originalsessionkey message"
        " timezone nextrunms createdatms updatedatms createdat updatedat".split()
    )
    | frozenset(map(plain, _SCHEDULE_FIELDS))
)
_READ_OF_PAYLOAD = {name for row in _FOREIGN for name in row.spellings if row.part == "payload"} | frozenset(
    "kind message text prompt lightweight deliver channel to sessionkey originalsessionkey senderid".split()
)
# Ours, as an add takes them; what only an answer has is left behind.
_OWN_FIELDS = [row.name for row in FIELDS if row.part != "payload" and row.name != "enabled"] + ["payload", "schedule"]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A job as it would come in."""

    id: str
    source: Source
    session_key: str | None
    """The session it is bound to; None when the record names none."""
    address: str | None
    """Where an unbound one answers to."""
    enabled: bool
    fields: Mapping[str, Any]
    """As `add_job` takes them."""
    notes: tuple[str, ...]
    record: Record


def records_in(file: object) -> tuple[Source | None, list[object]]:
    """Find the records in a parsed jobs file; the source is known when the file says so."""
    if isinstance(file, list):
        return None, cast("list[object]", file)
    if isinstance(file, Mapping):
        known = cast("Record", file)
        jobs = known.get("jobs")
        if isinstance(jobs, list):
            return ("homing" if known.get("format") == FORMAT else None), cast("list[object]", jobs)
    raise Invalid(
        'This is not a jobs file: it should be a list of jobs or an object with "jobs".',
        field="file",
        code="wrong_type",
    )


def read_record(raw: object, source: Source | None = None) -> Draft:
    """Read one record, or say what is wrong with it."""
    if not isinstance(raw, Mapping):
        raise Invalid("This is not an object.", field="job", code="wrong_type")
    record = cast("Record", raw)
    match source or _source_of(record):
        case "homing":
            return _own(record)
        case named:
            return _foreign(record, named)


def _source_of(record: Record) -> Source:
    payload = _inner(record, "payload")
    if "job_id" in record or "jobId" in record:
        return "eva"
    if "sessionTarget" in record or "wakeMode" in record or payload.get("kind") in ("agentTurn", "systemEvent"):
        return "openclaw"
    if "words" in record and "session_key" in record:
        return "homing"
    return "nanobot"


def _own(record: Record) -> Draft:
    fields = {name: record[name] for name in _OWN_FIELDS if record.get(name) is not None}
    legacy = record.get("kind") == "legacy"
    key = _text(record, "session_key")
    addresses = record.get("addresses")
    return Draft(
        id=_id(record.get("id")),
        source="homing",
        session_key=None if legacy else key,
        address=str(addresses[0]) if legacy and addresses else None,
        enabled=record.get("enabled") is not False,
        fields=fields,
        notes=(),
        record=record,
    )


def _foreign(record: Record, source: Source) -> Draft:
    payload = _inner(record, "payload")
    kind = _kind(payload, source)
    notes: list[str] = []
    bound = _session_key(record, payload)
    address = None if bound else _address(record, payload, notes)
    isolated = _isolated(record)
    fields: dict[str, Any] = {
        **{row.name: _value(record, row) for row in _FOREIGN if row.part != "payload"},
        "schedule": _schedule(record, notes),
        "timezone": _text(record, "timezone", "tz"),
        "payload": _payload(payload, record, kind, context="none" if isolated and not bound else None),
        "session": "isolated" if isolated and bound and kind == "agent_turn" else None,
        "sender_id": _text(payload, "sender_id", "senderId"),
    }
    if dropped := _dropped(record, payload):
        notes.append(f"Not kept: {', '.join(dropped)}.")
    return Draft(
        id=_id(_first(record, "id", "job_id", "jobId")),
        source=source,
        session_key=bound,
        address=address,
        enabled=record.get("enabled") is not False,
        fields={name: value for name, value in fields.items() if value is not None},
        notes=tuple(notes),
        record=record,
    )


def _dropped(record: Record, payload: Record) -> list[str]:
    """Name what a record says and a job here does not have. Its state is its past, and stays behind."""
    given = [name for name in record if record[name] and plain(name.removeprefix("schedule_")) not in _READ]
    given = [name for name in given if (name, record[name]) != ("agentId", "main")]
    given += [name for name in payload if payload[name] and plain(name) not in _READ_OF_PAYLOAD]
    delivery = _inner(record, "delivery")
    given += [f"delivery.{name}" for name in delivery if delivery[name] and name not in ("mode", "channel", "to")]
    seconds = _first(payload, "timeoutSeconds", "timeout_seconds")
    return [*given, *(["timeoutSeconds 0 (here every turn has a limit)"] if seconds == 0 else [])]


def _kind(payload: Record, source: Source) -> str:
    if _first(payload, "lightweight") is True:
        return "reminder"
    given = str(payload.get("kind") or "agent_turn")
    kind = _KINDS.get(plain(given))
    if kind is None:
        raise Invalid(f"A payload of the kind {given!r} cannot come in: there is nothing here that would run it.")
    if kind == "system_event" and source == "nanobot":
        raise Invalid("This is a system job of nanobot itself (a system_event); Homing has its own.")
    return kind


def _payload(payload: Record, record: Record, kind: str, *, context: str | None) -> dict[str, Any]:
    given: dict[str, Any] = {
        **{row.name: _value(payload, row) for row in _FOREIGN if row.part == "payload"},
        "kind": kind,
        "message": _first(payload, "message", "text", "prompt") or record.get("message") or "",
        "context": context,
    }
    return {name: value for name, value in given.items() if value is not None}


def _schedule(record: Record, notes: list[str]) -> dict[str, Any]:
    given = dict(_inner(record, "schedule")) or _flat_schedule(record)
    if not given:
        raise Invalid("It has no schedule.", field="schedule", code="missing")
    if given.pop("staggerMs", None):
        notes.append("staggerMs is left out: it runs on the minute.")
    state = _inner(record, "state")
    every = str(given.get("kind", "")).lower() == "every"
    anchored = any(given.get(name) for name in ("anchorMs", "anchor_ms", "anchor"))
    if every and not anchored:
        # So that it keeps its phase.
        anchor = _first(state, "nextRunAtMs", "next_run_at_ms") or _first(record, "next_run_ms", "createdAtMs")
        if anchor:
            given["anchor_ms"] = anchor
    return {name: value for name, value in given.items() if value is not None}


def _flat_schedule(record: Record) -> dict[str, Any]:
    """Read what some keep beside the other fields: every_ms, or schedule_every_ms."""
    given = {name.removeprefix("schedule_"): value for name, value in record.items() if value is not None}
    found = {name: given[name] for name in _SCHEDULE_FIELDS if name in given}
    return found if found.keys() - {"kind", "tz", "anchor_ms"} else {}


def _session_key(record: Record, payload: Record) -> str | None:
    named = _text(payload, "sessionKey", "session_key", "originalSessionKey", "original_session_key") or _text(
        record, "sessionKey", "session_key", "original_session_key"
    )
    target = str(record.get("sessionTarget") or "")
    return named or (target if target.startswith("session:") else None)


def _isolated(record: Record) -> bool:
    return _first(record, "sessionTarget", "session_target", "session") == "isolated"


def _address(record: Record, payload: Record, notes: list[str]) -> str | None:
    """Tell where an unbound job delivered to, if it did."""
    delivery = _inner(record, "delivery")
    mode = delivery.get("mode") or ("announce" if payload.get("deliver") else "none")
    if mode == "none":
        return None
    channel, place = (_text(delivery, name) or _text(payload, name) for name in ("channel", "to"))
    if mode != "announce" or not channel or not place or channel == "last":
        notes.append(f"Its delivery ({mode}, {channel or 'no channel'}) names no fixed address: it answers nowhere.")
        return None
    return f"{channel}:{place}"


def _id(given: object) -> str:
    """Keep an id that may be; else make one of it, the same every time, so that a second import finds the first."""
    text = str(given or "")
    if is_id(text):
        return text
    return _NOT_IN_ID.sub("_", text).strip("_")[:64] or new_id("job")


def _inner(record: Record, name: str) -> Record:
    value = record.get(name)
    return cast("Record", value) if isinstance(value, Mapping) else {}


def _first(record: Record, *names: str) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


def _value(record: Record, row: JobField) -> Any:
    """Read what another program says of a field, in any of its spellings."""
    value = next((record[name] for name in record if plain(name) in row.spellings and record[name] is not None), None)
    if row.kind is bool:
        return bool(value)
    if row.kind is float:
        # Elsewhere 0 says "no limit"; here every turn has one.
        return value if isinstance(value, int | float) and value > 0 else None
    return value.strip() or None if isinstance(value, str) else None


def _text(record: Record, *names: str) -> str | None:
    value = _first(record, *names)
    return value.strip() or None if isinstance(value, str) else None
