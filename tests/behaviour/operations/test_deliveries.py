"""Where messages go and how far they got; what other programs bring in; what is remembered."""

from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.errors import Conflict, Invalid, NotFound
from homing.operations import deliveries as ops
from homing.operations.hooks import add_hook, call_hook, list_hooks, remove_hook
from homing.operations.jobs import get_job, list_jobs
from homing.operations.memories import add_memory, list_memories, remove_memory
from homing.operations.messages import list_messages
from homing.operations.runs import run_job
from homing.operations.sessions import update_session
from homing.operations.shapes import session_asks
from homing.operations.shapes.base import Nothing
from homing.operations.shapes.job_asks import GetJob, JobRef, ListJobs
from homing.operations.shapes.people_asks import AddMemory, AddWebhook, ListMemories, MemoryRef, WebhookRef
from homing.operations.shapes.session_asks import (
    AddHook,
    CallHook,
    DeliveryRef,
    ListDeliveries,
    ListMessages,
    RemoveHook,
    SessionRef,
    UpdateSession,
)
from homing.operations.webhooks import add_webhook, list_webhooks, remove_webhook
from homing.store import tables as t
from support.asking import PERSON_TURN, add, agent, field_codes, refused, session
from support.worlds import STRANGER, World


def send_test(world: World, address: str):
    return world.ask(ops.test_address, session_asks.TestAddress(session_key="web:abc", address=address))


def kill(world: World) -> None:
    """Let every delivery that is still tried be dead."""
    world.write(
        lambda tx: tx.run(
            sa.update(t.delivery)
            .where(t.delivery.c.state == "pending")
            .values(state="dead", next_attempt_at=None, attempts=5, error="410 Gone")
        )
    )


def test_a_test_goes_to_one_address_and_is_seen_in_the_session(world: World) -> None:
    session(world)
    hook = world.ask(add_webhook, AddWebhook(url="https://example.com/in"))
    delivery = send_test(world, hook.address)
    fields = "id session_key seq address state attempts next_attempt_at sent_at receipt skipped error"
    assert list(delivery.plain()) == [*fields.split(), "parts", "parts_sent", "unsure", "first_words", "session_title"]
    assert (delivery.state, delivery.address, delivery.session_key) == ("pending", hook.address, "web:abc")
    assert send_test(world, "web:abc").state == "sent"
    [first, _] = world.ask(list_messages, ListMessages(session_key="web:abc")).items
    assert (first.kind, [d.address for d in first.deliveries]) == ("note", [hook.address])
    error = refused(lambda: send_test(world, "email:a@example.com"), Invalid)
    assert field_codes(error) == {"address": "out_of_range"}


def test_a_dead_delivery_is_tried_again_under_the_same_id_and_a_living_one_is_not(world: World) -> None:
    session(world)
    hook = world.ask(add_webhook, AddWebhook(url="https://example.com/in"))
    delivery = send_test(world, hook.address)
    assert (
        refused(lambda: world.ask(ops.retry_delivery, DeliveryRef(delivery_id=delivery.id)), Conflict).code
        == "wrong_state"
    )
    kill(world)
    [dead] = world.ask(ops.list_deliveries, ListDeliveries(state="dead")).items
    assert (dead.id, dead.error) == (delivery.id, "410 Gone")
    again = world.ask(ops.retry_delivery, DeliveryRef(delivery_id=delivery.id))
    assert (again.id, again.state, again.attempts) == (delivery.id, "pending", 0)
    with pytest.raises(NotFound):
        world.ask(ops.retry_delivery, DeliveryRef(delivery_id=delivery.id), caller=STRANGER)


def test_deliveries_are_listed_newest_first_by_page_state_and_session(world: World) -> None:
    session(world)
    sent = [send_test(world, "web:abc").id for _ in range(3)]
    page = world.ask(ops.list_deliveries, ListDeliveries(limit=2))
    assert all(one.first_words for one in page.items)
    assert [d.id for d in page.items] == [sent[2], sent[1]]
    rest = world.ask(ops.list_deliveries, ListDeliveries(limit=2, cursor=page.next_cursor))
    assert ([d.id for d in rest.items], rest.next_cursor) == ([sent[0]], None)
    assert world.ask(ops.list_deliveries, ListDeliveries(state="pending")).items == []
    assert len(world.ask(ops.list_deliveries, ListDeliveries(session_key="web:abc")).items) == 3
    assert world.ask(ops.list_deliveries, ListDeliveries(), caller=STRANGER).items == []


def test_deliveries_to_outside_are_listed_by_themselves(world: World) -> None:
    session(world)
    hook = world.ask(add_webhook, AddWebhook(url="https://example.com/in"))
    carried = []
    for _ in range(3):
        carried.append(send_test(world, hook.address).id)
        send_test(world, "web:abc")
    page = world.ask(ops.list_deliveries, ListDeliveries(outside=True, limit=2))
    assert [one.id for one in page.items] == [carried[2], carried[1]]
    rest = world.ask(ops.list_deliveries, ListDeliveries(outside=True, limit=2, cursor=page.next_cursor))
    assert ([one.id for one in rest.items], rest.next_cursor) == ([carried[0]], None)
    assert len(world.ask(ops.list_deliveries, ListDeliveries()).items) == 6


