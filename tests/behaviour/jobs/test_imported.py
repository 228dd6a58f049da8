"""A job of another program, brought in: what its record said about delivery is kept, and steers nothing."""

from typing import Any

import sqlalchemy as sa

from behaviour.jobs.homes import Home
from homing.model.people import OWNER
from homing.operations.importing import Entry, import_record
from homing.operations.job_changes import enable_job
from homing.operations.removal import remove_job
from homing.operations.session_deletion import delete_session
from homing.operations.shapes.job_asks import JobRef
from homing.operations.shapes.session_asks import DeleteSession
from homing.store import Tx, deliveries
from homing.store import tables as t
from support.ledger import CHAT
from support.site import open_site

RECORD: dict[str, Any] = {
    "id": "old1",
    "name": "Fruit",
    "enabled": True,
    "schedule": {"kind": "every", "everyMs": 3_600_000},
    "payload": {
        "kind": "agent_turn", "message": "look for fruit", "session_key": CHAT, "deliver": True, "channel": "telegram",
        "to": "42", "channel_meta": {"thread": "7"},
    },
}  # fmt: skip


async def test_old_delivery_fields_stay_readable_on_an_imported_job_and_steer_nothing(home: Home) -> None:
    home.ledger.session()
    taken = home.world.write(lambda tx: import_record(home.world.ctx(tx), RECORD, n=1, source="nanobot", apply=True))
    assert taken.taken, taken.detail
    home.ask(enable_job, JobRef(job_id="old1"))
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert home.ends("old1") == [("ok", None)]
    kept = home.ledger.write(lambda tx: tx.rows(sa.select(t.job.c.legacy).where(t.job.c.id == "old1"))[0][0])
    assert kept == RECORD

    def owed(tx: Tx) -> list[str]:
        found = deliveries.listed(tx, user_id=OWNER, state=None, session_id=None, before_n=None, limit=50)
        return [delivery.address for _, delivery in found]

    assert set(home.ledger.write(owed)) == {CHAT}


async def test_a_removed_job_comes_back_by_an_import(home: Home) -> None:
    """Exported, removed, imported: whoever keeps a backup gets it back, whatever became of the session meanwhile."""

    assert bring_in(home).taken
    home.ask(remove_job, JobRef(job_id="old1"))
    home.ask(delete_session, DeleteSession(session_key=CHAT))
    assert bring_in(home).taken
    again = bring_in(home)
    assert (again.taken, again.detail) == (False, "It is here already.")
    job = home.ask(enable_job, JobRef(job_id="old1"))
    assert (job.session_key, job.removed_at, len(job.next)) == (CHAT, None, 3)
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert home.ends("old1") == [("ok", None)]


async def test_a_removed_job_does_not_come_back_before_its_run_has_ended(home: Home) -> None:
    assert bring_in(home).taken
    home.ask(enable_job, JobRef(job_id="old1"))
    home.model.reply("Too late.", hold=True)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    async with home.running():
        home.ring()
        await home.called(1)
        home.ask(remove_job, JobRef(job_id="old1"))
        early = bring_in(home)
        assert (early.taken, early.detail) == (
            False,
            "It was removed, and its last run has not ended yet. Import it again in a moment.",
        )
        home.ring()
        await home.until_closed(1)
    assert bring_in(home).taken


def bring_in(home: Home) -> Entry:
    return home.world.write(lambda tx: import_record(home.world.ctx(tx), RECORD, n=1, source="nanobot", apply=True))


def test_a_job_of_a_shared_lane_does_not_come_in_and_says_why(home: Home) -> None:
    record = RECORD | {"payload": RECORD["payload"] | {"session_key": f"unified:{OWNER}"}}
    for apply in (False, True):
        entry = home.world.write(
            lambda tx, apply=apply: import_record(home.world.ctx(tx), record, n=1, source="nanobot", apply=apply)
        )
        assert (entry.taken, "is a shared lane and no chat" in (entry.detail or "")) == (False, True)


async def test_deleting_a_session_names_the_automations_that_went_with_it(home: Home) -> None:
    owner = open_site(home.world).owner
    job = home.add(when="every 1 hour", name="Fruit")
    # Never bound to a person's chat, so it does not stand in the way.
    home.change(job.id, kind="legacy")
    answer = (await owner.delete(f"/api/sessions/{CHAT}")).json()
    assert answer == {
        "deleted": True, "blocked_by_automations": False, "automations": [],
        "removed": [{"id": job.id, "name": "Fruit", "enabled": True}],
    }  # fmt: skip
    home.ledger.session("web:other")
    again = (await owner.delete("/api/sessions/web:other")).json()
    assert again == {"deleted": True, "blocked_by_automations": False, "automations": []}
