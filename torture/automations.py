"""The load of jobs: of every kind, short-lived, edited, paused, left out, run by hand and removed while they run."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from torture.people import Person
from torture.stage import Stage

# So many of a person's are alive at once.
MOST = 5
# Says no twice, then yes; what it remembers of a yes is kept only if its turn went well.
_SCRIPT = """
import json
n = (state or 0) + 1
print(json.dumps({"wakeAgent": n % 3 == 0, "data": "seen", "state": n}))
"""
_VERBS = ("", "", "@deed", "@look", "@slow", "@empty", "@both", "@run", "@run")


async def plan(stage: Stage, person: Person, stop: asyncio.Event) -> None:
    """Add, change and remove jobs until told to stop."""
    dice = person.dice
    while not stop.is_set():
        if stage.crowded and person.jobs:
            await _remove(person, dice.choice(person.jobs))
        elif person.sessions and not stage.crowded and (len(person.jobs) < MOST or dice.random() < 0.2):
            await _add(stage, person)
        elif person.jobs:
            await _change(stage, person)
        await asyncio.sleep(dice.choice((0.2, 0.5, 1.0)))


async def _add(stage: Stage, person: Person) -> None:
    dice, mark = person.dice, person.mark()
    body: dict[str, Any] = {
        "session_key": dice.choice(person.sessions), "name": f"job {mark.removeprefix('#')}",
        "schedule": _schedule(person), "catch_up": dice.choice(("latest", "latest", "skip")),
    }  # fmt: skip
    message = f"{mark} {dice.choice(_VERBS)}".strip()
    payload: dict[str, Any] = {"kind": "agent_turn", "message": message, "timeout_seconds": 10}
    payload["context"] = dice.choice(("session", "since_last", "none"))
    match dice.random():
        case x if x < 0.25:
            payload = {"kind": "reminder", "message": message}
        case x if x < 0.35:
            # Each is a turn, however many wait already.
            payload = {"kind": "system_event", "message": mark}
            body["schedule"] = {"kind": "every", "every_ms": 4000, "tz": "UTC"}
        case x if x < 0.55:
            body |= {"session": "isolated", "continue": dice.random() < 0.7}
        case x if x < 0.65:
            payload["message"], body["quiet"] = f"{mark} @quiet", True
        case _:
            body |= {"max_runs": dice.choice((None, None, 3)), "delete_after_run": dice.random() < 0.1}
    if dice.random() < 0.25 and payload["kind"] == "agent_turn":
        body |= {"script": _SCRIPT, "script_language": "python"}
    made = await person.door.ask("POST", "/api/jobs", body | {"payload": payload})
    if made is not None and made.status == 201:
        person.jobs.append(made.body["id"])
        stage.note("accepted.jsonl", what="job", user=person.name, job_id=made.body["id"])


def _schedule(person: Person) -> dict[str, Any]:
    dice = person.dice
    match dice.choice(("at", "every", "every", "cron")):
        case "at":
            at = datetime.now(UTC) + timedelta(seconds=dice.uniform(3, 8))
            return {"kind": "at", "at": at.isoformat(), "tz": "UTC"}
        case "every":
            return {"kind": "every", "every_ms": dice.choice((1000, 1500, 3000, 5000)), "tz": "UTC"}
        case _:
            return {"kind": "cron", "cron": f"*/{dice.choice((1, 2, 5))} * * * * *", "tz": "UTC"}


async def _change(stage: Stage, person: Person) -> None:
    dice = person.dice
    job, chance = dice.choice(person.jobs), dice.random()
    if 0.25 <= chance < 0.8:
        # Before it is asked: from now on this job's calendar is not the one it began with.
        stage.note("accepted.jsonl", what="edited", user=person.name, job_id=job)
    match chance:
        case x if x < 0.25:
            await person.door.ask("POST", f"/api/jobs/{job}/run", {})
        case x if x < 0.4:
            await person.door.ask("POST", f"/api/jobs/{job}/skip", {"count": dice.choice((1, 2))})
        case x if x < 0.5:
            await person.door.ask("POST", f"/api/jobs/{job}/disable", {})
            await asyncio.sleep(dice.uniform(0.1, 1.0))
            await person.door.ask("POST", f"/api/jobs/{job}/enable", {})
        case x if x < 0.65:
            await person.door.ask("PATCH", f"/api/jobs/{job}", {"payload": {"message": f"{person.mark()} @look"}})
        case x if x < 0.8:
            await person.door.ask("PATCH", f"/api/jobs/{job}", {"schedule": _schedule(person)})
        case _:
            await _remove(person, job)


async def _remove(person: Person, job: str) -> None:
    if job in person.jobs:
        person.jobs.remove(job)
    await person.door.ask("DELETE", f"/api/jobs/{job}")


async def pause_all(person: Person) -> None:
    """Pause every job of a person, also those that their agent made."""
    seen = await person.door.ask("GET", "/api/jobs?limit=200&enabled=true")
    for job in seen.body["items"] if seen is not None and seen.status == 200 else ():
        await person.door.ask("POST", f"/api/jobs/{job['id']}/disable", {})
