"""What a channel heard becomes rows: who may talk, which conversation it belongs to, and what it does there.

Rules 52 to 54. Everything is decided twice: before the sessions are locked, so that they are locked in order, and
after. A stranger reaches no session, and nothing of what they wrote is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from homing.model.agents import MAIN
from homing.model.approvals import Question
from homing.model.bounds import MAX_MESSAGE, MAX_NAME
from homing.model.errors import Invalid
from homing.model.ids import new_id
from homing.model.incoming import (
    EDITS,
    GRANTED,
    GUEST_WITHIN,
    MAX_GUEST_MESSAGES,
    MAX_GUEST_WAITING,
    Contact,
    Incoming,
    LinkCode,
    code_shown_in,
    link_code_in,
    place_of,
)
from homing.model.messages import DeliveryPart, NewMessage
from homing.model.sessions import Session, check_key
from homing.operations.approvals import decide_by_button, lanes_of, may_decide
from homing.operations.questions import answered_by_message, of_guest, take_answer
from homing.operations.shapes.base import clean_text
from homing.store import (
    LookAgain,
    Tx,
    approvals,
    contacts,
    deliveries,
    inbounds,
    kept_files,
    lanes,
    listeners,
    messages,
    parts,
    people,
    questions,
    sessions,
)
from homing.store.inbounds import NewInbound

WRONG_WITHIN = timedelta(minutes=10)
WRONG_OF_SENDER = 5
WRONG_OF_ALL = 100
_LONGEST_ID = 500

LINKED = "This chat is linked: what you write here and what I answer is the conversation {title} on the page, too."
LINKED_GROUP = "This group is linked. I answer the people who are linked with me, when they address me."
_WRONG_CODE = "This code has expired or isn't valid. Make a fresh one on the page: Settings, Contacts."
_NOT_ALONE = "Send a code alone, such as: link hm-… The agent did not see your message, because a code is secret."
_OF_ANOTHER = "This chat is linked to another user already. They can remove the contact; then send the code again."
_EDITED = "An earlier message was edited. It reads now:\n"
WHOLE_TEXT = "message.txt"
_NO_TEXT = "(A message without text, which this version cannot show.)"

Deed = Literal[
    "say", "answer", "decide", "edit", "link", "burn", "wrong_code", "not_alone", "of_another", "stranger", "nothing"
]


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What becomes of one message."""

    deed: Deed
    session_id: int | None = None
    agent_id: str | None = None
    user_id: str | None = None
    contact_id: str | None = None
    guest: bool = False
    question_id: str | None = None
    """Of the question that is answered by a button, or by a reply to it."""
    text: str | None = None
    """The answer."""
    approval_id: str | None = None
    digest: str | None = None
    """Of what the pressed message showed."""
    approve: bool = False
    granted: bool = False
    """The sender becomes a contact, because their address was granted."""
    hears: int | None = None
    """The session that hears that address from now on."""