def test_a_job_whose_result_did_not_arrive_wants_attention(world: World) -> None:
    hook = world.ask(add_webhook, AddWebhook(url="https://example.com/in"))
    job, other = add(world, payload={"kind": "reminder"}), add(world, session_key="web:other")
    world.ask(update_session, UpdateSession(session_key="web:abc", addresses=["web:abc", hook.address]))
    world.ask(run_job, JobRef(job_id=job.id))
    assert world.ask(get_job, GetJob(job_id=job.id)).status == "active"
    kill(world)
    assert world.ask(get_job, GetJob(job_id=job.id)).status == "attention"
    for status, expected in {"attention": [job.id], "active": [other.id], "paused": [], "done": []}.items():
        ask = ListJobs.model_validate({"status": status})
        assert [j.id for j in world.ask(list_jobs, ask).items] == expected


# webhooks out


def test_a_webhooks_secret_is_shown_once_and_private_places_are_refused(world: World) -> None:
    made = world.ask(add_webhook, AddWebhook(url="https://example.com/in"))
    assert made.address == f"webhook:{made.id}"
    assert made.secret.startswith("whsec_")
    [shown] = world.ask(list_webhooks, Nothing()).items
    assert "secret" not in shown.plain()
    for url in ("ftp://example.com", "http://10.0.0.1/", "https://u:p@example.com/", "nonsense"):
        error = refused(lambda url=url: world.ask(add_webhook, AddWebhook(url=url)), Invalid)
        assert set(field_codes(error)) == {"url"}
    with pytest.raises(NotFound):
        world.ask(remove_webhook, WebhookRef(webhook_id=made.id), caller=STRANGER)
    world.ask(remove_webhook, WebhookRef(webhook_id=made.id))
    assert world.ask(list_webhooks, Nothing()).items == []


# hooks in


def inbounds(world: World) -> list[Any]:
    return world.write(lambda tx: tx.rows(sa.select(t.inbound).order_by(t.inbound.c.n)))


def test_what_a_hook_brings_is_queued_marked_and_taken_once(world: World) -> None:
    session(world)
    made = world.ask(add_hook, AddHook(session_key="web:abc", name="ci"))
    token = made.url.rpartition("/")[2]
    assert made.url.startswith("http://127.0.0.1:4664/api/hooks/")
    world.open_turn("web:abc")
    nobody = STRANGER
    first = world.ask(call_hook, CallHook(token=token, body="built", external_id="1"), caller=nobody)
    again = world.ask(call_hook, CallHook(token=token, body="built", external_id="1"), caller=nobody)
    assert first.inbound_id == again.inbound_id
    world.ask(call_hook, CallHook(token=token, body='{"action": "push", "n": 1}'), caller=nobody)
    world.ask(call_hook, CallHook(token=token, body="x" * 20000), caller=nobody)
    _, text, json, long = inbounds(world)
    assert (text.source, text.line, text.mode, text.text, text.state) == (
        "hook",
        "machines",
        "queue",
        "built",
        "waiting",
    )
    assert text.meta == {"hook_id": made.id, "hook_name": "ci"}
    assert text.user_id == "default"
    assert json.text == '{"action": "push", "n": 1}'
    assert long.text.endswith("[cut: 3,616 characters more]")


def test_a_hook_is_closed_with_its_session_or_by_its_owner(world: World) -> None:
    session(world)
    made = world.ask(add_hook, AddHook(session_key="web:abc"))
    [shown] = world.ask(list_hooks, SessionRef(session_key="web:abc")).items
    assert "url" not in shown.plain()
    with pytest.raises(NotFound):
        world.ask(remove_hook, RemoveHook(session_key="web:abc", hook_id=made.id), caller=STRANGER)
    world.ask(remove_hook, RemoveHook(session_key="web:abc", hook_id=made.id))
    for token in (made.url.rpartition("/")[2], "none"):
        with pytest.raises(NotFound):
            world.ask(call_hook, CallHook(token=token, body="x"))
    assert inbounds(world) == []


# memories


def test_memories_are_kept_once_found_by_search_and_forgotten(world: World) -> None:
    apples = world.ask(add_memory, AddMemory(text="我喜欢苹果"))
    assert world.ask(add_memory, AddMemory(text=" 我喜欢苹果 ")).id == apples.id
    pears = world.ask(add_memory, AddMemory(text="Ada likes pears"))
    assert [m.id for m in world.ask(list_memories, ListMemories()).items] == [pears.id, apples.id]
    assert [m.id for m in world.ask(list_memories, ListMemories(q="苹果")).items] == [apples.id]
    page = world.ask(list_memories, ListMemories(limit=1))
    rest = world.ask(list_memories, ListMemories(limit=1, cursor=page.next_cursor))
    assert [m.id for m in rest.items] == [apples.id]
    assert world.ask(list_memories, ListMemories(q="苹果"), caller=STRANGER).items == []
    with pytest.raises(NotFound):
        world.ask(remove_memory, MemoryRef(memory_id=apples.id), caller=STRANGER)
    world.ask(remove_memory, MemoryRef(memory_id=apples.id))
    assert [m.id for m in world.ask(list_memories, ListMemories()).items] == [pears.id]


def test_a_memory_of_an_agent_knows_its_conversation(world: World) -> None:
    kept = world.ask(add_memory, AddMemory(text="likes tea"), caller=agent(world, PERSON_TURN))
    assert set(kept.plain()) == {"id", "text", "session_key", "source", "confirmed", "created_at"}
    assert kept.session_key == "web:abc"
