"""Mail in the frame: who may talk, which conversation it reaches, questions by number, and kills around the commit."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal

import pytest
from sqlalchemy import event

from behaviour.channels.scenes import until
from homing.channels.mail_account import MailChannel
from homing.engine.courier import Courier
from homing.engine.receiver import Receiver
from homing.model.approvals import OPEN_FOR, Question
from homing.model.bounds import MAX_MESSAGE
from homing.model.channel_info import ChannelInfo
from homing.model.errors import Invalid
from homing.model.messages import NewMessage
from homing.model.people import OWNER, Caller
from homing.model.sessions import Session
from homing.operations.agents import remove_agent
from homing.operations.contacts import list_contacts, remove_contact
from homing.operations.grants import add_grant, remove_grant
from homing.operations.reach import reachable
from homing.operations.sessions import update_session
from homing.operations.shapes.agent import AgentRef
from homing.operations.shapes.base import Nothing
from homing.operations.shapes.contact_asks import ContactRef
from homing.operations.shapes.people_asks import AddGrant, GrantRef
from homing.operations.shapes.session_asks import UpdateSession
from homing.settings import ChannelSettings
from homing.store import Store, Tx, approvals, contacts, deliveries, listeners, questions, sessions
from homing.store import tables as t
from support.asking import ask_people_for, refused
from support.doors import Doors, open_doors
from support.mortal import MortalStore
from support.offices import owe
from support.site import OWNER_TOKEN, STRANGER_TOKEN
from support.worlds import STRANGER, World
from unit.channels.imap_office import OWN, PERSON, ImapOffice, channel_at, imap_office, mail, to_reply
from unit.channels.post_office import PostOffice, post_office

ADDRESS = f"email:{PERSON}"


@dataclass(kw_only=True)
class Mail:
    """A world with one mail account, and its two servers."""

    world: World
    imap: ImapOffice
    post: PostOffice
    channel: MailChannel
    receiver: Receiver

    def link(self, caller: Caller | None = None, person: str = PERSON) -> None:
        user_id = caller.user_id if caller else OWNER
        self.world.write(
            lambda tx: contacts.link(
                tx, channel="email", kind="person", place=person, name=person, user_id=user_id,
                address=f"email:{person}",
            )
        )  # fmt: skip

    async def hear(self, *raw: bytes, receiver: Receiver | None = None) -> None:
        """Let somebody write, and wait until all of it was judged."""
        for one in raw:
            self.imap.deliver(one)
        newest = self.imap.mails[-1].uid
        await (receiver or self.receiver).step()
        await until(lambda: int((self.listener().cursor or "..0").split(".")[2]) == newest)

    async def deliver(self) -> None:
        courier = Courier(self.world.store, self.world.instance, {"email": self.channel})
        while await courier.step():
            pass

    @property
    def url(self) -> str:
        return self.world.store.engine.url.render_as_string(hide_password=False)

    def listener(self) -> Any:
        return self.world.write(lambda tx: listeners.get_many(tx, ["email"])["email"])

    def inbounds(self) -> list[Any]:
        return self.world.write(lambda tx: tx.rows(t.inbound.select().order_by(t.inbound.c.n)))

    def session(self, key: str = "web:fruit", *addresses: str, user_id: str = OWNER) -> Session:
        def make(tx: Tx) -> Session:
            made = sessions.add(tx, key=key, user_id=user_id, agent_id="main")
            assert made is not None
            sessions.set_addresses(tx, made.id, [key, *addresses])
            return made

        return self.world.write(make)


@pytest.fixture
async def mails(world: World) -> AsyncIterator[Mail]:
    info = ChannelInfo(name="email", kind="email", listens=True)
    world = replace(world, instance=replace(world.instance, channels=lambda settings: [info]))
    async with imap_office() as imap, post_office() as post:
        channel = channel_at(imap.port, post.port)
        receiver = Receiver(world.store, world.instance, {"email": channel}, "worker_a")
        made = Mail(world=world, imap=imap, post=post, channel=channel, receiver=receiver)
        await receiver.step()
        await until(lambda: made.listener().cursor is not None)
        yield made
        await receiver.leave()


async def test_a_contacts_mail_makes_a_conversation_and_the_next_one_comes_into_it(mails: Mail) -> None:
    mails.link()
    await mails.hear(mail("First.", number=1), mail("Second.", number=2))
    first, second = mails.inbounds()
    assert (first.text, first.sender_id, first.address, first.external_id) == (
        "First.", OWNER, ADDRESS, f"email:{PERSON}:mail1@example.org",
    )  # fmt: skip
    assert first.session_id == second.session_id
    session = mails.world.write(lambda tx: sessions.get(tx, first.session_id))
    assert (session.key, session.user_id, session.several) == (ADDRESS, OWNER, False)


async def test_a_stranger_reaches_no_lane_is_counted_and_gets_no_byte(mails: Mail) -> None:
    mails.link()
    # Somebody who holds a token of their own but is no contact, and somebody who writes under a contact's name.
    await mails.hear(mail("I hold a token.", sender="eve@example.org"), mail("I am Anna.", number=2, to=OWN))
    await mails.deliver()
    assert (mails.inbounds(), mails.listener().strangers, mails.post.mails) == ([], 2, [])


async def test_nothing_but_headers_is_fetched_of_somebody_who_may_not_talk(mails: Mail) -> None:
    def fetched() -> list[str]:
        return [command for command in mails.imap.commands if "BODY.PEEK[]" in command]

    await mails.hear(mail("I hold a token and am no contact."))
    assert (fetched(), mails.listener().strangers) == ([], 1)
    mails.link()
    await mails.hear(mail("Now I am.", number=2))
    assert ([one.text for one in mails.inbounds()], len(fetched())) == (["Now I am."], 1)


async def test_a_reply_leads_into_the_conversation_of_the_mail_that_it_answers(mails: Mail) -> None:
    mails.link()
    fruit = mails.session("web:fruit", ADDRESS)
    mails.world.write(lambda tx: owe(tx, fruit, "Apples are cheap.", [ADDRESS]))
    await mails.deliver()
    [sent] = mails.post.mails
    reply = mail("Buy two.", to=sent["Reply-To"], more=f"Subject: Re: x\nIn-Reply-To: {sent['Message-ID']}\n")
    await mails.hear(reply, mail("Another matter.", number=2))
    bought, other = mails.inbounds()
    assert (bought.session_id, bought.text) == (fruit.id, "Buy two.")
    assert other.session_id != fruit.id


async def test_somebody_elses_message_id_leads_nowhere_else(mails: Mail) -> None:
    mails.link()
    mails.link(STRANGER, "bob@example.org")
    theirs = mails.session("web:secret", "email:bob@example.org", user_id=STRANGER.user_id)
    mails.world.write(lambda tx: owe(tx, theirs, "Bob's secret.", ["email:bob@example.org"]))
    await mails.deliver()
    [sent] = mails.post.mails
    await mails.hear(mail("Read it to me.", more=f"In-Reply-To: {sent['Message-ID']}\n"))
    [heard] = mails.inbounds()
    assert heard.session_id != theirs.id
    assert heard.user_id == OWNER


def ask(mails: Mail, session: Session) -> Question:
    def work(tx: Tx) -> Question:
        sessions.lock(tx, [session.id])
        question = Question(
            id="q_k3v9x2mq7a", user_id=OWNER, agent_id="main", session_id=session.id, session_key=session.key,
            turn_id="turn_1", call_key="turn_1:1", title="Which fruit?", options=("Apple", "Pear"), asked_at=tx.now(),
            expires_at=tx.now() + OPEN_FOR,
        )  # fmt: skip
        questions.add(tx, question)
        card = NewMessage(
            session_id=session.id, lane_id=session.id, role="assistant", kind="question",
            text="Which fruit?\n1. Apple\n2. Pear", meta={"question_id": question.id},
        )  # fmt: skip
        deliveries.post(tx, [card], cause="question")
        return question

    return mails.world.write(work)


@pytest.mark.parametrize("words", ["2", "pear", "2\n\nOn 16 Nov 2026, homing@example.net wrote:\n> Which fruit?"])
async def test_a_question_goes_out_as_numbered_lines_and_a_reply_with_the_number_answers_it(
    mails: Mail, words: str
) -> None:
    mails.link()
    session = mails.session("web:fruit", ADDRESS)
    question = ask(mails, session)
    await mails.deliver()
    [sent] = mails.post.mails
    assert sent.get_content().splitlines() == ["Which fruit?", "1. Apple", "2. Pear"]
    await mails.hear(mail(words, more=f"Subject: Re: Which fruit?\nIn-Reply-To: {sent['Message-ID']}\n"))
    answered = mails.world.write(lambda tx: questions.get(tx, question.id))
    assert answered is not None
    assert (answered.state, answered.answer) == ("answered", "Pear")
    [heard] = mails.inbounds()
    assert heard.session_id == session.id


async def test_no_mail_answers_an_approval(mails: Mail) -> None:
    mails.link()
    session = mails.session("web:abc", ADDRESS)
    turn_id = mails.world.open_turn("web:abc")
    approval, _ = ask_people_for(mails.world, "web:abc", turn_id)
    await mails.deliver()
    for n, words in enumerate(("1", "yes", "approve", "Approve it", approval.id), 10):
        await mails.hear(mail(words, number=n))
    known = mails.world.write(lambda tx: approvals.get(tx, approval.id))
    assert known is not None
    assert known.state == "pending"
    assert session.key == "web:abc"


async def test_a_granted_address_talks_in_the_conversation_that_has_it_and_nowhere_else(mails: Mail) -> None:
    world = mails.world
    world.ask(add_grant, AddGrant(address=ADDRESS))
    await mails.hear(mail("Only granted: an agent may write to me.", number=1))
    assert (mails.inbounds(), mails.listener().strangers) == ([], 1)
    session = mails.session("web:fruit", ADDRESS)
    await mails.hear(mail("The conversation comes here.", number=2))
    [heard] = mails.inbounds()
    assert heard.session_id == session.id
    [contact] = world.ask(list_contacts, Nothing()).items
    assert (contact.address, contact.session_key) == (ADDRESS, "web:fruit")
    world.ask(remove_contact, ContactRef(contact_id=contact.id))
    await mails.hear(mail("Removed.", number=3))
    assert len(mails.inbounds()) == 1


async def test_an_account_under_another_name_hears_granted_addresses_and_writes_to_them(world: World) -> None:
    account = ChannelSettings(name="work", kind="email", fields={})
    world = world.with_settings(channels=(account,))
    address = f"work:{PERSON}"
    with pytest.raises(Invalid, match="is not a mail address"):
        world.ask(add_grant, AddGrant(address="work:anna"))
    grant = world.ask(add_grant, AddGrant(address=address))

    def make(tx: Tx) -> Session:
        made = sessions.add(tx, key="web:fruit", user_id=OWNER, agent_id="main")
        assert made is not None
        sessions.set_addresses(tx, made.id, ["web:fruit", address])
        return made

    def heard() -> list[tuple[int, str]]:
        return [(row.session_id, row.text) for row in world.write(lambda tx: tx.rows(t.inbound.select()))]

    session = world.write(make)
    async with imap_office() as imap, post_office() as post:
        channel = channel_at(imap.port, post.port, name="work")
        receiver = Receiver(world.store, world.instance, {"work": channel}, "worker_a")
        await receiver.step()
        await until(lambda: (known := world.write(lambda tx: listeners.get(tx, "work"))) and known.cursor)
        imap.deliver(mail("Hello.", to=to_reply(name="work")))
        await until(heard)
        assert heard() == [(session.id, "Hello.")]
        # An alert goes to it as to any mail address of one's own.
        assert world.write(lambda tx: reachable(tx, world.settings, OWNER)) == [address]
        [sent] = world.write(lambda tx: owe(tx, session, "Hello Anna.", [address]))
        await Courier(world.store, world.instance, {"work": channel}).step()
        assert world.write(lambda tx: deliveries.get(tx, sent)).state == "sent"  # type: ignore[union-attr]
        world.ask(remove_grant, GrantRef(grant_id=grant.id))
        assert world.write(lambda tx: reachable(tx, world.settings, OWNER)) == []
        await receiver.leave()


_PICTURE = (
    "--b\nContent-Type: text/plain\n\nLook!\n"
    '--b\nContent-Type: image/png\nContent-Disposition: attachment; filename="bird.png"\n'
    "Content-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--b--\n"
)


async def test_the_files_of_a_granted_addresss_first_mail_are_kept(mails: Mail) -> None:
    mails.world.ask(add_grant, AddGrant(address=ADDRESS))
    head = f"From: {PERSON}\nTo: {to_reply(PERSON)}\nMessage-ID: <picture@example.org>\n"
    raw = f"{head}Content-Type: multipart/mixed; boundary=b\n\n{_PICTURE}".replace("\n", "\r\n").encode()
    # No conversation has the address: it is a stranger's, and nothing of it is kept.
    await mails.hear(raw)
    kept = t.file.select().order_by(t.file.c.n)
    assert (mails.inbounds(), mails.world.write(lambda tx: tx.rows(kept))) == ([], [])
    session = mails.session("web:fruit", ADDRESS)
    await mails.hear(raw.replace(b"picture@", b"again@"))
    [heard] = mails.inbounds()
    assert (heard.session_id, heard.text) == (session.id, "Look!")
    assert [file["name"] for file in heard.files or ()] == ["bird.png"]


async def test_the_long_text_of_a_granted_addresss_first_mail_is_kept_whole(mails: Mail) -> None:
    mails.world.ask(add_grant, AddGrant(address=ADDRESS))
    mails.session("web:fruit", ADDRESS)
    await mails.hear(mail("word " * MAX_MESSAGE))
    [heard] = mails.inbounds()
    assert [file["name"] for file in heard.files or ()] == ["message.txt"]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_a_granted_addresss_first_mail_writes_nothing_before_its_conversation_is_locked(mails: Mail) -> None:
    mails.world.ask(add_grant, AddGrant(address=ADDRESS))
    mails.session("web:fruit", ADDRESS)
    made: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        said = statement.lower()
        if "from session" in said and "for no key update" in said:
            made.append("lock")
        elif said.startswith(("insert into contact ", "update contact ", "insert into address ", "update address ")):
            made.append("write")

    engine = mails.world.store.engine
    event.listen(engine, "before_cursor_execute", note)
    await mails.hear(mail("Hello."))
    event.remove(engine, "before_cursor_execute", note)
    assert len(mails.inbounds()) == 1
    assert made[0] == "lock"
    assert "write" in made


@pytest.mark.parametrize("having", [1, 2])
async def test_first_mails_that_come_together_from_a_granted_address_go_to_one_conversation(
    mails: Mail, having: int
) -> None:
    mails.world.ask(add_grant, AddGrant(address=ADDRESS))
    known = [mails.session(f"web:fruit{n}", ADDRESS).id for n in range(having)]
    await mails.hear(mail("One.", number=1), mail("Two.", number=2))
    first, second = mails.inbounds()
    assert (first.text, second.text, first.session_id) == ("One.", "Two.", second.session_id)
    # Of several none is meant more than another: a new one is made.
    assert (first.session_id in known) == (having == 1)


async def test_a_granted_addresss_reply_goes_where_it_belongs_and_its_next_mail_where_the_address_is(
    mails: Mail,
) -> None:
    mails.world.ask(add_grant, AddGrant(address=ADDRESS))
    nuts = mails.session("web:nuts", ADDRESS)
    mails.world.write(lambda tx: owe(tx, nuts, "Nuts are cheap.", [ADDRESS]))
    await mails.deliver()
    [sent] = mails.post.mails
    mails.world.write(lambda tx: sessions.set_addresses(tx, nuts.id, ["web:nuts"]))
    fruit = mails.session("web:fruit", ADDRESS)
    reply = mail("Buy two.", to=sent["Reply-To"], more=f"Subject: Re: x\nIn-Reply-To: {sent['Message-ID']}\n")
    await mails.hear(reply, mail("Another matter.", number=2))
    assert [row.session_id for row in mails.inbounds()] == [nuts.id, fruit.id]


async def test_what_two_users_were_granted_proves_nothing(mails: Mail) -> None:
    for caller in (None, STRANGER.user_id):
        mails.world.ask(add_grant, AddGrant(address=ADDRESS, user=caller))
        mails.session("web:fruit", ADDRESS, user_id=caller or OWNER)
    await mails.hear(mail("Whose am I?"))
    assert (mails.inbounds(), mails.listener().strangers) == ([], 1)


@pytest.mark.parametrize("place", ["before", "after"])
async def test_killed_around_the_commit_a_mail_is_neither_lost_nor_taken_twice(
    mails: Mail, place: Literal["before", "after"]
) -> None:
    mails.link()
    await mails.hear(mail("One.", number=1))
    await mails.receiver.leave()
    store = MortalStore(
        mails.world.store.engine.url.render_as_string(hide_password=False), nth=2, place=place, clock=mails.world.clock
    )
    # Its first write claims the account, its second takes the mail.
    dying = Receiver(store, mails.world.instance, {"email": mails.channel}, "worker_dying")
    mails.imap.deliver(mail("Two.", number=2))
    await dying.step()
    async with asyncio.timeout(10):
        await store.died.wait()
    await _bury(dying, store)
    mails.world.write(lambda tx: tx.run(t.listener.update().values(worker_id=None, claimed_until=None)))
    await mails.hear()
    assert [row.text for row in mails.inbounds()] == ["One.", "Two."]


async def _bury(receiver: Receiver, store: Store) -> None:
    for claim in receiver._claims.values():  # pyright: ignore[reportPrivateUsage] - its memory dies with it
        if claim.task is not None:
            claim.task.cancel()
            await asyncio.gather(claim.task, return_exceptions=True)
    await Store.close(store)


async def test_killed_between_sent_and_written_the_same_mail_goes_again_under_the_same_id(mails: Mail) -> None:
    mails.link()
    session = mails.session("web:fruit", ADDRESS)
    [delivery_id] = mails.world.write(lambda tx: owe(tx, session, "It is nine.", [ADDRESS]))
    store = MortalStore(
        mails.world.store.engine.url.render_as_string(hide_password=False),
        nth=3,
        place="before",
        clock=mails.world.clock,
    )
    courier = Courier(store, mails.world.instance, {"email": mails.channel})
    step = asyncio.create_task(courier.step())
    async with asyncio.timeout(10):
        await store.died.wait()
    step.cancel()
    await asyncio.gather(step, return_exceptions=True)
    await Store.close(store)
    assert len(mails.post.mails) == 1
    mails.world.write(lambda tx: tx.run(t.delivery.update().values(next_attempt_at=tx.now())))
    await mails.deliver()
    first, second = mails.post.mails
    assert first["Message-ID"] == second["Message-ID"] == f"<{delivery_id}@example.net>"
    delivery = mails.world.write(lambda tx: deliveries.get(tx, delivery_id))
    assert delivery is not None
    assert (delivery.state, delivery.unsure) == ("sent", False)


async def test_a_mail_server_that_refuses_us_is_failing_in_its_own_words_until_it_lets_us_in(mails: Mail) -> None:
    mails.link()
    mails.imap.password = "changed"
    mails.imap.break_off()
    await until(lambda: mails.listener().error is not None)
    await _stepped_until(mails, lambda: "Invalid credentials" in (mails.listener().error or ""))
    mails.imap.password = "secret"
    await _stepped_until(mails, lambda: mails.listener().error is None)


async def _stepped_until(mails: Mail, condition: Any) -> None:
    async def step() -> None:
        while not condition():
            # The pauses between its attempts go by the clock of this world; the claim is renewed meanwhile.
            mails.world.clock.advance(timedelta(seconds=5))
            await mails.receiver.step()
            await asyncio.sleep(0.01)

    async with asyncio.timeout(15):
        await step()


@pytest.fixture
def doors(mails: Mail) -> Doors:
    doors = open_doors(mails.world)
    # As on the page: who is linked answers approvals, too.
    mails.world.write(lambda tx: tx.run(t.token.update().values(approve=True)))
    return doors


async def verify(doors: Doors, body: dict[str, str], *, token: str = OWNER_TOKEN, name: str = "email") -> Any:
    async with doors.http(token) as http:
        return await http.post(f"/api/channels/{name}/verify", json=body)


def code_sent(mails: Mail) -> str:
    hands: Any = mails.world.instance.hands
    address, words = hands.words[-1]
    assert address == ADDRESS
    return words.partition(" ")[0]


async def test_a_code_that_came_by_mail_makes_the_address_ones_own(mails: Mail, doors: Doors) -> None:
    asked = await verify(doors, {"address": "Anna@Example.org"})
    assert (asked.status_code, asked.json()["address"]) == (202, PERSON)
    kept = mails.world.write(lambda tx: tx.rows(t.address_code.select()))
    code = code_sent(mails)
    assert code not in str(kept)
    wrong = await verify(doors, {"address": PERSON, "code": "aaaaaaaa"})
    assert (wrong.status_code, wrong.json()["detail"].partition(",")[0]) == (409, "This code is wrong")
    right = await verify(doors, {"address": PERSON, "code": f" {code[:4]}-{code[4:].upper()} "})
    assert right.status_code == 200
    contact = right.json()
    assert (contact["channel"], contact["kind"], contact["address"]) == ("email", "person", ADDRESS)
    assert (await verify(doors, {"address": PERSON, "code": code})).status_code == 409
    await mails.deliver()
    [greeting] = mails.post.mails
    assert "Reply to this mail" in greeting.get_content()
    await mails.hear(mail("It is me.", to=greeting["Reply-To"], more=f"In-Reply-To: {greeting['Message-ID']}\n"))
    [heard] = mails.inbounds()
    session = mails.world.write(lambda tx: sessions.get(tx, heard.session_id))
    assert (heard.text, session.key) == ("It is me.", contact["session_key"])


async def test_a_wrong_code_makes_no_conversation_and_a_proved_address_may_be_given_to_one(
    mails: Mail, doors: Doors
) -> None:
    mails.session("web:fruit")
    async with doors.http() as http:
        change = {"addresses": ["web:fruit", ADDRESS]}
        assert (await http.patch("/api/sessions/web:fruit", json=change)).status_code == 422
        await verify(doors, {"address": PERSON})
        await verify(doors, {"address": PERSON, "code": "aaaaaaaa"})
        assert (await http.get(f"/api/sessions/{ADDRESS}")).status_code == 404
        await verify(doors, {"address": PERSON, "code": code_sent(mails)})
        assert (await http.patch("/api/sessions/web:fruit", json=change)).status_code == 200
        assert (await http.get(f"/api/sessions/{ADDRESS}")).status_code == 200


async def test_five_wrong_codes_end_a_code_and_five_codes_are_sent_in_an_hour(mails: Mail, doors: Doors) -> None:
    await verify(doors, {"address": PERSON})
    code = code_sent(mails)
    for _ in range(5):
        await verify(doors, {"address": PERSON, "code": "bbbbbbbb"})
    assert (await verify(doors, {"address": PERSON, "code": code})).status_code == 409
    statuses = [(await verify(doors, {"address": PERSON})).status_code for _ in range(5)]
    assert statuses == [202, 202, 202, 202, 429]
    other = await verify(doors, {"address": PERSON}, token=STRANGER_TOKEN)
    assert other.status_code == 429, "an address gets no more codes because another user asks"


async def test_a_code_is_its_users_and_another_users_address_cannot_be_taken(mails: Mail, doors: Doors) -> None:
    await verify(doors, {"address": PERSON})
    code = code_sent(mails)
    theirs = await verify(doors, {"address": PERSON, "code": code}, token=STRANGER_TOKEN)
    assert theirs.status_code == 409
    elsewhere = await verify(doors, {"address": "bob@example.org", "code": code})
    assert elsewhere.status_code == 409
    mails.link(STRANGER)
    late = await verify(doors, {"address": PERSON, "code": code})
    assert (late.status_code, late.json()["detail"].partition(".")[0]) == (
        409, "This address belongs to another user here",
    )  # fmt: skip
    hands: Any = mails.world.instance.hands
    before = len(hands.words)
    assert (await verify(doors, {"address": PERSON})).status_code == 409
    assert len(hands.words) == before, "another user's address gets no mail"


async def test_a_code_that_came_too_late_leaves_the_address_where_its_user_hears_it(mails: Mail, doors: Doors) -> None:
    await verify(doors, {"address": PERSON}, token=STRANGER_TOKEN)
    theirs = code_sent(mails)
    await verify(doors, {"address": PERSON})
    assert (await verify(doors, {"address": PERSON, "code": code_sent(mails)})).status_code == 200
    hearing = mails.world.write(lambda tx: sessions.hearing(tx, ADDRESS))
    made = mails.world.write(lambda tx: len(tx.rows(t.session.select())))
    late = await verify(doors, {"address": PERSON, "code": theirs}, token=STRANGER_TOKEN)
    assert (late.status_code, late.json()["detail"].partition(".")[0]) == (
        409, "This address belongs to another user here",
    )  # fmt: skip
    assert mails.world.write(lambda tx: sessions.hearing(tx, ADDRESS)) == hearing
    assert mails.world.write(lambda tx: len(tx.rows(t.session.select()))) == made


async def test_a_grant_that_is_taken_back_takes_back_the_say_it_gave(mails: Mail, doors: Doors) -> None:
    mails.session("web:fruit")
    change = {"addresses": ["web:fruit", ADDRESS]}
    async with doors.http() as http:
        grant = (await http.post("/api/grants", json={"agent_id": "main", "address": ADDRESS})).json()
        assert (await http.patch("/api/sessions/web:fruit", json=change)).status_code == 200
        await mails.hear(mail("I may talk.", number=1))
        assert len((await http.get("/api/contacts")).json()["items"]) == 1
        assert (await http.delete(f"/api/grants/{grant['id']}")).status_code == 200
        await mails.hear(mail("May I still?", number=2))
        assert ([row.text for row in mails.inbounds()], mails.listener().strangers) == (["I may talk."], 1)
        assert (await http.get("/api/contacts")).json()["items"] == []
        assert (await http.patch("/api/sessions/web:fruit", json=change)).status_code == 422


async def test_a_granted_say_lasts_while_any_grant_of_its_user_covers_the_address(mails: Mail) -> None:
    world = mails.world
    mails.session("web:fruit", ADDRESS)
    main, other = [world.ask(add_grant, AddGrant(address=ADDRESS, agent_id=agent)) for agent in ("main", "other")]
    world.ask(add_grant, AddGrant(address=ADDRESS, agent_id="main", user=STRANGER.user_id))
    await mails.hear(mail("One.", number=1))
    world.ask(remove_grant, GrantRef(grant_id=main.id))
    await mails.hear(mail("Two.", number=2))
    assert [row.text for row in mails.inbounds()] == ["One.", "Two."]
    change = UpdateSession(session_key="web:fruit", addresses=["web:fruit", ADDRESS])
    # What was granted to one agent is no proof, and lets no other one write there.
    refused(lambda: world.ask(update_session, change), Invalid)
    world.ask(remove_grant, GrantRef(grant_id=other.id))
    await mails.hear(mail("Three.", number=3))
    assert (len(mails.inbounds()), mails.listener().strangers) == (2, 1)
    known = world.write(lambda tx: sessions.hearing(tx, ADDRESS))
    assert known is None, "the conversation that the second mail made hears it no more"


async def test_removing_the_agent_that_had_the_grant_ends_the_say_too(mails: Mail) -> None:
    world = mails.world
    session = mails.session("web:fruit", ADDRESS)
    world.ask(add_grant, AddGrant(address=ADDRESS, agent_id="other"))
    world.write(lambda tx: sessions.give_agent(tx, [session.id], "other"))
    await mails.hear(mail("One.", number=1))
    change = UpdateSession(session_key="web:fruit", agent_id="main", addresses=["web:fruit"])
    world.ask(update_session, change)
    world.ask(remove_agent, AgentRef(agent_id="other"))
    await mails.hear(mail("Two.", number=2))
    assert (len(mails.inbounds()), mails.listener().strangers) == (1, 1)


async def test_an_address_that_was_proved_stays_ones_own_when_its_grant_goes(mails: Mail, doors: Doors) -> None:
    mails.session("web:fruit", ADDRESS)
    grant = mails.world.ask(add_grant, AddGrant(address=ADDRESS))
    await mails.hear(mail("Granted.", number=1))
    await verify(doors, {"address": PERSON})
    assert (await verify(doors, {"address": PERSON, "code": code_sent(mails)})).status_code == 200
    mails.world.ask(remove_grant, GrantRef(grant_id=grant.id))
    await mails.hear(mail("Proved.", number=2))
    assert [row.text for row in mails.inbounds()] == ["Granted.", "Proved."]


async def test_an_address_that_was_granted_to_another_user_cannot_be_taken(mails: Mail, doors: Doors) -> None:
    mails.world.ask(add_grant, AddGrant(address=ADDRESS, user=STRANGER.user_id))
    assert (await verify(doors, {"address": PERSON})).status_code == 409


@pytest.mark.parametrize("address", ["nobody", "a b@example.org", "a/b@example.org", "a@x.org,b@x.org", "x" * 300])
async def test_what_is_no_mail_address_is_refused(mails: Mail, doors: Doors, address: str) -> None:
    assert (await verify(doors, {"address": address})).status_code == 422


async def test_a_channel_that_is_not_there_has_no_codes_and_mail_no_link_codes(mails: Mail, doors: Doors) -> None:
    assert (await verify(doors, {"address": PERSON}, name="work")).status_code == 404
    async with doors.http() as http:
        refused = await http.post("/api/channels/email/link", json={})
    assert (refused.status_code, "verify_address" in refused.json()["detail"]) == (422, True)


async def test_a_code_ends_after_ten_minutes(mails: Mail, doors: Doors) -> None:
    await verify(doors, {"address": PERSON})
    code = code_sent(mails)
    mails.world.write(lambda tx: tx.run(t.address_code.update().values(expires_at=tx.now())))
    assert (await verify(doors, {"address": PERSON, "code": code})).status_code == 409


async def test_codes_entered_at_once_are_not_tried_more_often_than_allowed(mails: Mail, doors: Doors) -> None:
    await verify(doors, {"address": PERSON})
    wrong = [verify(doors, {"address": PERSON, "code": f"aaaaaaa{n}"}) for n in range(2, 8)]
    await asyncio.gather(*wrong)
    [row] = mails.world.write(lambda tx: tx.rows(t.address_code.select()))
    assert row.tries == 5