_NOTHING = _Plan(deed="nothing")
_STRANGER = _Plan(deed="stranger")


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What became of some messages."""

    taken: int = 0
    strangers: int = 0


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """What a channel heard and did not hand over: what it could not read, and what nobody proved to have written."""

    unread: int = 0
    strangers: int = 0


NONE = LeftOut()


def take_incoming(
    tx: Tx,
    channel: str,
    fence: int,
    given: Sequence[Incoming],
    *,
    cursor: str | None,
    unified: bool,
    left_out: LeftOut = NONE,
) -> Heard:
    """Store what was heard together with how far it was heard, under the listener's fence."""
    cleaned = [_clean(channel, message) for message in given]
    plans = _plan_all(tx, channel, cleaned)
    touched = {plan.session_id for plan in plans if plan.session_id is not None}
    chats = sessions.get_many(tx, touched)
    lane_ids = {chat.id: lanes.lane_of(tx, chat, unified=unified) for chat in chats.values()}
    deciding = approvals.get_many(tx, [plan.approval_id for plan in plans if plan.approval_id is not None])
    decided = {place for one in deciding.values() for place in lanes_of(tx, one, unified=unified)}
    hears = {plan.hears for plan in plans if plan.hears is not None}
    sessions.lock(tx, {*touched, *lane_ids.values(), *decided, *hears})
    shared = {chat.id for chat in sessions.get_many(tx, touched).values() if chat.several}
    if _plan_all(tx, channel, cleaned) != plans or shared != {chat.id for chat in chats.values() if chat.several}:
        raise LookAgain
    listeners.hold(tx, channel, fence)
    dropped = 0
    for message, plan in zip(cleaned, plans, strict=True):
        # Read again: an earlier message of this batch may have changed it.
        session = sessions.get(tx, plan.session_id) if plan.session_id is not None else None
        if session is not None and plan.guest and _is_too_much(tx, channel, message, plan, session):
            dropped += 1
            continue
        if plan.deed == "decide":
            _decide(tx, channel, message, plan, unified=unified)
            continue
        _carry_out(tx, channel, message, plan, session, lane_ids.get(plan.session_id or 0, 0))
    strangers = sum(plan.deed == "stranger" for plan in plans) + left_out.strangers
    listeners.advance(tx, channel, cursor=cursor, strangers=strangers, unstored=left_out.unread + dropped)
    taken = sum(plan.deed in ("say", "answer", "decide", "edit") for plan in plans) - dropped
    return Heard(taken=taken, strangers=strangers)


def files_owner(tx: Tx, channel: str, given: Incoming) -> str | None:
    """Name the user who owns the files of a message; None: nobody keeps them.

    Strangers' and guests' files are not kept, nor those of what was taken before or is not a message.
    """
    try:
        message = _clean(channel, given)
    except Invalid:
        return None
    person = contacts.find(tx, channel, "person", message.sender) or _granted(tx, channel, message)
    host = _alone(message, person) if message.direct else contacts.find(tx, channel, "group", message.place)
    if person is None or host is None or host.user_id != person.user_id or code_shown_in(message.text) is not None:
        return None
    if not message.addressed and message.replies_to is None and host.wakes != "all":
        return None
    return None if inbounds.known_external(tx, [message.taken_id]) else host.user_id


def may_talk(tx: Tx, channel: str, address: str, sender: str, *, mail: bool) -> bool:
    """Say whether somebody may be heard in a direct chat, before it is known what they wrote."""
    address, sender = clean_text(address), clean_text(sender)
    return contacts.find(tx, channel, "person", sender) is not None or bool(_granted_sessions(tx, address, mail=mail))


def count_unstored(tx: Tx, channel: str, fence: int, left_out: LeftOut, *, cursor: str | None) -> None:
    """Count what cannot be stored, and go on behind it (rule 52)."""
    listeners.hold(tx, channel, fence)
    listeners.advance(tx, channel, cursor=cursor, strangers=left_out.strangers, unstored=left_out.unread)


def _clean(channel: str, message: Incoming) -> Incoming:
    """Refuse what no channel may give, and take out of texts what no database keeps."""
    if not message.address.startswith(f"{channel}:") or not message.sender:
        raise Invalid(f"The channel {channel} gave a message without a place or a sender of its own.")
    if max(map(len, (message.address, message.sender, message.taken_id))) > _LONGEST_ID:
        raise Invalid(f"The channel {channel} gave a message with an id that is too long.")
    return replace(
        message,
        address=clean_text(message.address),
        sender=clean_text(message.sender),
        sender_name=clean_text(message.sender_name)[:MAX_NAME],
        taken_id=clean_text(message.taken_id),
        text=clean_text(message.text),
    )


def _plan_all(tx: Tx, channel: str, given: Sequence[Incoming]) -> list[_Plan]:
    known = inbounds.known_external(tx, [message.taken_id for message in given])
    plans: list[_Plan] = []
    for message in given:
        plans.append(_NOTHING if message.taken_id in known else _plan(tx, channel, message))
        known.add(message.taken_id)
    return plans


