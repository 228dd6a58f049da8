"""What the tests of approvals do again and again: find a request, answer it, wait for its end."""

import asyncio
from typing import Any

from homing.testing.scripted import wire_messages
from support.site import OWNER_TOKEN
from support.whole import Whole


async def pending(whole: Whole) -> list[dict[str, Any]]:
    """List the open requests, the newest first."""
    return (await whole.ask("GET", "/approvals?state=pending"))["items"]


async def answer(
    whole: Whole, approval: dict[str, Any], decision: str = "approve", *, token: str = OWNER_TOKEN, code: int = 200
) -> Any:
    body = {"decision": decision, "digest": approval["digest"]}
    return await whole.ask("POST", f"/approvals/{approval['id']}", body, token=token, code=code)


async def ended(whole: Whole, approval: dict[str, Any], *, token: str = OWNER_TOKEN) -> dict[str, Any]:
    """Wait until a request has ended, and give it as it is then."""
    async with asyncio.timeout(60):
        while True:
            now = await whole.ask("GET", f"/approvals/{approval['id']}", token=token)
            if now["finished_at"]:
                return now
            await asyncio.sleep(0.02)


async def told(whole: Whole, text: str, *, key: str) -> None:
    """Wait until a conversation has a message that says so."""
    async with asyncio.timeout(60):
        while True:
            listed = await whole.ask("GET", f"/sessions/{key}/messages?limit=100")
            if any(text in message["text"] for message in listed["items"]):
                return
            await asyncio.sleep(0.02)


def shown(whole: Whole) -> str:
    """Give what the model was shown in its last call."""
    return "\n".join(message.text for message in wire_messages(whole.model.seen[-1]))
