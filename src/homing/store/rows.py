"""Rows become nouns here, and nowhere else."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

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

T = TypeVar("T")


def _names(kind: type[Any], *apart: str) -> list[str]:
    return [field.name for field in fields(kind) if field.name not in apart]


# What of a noun is read from the row by its own name.
_JOB_PLAIN = _names(Job, "timing", "payload")
_PAYLOAD_PLAIN = _names(Payload, "kind")
_DUE_PLAIN = _names(DueJob, "timing")
_TIMING_PLAIN = _names(Timing, "schedule")
_RUN_PLAIN = _names(Run)
_MESSAGE_PLAIN = _names(Message)
_DELIVERY_PLAIN = _names(Delivery)
_TURN_PLAIN = _names(Turn)
_INBOUND_PLAIN = _names(Inbound)
_STEP_PLAIN = _names(Step)
_SESSION_PLAIN = _names(Session)
_USER_PLAIN = _names(User)
_AGENT_PLAIN = _names(Agent)

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
    return _noun(Timing, row, _TIMING_PLAIN, schedule=schedule_of(row))


def _noun(kind: type[T], values: Mapping[str, Any], names: Sequence[str], /, **others: object) -> T:
    """Fill a noun in one go: a frozen dataclass sets each of its fields by a call of its own."""
    noun = object.__new__(kind)
    noun.__dict__.update({name: values[name] for name in names}, **others)
    return noun


def job_of(row: Row) -> Job:
    m = columns(row)
    payload = _noun(Payload, m, _PAYLOAD_PLAIN, kind=m["payload_kind"])
    return _noun(Job, m, _JOB_PLAIN, timing=_timing(m), payload=payload)


def due_job_of(row: Row) -> DueJob:
    m = columns(row)
    return _noun(DueJob, m, _DUE_PLAIN, timing=_timing(m))


def run_of(row: Row) -> Run:
    return _noun(Run, columns(row), _RUN_PLAIN)


def session_of(row: Row) -> Session:
    return _noun(Session, columns(row), _SESSION_PLAIN)


def turn_of(row: Row) -> Turn:
    m = columns(row)
    return _noun(Turn, m, _TURN_PLAIN, policy=m["policy"] or {})


def inbound_of(row: Row) -> Inbound:
    m = columns(row)
    return _noun(Inbound, m, _INBOUND_PLAIN, meta=m["meta"] or {})


def step_of(row: Row) -> Step:
    m = columns(row)
    return _noun(Step, m, _STEP_PLAIN, cards=m["cards"] or [])


def message_of(row: Row) -> Message:
    m = columns(row)
    return _noun(Message, m, _MESSAGE_PLAIN, meta=m["meta"] or {}, cards=m["cards"] or [])


def delivery_of(row: Row) -> Delivery:
    return _noun(Delivery, columns(row), _DELIVERY_PLAIN)


def user_of(row: Row) -> User:
    return _noun(User, columns(row), _USER_PLAIN)


def agent_of(row: Row) -> Agent:
    m = columns(row)
    return _noun(Agent, m, _AGENT_PLAIN, tools=tuple(m["tools"] or ()))
