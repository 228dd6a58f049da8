"""Who answers an approval, how often, and until when (rules 47 to 49)."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.approvals.scenes import (
    KEY,
    actions,
    answer,
    ask_for_memory,
    call,
    change,
    let_ask,
    pending,
    texts,
    told,
    told_of,
)
from homing.engine.sweeper import Sweeper
from homing.model.approvals import OPEN_FOR
from homing.model.clock import SystemClock
from homing.model.contract import OPERATIONS
from homing.model.people import OWNER
from homing.operations.homes import HOME_KEY
from homing.store import people
from homing.store import tables as t
from homing.testing.scripted import wire_messages
from homing.web.callers import KEY as PAGE_KEY
from support.site import OWNER_TOKEN, STRANGER_TOKEN
from support.whole import Whole


def give_token(whole: Whole, secret: str, *, approve: bool, user_id: str = OWNER, role: Any = "admin") -> str:
    def work(tx: Any) -> str:
        return people.add_token(
            tx, user_id=user_id, role=role, kind="token", secret=secret, expires_at=None, approve=approve
        ).id

    return whole.homing.store.write_now(work)


async def test_of_two_who_answer_at_once_the_first_counts_and_the_other_sees_it(still: Whole) -> None:
    give_token(still, "hom_second", approve=True)
    await let_ask(still, "remember")
    for n in range(5):
        await call(still, "remember", {"text": f"fact {n}"})
        [approval] = await pending(still)
        body = {"digest": approval["digest"]}
        headers = [{"Authorization": f"Bearer {token}"} for token in (OWNER_TOKEN, "hom_second")]
        still.model.reply(f"I see {n}.")
        both = await asyncio.gather(
            *(
                still.http.post(f"/api/approvals/{approval['id']}", json=body | {"decision": decision}, headers=sent)
                for decision, sent in zip(("approve", "deny"), headers, strict=True)
            )
        )
        assert sorted(one.status_code for one in both) == [200, 409]
        won = next(one.json() for one in both if one.status_code == 200)
        lost = next(one.json() for one in both if one.status_code == 409)
        assert lost["code"] == "wrong_state"
        assert lost["current"]["state"] == won["state"]
        # Repeating one's own answer is not an error, and changes nothing.
        decision = "deny" if won["state"] == "denied" else "approve"
        assert (await answer(still, approval, decision))["answered_at"] == won["answered_at"]
        if won["state"] == "approved":
            while await still.engine.actions.step():
                pass
        await told(still, f"I see {n}.")
        assert len(told_of(still, approval["id"])) == 1
        # The scripted answer is used up by the one turn that was told.
        still.model.reply("Next.")
        await still.say("next", key=KEY)


async def test_only_a_person_who_may_approve_answers_what_they_saw(still: Whole) -> None:
    approval = await ask_for_memory(still)
    give_token(still, "hom_tool", approve=False)
    assert "may not answer approvals" in (await answer(still, approval, token="hom_tool", code=403))["detail"]
    path = f"/approvals/{approval['id']}"
    await still.ask("GET", path, token=STRANGER_TOKEN, code=404)
    assert (await answer(still, approval, token=STRANGER_TOKEN, code=404))["code"] == "not_found"
    assert (await still.ask("GET", "/approvals", token=STRANGER_TOKEN))["items"] == []
    await still.ask("GET", f"/approvals?session_key={KEY}", token=STRANGER_TOKEN, code=404)
    wrong = await answer(still, approval, digest="sha256:00", code=409)
    assert "digest differs" in wrong["detail"]
    assert [one["id"] for one in await pending(still)] == [approval["id"]]
    assert [op.mcp for op in OPERATIONS if op.name == "answer_approval"] == [False]
    # The page's cookie may.
    signed = await still.http.post("/api/auth/sign-in", json={"token": OWNER_TOKEN})
    assert signed.status_code == 200, signed.text
    headers = {PAGE_KEY: signed.json()["key"]}
    body = {"decision": "approve", "digest": approval["digest"]}
    done = await still.http.post(f"/api{path}", json=body, headers=headers)
    assert done.status_code == 200, done.text
    assert done.json()["state"] == "approved"


async def test_what_admins_decide_is_shown_once_at_the_home_of_each_and_ends_in_all(whole: Whole) -> None:
    whole.homing.store.write_now(lambda tx: people.add_user(tx, "second", role="admin"))
    give_token(whole, "hom_second", approve=True, user_id="second")
    await whole.say("Hello", key="web:own")
    asked = {"host": "owls.example", "reason": "to read about owls"}
    said = await whole.call("request_access", asked, key=KEY, token=STRANGER_TOKEN)
    assert "An administrator decides" in said
    [approval] = await pending(whole)

    async def cards(token: str) -> list[tuple[str, str]]:
        """Name where a person sees it, and as what."""
        seen = list[tuple[str, str]]()
        for session in (await whole.ask("GET", "/sessions", token=token))["items"]:
            listed = await whole.ask("GET", f"/sessions/{session['key']}/messages?limit=100", token=token)
            found = [one["approval"] for one in listed["items"] if one["approval"]]
            assert {one["id"] for one in found} <= {approval["id"]}
            seen += [(session["key"], one["state"]) for one in found]
        return seen

    who = {OWNER_TOKEN: "web:own", "hom_second": HOME_KEY, STRANGER_TOKEN: KEY}
    assert {token: await cards(token) for token in who} == {token: [(at, "pending")] for token, at in who.items()}
    await answer(whole, approval, "deny", token="hom_second")
    assert {token: await cards(token) for token in who} == {token: [(at, "denied")] for token, at in who.items()}


async def test_an_answer_with_an_idempotency_key_is_given_once(still: Whole) -> None:
    approval = await ask_for_memory(still)
    headers = {"Authorization": f"Bearer {OWNER_TOKEN}", "Idempotency-Key": "one"}
    body = {"decision": "approve", "digest": approval["digest"]}
    first = await still.http.post(f"/api/approvals/{approval['id']}", json=body, headers=headers)
    assert await still.engine.actions.step()
    again = await still.http.post(f"/api/approvals/{approval['id']}", json=body, headers=headers)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    other = await still.http.post(f"/api/approvals/{approval['id']}", json=body | {"decision": "deny"}, headers=headers)
    assert other.status_code >= 400


async def test_nobody_answers_after_seven_days_and_a_note_wakes_nobody(still: Whole) -> None:
    approval = await ask_for_memory(still)
    asked, expires = (datetime.fromisoformat(approval[name]) for name in ("asked_at", "expires_at"))
    assert expires - asked == OPEN_FOR
    change(still, approval["id"], expires_at=datetime.now(UTC))
    assert "has expired" in (await answer(still, approval, code=409))["detail"]
    calls = len(still.model.seen)
    await still.engine.sweeper.prune()
    over = await still.ask("GET", f"/approvals/{approval['id']}")
    assert (over["state"], over["ended"]) == ("expired", "time")
    [note] = told_of(still, approval["id"])
    assert (note.line, note.state) == ("note", "waiting")
    assert len(still.model.seen) == calls
    still.model.reply("Hello.")
    await still.say("hello", key=KEY)
    shown = "\n".join(message.text for message in wire_messages(still.model.seen[-1]))
    assert "ended without being done" in shown
    assert not await actions(still, None).step()


async def test_after_a_clock_leap_expiry_waits(still: Whole) -> None:
    approval = await ask_for_memory(still)
    change(still, approval["id"], expires_at=datetime.now(UTC) - timedelta(hours=1))
    clock = _Hours()
    sweeper = Sweeper(still.homing.store, still.homing.instance, clock, "worker_1", "here:1", None)
    await sweeper.beat()
    # The clock on the wall moves on by two hours more than time passes.
    clock.seconds -= 7200
    await sweeper.beat()
    await sweeper.prune()
    assert [one["id"] for one in await pending(still)] == [approval["id"]]
    clock.seconds += 1000
    await sweeper.prune()
    assert await pending(still) == []


class _Hours(SystemClock):
    """A clock whose passing seconds are the test's."""

    seconds = 100_000.0

    def monotonic(self) -> float:
        return self.seconds


