"""The README's example, whole: a page is watched by a schedule, a change is reported, no change disturbs nobody."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.pages import PageServer, page, serving_pages
from support.whole import Whole, open_whole

PATIENCE = 60
KEY = "web:fruit"
DEAR = "<table><tr><th>fruit</th><th>price</th></tr><tr><td>apples</td><td>2.40</td></tr></table>"
CHEAP = DEAR.replace("2.40", "2.10")


@pytest.fixture
async def whole(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with open_whole(database, tmp_path / "home") as whole:
        yield whole


async def run_now(whole: Whole, job_id: str, *replies: Any) -> dict[str, Any]:
    """Run the automation and wait for its end."""
    for reply in replies:
        whole.model.reply(reply)
    run_id = (await whole.ask("POST", f"/jobs/{job_id}/run", code=202))["id"]
    async with asyncio.timeout(PATIENCE):
        while (run := await whole.ask("GET", f"/runs/{run_id}"))["state"] in ("queued", "running"):  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.02)
    return run


def shown(whole: Whole) -> str:
    """Everything that the model was shown at its last call."""
    return "\n".join(message.text for message in wire_messages(whole.model.seen[-1]))


async def texts(whole: Whole) -> list[tuple[str, str]]:
    """The conversation's messages as people see them."""
    listed = await whole.ask("GET", f"/sessions/{KEY}/messages?limit=100")
    return [(message["kind"], message["text"]) for message in listed["items"] if message["role"] == "assistant"]


async def watch(whole: Whole, pages: PageServer) -> str:
    """Ask for the watch; give its automation's id."""
    asked = f"Look at {pages.url('/prices')} every weekday at 8 and tell me what changed"
    message = f"Look at {pages.url('/prices')} and tell the user what changed since last time."
    whole.model.reply(
        [tool_call("schedule_task", {"action": "add", "when": "every weekday at 8", "message": message, "quiet": True})]
    )
    whole.model.reply("I will look every weekday at 08:00 UTC.")
    assert await whole.say(asked, key=KEY) == "I will look every weekday at 08:00 UTC."
    [job] = (await whole.ask("GET", f"/jobs?session_key={KEY}"))["items"]
    assert job["words"].lower().startswith("weekdays at 08:00"), job["words"]
    return job["id"]


async def test_a_watched_page_is_reported_when_it_changes_and_only_then(whole: Whole) -> None:
    async with serving_pages() as pages:
        pages.pages["/prices"] = page(DEAR)
        look = [tool_call("fetch_url", {"url": pages.url("/prices")})]
        job_id = await watch(whole, pages)

        # The agent may not reach this machine until a person says so, with the port.
        run = await run_now(whole, job_id, look, "I may not look there.")
        assert run["state"] == "ok"
        assert pages.requests == []
        assert "127.0.0.1" in shown(whole)
        agent = await whole.ask("GET", "/agents/main")
        await whole.ask("PATCH", "/agents/main", {"hosts": [pages.place], "revision": agent["revision"]})

        await run_now(whole, job_id, look, "Apples cost 2.40.")
        assert "| apples | 2.40 |" in shown(whole)
        assert (await texts(whole))[-1] == ("scheduled", "Apples cost 2.40.")

        # Nothing changed: one status line, and nobody is disturbed.
        before = await texts(whole)
        nothing = [tool_call("nothing_to_report", {"note": "apples still 2.40"})]
        run = await run_now(whole, job_id, look, nothing)
        assert (run["state"], run["reason"]) == ("ok", "quiet")
        assert "Apples cost 2.40." in shown(whole)
        new = [text for text in await texts(whole) if text not in before]
        assert [kind for kind, _ in new] == ["status"]

        # The next run knows what the one before found.
        pages.pages["/prices"] = page(CHEAP)
        await run_now(whole, job_id, look, "Apples fell from 2.40 to 2.10.")
        assert "apples still 2.40" in shown(whole)
        assert "| apples | 2.10 |" in shown(whole)
        assert (await texts(whole))[-1] == ("scheduled", "Apples fell from 2.40 to 2.10.")
        assert pages.paths == ["/prices"] * 3
