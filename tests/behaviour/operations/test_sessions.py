"""Sessions: made, listed, changed, and deleted in two steps."""

from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.errors import Conflict, Invalid, NotFound
from homing.model.people import Caller
from homing.operations import messages
from homing.operations.grants import add_grant
from homing.operations.jobs import add_job, get_job
from homing.operations.runs import list_runs, run_job
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import add_session, get_session, list_sessions, update_session
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import AddJob, GetJob, JobRef, UndoJob
from homing.operations.shapes.people_asks import AddGrant, AddWebhook, WebhookRef
from homing.operations.shapes.run_asks import ListRuns
from homing.operations.shapes.session_asks import (
    AddSession,
    DeleteSession,
    ListSessions,
    SendMessage,
    SessionRef,
    UpdateSession,
)
from homing.operations.undo import undo_job
from homing.operations.webhooks import add_webhook, remove_webhook
from homing.store import jobs
from homing.store import tables as t
from support.asking import add, field_codes, refused, session
from support.worlds import STRANGER, World, write_job


def test_a_session_has_every_field_of_the_contract_in_its_order(world: World) -> None:
    made = world.ask(add_session, AddSession(key="web:abc", title="Fruit", timezone="asia/tokyo"))
    assert (
        list(made.plain())
        == (
            "key title agent_id model user_id timezone state turn lane lane_size addresses home automations"
            " last_message unread read_seq pinned archived branch_of revision created_at updated_at deleted_at"
        ).split()
    )
    assert (made.key, made.title, made.timezone, made.state) == ("web:abc", "Fruit", "Asia/Tokyo", "idle")
    assert (made.addresses, made.revision, made.automations.plain()) == (["web:abc"], 1, {"enabled": 0, "total": 0})


def test_a_session_without_a_key_gets_one_of_its_own(world: World) -> None:
    first, second = (world.ask(add_session, AddSession()).key for _ in range(2))
    assert first.startswith("web:")
    assert first != second


def test_an_existing_key_is_a_conflict_for_its_owner_and_free_for_others(world: World) -> None:
    world.ask(add_session, AddSession(key="web:abc"))
    assert refused(lambda: world.ask(add_session, AddSession(key="web:abc")), Conflict).code == "session_exists"
    assert world.ask(add_session, AddSession(key="web:abc"), caller=STRANGER).user_id == STRANGER.user_id


def test_keys_of_other_channels_are_reserved_and_broken_ones_refused(world: World) -> None:
    for key, code in {
        "telegram:1": "reserved_key", "cron:x": "reserved_key", "unified:default": "reserved_key",
        "web": "wrong_type", "web:a b": "wrong_type", "web:a/b": "wrong_type", "web:" + "x" * 200: "out_of_range",
    }.items():  # fmt: skip
        error = refused(lambda key=key: world.ask(add_session, AddSession(key=key)), Invalid)
        assert field_codes(error) == {"key": code}
    imported = Caller(user_id="default", role="admin", door="import")
    assert world.ask(add_session, AddSession(key="telegram:1"), caller=imported).key == "telegram:1"


def test_unknown_agents_and_zones_are_refused(world: World) -> None:
    assert field_codes(refused(lambda: world.ask(add_session, AddSession(agent_id="none")), Invalid)) == {
        "agent_id": "out_of_range"
    }
    assert field_codes(refused(lambda: world.ask(add_session, AddSession(timezone="none")), Invalid)) == {
        "timezone": "unknown_timezone"
    }


