"""Approvals are answered by button: whole, by those who may decide, on the message that showed it, once."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.channels.scenes import Place
from homing.channels import Capabilities
from homing.engine.action_checks import look_again
from homing.engine.action_endings import End
from homing.engine.signs import Signs
from homing.model.approvals import Approval, Audience
from homing.model.people import Caller
from homing.operations.approvals import Request, answer_approval, ask
from homing.operations.contacts import remove_contact, update_contact
from homing.operations.shapes.approval import AnswerApproval
from homing.operations.shapes.contact_asks import ContactRef, UpdateContact
from homing.store import Tx, approvals, people, sessions, turns
from homing.store import tables as t
from homing.tools.toolbox import caller_of
from support.worlds import STRANGER

BUTTONS = Capabilities(max_length=1000, length_unit="utf16", buttons=6)
ADMIN = Caller(user_id="ada", role="admin", door="api")


async def request(
    place: Place,
    key: str = "chat:7",
    *,
    user_id: str = "default",
    audience: Audience = "owner",
    text: str = "pears",
    reason: str | None = None,
    arrives: bool = True,
    told: list[str] | None = None,
) -> Approval:
    """Let the agent of a conversation ask for an approval; `told` gets what the agent hears."""
    place.channel.capabilities = BUTTONS
    world = place.world

    def work(tx: Tx) -> Approval:
        session = sessions.find(tx, key, user_id=user_id) or sessions.add(tx, key=key, user_id=user_id, agent_id="main")
        assert session is not None
        opened = tx.rows(sa.select(t.turn.c.id).where(t.turn.c.session_id == session.id))
        turn = turns.get_turn(tx, opened[0][0])
        assert turn is not None
        ctx = world.ctx(tx, caller_of(turn, key, None, call_key=f"{turn.id}:1"))
        wanted = Request(
            tool="remember", args={"text": text}, title="Main asks to use remember", audience=audience, reason=reason
        )
        said = ask(ctx, session, wanted, call_key=f"{turn.id}:{text[:9]}")
        if told is not None:
            told.append(said)
        return approvals.open_in(tx, session.id)[-1]

    if not world.write(lambda tx: tx.rows(sa.select(t.turn.c.id).where(t.turn.c.state == "running"))):
        world.open_turn(key, user_id=user_id)
    made = world.write(work)
    if arrives:
        await place.deliver()
    return made


def shown_as(place: Place, approval: Approval, where: str = "7") -> str:
    """Give the platform's id of the message that shows a request."""
    [number] = [
        n
        for n, part in enumerate(place.channel.sent, 1)
        if part.question and part.question.id == approval.id and part.address == f"chat:{where}"
    ]
    return f"{where}:out{number}"


async def press(scene: Place, approval: Approval, option: int = 1, **more: Any) -> None:
    where = more.pop("where", "7")
    given = {"replies_to": shown_as(scene, approval, where), "answer": (approval.id, option)}
    await scene.say("", **given | more)


def now(place: Place, approval: Approval) -> Approval:
    found = place.world.write(lambda tx: approvals.get(tx, approval.id))
    assert found is not None
    return found


def add_admin(place: Place) -> None:
    place.world.write(lambda tx: people.add_user(tx, ADMIN.user_id, role="admin", name="Ada"))


async def test_a_card_shows_everything_in_monospace_and_its_button_approves_with_the_digest_of_its_part(
    place: Place,
) -> None:
    await place.link()
    approval = await request(place, text="a\u202eb ``` [x](http://evil)", reason="**because** ```")
    part = place.channel.sent[-1]
    assert part.question is not None
    assert (part.question.id, list(part.question.options)) == (approval.id, ["Approve", "Deny"])
    head, fence, *body, closing = part.text.split("\n")
    assert (head, fence, closing) == ("An agent asks you to allow this:", "````", "````")
    assert body == [
        "Request: Main asks to use remember",
        "Tool: remember",
        "Asked in: chat:7, agent main",
        "Arguments:",
        *approval.shown.split("\n"),
        "Reason, in the agent's own words: **because** ```",
    ]
    assert "\\u202e" in part.text
    [kept] = place.world.write(lambda tx: tx.rows(sa.select(t.part).where(t.part.c.approval_id == approval.id)))
    assert (kept.digest, kept.buttons) == (approval.digest, True)
    await press(place, approval)
    answered = now(place, approval)
    assert (answered.state, answered.answered_by) == ("approved", "default")
    assert answered.answered_with == place.contacts()[0].id
    assert place.inbounds() == ["Hello?"]


