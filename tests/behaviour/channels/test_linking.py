"""A chat is linked from the inside, by a code that works once; strangers get silence and leave nothing (rule 53)."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.channels.scenes import Place
from homing.model.errors import ChannelFailed, Conflict, NotFound
from homing.model.people import Caller
from homing.model.qr import qr_svg
from homing.operations.contacts import MOST_CODES, link_channel, remove_contact, update_contact
from homing.operations.incoming import LINKED, WRONG_OF_SENDER
from homing.operations.people import create_token, revoke_token
from homing.operations.sessions import add_session
from homing.operations.shapes.contact_asks import ContactRef, LinkChannel, UpdateContact
from homing.operations.shapes.people_asks import CreateToken, TokenRef
from homing.operations.shapes.session_asks import AddSession
from homing.store import Tx, listeners, sessions
from homing.store import tables as t
from support.doors import Doors, open_doors
from support.worlds import ON_PAGE, STRANGER, World


@pytest.fixture
def doors(place: Place) -> Doors:
    return open_doors(place.world)


def everything_kept(world: World) -> str:
    """Read every value of every row."""

    def read(tx: Tx) -> str:
        return "\n".join(str(row) for table in t.metadata.tables.values() for row in tx.rows(sa.select(table)))

    return world.write(read)


async def test_a_code_links_a_chat_with_one_greeting_and_no_model_sees_it(place: Place) -> None:
    code = place.make_code()
    await place.say(f"/start {code}")
    [contact] = place.contacts()
    assert (contact.channel, contact.kind, contact.name, contact.address) == ("chat", "person", "Person 7", "chat:7")
    assert place.inbounds() == []
    assert place.notes() == [LINKED.format(title="Person 7")]
    [delivery] = place.rows(t.delivery)
    assert (delivery.address, delivery.state) == ("chat:7", "pending")
    kept = everything_kept(place.world)
    assert code not in kept


async def test_a_person_is_heard_in_the_direct_chat_that_was_linked_and_in_no_other(place: Place) -> None:
    await place.link()
    await place.say("hello", place="room", direct=True, addressed=True)
    assert place.inbounds() == []
    assert place.listener().strangers == 1
    # A new code moves the person there.
    await place.say(f"link {place.make_code()}", place="room", direct=True, addressed=True)
    assert [contact.address for contact in place.contacts()] == ["chat:room"]
    await place.say("hello again", place="room", direct=True, addressed=True)
    await place.say("and here", sender="7")
    assert place.inbounds() == ["hello again"]
    assert place.listener().strangers == 2


async def test_what_follows_the_code_in_the_same_poll_is_heard(place: Place) -> None:
    now = place.world.clock.now()
    for text in ("too early", f"link {place.make_code().upper()}", "hello"):
        place.channel.say(text, at=now)
    await place.hear()
    assert place.inbounds() == ["hello"]
    assert place.listener().strangers == 1


async def test_a_code_can_link_a_chat_to_a_conversation_that_is_there(place: Place) -> None:
    place.world.ask(add_session, AddSession(key="web:fruit", title="Fruit"))
    contact = await place.link(session_key="web:fruit")
    assert contact.session_key == "web:fruit"
    await place.say("pears?")
    session = place.world.write(lambda tx: sessions.find(tx, "web:fruit", user_id="default"))
    assert session is not None
    assert [row.session_id for row in place.rows(t.inbound)] == [session.id]
    addresses = place.world.write(lambda tx: sessions.addresses(tx, [session.id]))
    assert addresses[session.id] == ["web:fruit", "chat:7"]


def test_a_link_comes_as_a_qr_code_too_and_a_groups_code_has_neither(place: Place) -> None:
    def introduce(tx: Tx) -> None:
        tx.run(sa.update(t.listener).values(link_url="https://chat.example/?start={code}"))

    place.world.write(introduce)
    link = place.world.ask(link_channel, LinkChannel(name="chat"), caller=ON_PAGE)
    assert link.url == f"https://chat.example/?start={link.code}"
    assert link.qr == qr_svg(link.url or "")
    group = place.world.ask(link_channel, LinkChannel(name="chat", group=True), caller=ON_PAGE)
    assert (group.url, group.qr) == (None, None)


async def test_a_stranger_gets_no_byte_back_and_nothing_of_theirs_is_kept(place: Place) -> None:
    for text in ("let me in, my password is tulip", "link hm-aaaabbbbccccdddd", "/start"):
        await place.say(text, sender="666")
    listener = place.listener()
    assert (listener.strangers, listener.stranger_at is not None) == (2, True)
    assert [place.rows(table) for table in (t.inbound, t.message, t.delivery, t.contact)] == [[], [], [], []]
    assert "tulip" not in everything_kept(place.world)


async def test_a_code_works_once_and_for_ten_minutes(place: Place) -> None:
    code = place.make_code()
    await place.say(f"link {code}")
    await place.say(f"link {code}", sender="8")
    late = place.make_code()
    ten_minutes = timedelta(minutes=10)
    place.world.write(
        lambda tx: tx.run(sa.update(t.link_code).values(created_at=tx.now() - ten_minutes, expires_at=tx.now()))
    )
    await place.say(f"link {late}", sender="9")
    assert [contact.address for contact in place.contacts()] == ["chat:7"]
    made = place.world.ask(link_channel, LinkChannel(name="chat"), caller=ON_PAGE)
    assert made.say == f"link {made.code}"
    # 80 bits.
    assert len(made.code.removeprefix("hm-")) * 5 == 80


async def test_a_linked_person_is_told_that_a_code_is_wrong_and_the_code_is_not_shown_to_a_model(place: Place) -> None:
    await place.link()
    await place.say("link hm-aaaabbbbccccdddd")
    assert place.inbounds() == []
    assert place.notes()[1:] == [
        "This code has expired or isn't valid. Make a fresh one on the page: Settings, Contacts."
    ]


async def test_a_code_among_other_words_links_nobody_and_is_not_shown_to_a_model(place: Place) -> None:
    await place.link()
    code = place.make_code()
    await place.say(f"My code is {code}, what now?")
    await place.say(f"My code is {code}, what now?", sender="8")
    assert (place.inbounds(), len(place.contacts()), place.listener().strangers) == ([], 1, 1)
    [told] = place.notes()[1:]
    assert told.startswith("Send a code alone")
    # Where others read it, it is used up.
    await place.say(f"@chat my code is {code}", sender="9", place="-100", addressed=True)
    await place.say(f"link {code}", sender="8")
    assert (place.inbounds(), len(place.contacts())) == ([], 1)


@pytest.mark.parametrize("words", ["{say}", "@chat link {code}", "@chat, /link {code}"])
async def test_a_group_is_linked_by_a_command_that_names_the_bot_or_after_a_mention(place: Place, words: str) -> None:
    await place.link()
    made = place.world.ask(link_channel, LinkChannel(name="chat", group=True), caller=ON_PAGE)
    assert (made.say, made.url) == (f"@chat link {made.code}", None)
    await place.say(words.format(say=made.say, code=made.code), place="-100", addressed=True)
    assert place.contacts()[-1].address == "chat:-100"


@pytest.mark.parametrize(
    ("account", "link_url", "say"),
    [
        # Telegram's bots hear commands in groups, but no mentions.
        ("@chat_bot", "https://t.example/chat_bot?start={code}", "/link@chat_bot {code}"),
        ("@homing in Acme", None, "@homing link {code}"),
        ("@homing:example.org", None, "link {code}"),
    ],
)
async def test_what_links_a_group_names_the_account_as_people_there_do(
    place: Place, account: str, link_url: str | None, say: str
) -> None:
    await place.link()
    fence = place.listener().fence
    place.world.write(lambda tx: listeners.introduce(tx, "chat", fence, account=account, link_url=link_url))
    made = place.world.ask(link_channel, LinkChannel(name="chat", group=True), caller=ON_PAGE)
    assert made.say == say.format(code=made.code)


async def test_wrong_codes_are_limited_for_each_sender(place: Place) -> None:
    for _ in range(WRONG_OF_SENDER):
        await place.say("link hm-aaaabbbbccccdddd", sender="8")
    code = place.make_code()
    await place.say(f"link {code}", sender="8")
    assert place.contacts() == []
    # Another sender is not held up, and the code was not used.
    await place.say(f"link {code}", sender="7")
    assert [contact.address for contact in place.contacts()] == ["chat:7"]


async def test_a_code_given_again_after_the_commit_greets_once(place: Place) -> None:
    code = place.make_code()
    for _ in range(2):
        await place.say(f"link {code}", message_id="5")
    assert len(place.notes()) == 1


async def test_a_code_of_another_user_does_not_take_a_chat_over(place: Place) -> None:
    await place.link()
    code = place.make_code(caller=STRANGER)
    await place.say(f"link {code}")
    assert place.contacts(caller=STRANGER) == []
    assert "another user" in place.notes()[-1]
    await place.say("still mine")
    [inbound] = place.rows(t.inbound)
    assert inbound.user_id == "default"


async def test_being_linked_in_one_channel_admits_nobody_in_another_and_ids_match_exactly(place: Place) -> None:
    await place.link(sender="7")
    for sender in ("77", "07", "7 "):
        await place.say("hello", sender=sender)
    # The same person, but in a group that nobody admitted.
    await place.say("hello all", sender="7", place="-100", addressed=True)
    assert place.inbounds() == []


async def test_a_personal_code_that_was_shown_in_a_group_is_used_up(place: Place) -> None:
    code = place.make_code()
    await place.say(f"link {code}", sender="7", place="-100", addressed=True)
    await place.say(f"link {code}", sender="8")
    assert place.contacts() == []
    assert place.rows(t.message) == []


async def test_a_code_ends_with_the_token_it_was_made_with(place: Place) -> None:
    token = place.world.ask(create_token, CreateToken(name="phone", role="admin", approve=True), caller=ON_PAGE)
    code = place.make_code(caller=Caller(user_id="default", role="admin", token_id=token.id))
    place.world.ask(revoke_token, TokenRef(token_id=token.id))
    await place.say(f"link {code}")
    assert place.contacts() == []


@pytest.mark.parametrize(
    ("role", "approve", "missing"),
    [
        ("admin", False, "--approve"),
        ("user", False, "--approve --role admin"),
        ("user", True, "--approve --role admin"),
    ],
)
@pytest.mark.parametrize(
    ("path", "body"), [("chat/link", {}), ("chat/link", {"group": True}), ("email/verify", {"address": "a@x.org"})]
)
async def test_a_token_that_may_not_approve_links_nothing_that_may(
    place: Place, doors: Doors, role: str, approve: bool, missing: str, path: str, body: dict[str, Any]
) -> None:
    async with doors.http() as http:
        token = (await http.post("/api/tokens", json={"role": role, "approve": approve})).json()["token"]
    async with doors.http(token) as http:
        refused = await http.post(f"/api/channels/{path}", json=body)
    assert refused.status_code == 403, refused.text
    assert refused.json()["detail"].endswith(f"homing tokens create {missing}")
    assert place.world.write(lambda tx: tx.rows(sa.select(t.link_code))) == []


async def test_a_user_links_with_a_token_of_theirs_that_may_approve(place: Place, doors: Doors) -> None:
    async with doors.http() as http:
        made = await http.post("/api/tokens", json={"user": STRANGER.user_id, "approve": True})
    async with doors.http(made.json()["token"]) as http:
        linked = await http.post("/api/channels/chat/link", json={})
    assert linked.status_code == 201, linked.text


async def test_removing_a_contact_drops_its_address_and_gives_up_what_was_on_its_way(place: Place) -> None:
    contact = await place.link()
    place.world.ask(remove_contact, ContactRef(contact_id=contact.id))
    assert place.contacts() == []
    [delivery] = place.rows(t.delivery)
    assert (delivery.state, delivery.error) == ("dead", "The contact was removed before this was sent.")
    assert place.world.write(lambda tx: sessions.hearing(tx, "chat:7")) is None
    await place.say("hello?")
    assert place.inbounds() == []
    assert place.listener().strangers == 1
    # Linked again, the old conversation goes on only if it is named.
    await place.link()
    assert place.contacts()[0].session_key not in (None, "chat:7")


def test_what_is_not_there_is_not_found(place: Place) -> None:
    with pytest.raises(NotFound):
        place.world.ask(remove_contact, ContactRef(contact_id="con_x"))
    with pytest.raises(NotFound):
        place.world.ask(update_contact, UpdateContact(contact_id="con_x"))
    with pytest.raises(NotFound, match="No channel nowhere listens here"):
        place.world.ask(link_channel, LinkChannel(name="nowhere"), caller=ON_PAGE)


async def test_another_users_contact_is_not_found(place: Place) -> None:
    contact = await place.link()
    with pytest.raises(NotFound):
        place.world.ask(remove_contact, ContactRef(contact_id=contact.id), caller=STRANGER)
    assert place.contacts(caller=STRANGER) == []


def test_nobody_collects_codes(place: Place) -> None:
    for _ in range(MOST_CODES):
        place.make_code()
    with pytest.raises(Conflict):
        place.make_code()
    place.make_code(caller=STRANGER)


async def test_a_person_who_blocks_the_account_is_marked_until_they_write_again(place: Place) -> None:
    await place.link()
    place.channel.fail_with(ChannelFailed("Forbidden: blocked by the user.", permanent=True, blocked=True))
    await place.deliver()
    assert [contact.blocked for contact in place.contacts()] == [True]
    await place.say("hello again")
    assert [contact.blocked for contact in place.contacts()] == [False]