def _plan(tx: Tx, channel: str, message: Incoming) -> _Plan:
    person = contacts.find(tx, channel, "person", message.sender)
    if person is None and (granted := _granted(tx, channel, message)) is not None:
        return _plan_granted(tx, channel, message, granted)
    return _plan_of(tx, channel, message, person)


def _plan_of(tx: Tx, channel: str, message: Incoming, person: Contact | None, hearing: Session | None = None) -> _Plan:
    """Decide what becomes of a person's message; `hearing` is where one goes that is not a reply, if that is known."""
    group = None if message.direct else contacts.find(tx, channel, "group", message.place)
    if (code := code_shown_in(message.text)) is not None:
        # Never a message, whatever becomes of it: a code is not shown to a model.
        return _NOTHING if message.edits is not None else _plan_link(tx, channel, message, code, person, group)
    host = _alone(message, person) if message.direct else group
    if host is None or (person is None and host.who == "linked"):
        return _STRANGER if message.addressed else _NOTHING
    guest = person is None or person.user_id != host.user_id
    if message.edits is not None:
        return _plan_edit(tx, channel, message, host, guest=guest)
    said = _replied_to(tx, channel, message, host)
    if message.answer is not None:
        if said is not None and said.part.approval_id is not None:
            return _plan_decision(tx, message.answer, said, person)
        return _plan_click(tx, message.answer, said, host, guest=guest)
    if said is None and not message.addressed and host.wakes != "all":
        return _NOTHING
    asked = said.question if said is not None and _answers(tx, message, said.question, guest) else None
    if said is not None and asked is None and not (message.direct or _is_shared_at(tx, said.session, message)):
        # What others read leads into no private conversation, nor into that of another group; only its user may answer
        # what it asked there.
        said = None
    session = said.session if said is not None else hearing or _session_for(tx, message.address, host)
    plan = _Plan(
        deed="say",
        session_id=session.id,
        agent_id=session.agent_id,
        user_id=host.user_id,
        contact_id=host.id,
        guest=guest,
    )
    if asked is None:
        return plan
    # Rule 56: a reply to a question answers it.
    return replace(plan, deed="answer", question_id=asked.id, text=asked.meant_by(message.text) or _text(message))


def _is_shared_at(tx: Tx, session: Session, message: Incoming) -> bool:
    """Say whether a session is the shared one of a message's place; one may also have sent there by a grant only."""
    return session.several and message.place in map(place_of, sessions.addresses(tx, [session.id])[session.id])


def _alone(message: Incoming, person: Contact | None) -> Contact | None:
    """Rule 53: a person is linked in one direct chat. Where a platform has several with them, the others admit nobody:
    an answer could not be sent there.
    """
    return person if person is not None and place_of(person.address) == message.place else None


def _granted_at(tx: Tx, message: Incoming) -> list[Session]:
    """Rule 53: a mail address that an admin granted is its user's own, too. To talk, a conversation of that user must
    also have it: an agent may be allowed to write to somebody who has no say in it. These are given, of one user.
    """
    return _granted_sessions(tx, message.address, mail=message.mail) if message.direct else []


def _granted_sessions(tx: Tx, address: str, *, mail: bool) -> list[Session]:
    found = sessions.granted_at(tx, address) if mail else []
    return found if len({session.user_id for session in found}) == 1 else []


def _granted(tx: Tx, channel: str, message: Incoming) -> Contact | None:
    """Say which contact a granted address becomes; nothing is written before the sessions are locked."""
    found = _granted_at(tx, message)
    if not found:
        return None
    return Contact(
        id="",
        channel=channel,
        kind="person",
        place=message.sender,
        name=message.sender_name or message.sender,
        user_id=found[0].user_id,
        address=message.address,
        who="linked",
        wakes="addressed",
        blocked=False,
        linked_by=GRANTED,
        session_key=None,
        created_at=tx.now(),
        last_at=None,
    )