async def test_denied_by_button_the_agent_is_told(place: Place) -> None:
    await place.link()
    approval = await request(place)
    await press(place, approval, 2)
    assert now(place, approval).state == "denied"
    assert place.inbounds()[1:] == ["Main asks to use remember: denied by Owner."]


async def test_what_does_not_fit_cannot_be_approved_there_and_comes_as_a_link(place: Place) -> None:
    await place.link()
    approval = await request(place, text="é" * 1000)
    part = place.channel.sent[-1]
    assert part.question is None
    assert f"/approvals/{approval.id}" in part.text
    await place.say("", answer=(approval.id, 1), replies_to=f"7:out{len(place.channel.sent)}")
    assert now(place, approval).state == "pending"


async def test_where_there_are_no_buttons_a_link_comes(place: Place) -> None:
    await place.link()
    approval = await request(place, arrives=False)
    place.channel.capabilities = Capabilities(max_length=None)
    await place.deliver()
    part = place.channel.sent[-1]
    assert (part.question, f"/approvals/{approval.id}" in part.text) == (None, True)
    await place.say("1")
    await place.say("Approve", replies_to=f"7:out{len(place.channel.sent)}")
    assert now(place, approval).state == "pending", "words never approve (rule 56)"


async def test_pressed_twice_or_the_other_way_the_first_answer_stays(place: Place) -> None:
    await place.link()
    approval = await request(place)
    where = shown_as(place, approval)
    for number, option in ((70, 2), (70, 2), (71, 1)):
        await press(place, approval, option, replies_to=where, message_id=str(number))
    assert now(place, approval).state == "denied"
    assert place.inbounds()[1:] == ["Main asks to use remember: denied by Owner."]


@pytest.mark.parametrize(
    "what",
    ["stranger", "another message", "another request", "no option", "expired", "answered elsewhere", "another digest"],
)
async def test_a_press_that_does_not_count_changes_nothing(place: Place, what: str) -> None:
    await place.link()
    approval = await request(place)
    click: dict[str, Any] = {}
    state = "pending"
    match what:
        case "stranger":
            click = {"sender": "666", "place": "666"}
        case "another message":
            click = {"replies_to": "7:out1"}
        case "another request":
            click = {"answer": ("appr_other", 1)}
        case "no option":
            click = {"answer": (approval.id, 3)}
        case "expired":
            move_back(place, approval)
        case "answered elsewhere":
            answer = AnswerApproval(approval_id=approval.id, decision="deny", digest=approval.digest)
            place.world.ask(answer_approval, answer, caller=Caller(user_id="default", role="admin", approve=True))
            state = "denied"
        case _:
            forge_digest(place, approval)
    await press(place, approval, **click)
    assert now(place, approval).state == state


def forge_digest(place: Place, approval: Approval) -> None:
    shown = t.part.c.approval_id == approval.id
    place.world.write(lambda tx: tx.run(sa.update(t.part).where(shown).values(digest="sha256:other")))


def move_back(place: Place, approval: Approval) -> None:
    def work(tx: Tx) -> None:
        over = tx.now() - timedelta(seconds=1)
        tx.run(sa.update(t.approval).where(t.approval.c.id == approval.id).values(expires_at=over))

    place.world.write(work)


async def test_in_a_group_only_the_owners_own_press_counts(place: Place) -> None:
    await place.link()
    await place.link(sender="8", caller=STRANGER)
    code = place.make_code(group=True)
    await place.say(f"link {code}", sender="7", place="-100", direct=False, addressed=True)
    group = next(one for one in place.contacts() if one.kind == "group")
    place.world.ask(update_contact, UpdateContact(contact_id=group.id, who="everyone"))
    approval = await request(place, "chat:-100")
    for sender in ("8", "99"):
        await press(place, approval, where="-100", sender=sender, place="-100", direct=False)
        assert now(place, approval).state == "pending"
    await press(place, approval, where="-100", sender="7", place="-100", direct=False)
    assert now(place, approval).state == "approved"


