"""200 approvals under random kill -9: no action that must not be repeated begins twice, and no answer is lost.

PostgreSQL has two workers, SQLite one that is started again. Each answers, acts and tells the agents, so a kill
strikes all three. By hand for longer:
`APPROVALS=400 KILLS=90 .venv/bin/pytest -s tests/faults/test_approvals_under_kills.py`
"""

import json
import os
import random
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from homing.model.approvals import MAX_ATTEMPTS, MAX_PENDING, Approval
from homing.model.people import OWNER
from homing.store import Tx, agents, sessions
from homing.store import rows as r
from homing.store import tables as t
from homing.testing import StubModelServer, tool_call
from support.answerer import answers
from support.crews import Crew
from support.ledger import Ledger

APPROVALS = int(os.environ.get("APPROVALS", "200"))
KILLS = int(os.environ.get("KILLS", "40"))
SEED = int(os.environ.get("SEED", "1"))
CLAIM = 1.0
ENDED = {"done", "failed", "unknown", "denied", "expired"}


def furnish(ledger: Ledger, stub: StubModelServer) -> list[str]:
    """Make conversations that each ask ten times, and agents enough for thirty questions a day."""
    keys: list[str] = []
    for n in range(-(-APPROVALS // MAX_PENDING)):
        agent_id, key = f"asker-{n // 2}", f"web:asks-{n}"

        def work(tx: Tx, agent_id: str = agent_id, key: str = key) -> None:
            main = agents.get(tx, "main")
            assert main is not None
            agents.add(tx, replace(main, id=agent_id, name=agent_id, revision=1))
            assert sessions.add(tx, key=key, user_id=OWNER, agent_id=agent_id)

        ledger.session(key="web:first")
        ledger.write(work)
        calls = [
            tool_call(
                "asked_deed" if m % 2 else "asked_look", json.dumps({"what": f"{n}-{m}"}), call_id=f"call_{n}_{m}"
            )
            for m in range(MAX_PENDING)
        ]
        stub.when(f"ask {n}.", calls, "I asked.")
        keys.append(key)
    return keys


def approvals(ledger: Ledger) -> list[Approval]:
    return [r.approval_of(row) for row in ledger.write(lambda tx: tx.rows(r.approvals))]


def ask(crew: Crew, ledger: Ledger, keys: list[str]) -> None:
    """Let a worker ask for everything; nobody answers yet."""
    for n, key in enumerate(keys):
        ledger.say(f"ask {n}.", key)
    # A busy machine must not let it lose what it is at.
    first = crew.start(claim_seconds=60)
    crew.ring()
    closed = ledger.until_closed(len(keys), None, seconds=120)
    first.kill()
    failed = sa.select(t.step.c.result).where(t.step.c.failed)
    assert ledger.write(lambda tx: tx.rows(failed)) == []
    assert {(turn.outcome, turn.error) for turn in closed} == {("answered", None)}
    assert [one.state for one in approvals(ledger)] == ["pending"] * APPROVALS


def storm(crew: Crew, dice: random.Random) -> int:
    """Kill workers at random moments and start them again, until there were enough kills."""
    many = 2 if crew.postgres else 1
    team = [crew.start(answers=dice.randrange(10**6), claim_seconds=CLAIM) for _ in range(many)]
    kills = 0
    while kills < KILLS:
        time.sleep(0.1 + dice.random() * 1.1)  # the random moment itself
        at = dice.randrange(many)
        team[at].kill()
        kills += 1
        team[at] = crew.start(answers=dice.randrange(10**6), claim_seconds=CLAIM)
    return kills


def settled(ledger: Ledger) -> bool:
    found = approvals(ledger)
    return (
        all(one.state in ENDED for one in found)
        and all(turn.state == "closed" for turn in ledger.turns(None))
        and not ledger.count(t.inbound, t.inbound.c.state == "waiting")
    )


def test_two_hundred_approvals_survive_random_kills(crew: Crew, ledger: Ledger, stub: StubModelServer) -> None:
    began = time.monotonic()
    dice = random.Random(SEED)
    ask(crew, ledger, furnish(ledger, stub))
    kills = storm(crew, dice)
    try:
        ledger.until(lambda: settled(ledger), "everything has ended", seconds=120)
    finally:
        found = approvals(ledger)
        again = sum(one.attempts > 1 for one in found)
        waits = ledger.count(t.inbound, t.inbound.c.state == "waiting")
        spent = time.monotonic() - began
        print(f"{len(found)} approvals, {kills} kills, {spent:.0f} s: {dict(Counter(one.state for one in found))}")
        print(f"{again} taken up again, {waits} inbounds wait")
    check(crew, ledger)


def check(crew: Crew, ledger: Ledger) -> None:
    """Count effects outside the database, and compare them with what it says."""
    begun = Counter(crew.deeds())
    heard = answers(crew.folder)
    told = _told(ledger)
    found = approvals(ledger)
    assert len({one.args for one in found}) == APPROVALS
    assert ledger.count(t.card) == APPROVALS
    for one in found:
        times = begun[f"{one.tool} {one.arguments['what']}"]
        most = 1 if one.tool == "asked_deed" else MAX_ATTEMPTS
        least = 1 if one.state == "done" else 0
        if one.state in ("denied", "expired"):
            most = 0
        assert least <= times <= most, (one, times)
        assert told[one.id] == 1, one
        decision = heard.get(one.id)
        assert decision is None or (decision == "deny") == (one.state == "denied"), (one, decision)
        assert one.answered_by == OWNER
        # Nothing else ends an action here.
        assert one.state in ("done", "denied", "unknown") or one.attempts > MAX_ATTEMPTS, one
        assert one.tool == "asked_deed" or one.state != "unknown", one
    assert len(heard) <= APPROVALS


def _told(ledger: Ledger) -> Counter[str]:
    """Count the inbounds of each approval; each was taken by one turn."""
    statement = sa.select(t.inbound.c.meta, t.inbound.c.state)
    rows: list[Any] = ledger.write(lambda tx: tx.rows(statement))
    told = [row for row in rows if "approval_id" in (row.meta or {})]
    assert {row.state for row in told} == {"taken"}
    return Counter(row.meta["approval_id"] for row in told)