async def test_what_ended_long_ago_is_pruned_and_its_message_stays(still: Whole) -> None:
    approval = await ask_for_memory(still)
    still.model.reply("I will not.")
    await answer(still, approval, "deny")
    await told(still, "I will not.")
    change(still, approval["id"], finished_at=datetime.now(UTC) - timedelta(days=400))
    before = await texts(still)
    await still.engine.sweeper.prune()
    await still.ask("GET", f"/approvals/{approval['id']}", code=404)
    assert await texts(still) == before
    left = still.homing.store.write_now(lambda tx: tx.rows(sa.select(sa.func.count()).select_from(t.card)))
    assert left[0][0] == 0


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_an_answer_too_many_says_who_answered(still: Whole, decision: str) -> None:
    approval = await ask_for_memory(still)
    still.model.reply("I see.")
    await answer(still, approval, decision)
    give_token(still, "hom_second", approve=True, user_id=OWNER)
    other = "deny" if decision == "approve" else "approve"
    assert "answered by" in (await answer(still, approval, other, token="hom_second", code=409))["detail"]
    # One's own answer again is not an error; a note that nobody would read is.
    assert (await answer(still, approval, decision))["answered_by"] == OWNER
    late = await answer(still, approval, decision, note="but not on Fridays", code=409)
    assert (late["code"], late["current"]["note"]) == ("wrong_state", None)
