"""What nobody asked for is shown by a person's browsers, once, unless they read it first or want quiet (rule 61)."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from behaviour.jobs.homes import Home
from homing.channels import Part
from homing.channels.push import PushChannel, Target
from homing.engine.courier import Courier
from homing.model.clock import SystemClock
from homing.model.messages import Delivery, NewMessage
from homing.model.people import OWNER, Caller
from homing.model.push import PushDevice
from homing.operations.inbox import list_inbox
from homing.operations.people import update_me
from homing.operations.push import add_push, list_push, remove_push
from homing.operations.sessions import mark_read
from homing.operations.shapes.base import Nothing, read
from homing.operations.shapes.inbox import ListInbox
from homing.operations.shapes.people_asks import UpdateMe
from homing.operations.shapes.push_asks import AddPush, PushRef, PushShape
from homing.operations.shapes.session_asks import MarkRead
from homing.store import Tx, deliveries, inbounds, push, sessions
from homing.store import tables as t
from support.ledger import CHAT
from support.push import KEY, Browser, PushService
from support.worlds import STRANGER, World

WATER: dict[str, Any] = {"message": None, "payload": {"kind": "reminder", "message": "Drink some water."}}


class Phone:
    """A home, the push service of its people's browsers, and a courier between them."""

    def __init__(self, home: Home) -> None:
        home.instance = replace(home.instance, push_key=lambda: KEY.public)
        home.world = World(store=home.store, clock=home.fake, instance=home.instance)
        self.home = home
        self.service = PushService()
        self.courier = Courier(home.store, home.instance, {"push": self._channel()})

    def _channel(self) -> PushChannel:
        async def find(part: Part) -> Target | None:
            device = await self.home.store.read(lambda tx: push.get(tx, part.place))
            return Target(device=device, title=None) if device else None

        subject = "https://homing.example.org"
        return PushChannel(find, key=lambda: KEY, subject=subject, clock=SystemClock(), network=self.service.network)

    def add(self, browser: Browser, caller: Caller | None = None) -> PushShape:
        ask = read(AddPush, browser.subscription)
        return self.home.world.ask(add_push, ask, **({"caller": caller} if caller else {}))

    def devices(self, user_id: str = OWNER) -> list[PushDevice]:
        return self.home.ledger.write(lambda tx: push.of_user(tx, user_id))

    def deliveries(self, key: str = CHAT) -> list[Delivery]:
        """Read what was to be pushed, in the order of writing."""
        session = self.home.ledger.session(key)

        def look(tx: Tx) -> list[Delivery]:
            found = deliveries.listed(
                tx, user_id=session.user_id, state=None, session_id=session.id, before_n=None, limit=200
            )
            return [delivery for _, delivery in reversed(found) if delivery.address.startswith("push:")]

        return self.home.ledger.write(look)

    async def carry(self) -> None:
        """Let the time of reading pass, then carry all that is due."""
        self.home.pass_time(seconds=4)
        while await self.courier.step():
            pass

    def ends(self, key: str = CHAT) -> list[tuple[str, str | None]]:
        return [(delivery.state, delivery.skipped) for delivery in self.deliveries(key)]


@pytest.fixture
def phone(home: Home) -> Phone:
    return Phone(home)


async def remind(home: Home, key: str = CHAT) -> None:
    home.add(**WATER, when="every 1h", session_key=key)
    home.pass_time(hours=1, seconds=1)
    await home.settle()


async def test_a_reminder_is_pushed_to_each_browser_with_its_words_and_place(phone: Phone) -> None:
    browsers = [Browser("phone"), Browser("laptop")]
    for browser in browsers:
        phone.add(browser)
    await remind(phone.home)
    assert [delivery.state for delivery in phone.deliveries()] == ["pending", "pending"]
    await phone.carry()
    shown = sorted(
        (pushed.path, pushed.shown(browser)["body"], pushed.shown(browser)["url"])
        for pushed in phone.service.pushed
        for browser in browsers
        if pushed.path.endswith(browser.name)
    )
    [message] = [message for message in phone.home.shown() if message.kind == "reminder"]
    url = f"/chat/{CHAT}?at={message.seq}"
    assert shown == [("/to/laptop", "Drink some water.", url), ("/to/phone", "Drink some water.", url)]
    assert [(one.state, one.receipt) for one in phone.deliveries()] == [("sent", {"status": 201})] * 2
    assert all(device.last_at is not None for device in phone.devices())


