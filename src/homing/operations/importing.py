"""Bring in jobs of another program, or of our own export. One bad record does not stop the others.

A bound job comes in disabled, reason `imported`, until a person enables it; its session is made empty if missing. An
unbound one keeps its old behaviour as data (E30): a session `cron:<id>` of its own, with its old address or none.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from homing.model.agents import MAIN
from homing.model.bounds import check_bounds
from homing.model.channel_info import MAIL
from homing.model.errors import Conflict, Invalid, Refused
from homing.model.runs import SILENCE
from homing.model.schedules import At, Schedule, check, check_zone, read_schedule, words
from homing.model.sessions import SCREENS, UNIFIED, Session, channel_of, check_key
from homing.operations.access import hold_job
from homing.operations.context import Context
from homing.operations.definition import (
    When,
    check_pairing,
    next_from_now,
    plain_columns,
    time_columns,
    timing_of,
)
from homing.operations.hands import Desk
from homing.operations.import_formats import Draft, Source, read_record
from homing.operations.instants import read_instant
from homing.operations.kept_channels import with_kept
from homing.operations.models import default_model, why_unusable
from homing.operations.scripts import check_script, script_in, try_before
from homing.operations.sessions import make_session
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import AddJob
from homing.store import jobs, maintenance, runs, sessions

IMPORTED = "imported"
_STILL_RUNS = "It was removed, and its last run has not ended yet. Import it again in a moment."
_AS_NEW = {
    "removed_at": None,
    "disabled_until": None,
    "runs_queued": 0,
    "consecutive_failures": 0,
    "schedule_errors": 0,
    "retry": 0,
    "retry_of": None,
}
_TRIED_LATER = "Its script is run once when you apply this, and it is left out if that fails."
_PASSED = "Its time passed before it was imported."


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What became, or would become, of one record."""

    n: int
    name: str
    id: str | None = None
    session_key: str | None = None
    address: str | None = None
    words: str | None = None
    enabled: bool = False
    taken: bool = False
    detail: str | None = None
    """Why it was not taken; or, if it was, what is different now."""


async def try_record(desk: Desk, raw: object, source: Source | None) -> str | None:
    """Run the script of a record once, as at every door; say why it cannot come in, or None if it can."""
    try:
        check_bounds(raw, "record")
        draft = read_record(raw, source)
        key = check_key(draft.session_key or f"cron:{draft.id}")
        script = script_in(plain_columns(read(AddJob, {**draft.fields, "session_key": key}), None))
        known = await desk.read(lambda ctx: sessions.find(ctx.tx, key, user_id=ctx.caller.user_id))
        await try_before(desk, script, None, agent_id=known.agent_id if known else MAIN)
    except Refused as error:
        return error.detail
    return None


def import_record(ctx: Context, raw: object, *, n: int, source: Source | None, apply: bool) -> Entry:
    """Bring in one record, or with `apply` false only say what would come in. What cannot come in says why."""
    name = _name(raw)
    try:
        check_bounds(raw, "record")
        draft = read_record(raw, source)
        known = jobs.get(ctx.tx, draft.id)
        if known is not None and (known.removed_at is None or known.user_id != ctx.caller.user_id):
            return Entry(n=n, name=name, id=draft.id, detail="It is here already.")
        if runs.active_jobs(ctx.tx, [draft.id]):
            # It may come back to another session, and the closing of its run relies on the one it had.
            return Entry(n=n, name=name, id=draft.id, detail=_STILL_RUNS)
        return _take(ctx, draft, n=n, name=name, apply=apply)
    except Refused as error:
        return Entry(n=n, name=name, detail=error.detail)


def _take(ctx: Context, draft: Draft, *, n: int, name: str, apply: bool) -> Entry:
    key = check_key(draft.session_key or f"cron:{draft.id}")
    if key.startswith(UNIFIED):
        raise Invalid(f"Its session {key} is a shared lane and no chat. Give it the session_key of the chat it is for.")
    known = sessions.find(ctx.tx, key, user_id=ctx.caller.user_id)
    ask = read(AddJob, {**draft.fields, "session_key": key})
    if known is not None and ask.dedupe_key and jobs.by_dedupe_key(ctx.tx, known.id, ask.dedupe_key) is not None:
        raise Invalid(f"Its session has an automation with its dedupe_key {ask.dedupe_key!r} already.")
    columns = plain_columns(ask, None)
    check_pairing(columns)
    if (script := script_in(columns)) is not None:
        check_script(ctx, script, agent_id=known.agent_id if known else MAIN)
    notes = [*draft.notes, *_changed(ctx, draft, columns)]
    if script is not None and not apply:
        notes.append(_TRIED_LATER)
    when = _when(ctx, draft, ask, ctx.zone(known))
    columns |= time_columns(when)
    columns |= _state(ctx, draft, columns, when.schedule)
    if not jobs.has_room(ctx.tx, ctx.caller.user_id, ctx.settings.max_jobs):
        raise Invalid(f"You have {ctx.settings.max_jobs} automations, the most allowed.")
    if apply:
        _write(ctx, draft, known or _make_session(ctx, draft, key), columns)
    return Entry(
        n=n,
        name=str(columns["name"]) or name,
        id=draft.id,
        session_key=key,
        address=draft.address,
        words=words(when.schedule),
        enabled=bool(columns["enabled"]),
        taken=True,
        detail=" ".join((*notes, *([str(columns["disabled_reason"])] if columns["disabled_by"] == "done" else [])))
        or None,
    )