def test_sessions_are_listed_by_newest_activity_and_found_by_words(world: World) -> None:
    for n in range(5):
        world.ask(add_session, AddSession(key=f"web:s{n}", title=f"Title {n}"))
    world.ask(messages.send_message, SendMessage(session_key="cli:main", text="hello"))
    seen: list[str] = []
    cursor = None
    while True:
        page = world.ask(list_sessions, ListSessions(limit=2, cursor=cursor))
        seen += [shown.key for shown in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == ["cli:main", *(f"web:s{n}" for n in range(5))]
    assert [s.key for s in world.ask(list_sessions, ListSessions(q="title 3")).items] == ["web:s3"]
    assert [s.key for s in world.ask(list_sessions, ListSessions(channel="cli")).items] == ["cli:main"]
    assert world.ask(list_sessions, ListSessions(), caller=STRANGER).items == []


def test_sessions_of_isolated_runs_are_listed_only_when_asked_for(world: World) -> None:
    job = add(world, session="isolated")
    run = world.ask(run_job, JobRef(job_id=job.id))
    assert [s.key for s in world.ask(list_sessions, ListSessions()).items] == ["web:abc"]
    assert [s.key for s in world.ask(list_sessions, ListSessions(channel="cron")).items] == [f"cron:{run.id}"]


def test_what_waits_is_shown_first_in_line_first(world: World) -> None:
    job = add(world)
    run = world.ask(run_job, JobRef(job_id=job.id))
    world.ask(messages.send_message, SendMessage(session_key="web:abc", text="hello"))
    shown = world.ask(get_session, SessionRef(session_key="web:abc"))
    assert [(w.source, w.text, w.run_id, w.waiting_for) for w in shown.lane] == [
        ("person", "hello", None, "slot"),
        ("run", "look for fruit", run.id, "session"),
    ]
    assert (shown.lane_size, shown.automations.plain()) == (2, {"enabled": 1, "total": 1})


def test_fields_given_change_and_null_means_the_default(world: World) -> None:
    world.ask(add_session, AddSession(key="web:abc", title="Fruit", timezone="Asia/Tokyo"))

    def patch(**given: Any):
        return world.ask(update_session, read(UpdateSession, {"session_key": "web:abc", **given}))

    assert patch(title="Veg").title == "Veg"
    changed = patch(timezone=None, agent_id="other")
    assert (changed.timezone, changed.agent_id, changed.title, changed.revision) == ("Europe/Berlin", "other", "Veg", 3)
    assert patch(title=None, agent_id=None).title is None
    error = refused(lambda: patch(title="x", revision=1), Conflict)
    assert error.code == "stale_revision"
    assert field_codes(refused(lambda: patch(user_id="x"), Invalid)) == {"user_id": "read_only"}


def test_a_session_answers_to_itself_its_users_webhooks_and_nothing_else(world: World) -> None:
    session(world)
    hook = world.ask(add_webhook, AddWebhook(url="https://example.com/in"))
    foreign = world.ask(add_webhook, AddWebhook(url="https://example.com/in"), caller=STRANGER)

    def answers_to(*addresses: str) -> list[str]:
        ask = UpdateSession(session_key="web:abc", addresses=list(addresses))
        return world.ask(update_session, ask).addresses

    assert answers_to("web:abc", hook.address) == ["web:abc", hook.address]
    for address in (foreign.address, "email:a@example.com", "web:other", "webhook:wh_none", "nonsense"):
        error = refused(lambda address=address: answers_to("web:abc", address), Invalid)
        assert field_codes(error) == {"addresses.1": "out_of_range"}
    world.ask(add_grant, AddGrant(address="email:a@example.com"))
    assert answers_to("email:a@example.com") == ["email:a@example.com"]
    answers_to("web:abc", hook.address)
    world.ask(remove_webhook, WebhookRef(webhook_id=hook.id))
    assert world.ask(get_session, SessionRef(session_key="web:abc")).addresses == ["web:abc"]


# deleting


JOB = {"when": "every 2h", "message": "look for fruit"}


def delete(world: World, **given: Any) -> dict[str, Any]:
    return world.ask(delete_session, read(DeleteSession, {"session_key": "web:abc", **given})).plain()


def test_deleting_a_session_with_automations_is_refused_with_exactly_these_words(world: World) -> None:
    one, two = add(world, name="one"), add(world, name="two", enabled=False)
    error = refused(lambda: delete(world), Conflict)
    assert error.code == "blocked_by_automations"
    assert error.extra == {
        "deleted": False,
        "blocked_by_automations": True,
        "automations": [
            {"id": one.id, "name": "one", "enabled": True},
            {"id": two.id, "name": "two", "enabled": False},
        ],
    }
    assert world.ask(get_session, SessionRef(session_key="web:abc")).automations.total == 2


def test_with_the_word_jobs_go_first_then_the_session_and_the_key_begins_anew(world: World) -> None:
    job = add(world)
    run = world.ask(run_job, JobRef(job_id=job.id))
    world.ask(messages.send_message, SendMessage(session_key="web:abc", text="hello"))
    old = session(world)
    assert delete(world, delete_automations=True) == {
        "deleted": True, "blocked_by_automations": False, "automations": [],
    }  # fmt: skip
    with pytest.raises(NotFound):
        world.ask(get_session, SessionRef(session_key="web:abc"))
    with pytest.raises(NotFound):
        world.ask(get_job, GetJob(job_id=job.id))
    [shown] = world.ask(list_runs, ListRuns(job_id=job.id)).items
    assert (shown.id, shown.state, shown.reason) == (run.id, "skipped", "session_deleted")
    waiting = world.write(lambda tx: tx.rows(sa.select(t.inbound.c.state)))
    assert {state for (state,) in waiting} == {"withdrawn"}
    fresh = world.ask(add_session, AddSession(key="web:abc"))
    assert (fresh.lane_size, fresh.automations.total, session(world) == old) == (0, 0, False)
    removed = world.write(lambda tx: jobs.get(tx, job.id))
    assert removed is not None
    error = refused(lambda: world.ask(undo_job, UndoJob(job_id=job.id, revision=removed.revision)), Conflict)
    assert error.code == "nothing_to_undo"


def test_system_jobs_and_removed_ones_do_not_block(world: World) -> None:
    job = add(world)
    world.write(lambda tx: write_job(tx, job.id, {"kind": "system"}))
    assert delete(world)["deleted"] is True


def test_the_shared_lane_of_all_chats_is_no_session_to_ask_for_or_to_delete(world: World) -> None:
    shared = world.with_settings(unified_session=True)
    shared.ask(messages.send_message, SendMessage(session_key="web:abc", text="hello"))
    for act in (
        lambda: delete(shared, session_key="unified:default"),
        lambda: shared.ask(get_session, SessionRef(session_key="unified:default")),
        lambda: shared.ask(add_job, read(AddJob, JOB | {"session_key": "unified:default"})),
    ):
        refused(act, NotFound)
    assert shared.ask(get_session, SessionRef(session_key="web:abc")).lane_size == 1


def test_a_running_turn_of_a_deleted_session_is_asked_to_stop(world: World) -> None:
    session(world)
    turn_id = world.open_turn("web:abc")
    delete(world)
    [turn] = world.write(lambda tx: tx.rows(sa.select(t.turn)))
    assert (turn.id, turn.cancel_reason, turn.state) == (turn_id, "session_deleted", "running")
