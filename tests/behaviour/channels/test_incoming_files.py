"""Files that people send in channels are kept with their message; whatever is wrong with one, the words are taken."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.channels.scenes import PATIENCE, Place, until
from homing.channels import File
from homing.model.errors import ChannelFailed, FilesAway
from homing.operations.contacts import update_contact
from homing.operations.files import sweep_files
from homing.operations.shapes.contact_asks import UpdateContact
from homing.store import tables as t
from support.hands import StillHands
from support.mortal import MortalStore

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@dataclass(kw_only=True)
class Offer:
    """A file on the platform, which can be told to fail."""

    content: bytes = PNG
    failures: list[Exception] = field(default_factory=list[Exception])
    fetched: int = 0

    async def read(self) -> AsyncIterator[bytes]:
        self.fetched += 1
        if self.failures:
            raise self.failures.pop(0)
        for at in range(0, len(self.content), 1 << 20):
            yield self.content[at : at + (1 << 20)]

    def file(self, name: str = "bird.png", size: int | None = None) -> File:
        known = len(self.content) if size is None else size
        return File(id="AgAC", name=name, media_type="text/html", size=known, read=self.read)


def files_of(place: Place) -> list[list[tuple[str, str, int]]]:
    """Name the files of what came in, in order."""
    return [
        [(file["name"], file["media_type"], file["bytes"]) for file in row.files or ()] for row in place.rows(t.inbound)
    ]


def bytes_kept(place: Place) -> list[bytes]:
    hands = place.world.instance.hands
    assert isinstance(hands, StillHands)
    return [path.read_bytes() for path in hands.files.folder.rglob("file_*")]


async def say(place: Place, text: str, *files: File, **more: Any) -> None:
    await place.say(text, files=files, **more)


async def test_a_picture_is_kept_with_its_message_and_its_content_says_what_it_is(place: Place) -> None:
    await place.link()
    await say(place, "Look!", Offer().file("../bird\u202e.png"))
    assert place.inbounds() == ["Look!"]
    assert files_of(place) == [[("bird.png", "image/png", len(PNG))]]
    assert bytes_kept(place) == [PNG]
    [reference] = place.world.write(lambda tx: tx.rows(sa.select(t.file_reference)))
    assert reference.session_id == place.rows(t.inbound)[0].session_id


async def test_a_picture_needs_no_words(place: Place) -> None:
    await place.link()
    await say(place, "", Offer().file())
    assert place.inbounds() == [""]
    assert files_of(place) == [[("bird.png", "image/png", len(PNG))]]


async def test_a_text_that_is_longer_than_a_message_is_kept_whole_as_a_file(place: Place) -> None:
    await place.link()
    text = "ä" * 20_000
    await say(place, text, Offer().file())
    [told] = place.inbounds()
    assert len(told) == 16_384
    assert told.endswith("(The message has 20,000 characters; all of it is in the file message.txt.)")
    assert files_of(place) == [[("bird.png", "image/png", len(PNG)), ("message.txt", "text/plain", 40_000)]]
    assert text.encode() in bytes_kept(place)


@pytest.mark.parametrize(
    ("given", "size", "why"),
    [
        (Offer(content=b""), 0, "it is empty"),
        (Offer(content=b"x" * (26 << 20)), 0, "A file has at most 25 MB. Send a smaller one, or in parts"),
        (Offer(), 26 << 20, "it has more than 25 MB"),
        (Offer(failures=[ChannelFailed("It has expired.", permanent=True)]), 0, "It has expired"),
    ],
    ids=["empty", "large", "said to be large", "gone"],
)
async def test_what_cannot_be_kept_is_a_line_of_the_message(place: Place, given: Offer, size: int, why: str) -> None:
    await place.link()
    offer = replace(given, failures=list(given.failures))
    await say(place, "Look!", offer.file("a.bin", size), Offer().file())
    words = ", 27.3 MB," if size else ""
    assert place.inbounds() == [f"Look!\n(The file a.bin{words} was not kept: {why}.)"]
    assert files_of(place) == [[("bird.png", "image/png", len(PNG))]]
    assert offer.fetched == (size == 0)
    assert bytes_kept(place) == [PNG]


async def test_at_most_ten_files_of_a_message_are_kept(place: Place) -> None:
    await place.link()
    await say(place, "All!", *(Offer(content=b"%d" % n).file(f"{n}.txt") for n in range(11)))
    assert [len(files) for files in files_of(place)] == [10]
    assert place.inbounds() == ["All!\n(The file 10.txt, 2 bytes, was not kept: a message has at most 10 files.)"]


async def heard(place: Place) -> None:
    """Let the receiver listen again after each failure, without waiting for its pauses."""
    async with asyncio.timeout(PATIENCE):
        while place.channel.confirmed < len(place.channel.said):
            for claim in place.receiver._claims.values():  # pyright: ignore[reportPrivateUsage]
                claim.again_at = 0.0
            await place.receiver.step()
            await asyncio.sleep(0.002)


async def test_what_could_not_be_fetched_is_fetched_when_the_platform_gives_it_again(place: Place) -> None:
    await place.link()
    offer = Offer(failures=[ChannelFailed("Bad gateway."), TimeoutError()])
    place.channel.say("Look!", at=place.world.clock.now(), files=[offer.file()])
    await heard(place)
    assert (place.inbounds(), offer.fetched) == (["Look!"], 3)
    assert files_of(place) == [[("bird.png", "image/png", len(PNG))]]


@pytest.mark.parametrize("error", [ChannelFailed("Bad gateway."), FilesAway("The files are away.")])
async def test_after_three_tries_the_words_are_taken_without_the_file(place: Place, error: Exception) -> None:
    await place.link()
    offer = Offer(failures=[error] * 3)
    place.channel.say("Look!", at=place.world.clock.now(), files=[offer.file()])
    place.channel.say("And?", at=place.world.clock.now())
    await heard(place)
    line = f"(The file bird.png, 264 bytes, was not kept: {str(error).rstrip('.')}.)"
    assert place.inbounds() == [f"Look!\n{line}", "And?"]
    assert offer.fetched == 3


async def test_a_channel_that_breaks_over_a_file_is_tried_three_times_too(place: Place) -> None:
    """The channel may be a package's, which fails in any way there is; what it says may hold its keys."""
    await place.link()
    offer = Offer(failures=[KeyError("secret")] * 3)
    place.channel.say("Look!", at=place.world.clock.now(), files=[offer.file()])
    place.channel.say("And?", at=place.world.clock.now())
    await heard(place)
    line = "(The file bird.png, 264 bytes, was not kept: its channel broke while it was fetched (KeyError).)"
    assert place.inbounds() == [f"Look!\n{line}", "And?"]
    assert offer.fetched == 3


