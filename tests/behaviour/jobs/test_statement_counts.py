"""What a plain run costs the database: the number of SQL statements may fall, and is not to grow unnoticed."""

from typing import Any

import pytest

from behaviour.jobs.homes import Home

WATER = {"kind": "reminder", "message": "Drink some water."}
# By kind of work: statements on SQLite and on PostgreSQL, as counted before take_in() and post() (ADR 0037).
MOST = {"turn": (58, 59), "isolated": (105, 106), "reminder": (20, 19), "event": (55, 55), "message": (45, 44)}
JOBS: dict[str, dict[str, Any]] = {
    "turn": {},
    "isolated": {"session": "isolated"},
    "reminder": {"message": None, "payload": WATER},
    "event": {"message": None, "payload": {"kind": "system_event", "message": "The kettle boils."}},
}


@pytest.mark.parametrize("kind", [*JOBS, "message"])
async def test_a_plain_run_costs_no_more_statements_than_it_did(home: Home, kind: str) -> None:
    await home.say("hello")
    if kind == "message":
        home.ledger.say("hello again")
    else:
        home.add(**{"when": "every 1h"} | JOBS[kind])
        home.pass_time(hours=1, seconds=1)
    with home.statements() as made:
        await home.settle()
    assert len(made) <= MOST[kind][home.store.postgres], "\n".join(made)