def _changed(ctx: Context, draft: Draft, columns: dict[str, Any]) -> list[str]:
    """Say what will be different here from where it came, and leave out a model that cannot be asked."""
    notes: list[str] = []
    model = columns["model"]
    if model is not None and (why := why_unusable(ctx, model)):
        columns["model"] = None
        used = default_model(ctx.instance, maintenance.model_setting(ctx.tx))
        notes.append(f"Its model is not kept, and {used} is used: {why}")
    if draft.address is not None and (missing := _why_no_delivery(ctx, draft.address)):
        notes.append(missing)
    words = [word for word in SILENCE if word in str(columns["message"])]
    if words:
        notes.append(f"Its message says {' and '.join(words)}: an answer that is exactly that is sent to nobody.")
    return notes


def _why_no_delivery(ctx: Context, address: str) -> str | None:
    channel, settings = channel_of(address), with_kept(ctx.tx, ctx.settings)
    if channel == MAIL and not settings.sends_mail:
        return f"Nothing arrives at {address} until HOMING_SMTP_URL is set."
    if channel in (*SCREENS, "webhook", MAIL, *settings.channel_names):
        return None
    return f"There is no channel {channel} here, so nothing arrives at {address}: its answers stay on the page."


def _when(ctx: Context, draft: Draft, ask: AddJob, zone: str) -> When:
    tz = check_zone(ask.timezone) if ask.timezone else zone
    reading = read_schedule(ask.schedule, now=ctx.now, zone=tz, hours=ctx.settings.named_hours)
    when = When(
        schedule=reading.schedule,
        starts_at=_bound(ctx, ask.starts_at, "starts_at", tz),
        ends_at=_bound(ctx, ask.ends_at, "ends_at", tz),
    )
    if not _is_over(ctx, when.schedule):
        check(
            when.schedule,
            now=ctx.now,
            min_interval_seconds=ctx.settings.min_interval_seconds,
            starts_at=when.starts_at,
        )
    return when


def _bound(ctx: Context, given: str | None, field: str, tz: str) -> datetime | None:
    return (
        None if given is None else read_instant(given, field=field, now=ctx.now, tz=tz, hours=ctx.settings.named_hours)
    )


def _is_over(ctx: Context, schedule: Schedule) -> bool:
    return isinstance(schedule, At) and schedule.at <= ctx.now


def _state(ctx: Context, draft: Draft, columns: dict[str, Any], schedule: Schedule) -> dict[str, Any]:
    """A bound job waits for a person; an unbound one goes on as it was, unless nothing is left of it."""
    upcoming = next_from_now(ctx, timing_of(columns, schedule, 0))
    if upcoming is None:
        return _asleep("done", _PASSED)
    if draft.session_key is not None:
        return _asleep("person", IMPORTED)
    if not draft.enabled:
        return _asleep("person", None)
    return {"enabled": True, "disabled_by": None, "disabled_reason": None, "next_run_at": upcoming}


def _asleep(by: str, reason: str | None) -> dict[str, Any]:
    return {"enabled": False, "disabled_by": by, "disabled_reason": reason, "next_run_at": None}


def _make_session(ctx: Context, draft: Draft, key: str) -> Session:
    if draft.session_key is not None:
        made = make_session(ctx, key)
    else:
        addresses = [draft.address] if draft.address else []
        made = sessions.add(
            ctx.tx, key=key, user_id=ctx.caller.user_id, agent_id=MAIN, title=_title(draft), addresses=addresses
        )
    return made or ctx.session(key)


def _title(draft: Draft) -> str | None:
    name = draft.fields.get("name")
    return str(name)[:128] if name else None


def _write(ctx: Context, draft: Draft, session: Session, columns: dict[str, Any]) -> None:
    # One that was removed comes back under its id, with its runs.
    removed = hold_job(ctx, draft.id, removed=True) if jobs.get(ctx.tx, draft.id) is not None else None
    sessions.lock(ctx.tx, [session.id])
    session = ctx.again(session)
    rev = sessions.touch(ctx.tx, session.id)
    revision = 1 if removed is None else removed.revision + 1
    values: dict[str, Any] = columns | {
        "session_id": session.id,
        "user_id": session.user_id,
        "agent_id": session.agent_id,
        "kind": "legacy" if draft.session_key is None else "user",
        "origin_door": "import",
        "origin_turn_id": None,
        "outside": None,
        "legacy": dict(draft.record),
        "rev": rev,
        "undo": {"change": "added", "revision": revision, "before": {}},
    }
    if removed is None:
        jobs.insert(ctx.tx, {**values, "id": draft.id})
    elif jobs.change(ctx.tx, removed, {**values, **_AS_NEW}) is None:
        raise Conflict("Somebody changed it meanwhile. Import it again.")


def _name(raw: object) -> str:
    name = raw.get("name") if isinstance(raw, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return str(name or "(no name)")[:128]  # pyright: ignore[reportUnknownArgumentType]