def _plan_granted(tx: Tx, channel: str, message: Incoming, person: Contact) -> _Plan:
    """The conversation that has the address hears it from now on, if it is the only one and none does yet."""
    found = _granted_at(tx, message)
    only = found[0] if len(found) == 1 and sessions.hearing(tx, message.address) is None else None
    plan = _plan_of(tx, channel, message, person, only)
    if plan.contact_id is None:
        return plan
    return replace(plan, contact_id=None, granted=True, hears=only.id if only is not None else None)


def _link_granted(tx: Tx, channel: str, message: Incoming, hears: int | None) -> None:
    found = _granted_at(tx, message)
    # Held until this ends: removing the grant then finds the contact, and removes it too.
    if not found or not people.find_grant(
        tx, user_id=found[0].user_id, agent_id=found[0].agent_id, address=message.address, hold=True
    ):
        raise LookAgain
    contacts.link(
        tx,
        channel=channel,
        kind="person",
        place=message.sender,
        name=message.sender_name or message.sender,
        user_id=found[0].user_id,
        address=message.address,
        linked_by=GRANTED,
    )
    known = contacts.find(tx, channel, "person", message.sender)
    if known is None or known.user_id != found[0].user_id:
        # Another user was faster.
        raise LookAgain
    if hears is not None:
        sessions.hear(tx, hears, message.address)


@dataclass(frozen=True, kw_only=True)
class _Said:
    """What we said before, which a reply or a pressed button means."""

    session: Session
    part: DeliveryPart
    question: Question | None


def _replied_to(tx: Tx, channel: str, message: Incoming, host: Contact) -> _Said | None:
    """Rule 52: a reply belongs to the conversation of what it answers, if we said that in this place to this user."""
    part = parts.find(tx, f"{channel}:{message.replies_to}") if message.replies_to else None
    delivery = deliveries.get(tx, part.delivery_id) if part is not None else None
    if part is None or delivery is None or place_of(delivery.address) != message.place:
        return None
    session = sessions.get(tx, delivery.session_id)
    if session.deleted_at is not None or session.user_id != host.user_id:
        return None
    shown = messages.get(tx, session.id, delivery.seq)
    question_id = part.question_id or (shown.meta.get("question_id") if shown is not None else None)
    return _Said(session=session, part=part, question=questions.get(tx, str(question_id)) if question_id else None)


def _answers(tx: Tx, message: Incoming, question: Question | None, guest: bool) -> bool:
    """Say whether a reply answers the question that it is a reply to."""
    if question is None or question.state != "pending" or not message.text.strip() or message.files:
        return False
    return _may_answer(tx, question, guest)


def _may_answer(tx: Tx, question: Question, guest: bool) -> bool:
    """A guest answers what was asked in a guest's turn; what the user's turn asked is the user's to answer."""
    return not guest or of_guest(tx, question.turn_id)


def _plan_click(tx: Tx, answer: tuple[str, int], said: _Said | None, host: Contact, *, guest: bool) -> _Plan:
    """A button counts only on the message that showed it, and for an option that the question has."""
    question_id, option = answer
    asked = said.question if said is not None else None
    if said is None or asked is None or asked.id != question_id or asked.session_id != said.session.id:
        return _NOTHING
    if not 1 <= option <= len(asked.options or ()) or not _may_answer(tx, asked, guest):
        return _NOTHING
    return _Plan(
        deed="answer",
        session_id=said.session.id,
        agent_id=said.session.agent_id,
        user_id=host.user_id,
        contact_id=host.id,
        guest=guest,
        question_id=asked.id,
        text=(asked.options or ())[option - 1],
    )


