"""The turn after an approval has the rights and the depth of the turn that asked, and no more (rule 46)."""

import sqlalchemy as sa

from behaviour.approvals.scenes import KEY, answer, let_ask, pending, rows, told, until
from homing.store import tables as t
from homing.testing import tool_call
from support.whole import Whole


async def ring(whole: Whole, depth: int | None = None) -> None:
    """Let a program call a hook of the conversation."""
    url = (await whole.ask("POST", f"/sessions/{KEY}/hooks", {"name": "door"}, code=201))["url"]
    headers = {"homing-depth": str(depth)} if depth is not None else {}
    rung = await whole.http.post(f"/api/hooks/{url.rpartition('/')[2]}", json={"text": "Ring!"}, headers=headers)
    assert rung.status_code == 202, rung.text


async def test_after_a_hooks_request_the_agent_has_the_rights_of_a_hooks_turn(whole: Whole) -> None:
    await let_ask(whole, "remember")
    whole.model.reply("Hello.")
    await whole.say("hello", key=KEY)
    assert "forget" in whole.offered()

    whole.model.reply([tool_call("remember", {"text": "somebody rang"})])
    whole.model.reply("I asked.")
    await ring(whole, depth=3)
    await told(whole, "I asked.")
    [approval] = await pending(whole)
    assert approval["asked_by"] == "hook"

    # What follows may not plan, nor forget, and what it remembers is unconfirmed; it asks as a hook again.
    plan = {"action": "add", "name": "Door", "schedule": "every 1h", "message": "Look at the door."}
    whole.model.reply([tool_call("schedule_task", plan), tool_call("remember", {"text": "again"}, call_id="call_2")])
    whole.model.reply("Nothing planned.")
    await answer(whole, approval)
    await told(whole, "Nothing planned.")
    assert "forget" not in whole.offered()
    assert rows(whole, t.job.select()) == []
    [again] = await pending(whole)
    assert again["asked_by"] == "hook"
    turns = rows(whole, sa.select(t.turn.c.source, t.turn.c.depth).order_by(t.turn.c.n))
    assert [tuple(row) for row in turns] == [("person", 0), ("hook", 3), ("system", 3)]
    [memory] = (await whole.ask("GET", "/memories"))["items"]
    assert memory["source"]

    # A person's own turn afterwards is a person's.
    whole.model.reply("Hello again.")
    await whole.say("hello", key=KEY)
    assert "forget" in whole.offered()


async def test_an_isolated_run_asks_and_is_answered_in_its_conversation(whole: Whole) -> None:
    await let_ask(whole, "remember")
    whole.model.reply("Hello.")
    await whole.say("hello", key=KEY)
    job = {
        "name": "Look",
        "schedule": "every 1d",
        "message": "Look around.",
        "session": "isolated",
        "write_back": "none",
    }
    added = await whole.ask("POST", "/jobs", {**job, "session_key": KEY}, code=201)
    whole.model.reply([tool_call("remember", {"text": "all is well"})])
    whole.model.reply("I asked.")
    await whole.ask("POST", f"/jobs/{added['id']}/run", {}, code=202)

    async def asked() -> list[dict[str, object]]:
        return await pending(whole)

    [approval] = await until(asked, "the run has asked")
    assert (approval["session_key"], approval["asked_by"], approval["job_id"]) == (KEY, "run", added["id"])
    whole.model.reply("It is kept.")
    await answer(whole, approval)
    await told(whole, "It is kept.")
    [card] = rows(whole, sa.select(t.session.c.key).join(t.card, t.card.c.session_id == t.session.c.id))
    assert card.key == KEY
    assert "forget" not in whole.offered()