async def test_ten_browsers_get_ten_deliveries_and_a_person_without_any_gets_none(phone: Phone) -> None:
    for n in range(10):
        phone.add(Browser(f"browser{n}"), caller=STRANGER)
    await remind(phone.home)
    assert phone.deliveries() == []
    phone.home.ledger.session("web:theirs", user_id=STRANGER.user_id)
    told(phone.home, "web:theirs")
    assert len(phone.deliveries("web:theirs")) == 10


def told(home: Home, key: str = CHAT, **more: Any) -> int:
    """Write a message that nobody asked for."""
    session = home.ledger.session(key)
    given: dict[str, Any] = {"kind": "note", "text": "The kettle boils.", "unasked": True}
    message = NewMessage(session_id=session.id, lane_id=session.id, role="assistant", **(given | more))

    def work(tx: Tx) -> int:
        sessions.lock(tx, [session.id])
        [seq], _ = deliveries.post(tx, [message])
        return seq

    return home.ledger.write(work)


async def test_nothing_is_pushed_that_a_person_asked_for_or_that_is_quiet(phone: Phone) -> None:
    phone.add(Browser())
    await phone.home.say("hello")
    told(phone.home, kind="status", unasked=False)
    told(phone.home, folded=True)
    assert phone.deliveries() == []
    phone.home.add("look for fruit", when="every 1h")
    phone.home.pass_time(hours=1, seconds=1)
    await phone.home.settle()
    assert len(phone.deliveries()) == 1, "a scheduled answer was asked for by nobody"


async def test_only_direct_conversations_are_pushed(phone: Phone) -> None:
    phone.add(Browser())
    group = phone.home.ledger.session("telegram:-100")
    phone.home.ledger.write(lambda tx: sessions.mark_several(tx, group.id))
    told(phone.home, "telegram:-100")
    assert phone.deliveries("telegram:-100") == []


async def test_what_was_read_on_the_page_meanwhile_is_not_pushed(phone: Phone) -> None:
    phone.add(Browser())
    await remind(phone.home)
    seq = phone.home.shown()[-1].seq
    assert not await phone.courier.step(), "a page that shows the conversation has time to say so"
    phone.home.ask(mark_read, MarkRead(session_key=CHAT, seq=seq))
    await phone.carry()
    assert phone.service.pushed == []
    assert phone.ends() == [("sent", "already read")]


async def test_what_was_read_up_to_the_message_before_is_pushed(phone: Phone) -> None:
    phone.add(Browser())
    first = told(phone.home)
    told(phone.home)
    phone.home.ask(mark_read, MarkRead(session_key=CHAT, seq=first))
    await phone.carry()
    assert phone.ends() == [("sent", "already read"), ("sent", None)]
    assert len(phone.service.pushed) == 1


async def test_quiet_hours_are_kept_and_what_came_in_them_stands_in_the_inbox(phone: Phone) -> None:
    phone.add(Browser())
    now = phone.home.now()
    hour = f"{now:%H}:00-{(now.hour + 2) % 24:02}:00"
    phone.home.ask(update_me, UpdateMe(timezone="UTC", quiet_hours=hour))
    told(phone.home)
    await phone.carry()
    assert phone.service.pushed == []
    assert phone.ends() == [("sent", "in your quiet hours")]
    inbox = phone.home.ask(list_inbox, ListInbox())
    assert [(item.kind, item.session_key) for item in inbox.items] == [("unread", CHAT)]
    phone.home.ask(update_me, UpdateMe(quiet_hours=None))
    await phone.carry()
    assert phone.service.pushed == [], "it is not pushed later"
    told(phone.home)
    await phone.carry()
    assert len(phone.service.pushed) == 1


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_is_gone_is_removed_without_noise(phone: Phone, status: int) -> None:
    phone.add(Browser("old"))
    phone.add(Browser("new"))
    told(phone.home)
    told(phone.home)
    phone.service.answers = [status]
    await phone.carry()
    [left] = phone.devices()
    ends = {(delivery.address, delivery.state, delivery.skipped) for delivery in phone.deliveries()}
    assert (left.address, "sent", None) in ends
    assert {end[1:] for end in ends} == {
        ("sent", None),
        ("sent", "that browser gave up its notifications"),
        ("sent", "that browser was removed"),
    }
    assert len(phone.service.pushed) == 3, "nothing is pushed to it again"
    session = phone.home.ledger.session()
    assert phone.home.ledger.write(lambda tx: inbounds.waiting(tx, session.id, 20)) == []
    assert [item.kind for item in phone.home.ask(list_inbox, ListInbox()).items] == ["unread"]
    assert phone.home.ledger.write(lambda tx: deliveries.count_by_state(tx, OWNER)) == {"pending": 0, "dead": 0}