def _plan_decision(tx: Tx, answer: tuple[str, int], said: _Said, person: Contact | None) -> _Plan:
    """A button of a request counts on the message that showed it, for a linked person who may decide (rule 47)."""
    approval_id, option = answer
    approval = approvals.get(tx, said.part.approval_id or "")
    if person is None or approval is None or approval.id != approval_id or option not in (1, 2):
        return _NOTHING
    if not may_decide(tx, person.user_id, approval):
        return _NOTHING
    return _Plan(
        deed="decide",
        session_id=said.session.id,
        agent_id=said.session.agent_id,
        user_id=person.user_id,
        contact_id=person.id,
        approval_id=approval.id,
        digest=said.part.digest,
        approve=option == 1,
    )


def _plan_edit(tx: Tx, channel: str, message: Incoming, host: Contact, *, guest: bool) -> _Plan:
    """An edit belongs to the conversation that took the message; what nobody took has none. Only its author edits it:
    a platform may pass on what anybody calls an edit.
    """
    found = inbounds.session_of_external(tx, message.edits or "")
    session = sessions.get(tx, found[0]) if found is not None else None
    if found is None or session is None or session.deleted_at is not None or session.user_id != host.user_id:
        return _NOTHING
    plan = _Plan(
        deed="edit",
        session_id=session.id,
        agent_id=session.agent_id,
        user_id=host.user_id,
        contact_id=host.id,
        guest=guest,
    )
    return plan if found[1] == _sender_id(channel, message, plan, session) else _NOTHING


def _plan_link(
    tx: Tx, channel: str, message: Incoming, code: str, person: Contact | None, group: Contact | None
) -> _Plan:
    there = person if message.direct else group
    if there is not None and there.linked_by == message.taken_id:
        # The platform gave it again: it was not told that we have it.
        return _NOTHING
    of_sender, of_all = contacts.wrong_codes(tx, channel, message.sender, WRONG_WITHIN)
    unknown = _STRANGER if person is None else _NOTHING
    if of_sender >= WRONG_OF_SENDER or of_all >= WRONG_OF_ALL:
        return unknown
    link = contacts.look_up_code(tx, code, channel)
    if link is not None and not message.direct and not link.for_group:
        # Everybody there has read it, and the first to send it could become this user.
        return _Plan(deed="burn")
    if link_code_in(message.text) is None:
        return unknown if person is None else _told(tx, "not_alone", message, person)
    wrong = _told(tx, "wrong_code", message, person)
    if link is None:
        return wrong
    if link.for_group and (message.direct or person is None or person.user_id != link.user_id):
        return wrong
    if there is not None and there.user_id != link.user_id:
        return _told(tx, "of_another", message, person)
    session = _session_of_link(tx, message, link)
    return _Plan(deed="link", session_id=session.id, agent_id=session.agent_id, user_id=link.user_id)


def _told(tx: Tx, deed: Deed, message: Incoming, person: Contact | None) -> _Plan:
    """Say in which conversation somebody is told of a code that does not work; strangers and groups are not told."""
    if person is None:
        return _Plan(deed=deed)
    hearing = sessions.hearing(tx, message.address) if message.direct else None
    if hearing is None or hearing.user_id != person.user_id:
        return _Plan(deed=deed, contact_id=person.id)
    return _Plan(deed=deed, session_id=hearing.id, agent_id=hearing.agent_id, contact_id=person.id)


def _session_of_link(tx: Tx, message: Incoming, link: LinkCode) -> Session:
    if link.session_id is not None:
        chosen = sessions.get(tx, link.session_id)
        if chosen.deleted_at is None and chosen.user_id == link.user_id:
            return chosen
    return hearing_or_new(
        tx, message.address, user_id=link.user_id, title=message.sender_name, several=not message.direct
    )


def _session_for(tx: Tx, address: str, host: Contact) -> Session:
    return hearing_or_new(tx, address, user_id=host.user_id, title=host.name, several=host.kind == "group")


