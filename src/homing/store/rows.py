"""Rows become nouns here, and nowhere else."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from homing.model.jobs import DueJob, Job, Payload, Timing
from homing.model.messages import Delivery, Message
from homing.model.people import Agent, User
from homing.model.runs import Run
from homing.model.schedules import At, Cron, Every, Schedule
from homing.model.sessions import Session
from homing.model.turns import Inbound, Step, Turn
from homing.store import tables as t
from homing.store.base import Row, columns

_JOB_PLAIN = [
    f.name for f in fields(Job) if f.name not in {"timing", "payload", "session_key"}
]  # read by name from the row
_RUN_PLAIN = [f.name for f in fields(Run) if f.name not in {"job_name", "session_key", "tz"}]
_MESSAGE_PLAIN = [f.name for f in fields(Message) if f.name != "session_key"]
_DELIVERY_PLAIN = [f.name for f in fields(Delivery) if f.name != "session_key"]
_TURN_PLAIN = [f.name for f in fields(Turn)]
_INBOUND_PLAIN = [f.name for f in fields(Inbound)]
_STEP_PLAIN = [f.name for f in fields(Step)]
_SESSION_PLAIN = [f.name for f in fields(Session)]

turn_columns = [t.turn.c[name] for name in _TURN_PLAIN]
inbound_columns = [t.inbound.c[name] for name in _INBOUND_PLAIN]
step_columns = [t.step.c[name] for name in _STEP_PLAIN]
session_columns = [t.session.c[name] for name in _SESSION_PLAIN]

jobs = sa.select(t.job, t.session.c.key.label("session_key")).join(t.session, t.session.c.id == t.job.c.session_id)
runs = (
    sa.select(t.run, t.job.c.name.label("job_name"), t.job.c.tz, t.session.c.key.label("session_key"))
    .join(t.job, t.job.c.id == t.run.c.job_id)
    .join(t.session, t.session.c.id == t.run.c.session_id)
)
messages = sa.select(t.message, t.session.c.key.label("session_key")).join(
    t.session, t.session.c.id == t.message.c.session_id
)
deliveries = sa.select(t.delivery, t.session.c.key.label("session_key")).join(
    t.session, t.session.c.id == t.delivery.c.session_id
)


def schedule_of(row: Mapping[str, Any]) -> Schedule:
    match row["schedule_kind"]:
        case "at":
            return At(at=row["at"], tz=row["tz"])
        case "every":
            return Every(every_ms=row["every_ms"], anchor=row["anchor"], tz=row["tz"])
        case _:
            return Cron(cron=row["cron"], tz=row["tz"])


def schedule_columns(schedule: Schedule) -> dict[str, Any]:
    """Spread a schedule over its columns; those of the other kinds become null."""
    columns: dict[str, Any] = {"at": None, "every_ms": None, "anchor": None, "cron": None, "tz": schedule.tz}
    match schedule:
        case At():
            return columns | {"schedule_kind": "at", "at": schedule.at}
        case Every():
            return columns | {"schedule_kind": "every", "every_ms": schedule.every_ms, "anchor": schedule.anchor}
        case Cron():
            return columns | {"schedule_kind": "cron", "cron": schedule.cron}


def _timing(row: Mapping[str, Any]) -> Timing:
    return Timing(
        schedule=schedule_of(row),
        starts_at=row["starts_at"],
        ends_at=row["ends_at"],
        max_runs=row["max_runs"],
        runs_queued=row["runs_queued"],
        catch_up=row["catch_up"],
        catch_up_window_seconds=row["catch_up_window_seconds"],
        retry=row["retry"],
        retry_of=row["retry_of"],
    )


def job_of(row: Row) -> Job:
    m = columns(row)
    payload = Payload(
        kind=m["payload_kind"],
        message=m["message"],
        model=m["model"],
        thinking=m["thinking"],
        timeout_seconds=m["timeout_seconds"],
        context=m["context"],
    )
    plain: dict[str, Any] = {name: m[name] for name in _JOB_PLAIN}
    return Job(**plain, timing=_timing(m), payload=payload, session_key=m["session_key"])


def due_job_of(row: Row) -> DueJob:
    m = columns(row)
    return DueJob(
        id=m["id"],
        name=m["name"],
        session_id=m["session_id"],
        user_id=m["user_id"],
        agent_id=m["agent_id"],
        sender_id=m["sender_id"],
        payload_kind=m["payload_kind"],
        message=m["message"],
        isolated=m["isolated"],
        wake=m["wake"],
        kind=m["kind"],
        revision=m["revision"],
        schedule_errors=m["schedule_errors"],
        next_run_at=m["next_run_at"],
        timing=_timing(m),
    )


def run_of(row: Row) -> Run:
    m = columns(row)
    plain: dict[str, Any] = {name: m[name] for name in _RUN_PLAIN}
    return Run(**plain, job_name=m["job_name"], session_key=m["session_key"], tz=m["tz"])


def session_of(row: Row) -> Session:
    m = columns(row)
    return Session(**{name: m[name] for name in _SESSION_PLAIN})


def turn_of(row: Row) -> Turn:
    m = columns(row)
    plain: dict[str, Any] = {name: m[name] for name in _TURN_PLAIN} | {"policy": m["policy"] or {}}
    return Turn(**plain)


def inbound_of(row: Row) -> Inbound:
    m = columns(row)
    plain: dict[str, Any] = {name: m[name] for name in _INBOUND_PLAIN} | {"meta": m["meta"] or {}}
    return Inbound(**plain)


def step_of(row: Row) -> Step:
    m = columns(row)
    plain: dict[str, Any] = {name: m[name] for name in _STEP_PLAIN} | {"cards": m["cards"] or []}
    return Step(**plain)


def message_of(row: Row) -> Message:
    m = columns(row)
    plain: dict[str, Any] = {name: m[name] for name in _MESSAGE_PLAIN} | {
        "meta": m["meta"] or {},
        "cards": m["cards"] or [],
    }
    return Message(**plain, session_key=m["session_key"])


def delivery_of(row: Row) -> Delivery:
    m = columns(row)
    return Delivery(**{name: m[name] for name in _DELIVERY_PLAIN}, session_key=m["session_key"])


def user_of(row: Row) -> User:
    m = columns(row)
    return User(**{f.name: m[f.name] for f in fields(User)})


def agent_of(row: Row) -> Agent:
    m = columns(row)
    return Agent(
        id=m["id"], name=m["name"], model=m["model"], instructions=m["instructions"], tools=tuple(m["tools"] or ())
    )