async def test_a_push_service_that_fails_is_tried_again_under_the_same_tag(phone: Phone) -> None:
    browser = Browser()
    phone.add(browser)
    told(phone.home)
    phone.service.answers = [503, 429]
    await phone.carry()
    for _ in range(2):
        phone.home.pass_time(seconds=31)
        await phone.carry()
    assert phone.ends() == [("sent", None)]
    assert len({pushed.shown(browser)["tag"] for pushed in phone.service.pushed}) == 1
    assert len({pushed.headers["topic"] for pushed in phone.service.pushed}) == 1
    assert len(phone.service.pushed) == 3


async def test_killed_between_sent_and_recorded_the_same_tag_is_pushed_again(phone: Phone) -> None:
    browser = Browser()
    phone.add(browser)
    told(phone.home)
    phone.home.pass_time(seconds=4)
    phone.service.answers = ["die"]
    with pytest.raises(asyncio.CancelledError):
        await phone.courier.step()
    [delivery] = phone.deliveries()
    assert (delivery.state, len(phone.service.pushed)) == ("pending", 1)
    phone.home.pass_time(minutes=1)
    await phone.carry()
    [first, second] = [pushed.shown(browser) for pushed in phone.service.pushed]
    assert first == second
    [delivery] = phone.deliveries()
    assert (delivery.state, delivery.unsure) == ("sent", False), "a browser shows a tag once: nothing came twice"


async def test_removing_a_browser_ends_what_is_on_its_way_there(phone: Phone) -> None:
    removed, kept = phone.add(Browser("old")), phone.add(Browser("new"))
    told(phone.home)
    phone.home.ask(remove_push, PushRef(push_id=removed.id))
    ended = {delivery.address: (delivery.state, delivery.skipped) for delivery in phone.deliveries()}
    assert ended == {
        f"push:{removed.id}": ("sent", "that browser was removed"),
        f"push:{kept.id}": ("pending", None),
    }
    await phone.carry()
    assert [pushed.path for pushed in phone.service.pushed] == ["/to/new"]


async def test_a_browser_that_another_user_takes_over_gets_nothing_more_of_the_first(phone: Phone) -> None:
    browser = Browser()
    phone.add(browser)
    told(phone.home)
    phone.add(browser, caller=STRANGER)
    await phone.carry()
    assert phone.service.pushed == []
    assert phone.ends() == [("sent", "that browser was removed")]
    assert [device.name for device in phone.devices(STRANGER.user_id)] == ["phone"]
    assert phone.devices() == []


def test_nobody_has_browsers_or_quiet_hours_until_they_turn_them_on(phone: Phone) -> None:
    assert phone.home.ask(list_push, Nothing()).items == []
    told(phone.home)
    assert phone.deliveries() == []


@pytest.mark.parametrize("kind", ["reminder", "turn"])
async def test_browsers_of_others_cost_a_run_no_statement(phone: Phone, kind: str) -> None:
    async def cost() -> int:
        phone.home.pass_time(hours=1, seconds=1)
        with phone.home.statements() as made:
            await phone.home.settle()
        return len(made)

    await phone.home.say("hello")
    phone.home.add(**(WATER if kind == "reminder" else {}), when="every 1h")
    await cost()
    before = await cost()
    for n in range(3):
        phone.add(Browser(f"browser{n}"), caller=STRANGER)
    assert await cost() == before


async def test_an_alert_is_pushed_from_home(phone: Phone) -> None:
    phone.add(Browser())
    session = phone.home.ledger.session()
    message = NewMessage(
        session_id=session.id, lane_id=session.id, role="assistant", kind="note", text="It fails.", unasked=True,
        meta={"alert": "failing"},
    )  # fmt: skip

    def work(tx: Tx) -> None:
        sessions.lock(tx, [session.id])
        deliveries.post(tx, [message], only=[CHAT])

    phone.home.ledger.write(work)
    await phone.carry()
    assert len(phone.service.pushed) == 1
    assert phone.home.ledger.count(t.delivery) == 2