def hearing_or_new(tx: Tx, address: str, *, user_id: str, title: str, several: bool = False) -> Session:
    """Rule 52: the session that hears an address, else a new one."""
    known = sessions.hearing(tx, address)
    if known is not None and known.user_id == user_id:
        return known
    title = address if several else " ".join(title.split())[:MAX_NAME] or address
    made = None
    for key in (_key_of(address), new_id(address.partition(":")[0]).replace("_", ":", 1)):
        made = made or sessions.add(tx, key=key, user_id=user_id, agent_id=MAIN, title=title, addresses=[])
    assert made is not None
    sessions.hear(tx, made.id, address)
    if several:
        sessions.mark_several(tx, made.id)
    return sessions.get(tx, made.id)


def _key_of(address: str) -> str:
    """Name a conversation after its address; keys have no slash."""
    try:
        return check_key(address.replace("/", ":"))
    except Invalid:
        return new_id(address.partition(":")[0]).replace("_", ":", 1)


def _decide(tx: Tx, channel: str, message: Incoming, plan: _Plan, *, unified: bool) -> None:
    approval = approvals.get(tx, plan.approval_id or "")
    person = contacts.find(tx, channel, "person", message.sender)
    if approval is None or person is None or person.id != plan.contact_id:
        raise LookAgain
    contacts.change(tx, person.id, {"last_at": tx.now(), "blocked": False})
    decide_by_button(tx, approval, approve=plan.approve, digest=plan.digest or "", contact=person, unified=unified)


def _carry_out(tx: Tx, channel: str, message: Incoming, plan: _Plan, session: Session | None, lane_id: int) -> None:
    # Someone who writes has not blocked us.
    heard: dict[str, object] = {"last_at": tx.now(), "blocked": False}
    if plan.granted:
        _link_granted(tx, channel, message, plan.hears)
    elif plan.contact_id is not None and not contacts.change(tx, plan.contact_id, heard):
        # Removed at this moment: then nobody may talk there.
        raise LookAgain
    match plan.deed:
        case "answer" if session is not None and plan.question_id is not None:
            if not _answer(tx, channel, message, plan, session, lane_id) and message.answer is None:
                # Too late for the question, but somebody said it.
                _put_in(tx, channel, message, plan, session, lane_id)
        case "say" if session is not None:
            found = answered_by_message(tx, session, message.text) if not message.files else None
            if found is not None and not _answerable_here(tx, message, found[0], plan.guest):
                found = None
            said = replace(plan, question_id=found[0].id, text=found[1]) if found is not None else plan
            if found is None or not _answer(tx, channel, message, said, session, lane_id):
                _put_in(tx, channel, message, plan, session, lane_id)
        case "edit" if session is not None and message.edits is not None:
            if inbounds.latest_text(tx, session.id, message.edits) not in (_text(message), _EDITED + _text(message)):
                inbounds.withdraw_edits(tx, session.id, message.edits)
                _put_in(tx, channel, message, plan, session, lane_id)
        case "link" if session is not None and plan.user_id is not None:
            _link(tx, channel, message, session, lane_id, plan.user_id)
        case "burn":
            contacts.spend_code(tx, code_shown_in(message.text) or "")
        case "wrong_code":
            contacts.count_wrong_code(tx, channel, message.sender, WRONG_WITHIN)
            if session is not None:
                _reply(tx, session, lane_id, message.address, _WRONG_CODE)
        case "not_alone" if session is not None:
            _reply(tx, session, lane_id, message.address, _NOT_ALONE)
        case "of_another" if session is not None:
            _reply(tx, session, lane_id, message.address, _OF_ANOTHER)
        case _:
            pass


def _is_too_much(tx: Tx, channel: str, message: Incoming, plan: _Plan, session: Session) -> bool:
    """Bound what one guest causes; the session's user is never held up by it."""
    sender_id = _sender_id(channel, message, plan, session)
    waiting, late = inbounds.of_sender(tx, session.id, sender_id, tx.now() - GUEST_WITHIN)
    return waiting >= MAX_GUEST_WAITING or late >= MAX_GUEST_MESSAGES


