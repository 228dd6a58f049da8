"""A delivery becomes parts: what may be sent is judged each time, the text is cut once, for the channel it goes by."""

from dataclasses import dataclass, replace
from typing import Literal

from homing.channels import Capabilities, Channel, Part, PartQuestion
from homing.engine.outgoing_files import kept_here
from homing.model.approvals import Approval
from homing.model.channel_info import MAIL
from homing.model.cutting import cut, length_of
from homing.model.errors import ChannelFailed
from homing.model.files import AttachedFile, attached
from homing.model.messages import SENDING_TURN, Delivery, DeliveryPart, Message
from homing.model.push import PUSH, is_quiet
from homing.model.sessions import Session, channel_of
from homing.operations.approvals import card_text, may_decide
from homing.operations.reach import may_deliver
from homing.settings import Settings
from homing.store import Tx, approvals, contacts, inbounds, messages, parts, people, push, questions, sessions, turns

# The buttons of a request, in this order.
_DECISIONS = ("Approve", "Deny")


@dataclass(frozen=True, kw_only=True)
class OpenedPart:
    """The next part of a delivery, ready to be sent."""

    delivery: Delivery
    channel: Channel
    part: Part
    file: AttachedFile | None = None
    """What the part is, if it is a file: its bytes are read when it is sent."""


@dataclass(frozen=True, kw_only=True)
class Needless:
    """A delivery that nobody needs any more, and why."""

    why: Literal["read", "quiet_hours", "removed"]


def open_part(tx: Tx, delivery: Delivery, channel: Channel | None, *, settings: Settings) -> OpenedPart | Needless:
    """Give the next part, or raise ChannelFailed if it may not or cannot be sent."""
    session = sessions.get(tx, delivery.session_id)
    if session.deleted_at is not None:
        raise ChannelFailed("The session was deleted before this was sent.", permanent=True)
    message = messages.get(tx, delivery.session_id, delivery.seq)
    if message is None:
        raise ChannelFailed("The message is gone.", permanent=True)
    if channel_of(delivery.address) == PUSH and (
        needless := _needless(tx, delivery, session, message, settings.timezone)
    ):
        return needless
    if not may_deliver(tx, settings, session, message, delivery.address):
        raise ChannelFailed(
            f"This session may not send to {delivery.address}: it is neither one of its addresses nor granted.",
            permanent=True,
        )
    if channel is None:
        name = channel_of(delivery.address)
        hint = ": set HOMING_SMTP_URL" if name == MAIL else ""
        raise ChannelFailed(f"The channel {name} is not set up on this server{hint}.")
    if delivery.parts == 0:
        delivery = _cut(tx, session, delivery, message, channel.capabilities)
    piece = parts.get(tx, delivery.id, delivery.parts_sent)
    if piece is None:
        raise ChannelFailed("The text of this part is gone.", permanent=True)
    part = Part(
        id=piece.id,
        address=delivery.address,
        text=piece.text,
        question=_question(tx, piece),
        replies_to=_answered(tx, message, delivery.address) if channel.capabilities.threads else None,
        unsure=piece.unsure,
        readers=contacts.readers_at(tx, session.user_id, delivery.address),
        others=parts.receipts_of_files(tx, delivery.id, delivery.address) if piece.unsure and piece.file_id else (),
        session_key=delivery.session_key,
        message=message,
        job_id=message.job_id,
        depth=turns.depth_behind(tx, turn_id=_turn_behind(message), run_id=message.run_id) + 1,
        created_at=message.created_at,
    )
    file = next((one for one in attached(message.files) if one.id == piece.file_id), None)
    return OpenedPart(delivery=delivery, channel=channel, part=part, file=file)


def _turn_behind(message: Message) -> str | None:
    sent_by = message.meta.get(SENDING_TURN)
    return message.turn_id or (str(sent_by) if sent_by else None)


def _needless(tx: Tx, delivery: Delivery, session: Session, message: Message, timezone: str) -> Needless | None:
    """Rule 61: nothing is pushed that was read by now, on whatever screen, nor in its user's quiet hours."""
    device = push.get(tx, delivery.address.partition(":")[2])
    if device is None or device.user_id != session.user_id:
        return Needless(why="removed")
    if not message.unasked:
        # A test, which its user asked for.
        return None
    if session.read_seq >= message.seq:
        return Needless(why="read")
    user = people.get_user(tx, session.user_id)
    if user is not None and is_quiet(user.quiet_hours, tx.now(), user.timezone or timezone):
        return Needless(why="quiet_hours")
    return None


def _cut(tx: Tx, session: Session, delivery: Delivery, message: Message, can: Capabilities) -> Delivery:
    text, question_id = message.text, None
    if can.buttons and (asked := questions.get(tx, str(message.meta.get("question_id")))) is not None:
        options = asked.options or ()
        if 0 < len(options) <= can.buttons:
            text, question_id = asked.title, asked.id
    request = _decided_there(tx, session, message, can)
    text = card_text(request) if request is not None else text
    files = attached(message.files)
    carried = [file for file in files if file.bytes <= can.max_file_bytes]
    text = "\n".join(filter(None, [text, *(kept_here(file) for file in files if file not in carried)]))
    # Text first, files last; only a message that is nothing but files has no text.
    pieces = cut(text, can.max_length, can.length_unit) if text or not carried else []
    made = [DeliveryPart(delivery_id=delivery.id, n=n, text=piece) for n, piece in enumerate(pieces)]
    if made:
        made[-1] = replace(
            made[-1],
            question_id=question_id,
            approval_id=request.id if request is not None else None,
            digest=request.digest if request is not None else None,
        )
    made += [
        DeliveryPart(delivery_id=delivery.id, n=n, text="", file_id=file.id)
        for n, file in enumerate(carried, start=len(made))
    ]
    if parts.cut_once(tx, made):
        return replace(delivery, parts=len(made))
    return replace(delivery, parts=parts.count(tx, delivery.id))


def _decided_there(tx: Tx, session: Session, message: Message, can: Capabilities) -> Approval | None:
    """Give the open request that its buttons can decide: those who read there may, and all of it fits one part."""
    approval_id = message.meta.get("approval_id") if message.kind == "approval" else None
    approval = approvals.get(tx, str(approval_id)) if approval_id and can.buttons >= len(_DECISIONS) else None
    if approval is None or approval.state != "pending" or not may_decide(tx, session.user_id, approval):
        return None
    fits = can.max_length is None or length_of(card_text(approval), can.length_unit) <= can.max_length
    return approval if fits else None


def _question(tx: Tx, piece: DeliveryPart) -> PartQuestion | None:
    if piece.approval_id is not None:
        approval = approvals.get(tx, piece.approval_id)
        pending = approval is not None and approval.state == "pending"
        return PartQuestion(id=piece.approval_id, options=_DECISIONS) if pending else None
    asked = questions.get(tx, piece.question_id) if piece.question_id else None
    return PartQuestion(id=asked.id, options=asked.options) if asked and asked.options else None


def _answered(tx: Tx, message: Message, address: str) -> str | None:
    """Name the message from this address that a turn's answer answers, as its channel knows it."""
    known = inbounds.heard_by_turn(tx, message.turn_id, address) if message.turn_id else None
    return known.partition(":")[2] if known else None
