"""matrix-nio's own client in a process of its own: a person in encrypted rooms, told what to do line by line.

In its own process because nio's key store belongs to a process, and the one under test has one, too.
"""

import asyncio
import json
import sys
from typing import Any

import aiohttp
import nio


def say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


async def follow(client: Any) -> None:
    """Read what is new until cancelled; say so once others can seal for this device."""
    told = False
    while True:
        try:
            await client.sync(timeout=2000)
            if client.should_upload_keys:
                await client.keys_upload()
            if client.should_query_keys:
                await client.keys_query()
            await client.send_to_device_messages()
            if not told and not client.should_upload_keys:
                say({"ready": True})
                told = True
        except (aiohttp.ClientError, TimeoutError, OSError):
            # The server was killed, and comes back.
            await asyncio.sleep(0.2)


async def put(client: Any, room: str, content: dict[str, Any], member: str, tx_id: str) -> str:
    while True:
        try:
            # It must know who is there and with which device, or they would get no key: nio shares a key with the
            # devices it knows, once.
            there = member in getattr(client.rooms.get(room), "users", ())
            if there and any(client.device_store.active_user_devices(member)):
                sent = await client.room_send(
                    room, "m.room.message", content, tx_id=tx_id, ignore_unverified_devices=True
                )
                if isinstance(sent, nio.RoomSendResponse):
                    return sent.event_id
        except (aiohttp.ClientError, TimeoutError, OSError):
            pass
        await asyncio.sleep(0.05)


async def main() -> None:
    url, user, device, token, store = sys.argv[1:]
    config = nio.AsyncClientConfig(encryption_enabled=True, store_sync_tokens=False, request_timeout=30)
    client = nio.AsyncClient(url, user, device, store_path=store, config=config)
    client.restore_login(user, device, token)

    def note(room: Any, event: Any) -> None:
        say({"room": room.room_id, "event": event.source, "sealed": isinstance(event, nio.MegolmEvent)})

    client.add_event_callback(note, (nio.RoomMessage, nio.MegolmEvent))  # type: ignore[arg-type]
    task = asyncio.create_task(follow(client))
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        say({"sent": await put(client, **json.loads(line))})
    task.cancel()
    await client.close()


if __name__ == "__main__":
    asyncio.run(main())
