"""A finished house: a real engine, a stub model and a receiver have worked on a database for some seconds, and stopped.

Everything of it is sound. Tests copy it, spoil one thing, and see whether the checker names it.
"""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from homing.model.agents import Agent
from homing.model.people import AGENT_GRANT, Caller
from homing.operations.approvals import answer_approval, list_approvals
from homing.operations.context import Context
from homing.operations.job_changes import disable_job
from homing.operations.jobs import add_job
from homing.operations.messages import send_message
from homing.operations.sessions import add_session, update_session
from homing.operations.shapes.approval import AnswerApproval, ListApprovals
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import AddJob, DisableJob
from homing.operations.shapes.people_asks import AddWebhook
from homing.operations.shapes.session_asks import AddSession, SendMessage, UpdateSession
from homing.operations.webhooks import add_webhook
from homing.settings import load
from homing.store import Tx, agents, people
from homing.store import tables as t
from homing.testing import WebhookReceiver
from homing.wiring import Homing, running
from torture.model import ASKED
from torture.sick import Panel, wire_sick

T = TypeVar("T")

USERS = ("ana", "ben")
_WAIT_SECONDS = 60.0
_AT_REST = (
    "select 0 = (select count(*) from turn where state <> 'closed')"
    " + (select count(*) from inbound where state = 'waiting' and line <> 'note')"
    " + (select count(*) from run where state in ('queued', 'running'))"
    " + (select count(*) from delivery where state = 'pending')"
    " + (select count(*) from job where next_run_at is not null)"
)


class Author:
    """Asks as people do, and writes down what was accepted."""

    def __init__(self, homing: Homing, folder: Path) -> None:
        self._homing = homing
        self._folder = folder

    def ask(self, user: str, operation: Callable[[Context, Any], T], ask: Any) -> T:
        caller = Caller(user_id=user, role="user", door="api", approve=True)
        return self._homing.store.write_now(
            lambda tx: operation(Context(tx=tx, caller=caller, instance=self._homing.instance), ask)
        )

    def say(self, user: str, text: str, *, mode: str = "queue", session: str = "1") -> None:
        ask = read(SendMessage, {"session_key": f"web:{user}-{session}", "text": text, "mode": mode})
        sent = self.ask(user, send_message, ask)
        self.note(what="message", user=user, session=sent.session_key, text=text, inbound_id=sent.inbound_id)

    def answer(self, user: str, decision: str) -> None:
        """Answer the oldest request that waits."""
        asked = self.ask(user, list_approvals, ListApprovals(state="pending")).items[-1]
        given = {"approval_id": asked.id, "digest": asked.digest, "decision": decision}
        self.ask(user, answer_approval, read(AnswerApproval, given))
        self.note(what="answered", user=user, approval_id=asked.id, decision=decision)

    def plan(self, user: str, message: str, *, kind: str = "agent_turn", session: str = "main") -> str:
        given = {
            "session_key": f"web:{user}-1", "schedule": {"kind": "every", "every_ms": 1000, "tz": "UTC"},
            "session": session, "payload": {"kind": kind, "message": message},
        }  # fmt: skip
        return self.ask(user, add_job, read(AddJob, given)).id

    def note(self, **line: Any) -> None:
        with (self._folder / "accepted.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")


async def finish_house(folder: Path, receiver: WebhookReceiver) -> None:
    """Fill a folder with a database and the logs of all who saw it at work."""
    settings = load({
        "HOMING_HOME": str(folder), "HOMING_DATABASE_URL": f"sqlite:///{folder / 'homing.db'}",
        "HOMING_MODEL": "openai-chat:stub", "HOMING_TIMEZONE": "UTC", "HOMING_IDLE_RETRY_MS": "100",
        "HOMING_CLAIM_SECONDS": "120",
    })  # fmt: skip
    homing, engine = wire_sick(settings, Panel(folder / "panel"), folder / "deeds.jsonl")
    author = Author(homing, folder)
    for user in USERS:
        _admit(author, homing, user, f"{receiver.url}/{user}")
    async with running(homing, engine):
        await _talk(author, homing, receiver)
    await homing.store.close()