def _answerable_here(tx: Tx, message: Incoming, question: Question, guest: bool) -> bool:
    """Rule 56: in a channel a question is open from the receipt of what shows it there."""
    return _may_answer(tx, question, guest) and deliveries.question_arrived(tx, question.id, message.place)


def _answer(tx: Tx, channel: str, message: Incoming, plan: _Plan, session: Session, lane_id: int) -> bool:
    """Take the answer to a question; False when it is answered already, or over."""
    question = questions.get(tx, plan.question_id or "")
    if question is None:
        return False
    sender_id = _sender_id(channel, message, plan, session)
    taken = take_answer(
        tx,
        question,
        session,
        lane_id,
        by=sender_id,
        text=plan.text or "",
        sender_id=sender_id,
        address=message.address,
        external_id=message.taken_id,
        meta=_meta(channel, message, plan),
    )
    return taken is not None


def _sender_id(channel: str, message: Incoming, plan: _Plan, session: Session) -> str:
    return f"{channel}:{message.sender}" if plan.guest else session.user_id


def _meta(channel: str, message: Incoming, plan: _Plan) -> dict[str, object]:
    guest = {"guest": True, "sender_name": message.sender_name} if plan.guest else {}
    edits = {EDITS: message.edits} if message.edits is not None else {}
    return {"channel": channel, **guest, **edits}


def _put_in(tx: Tx, channel: str, message: Incoming, plan: _Plan, session: Session, lane_id: int) -> None:
    sender_id = _sender_id(channel, message, plan, session)
    sessions.note_sender(tx, session, sender_id, guest=plan.guest)
    edit = plan.deed == "edit"
    files = kept_files.lock_usable(tx, message.files, user_id=session.user_id) if message.files else {}
    kept_files.refer(tx, {session.id: files})
    inbounds.take_in(
        tx,
        [
            NewInbound(
                session_id=session.id,
                lane_id=lane_id,
                user_id=session.user_id,
                source="person",
                text=_EDITED + _text(message) if edit else _text(message),
                line="note" if edit else "people",
                mode="inject",
                sender_id=sender_id,
                address=message.address,
                external_id=message.taken_id,
                meta=_meta(channel, message, plan),
                files=[files[file_id].plain() for file_id in message.files if file_id in files],
            )
        ],
    )


def _text(message: Incoming) -> str:
    said = message.text if message.text.strip() else ""
    text = "\n".join(filter(None, [said, *message.lines]))
    if not text and not message.files:
        return _NO_TEXT
    if len(text) <= MAX_MESSAGE:
        return text
    rest = f"all of it is in the file {WHOLE_TEXT}" if message.whole else "the rest was left out"
    ending = "\n".join([f"\n\n(The message has {len(said):,} characters; {rest}.)", *message.lines])
    return said[: MAX_MESSAGE - len(ending)] + ending


def _link(tx: Tx, channel: str, message: Incoming, session: Session, lane_id: int, user_id: str) -> None:
    code = link_code_in(message.text)
    if code is None or not contacts.spend_code(tx, code):
        raise LookAgain
    contacts.link(
        tx,
        channel=channel,
        kind="person" if message.direct else "group",
        place=message.sender if message.direct else message.place,
        name=(message.sender_name or message.sender) if message.direct else message.place,
        user_id=user_id,
        address=message.address,
        linked_by=message.taken_id,
    )
    sessions.hear(tx, session.id, message.address)
    greeting = LINKED.format(title=session.title or session.key) if message.direct else LINKED_GROUP
    _reply(tx, session, lane_id, message.address, greeting)


def _reply(tx: Tx, session: Session, lane_id: int, address: str, text: str) -> None:
    """Say something in Homing's own name, there and on the page."""
    note = NewMessage(session_id=session.id, lane_id=lane_id, role="assistant", kind="note", text=text)
    deliveries.post(tx, [note], only=[address])
