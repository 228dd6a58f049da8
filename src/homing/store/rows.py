"""Rows become nouns here, and nowhere else."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import sqlalchemy as sa

from homing.model.agents import Agent
from homing.model.approvals import Approval, Question
from homing.model.clock import one_name
from homing.model.job_fields import Payload
from homing.model.jobs import DueJob, Job, Timing
from homing.model.messages import Delivery, Message
from homing.model.model_setting import load_setting
from homing.model.people import HOST_GRANT, User
from homing.model.runs import Run
from homing.model.schedules import At, Cron, Every, Schedule
from homing.model.sessions import Session
from homing.model.turns import Inbound, Policy, Step, Turn
from homing.store import tables as t
from homing.store.base import Row as AnyRow

T = TypeVar("T")
MODEL_SETTING = "model"
Row = AnyRow | tuple[Any, ...]


def _names(kind: type[Any], *apart: str) -> list[str]:
    return [field.name for field in fields(kind) if field.name not in apart]


def _order(chosen: "Sequence[sa.ColumnElement[Any]] | sa.Select[*tuple[Any, ...]]") -> list[str]:
    """Name what a row holds, in its order. Asking each row for its names costs more than reading it."""
    columns = chosen.selected_columns if isinstance(chosen, sa.Select) else chosen
    return [str(column.key) for column in columns]


turn_columns = [t.turn.c[name] for name in _names(Turn)]
inbound_columns = [t.inbound.c[name] for name in _names(Inbound)]
step_columns = [t.step.c[name] for name in _names(Step)]
session_columns = [t.session.c[name] for name in _names(Session)]
user_columns = [t.user.c[name] for name in _names(User)]
agent_columns = [
    *[
        t.agent.c[name]
        for name in _names(Agent, "granted_hosts", "has_host_grants", "has_mcp_servers", "mcp_servers", "server_model")
    ],
    # So that a turn asks for grants and servers only where there are any.
    sa.exists()
    .where(t.grant.c.agent_id == t.agent.c.id, t.grant.c.address.startswith(HOST_GRANT))
    .label("has_host_grants"),
    sa.exists().where(t.mcp_server.c.agent_id == t.agent.c.id).label("has_mcp_servers"),
    # With the agent, so that a turn needs no further statement for it.
    sa.select(t.setting.c.value).where(t.setting.c.name == MODEL_SETTING).scalar_subquery().label("server_model"),
]
_SCHEDULE = ["schedule_kind", "at", "every_ms", "anchor", "cron", "interval", "tz"]
_TIMING_PLAIN = _names(Timing, "schedule")
_PAYLOAD_PLAIN = _names(Payload, "kind")
_JOB_PLAIN = _names(Job, "timing", "payload")
_DUE_PLAIN = _names(DueJob, "timing")
# Whether there is a script: the tick does not read it.
_GATE = sa.case((t.job.c.script.is_not(None), t.job.c.script_language)).label("gate")
due_columns = [
    _GATE if name == "gate" else t.job.c[name] for name in dict.fromkeys([*_DUE_PLAIN, *_SCHEDULE, *_TIMING_PLAIN])
]

jobs = sa.select(t.job, t.session.c.key.label("session_key"), t.session.c.title.label("session_title")).join(
    t.session, t.session.c.id == t.job.c.session_id
)
runs = (
    sa.select(
        *[t.run.c[name] for name in _names(Run, "job_name", "tz", "session_key")],
        t.job.c.name.label("job_name"),
        t.job.c.tz,
        t.session.c.key.label("session_key"),
    )
    .join(t.job, t.job.c.id == t.run.c.job_id)
    .join(t.session, t.session.c.id == t.run.c.session_id)
)
messages = sa.select(
    *[t.message.c[name] for name in _names(Message, "session_key")], t.session.c.key.label("session_key")
).join(t.session, t.session.c.id == t.message.c.session_id)
deliveries = sa.select(
    *[t.delivery.c[name] for name in _names(Delivery, "session_key")], t.session.c.key.label("session_key")
).join(t.session, t.session.c.id == t.delivery.c.session_id)

approvals = sa.select(
    *[t.approval.c[name] for name in _names(Approval, "session_key")], t.session.c.key.label("session_key")
).join(t.session, t.session.c.id == t.approval.c.session_id)
questions = sa.select(
    *[t.question.c[name] for name in _names(Question, "session_key")], t.session.c.key.label("session_key")
).join(t.session, t.session.c.id == t.question.c.session_id)

_TURN, _INBOUND, _STEP, _SESSION, _USER, _AGENT = map(
    _order, (turn_columns, inbound_columns, step_columns, session_columns, user_columns, agent_columns)
)
_JOB, _DUE, _RUN, _MESSAGE, _DELIVERY = map(_order, (jobs, due_columns, runs, messages, deliveries))
_APPROVAL, _QUESTION = map(_order, (approvals, questions))


def schedule_of(row: Mapping[str, Any]) -> Schedule:
    # Rows from before UTC had one name here.
    tz = one_name(row["tz"])
    match row["schedule_kind"]:
        case "at":
            return At(at=row["at"], tz=tz)
        case "every":
            return Every(every_ms=row["every_ms"], anchor=row["anchor"], tz=tz)
        case _:
            return Cron(cron=row["cron"], tz=tz, interval=row["interval"] or 1, anchor=row["anchor"])


def schedule_columns(schedule: Schedule) -> dict[str, Any]:
    """Spread a schedule over its columns; those of the other kinds become null."""
    columns: dict[str, Any] = dict.fromkeys(_SCHEDULE) | {"tz": schedule.tz}
    match schedule:
        case At():
            return columns | {"schedule_kind": "at", "at": schedule.at}
        case Every():
            return columns | {"schedule_kind": "every", "every_ms": schedule.every_ms, "anchor": schedule.anchor}
        case Cron():
            # An interval of 1 is stored as none, and then there is no anchor either.
            interval = schedule.interval if schedule.interval > 1 else None
            return columns | {
                "schedule_kind": "cron",
                "cron": schedule.cron,
                "interval": interval,
                "anchor": schedule.anchor,
            }


def _noun(kind: type[T], values: Iterable[tuple[str, Any]], /, **others: object) -> T:
    """Fill a noun in one go: a frozen dataclass sets each of its fields by a call of its own."""
    noun = object.__new__(kind)
    noun.__dict__.update(values, **others)
    return noun


def _null_as(noun: T, **empty: object) -> T:
    for name, value in empty.items():
        if noun.__dict__[name] is None:
            noun.__dict__[name] = value
    return noun


def _some(values: Mapping[str, Any], names: Sequence[str]) -> list[tuple[str, Any]]:
    return [(name, values[name]) for name in names]


def _timing(values: Mapping[str, Any]) -> Timing:
    return _noun(Timing, _some(values, _TIMING_PLAIN), schedule=schedule_of(values))


def job_of(row: Row) -> Job:
    m = dict(zip(_JOB, row, strict=False))
    payload = _noun(Payload, _some(m, _PAYLOAD_PLAIN), kind=m["payload_kind"])
    return _noun(Job, _some(m, _JOB_PLAIN), timing=_timing(m), payload=payload)


def due_job_of(row: Row) -> DueJob:
    m = dict(zip(_DUE, row, strict=True))
    return _noun(DueJob, _some(m, _DUE_PLAIN), timing=_timing(m))


def noun_of(kind: type[T], row: Row) -> T:
    """Fill a noun whose fields were selected in their own order."""
    return _noun(kind, zip(kind.__annotations__, row, strict=True))


# A row may hold more behind what the noun knows: a list's sort key, for example.


def run_of(row: Row) -> Run:
    return _noun(Run, zip(_RUN, row, strict=False))


def session_of(row: Row) -> Session:
    return _noun(Session, zip(_SESSION, row, strict=False))


def turn_of(row: Row) -> Turn:
    turn = _noun(Turn, zip(_TURN, row, strict=False))
    turn.__dict__["policy"] = policy_of(turn.__dict__["policy"])
    return turn


_POLICY = vars(Policy())


def policy_of(kept: Mapping[str, Any] | None) -> Policy:
    return Policy(**{name: value for name, value in (kept or {}).items() if name in _POLICY})


def policy_json(policy: Policy) -> dict[str, Any] | None:
    """Spell a policy as it is kept: what is not the default."""
    return {name: value for name, value in vars(policy).items() if value != _POLICY[name]} or None


def inbound_of(row: Row) -> Inbound:
    return _null_as(_noun(Inbound, zip(_INBOUND, row, strict=False)), meta={}, files=())


def step_of(row: Row) -> Step:
    return _null_as(_noun(Step, zip(_STEP, row, strict=False)), cards=[])


def message_of(row: Row) -> Message:
    return _null_as(_noun(Message, zip(_MESSAGE, row, strict=False)), meta={}, cards=[], files=())


def delivery_of(row: Row) -> Delivery:
    return _noun(Delivery, zip(_DELIVERY, row, strict=False))


def approval_of(row: Row) -> Approval:
    return _noun(Approval, zip(_APPROVAL, row, strict=False))


def question_of(row: Row) -> Question:
    question = _noun(Question, zip(_QUESTION, row, strict=False))
    options = question.__dict__["options"]
    question.__dict__["options"] = None if options is None else tuple(options)
    return question


def user_of(row: Row) -> User:
    return _noun(User, zip(_USER, row, strict=True))


def agent_of(row: Row) -> Agent:
    m = dict(zip(_AGENT, row, strict=True))
    lists: dict[str, Any] = {name: tuple(m[name] or ()) for name in ("hosts", "secrets", "guest_tools")}
    lists["server_model"] = load_setting(m["server_model"])
    return _null_as(_noun(Agent, m.items(), **lists), heartbeat={})
