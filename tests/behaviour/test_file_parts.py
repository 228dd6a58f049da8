"""Files of a message go out after its text, each as a part of its own; one that cannot go becomes a line (rule 51)."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from homing.channels import Capabilities
from homing.engine.courier import Courier
from homing.files import gather
from homing.model.errors import ChannelFailed, FilesAway
from homing.model.people import OWNER
from homing.operations.files import keep_file
from homing.store import parts
from homing.testing import RecordingChannel
from support.hands import StillHands
from support.mortal import MortalStore
from support.offices import Office
from support.worlds import World

CARRYING = Capabilities(max_length=200, max_file_bytes=1_000, resend="deduplicated")


@pytest.fixture
def office(world: World) -> Office:
    return Office.of(world)


def hands_of(office: Office) -> StillHands:
    hands = office.world.instance.hands
    assert isinstance(hands, StillHands)
    return hands


async def keep(office: Office, name: str, content: bytes) -> Mapping[str, object]:
    files = hands_of(office).files
    async with gather(files.incoming) as gathering:
        await gathering.add(content)
        upload = await gathering.finish()
        file = await keep_file(office.world.store, files, name, upload, user_id=OWNER, most_mb=10)
    return file.plain()


async def carry_all(courier: Courier) -> None:
    while await courier.step():
        pass


def told(channel: RecordingChannel) -> list[str]:
    return [part.file.name if part.file else part.text for part in channel.sent]


async def test_text_goes_first_and_each_file_is_a_part_with_its_own_id_and_receipt(office: Office) -> None:
    channel = RecordingChannel("pigeon", CARRYING)
    files = [await keep(office, "a.txt", b"apple"), await keep(office, "b.txt", b"pear" * 200)]
    (delivery_id,) = office.owe("Two of them.", "pigeon:roof", files=files)
    await carry_all(office.courier(channel))
    assert told(channel) == ["Two of them.", "a.txt", "b.txt"]
    assert [part.id for part in channel.sent] == [f"{delivery_id}.{n}" for n in range(3)]
    assert channel.carried == {f"{delivery_id}.1": b"apple", f"{delivery_id}.2": b"pear" * 200}
    [_, first, _] = channel.sent
    assert first.file
    assert (first.text, first.file.id, first.file.media_type, first.file.size) == ("", files[0]["id"], "text/plain", 5)
    sent = office.look(delivery_id)
    assert (sent.state, sent.parts, sent.parts_sent) == ("sent", 3, 3)
    replied = office.world.write(lambda tx: parts.find(tx, "pigeon:roof:3"))
    assert replied is not None
    assert replied.id == f"{delivery_id}.2"


async def test_a_message_that_is_nothing_but_a_file_has_no_part_of_text(office: Office) -> None:
    channel = RecordingChannel("pigeon", CARRYING)
    office.owe("", "pigeon:roof", files=[await keep(office, "a.txt", b"apple")])
    await carry_all(office.courier(channel))
    assert told(channel) == ["a.txt"]


@pytest.mark.parametrize("most", [0, 4])
async def test_what_a_channel_cannot_carry_is_a_line_of_the_text(office: Office, most: int) -> None:
    channel = RecordingChannel("pigeon", replace(CARRYING, max_file_bytes=most))
    office.owe("Look:", "pigeon:roof", files=[await keep(office, "a.txt", b"apple")])
    office.owe("", "pigeon:roof", files=[await keep(office, "b.txt", b"a pear")])
    await carry_all(office.courier(channel))
    assert told(channel) == [
        "Look:\n(a.txt, 5 bytes, cannot be sent here. It is in this conversation on the page.)",
        "(b.txt, 6 bytes, cannot be sent here. It is in this conversation on the page.)",
    ]


async def test_a_refused_file_becomes_a_line_under_the_same_id_and_the_rest_goes_on(office: Office) -> None:
    channel = RecordingChannel("pigeon", CARRYING)
    files = [await keep(office, "a.txt", b"apple"), await keep(office, "b.txt", b"pear")]
    (delivery_id,) = office.owe("Two.", "pigeon:roof", files=files)
    courier = office.courier(channel)
    assert await courier.step()
    channel.fail_with(ChannelFailed("Pigeons carry no apples.", permanent=True))
    await carry_all(courier)
    assert told(channel) == ["Two.", "(The file a.txt could not be sent here: Pigeons carry no apples.)", "b.txt"]
    assert [part.id for part in channel.attempts] == [f"{delivery_id}.{n}" for n in (0, 1, 1, 2)]
    assert office.look(delivery_id).state == "sent"
    assert office.notes() == []


async def test_a_person_who_blocks_us_gets_no_line_either(office: Office) -> None:
    channel = RecordingChannel("pigeon", CARRYING)
    (delivery_id,) = office.owe("", "pigeon:roof", files=[await keep(office, "a.txt", b"apple")])
    channel.fail_with(ChannelFailed("Blocked.", permanent=True, blocked=True))
    await carry_all(office.courier(channel))
    assert (office.look(delivery_id).state, len(channel.attempts)) == ("dead", 1)


@pytest.mark.parametrize("damage", ["missing", "other"])
async def test_a_file_whose_bytes_are_gone_or_damaged_becomes_a_line(office: Office, damage: str) -> None:
    channel = RecordingChannel("pigeon", CARRYING)
    file = await keep(office, "a.txt", b"apple")
    [path] = hands_of(office).files.folder.rglob(str(file["id"]))
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"worms")
    office.owe("Look.", "pigeon:roof", files=[file])
    await carry_all(office.courier(channel))
    assert told(channel) == ["Look.", "(The file a.txt could not be sent here: its content is missing or damaged.)"]
    assert channel.carried == {}


async def test_while_the_file_store_is_away_the_text_is_sent_and_the_file_is_tried_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = RecordingChannel("pigeon", CARRYING)
    (delivery_id,) = office.owe("Look.", "pigeon:roof", files=[await keep(office, "a.txt", b"apple")])
    courier = office.courier(channel)

    async def away(*_: Any) -> Any:
        raise FilesAway("The files are away.")
        yield b""

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("homing.files.folder.FolderStore.read", away)
        await carry_all(courier)
    waits = office.look(delivery_id)
    assert (waits.state, waits.parts_sent, waits.error, waits.unsure) == ("pending", 1, "The files are away.", False)
    office.make_due()
    await carry_all(courier)
    assert told(channel) == ["Look.", "a.txt"]


async def test_killed_after_the_send_the_same_file_goes_under_the_same_id_again(office: Office, database: str) -> None:
    channel = RecordingChannel("pigeon", CARRYING)
    (delivery_id,) = office.owe("", "pigeon:roof", files=[await keep(office, "a.txt", b"apple")])
    # Taken, cut, and then the receipt is never written.
    mortal = MortalStore(database, nth=3, place="before", clock=office.world.clock)
    doomed = asyncio.create_task(office.courier(channel, store=mortal).step())
    await asyncio.wait_for(mortal.died.wait(), 10)
    doomed.cancel()
    office.make_due()
    await carry_all(office.courier(channel))
    assert [part.id for part in channel.sent] == [f"{delivery_id}.0"] * 2
    assert [part.unsure for part in channel.sent] == [False, True]
    assert office.look(delivery_id).state == "sent"
    mortal.engine.dispose()