def _admit(author: Author, homing: Homing, user: str, url: str) -> None:
    homing.store.write_now(lambda tx: people.add_user(tx, user, role="user"))
    key = f"web:{user}-1"
    author.ask(user, add_session, AddSession(key=key))
    hook = author.ask(user, add_webhook, AddWebhook(url=url))
    author.ask(user, update_session, read(UpdateSession, {"session_key": key, "addresses": [key, hook.address]}))


async def _talk(author: Author, homing: Homing, receiver: WebhookReceiver) -> None:
    receiver.answer(500)
    for user in USERS:
        for number, verb in enumerate(("", "@both", "@look", "@keep", "@plan", "@run", "@file"), 1):
            author.say(user, f"#{user}.{number} {verb}".strip())
    jobs = {
        author.plan("ana", "#ana.20 @look"): "ana",
        author.plan("ana", "#ana.21", session="isolated"): "ana",
        author.plan("ben", "#ben.20", kind="reminder"): "ben",
        _gated(homing, author.plan("ben", "#ben.21")): "ben",
    }
    homing.store.bell.ring({"jobs", "lanes"})
    # A planned reminder fired, and each job ran twice.
    await _until(homing, "select count(*) = 6 from (select 1 from run where state = 'ok' group by job_id)")
    await _until(homing, "select min(n) >= 2 from (select count(*) n from run r join job j on j.id = r.job_id"
                         " where r.state = 'ok' and j.schedule_kind = 'every' and j.script is null"
                         " group by job_id)")  # fmt: skip
    for job_id, user in jobs.items():
        author.ask(user, disable_job, DisableJob(job_id=job_id))
    await _ask_and_answer(author, homing)
    _let_agents_talk(author, homing)
    # One that is spoken into while it answers.
    author.say("ben", "#ben.30 @look", mode="inject")
    author.say("ben", "#ben.31", mode="inject")
    homing.store.bell.ring({"jobs", "lanes"})
    await _until(homing, _AT_REST)
    author.note(what="peek", user="ben", path="/api/sessions/web:ana-1/messages", status=404)


def _gated(homing: Homing, job_id: str) -> str:
    """Give a job a script that says no, then yes."""
    script = "import json\nprint(json.dumps({'wakeAgent': state == 1, 'state': (state or 0) + 1}))"
    values = {"script": script, "script_language": "python"}
    homing.store.write_now(lambda tx: tx.run(sa.update(t.job).where(t.job.c.id == job_id).values(values)))
    return job_id


async def _ask_and_answer(author: Author, homing: Homing) -> None:
    """Three requests of one conversation: one is allowed, one denied, and one waits forever."""
    asker = Agent(id="asker", name="Asker", instructions="", tools={"remember": "ask"})
    homing.store.write_now(lambda tx: agents.add(tx, asker))
    author.ask("ana", add_session, AddSession(key="web:ana-asks", agent_id="asker"))
    for number in (40, 41, 42):
        author.say("ana", f"#ana.{number} @keep", session="asks")
    homing.store.bell.ring({"lanes"})
    await _until(homing, "select count(*) = 3 from approval")
    for decision in ("approve", "deny"):
        author.answer("ana", decision)
    homing.store.bell.ring({"approvals", "lanes"})
    await _until(homing, "select count(*) = 2 from approval where finished_at is not null")


def _let_agents_talk(author: Author, homing: Homing) -> None:
    """One asks another; and two ask each other until the brake stops them."""
    homing.store.write_now(_allow_talk)
    author.say("ana", "#ana.50 @ask")
    author.say("ana", "#ana.51 @chain")


def _allow_talk(tx: Tx) -> None:
    for agent_id in ASKED:
        agents.add(tx, Agent(id=agent_id, name=agent_id, instructions="", tools={"send_message": "allow"}))
    for sender, asked in (("main", ASKED[0]), ASKED, ASKED[::-1]):
        people.add_grant(tx, user_id="ana", agent_id=sender, address=f"{AGENT_GRANT}{asked}")


async def _until(homing: Homing, question: str) -> None:
    until = time.monotonic() + _WAIT_SECONDS
    while not await homing.store.read(lambda tx: _true(tx, question)):
        assert time.monotonic() < until, f"never true: {question}"
        await asyncio.sleep(0.05)


def _true(tx: Tx, question: str) -> bool:
    return bool(tx.connection.exec_driver_sql(question).scalar())
