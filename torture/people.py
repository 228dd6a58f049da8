"""The load of people: they talk in several sessions at once, repeat themselves, interrupt, and try foreign doors.

What the door accepted is written down: the checker holds Homing to it.
"""

import asyncio
import itertools
import random
import secrets
from dataclasses import dataclass, field

from torture.door import Door
from torture.stage import Stage

VERBS = [
    "",
    "",
    "",
    "@deed",
    "@look",
    "@both",
    "@plan",
    "@keep",
    "@run",
    "@run",
    "@run",
    "@file",
    "@ask",
    "@ask",
    "@chain",
    "@slow",
    "@slow",
    "@gate",
    "@empty",
    "@broken",
]
# Then a conversation is begun anew: a model is shown all of it each time, and logs keep all that is shown.
LONGEST = 25
ASKERS = tuple(f"asker-{n}" for n in range(12))
"""Agents whose commands and memories need an approval; each may ask thirty times a day."""
_ASKS = "asks-"


@dataclass(kw_only=True, eq=False)
class Person:
    """A user with their door, conversations and jobs."""

    name: str
    door: Door
    dice: random.Random
    sessions: list[str] = field(default_factory=list[str])
    jobs: list[str] = field(default_factory=list[str])
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    said: dict[str, int] = field(default_factory=dict[str, int])

    def mark(self) -> str:
        """Make a word that nobody else says."""
        return f"#{self.name}.{next(self.numbers)}"


async def chat(stage: Stage, person: Person, stop: asyncio.Event) -> None:
    """Talk until told to stop."""
    dice = person.dice
    while not stop.is_set():
        if stage.crowded:
            await asyncio.sleep(0.2)
            continue
        match dice.random():
            case x if x < 0.08 or not person.sessions:
                await open_session(stage, person)
            case x if x < 0.12:
                await _cancel(person)
            case x if x < 0.16:
                await _peek(stage, person)
            case x if x < 0.17:
                await _delete(stage, person)
            case _:
                await _say(stage, person)
        await asyncio.sleep(dice.choice((0.02, 0.1, 0.3, 0.6)))


async def answer(stage: Stage, person: Person, stop: asyncio.Event) -> None:
    """Answer what agents ask, sometimes twice, until told to stop."""
    dice = person.dice
    while not stop.is_set():
        await asyncio.sleep(dice.choice((0.1, 0.3, 0.6)))
        listed = await person.door.ask("GET", "/api/approvals?state=pending")
        if listed is None or listed.status != 200 or not listed.body["items"]:
            continue
        approval = dice.choice(listed.body["items"])
        decisions = ["deny" if dice.random() < 0.25 else "approve"]
        if dice.random() < 0.2:
            # Who comes second is refused, or repeats the first.
            decisions.append(dice.choice(("approve", "deny")))
        for decision in decisions:
            body = {"decision": decision, "digest": approval["digest"]}
            heard = await person.door.ask("POST", f"/api/approvals/{approval['id']}", body)
            if heard is not None and heard.status == 200:
                stage.note(
                    "accepted.jsonl", what="answered", user=person.name, approval_id=approval["id"], decision=decision
                )


async def open_session(stage: Stage, person: Person) -> None:
    asks = person.dice.random() < 0.5
    key = f"web:{person.name}-{_ASKS if asks else ''}{secrets.token_hex(3)}"
    agent = {"agent_id": person.dice.choice(ASKERS)} if asks else {}
    made = await person.door.ask("POST", "/api/sessions", {"key": key, **agent})
    if made is None or made.status != 201:
        return
    if person.dice.random() < 0.6:
        # One of its own: letters to an address stand in line, and here some are made to wait for a long time.
        hook = await person.door.ask("POST", "/api/webhooks", {"url": f"{stage.receiver}/hook/{person.name}/{key[4:]}"})
        if hook is not None and hook.status == 201:
            addresses = {"addresses": [key, hook.body["address"]]}
            await person.door.ask("PATCH", f"/api/sessions/{key}", addresses)
    person.sessions = [*person.sessions[-2:], key]


async def _say(stage: Stage, person: Person) -> None:
    key = person.dice.choice(person.sessions)
    verbs = ["@keep", "@keep", "@run", ""] if _ASKS in key else VERBS
    text = f"{person.mark()} {person.dice.choice(verbs)}".strip()
    body = {"text": text, "mode": person.dice.choice(("inject", "inject", "queue"))}
    once = secrets.token_hex(8)
    path = f"/api/sessions/{key}/messages"
    told = await person.door.ask("POST", path, body, key=once)
    if told is None:
        stage.note("accepted.jsonl", what="unknown", user=person.name, session=key, text=text)
        return
    if told.status != 202:
        # Deleted meanwhile by this very person.
        return
    inbound = told.body["inbound_id"]
    stage.note("accepted.jsonl", what="message", user=person.name, session=key, text=text, inbound_id=inbound)
    person.said[key] = person.said.get(key, 0) + 1
    if person.said[key] >= LONGEST and key in person.sessions:
        person.sessions.remove(key)
    if person.dice.random() < 0.15:
        again = await person.door.ask("POST", path, body, key=once)
        if again is not None:
            same = again.status == 202 and again.body["inbound_id"] == inbound
            stage.note("accepted.jsonl", what="again", user=person.name, inbound_id=inbound, same=same)


async def _cancel(person: Person) -> None:
    await person.door.ask("POST", f"/api/sessions/{person.dice.choice(person.sessions)}/cancel", {})


async def _delete(stage: Stage, person: Person) -> None:
    if len(person.sessions) < 2:
        return
    key = person.sessions.pop(0)
    # Before it is asked: whatever becomes of the request, this session's words may be withdrawn.
    stage.note("accepted.jsonl", what="deleting", user=person.name, session=key)
    await person.door.ask("DELETE", f"/api/sessions/{key}?delete_automations=true")


async def _peek(stage: Stage, person: Person) -> None:
    """Try what belongs to others."""
    rows = await asyncio.to_thread(_foreign, stage, person.name)
    if not rows:
        return
    path = person.dice.choice(rows)
    seen = await person.door.ask("GET", path)
    if seen is not None:
        stage.note("accepted.jsonl", what="peek", user=person.name, path=path, status=seen.status)


def _foreign(stage: Stage, user: str) -> list[str]:
    """Name paths to others' things; the names come from the database, as a leak would give them away."""
    paths: list[str] = []
    # A conversation with an agent has the same key for every user.
    others = "user_id <> '{}' and deleted_at is null and substr(key, 1, 6) <> 'agent:'"
    for statement, path in (
        (f"select key from session where {others} limit 5", "/api/sessions/{}/messages"),
        ("select id from job where user_id <> '{}' order by n desc limit 5", "/api/jobs/{}"),
        ("select id from run where user_id <> '{}' order by n desc limit 5", "/api/runs/{}"),
    ):
        try:
            paths += [path.format(name) for (name,) in stage.ask(statement.format(user))]
        except Exception:  # noqa: BLE001 - the database may be down at this moment; then there is nothing to peek at
            return []
    return paths