async def test_nothing_is_fetched_from_strangers_or_guests_or_for_what_was_taken_before(place: Place) -> None:
    offer = Offer()
    await say(place, "Hello?", offer.file(), sender="8")
    await place.link()
    await place.say(f"link {place.make_code(group=True)}", place="-1", addressed=True)
    group = next(one for one in place.contacts() if one.kind == "group")
    place.world.ask(update_contact, UpdateContact(contact_id=group.id, who="everyone"))
    await place.say("A guest's", files=[offer.file()], sender="8", place="-1", addressed=True)
    await say(place, "Once", message_id="77")
    await say(place, "Once", offer.file(), message_id="77")
    assert offer.fetched == 0
    why = "files are taken from linked people only"
    assert place.inbounds() == [f"A guest's\n(The file bird.png, 264 bytes, was not kept: {why}.)", "Once"]
    assert bytes_kept(place) == []


async def test_a_picture_that_comes_in_the_same_poll_as_the_code_is_kept(place: Place) -> None:
    place.channel.say(f"link {place.make_code()}", at=place.world.clock.now())
    await say(place, "Look!", Offer().file())
    assert files_of(place) == [[("bird.png", "image/png", len(PNG))]]


@pytest.mark.parametrize("nth", [3, 4, 5])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_between_row_bytes_and_reference_a_file_is_neither_lost_nor_doubled(
    place: Place, database: str, nth: int, when: Any
) -> None:
    """Writes of the doomed: claim, account, the file's row (3), its bytes are whole (4), message and reference (5)."""
    await place.link()
    await place.receiver.leave()
    mortal = MortalStore(database, nth=nth, place=when)
    doomed = place.another(mortal, "worker_doomed")
    await doomed.step()
    await until(lambda: place.channel.listeners == 1)
    place.channel.say("Look!", at=place.world.clock.now(), files=[Offer().file()])
    await asyncio.wait_for(mortal.died.wait(), PATIENCE)
    for claim in doomed._claims.values():  # pyright: ignore[reportPrivateUsage]
        assert claim.task is not None
        claim.task.cancel()
    place.extra.clear()
    place.world.write(lambda tx: tx.run(sa.update(t.listener).values(claimed_until=tx.now())))
    heir = place.another(worker_id="worker_heir")
    await heir.step()
    async with asyncio.timeout(PATIENCE):
        await place.channel.all_confirmed()
    assert place.inbounds() == ["Look!"]
    assert files_of(place) == [[("bird.png", "image/png", len(PNG))]]
    # What the dead one left is swept; what is referred to stays.
    place.world.write(lambda tx: tx.run(sa.update(t.file).values(created_at=datetime(2020, 1, 1, tzinfo=UTC))))
    hands = place.world.instance.hands
    assert isinstance(hands, StillHands)
    await sweep_files(place.world.store, hands.files)
    assert bytes_kept(place) == [PNG]
    mortal.engine.dispose()