async def test_for_admins_one_other_admin_is_reached_outside_and_the_asking_user_cannot_decide(place: Place) -> None:
    add_admin(place)
    await place.link(sender="8", caller=STRANGER)
    await place.link(sender="7")
    await place.link(sender="9", caller=ADMIN)
    approval = await request(place, "chat:8", user_id="stranger", audience="admin")
    cards = sorted((part for part in place.channel.sent if "remember" in part.text), key=lambda part: part.address)
    assert [(part.address, part.question is not None) for part in cards] == [("chat:8", False), ("chat:9", True)]
    assert "An administrator decides" in cards[0].text
    shown = place.world.write(lambda tx: tx.rows(sa.select(t.card).where(t.card.c.approval_id == approval.id)))
    assert len(shown) == 3, "the asking conversation, and the home of each admin"
    number = place.channel.sent.index(cards[0]) + 1
    await place.say("", sender="8", answer=(approval.id, 1), replies_to=f"8:out{number}")
    assert now(place, approval).state == "pending"
    await press(place, approval, where="9", sender="9")
    assert (now(place, approval).state, now(place, approval).answered_by) == ("approved", "ada")


async def test_the_first_admin_with_a_chat_in_the_same_channel_is_reached_before_one_elsewhere(place: Place) -> None:
    add_admin(place)
    await place.link(sender="8", caller=STRANGER)
    await place.link(sender="9", caller=ADMIN)
    await place.link(sender="7")

    def move(tx: Tx) -> None:
        c = t.contact.c
        tx.run(sa.update(t.contact).where(c.user_id == "ada").values(channel="other", address="other:9"))

    place.world.write(move)
    await request(place, "chat:8", user_id="stranger", audience="admin")
    owed = place.world.write(lambda tx: tx.rows(sa.select(t.delivery.c.address).where(t.delivery.c.attempts > 0)))
    outside = [address for (address,) in owed if not address.startswith("web:")]
    assert sorted(outside) == ["chat:7", "chat:7", "chat:8", "chat:8", "chat:9"], "a greeting each, and two cards"


async def test_where_no_admin_can_be_reached_outside_the_agent_is_told_and_the_cards_are_on_their_pages(
    place: Place,
) -> None:
    add_admin(place)
    await place.link(sender="8", caller=STRANGER)
    alone, reached = list[str](), list[str]()
    approval = await request(place, "chat:8", user_id="stranger", audience="admin", told=alone)
    assert "Administrators see it only on the page" in alone[0]
    assert [part.address for part in place.channel.sent if "remember" in part.text] == ["chat:8"]
    shown = place.world.write(lambda tx: tx.rows(sa.select(t.card).where(t.card.c.approval_id == approval.id)))
    assert len(shown) == 3, "the asking conversation, and the home of each admin"
    await place.link(sender="9", caller=ADMIN)
    await request(place, "chat:8", user_id="stranger", audience="admin", text="apples", told=reached)
    assert "No administrator" not in reached[0]


@pytest.mark.parametrize("when", ["before the press", "after it"])
async def test_an_approver_who_is_revoked_lets_nothing_begin(place: Place, when: str) -> None:
    add_admin(place)
    await place.link(sender="8", caller=STRANGER)
    await place.link(sender="9", caller=ADMIN)
    approval = await request(place, "chat:8", user_id="stranger", audience="admin")
    if when == "before the press":
        place.world.write(lambda tx: people.change_user(tx, "ada", {"role": "user"}))
        await press(place, approval, where="9", sender="9")
        assert now(place, approval).state == "pending"
        return
    await press(place, approval, where="9", sender="9")
    place.world.ask(remove_contact, ContactRef(contact_id=place.contacts(caller=ADMIN)[0].id), caller=ADMIN)
    taken = now(place, approval)
    end = place.world.write(lambda tx: look_again(tx, taken))
    assert isinstance(end, End)
    assert (end.state, end.ended) == ("expired", "approver_gone")


async def test_a_removed_contacts_press_does_not_count(place: Place) -> None:
    contact = await place.link()
    approval = await request(place)
    where = shown_as(place, approval)
    place.world.ask(remove_contact, ContactRef(contact_id=contact.id))
    await press(place, approval, replies_to=where)
    assert now(place, approval).state == "pending"


async def test_everybody_sees_who_answered_and_the_buttons_go_once(place: Place) -> None:
    await place.link()
    approval = await request(place)
    signs = Signs(place.world.store, {"chat": place.channel}, "worker_a")
    await signs.step()
    assert place.channel.edits == []
    where = shown_as(place, approval)
    await press(place, approval)
    for _ in range(2):
        await signs.step()
        await signs.settle()
    assert place.channel.edits == [("chat:7", where, "Main asks to use remember\nApproved by Owner.")]
