"""Call a mail address one's own: a code is sent there, and entered here (rule 53)."""

from typing import Literal

from homing.model.channel_info import MAIL
from homing.model.errors import ChannelFailed, Conflict, Invalid, NotFound, SlowDown
from homing.model.incoming import CODE_FOR, new_address_code
from homing.model.messages import NewMessage
from homing.model.webhook_urls import is_mailbox
from homing.operations.approvals import check_links
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.operations.incoming import hearing_or_new
from homing.operations.kept_channels import channels_now
from homing.operations.shapes.base import utc
from homing.operations.shapes.contact_asks import VerifiedShape, VerifyAddress
from homing.store import address_codes, contacts, deliveries, lanes, people, sessions

MOST_OF_USER = 5
MOST_TO_ADDRESS = 5
MOST_TRIES = 5

_MAIL = """{code} is the code that links this address to Homing.

Enter it on the page (Settings, Contacts) or with: homing channels verify {name} {address} {code}
It works once, for ten minutes. If you did not ask for it, ignore this mail: nothing was linked."""
_LINKED = "This address is linked. Reply to this mail to talk to your agent; the conversation is on the page, too."
_WRONG = "This code is wrong, was used, or is older than ten minutes. Ask for a fresh one."
_OF_ANOTHER = "This address belongs to another user here. They can remove the contact; then ask for a code again."


async def verify_address(desk: Desk, ask: VerifyAddress) -> VerifiedShape:
    """Send a code to a mail address; with the code that came, make the address your contact."""
    if ask.code is not None:
        code = ask.code
        entered = await desk.write(lambda ctx: _enter(ctx, ask, code))
        if isinstance(entered, VerifiedShape):
            return entered
        # Outside the transaction: the try stays counted.
        raise Conflict(_OF_ANOTHER if entered == "of_another" else _WRONG)
    hands = desk.hands
    code, told = await desk.write(lambda ctx: _prepare(ctx, ask))
    try:
        words = _MAIL.format(code=code, name=ask.name, address=told.address)
        await hands.send_words(ask.name, f"{ask.name}:{told.address}", words)
    except ChannelFailed as error:
        raise Conflict(f"The code could not be sent. {error.detail}") from None
    return told


def _prepare(ctx: Context, ask: VerifyAddress) -> tuple[str, VerifiedShape]:
    address = _check(ctx, ask)
    if _is_of_another(ctx, ask.name, address):
        raise Conflict(_OF_ANOTHER)
    mine, there = address_codes.sent_of_late(ctx.tx, user_id=ctx.caller.user_id, address=address)
    if mine >= MOST_OF_USER or there >= MOST_TO_ADDRESS:
        raise SlowDown("Several codes were sent within the last hour. Try again later.", retry_after=600)
    code, expires_at = new_address_code(), ctx.now + CODE_FOR
    address_codes.add(
        ctx.tx, code, user_id=ctx.caller.user_id, channel=ask.name, address=address, expires_at=expires_at
    )
    return code, VerifiedShape(address=address, expires_at=utc(expires_at))


def _enter(ctx: Context, ask: VerifyAddress, code: str) -> VerifiedShape | Literal["wrong", "of_another"]:
    address, user_id = _check(ctx, ask), ctx.caller.user_id
    code = "".join(code.split()).replace("-", "").lower()
    asked = {"user_id": user_id, "channel": ask.name, "address": address}
    session, lane_id = None, 0
    right = address_codes.is_right(ctx.tx, code, **asked, tries=MOST_TRIES)
    if right and _listens(ctx, ask.name) and not _is_of_another(ctx, ask.name, address):
        # Sessions are locked before all else.
        session = hearing_or_new(ctx.tx, f"{ask.name}:{address}", user_id=user_id, title=address)
        lane_id = lanes.enter(ctx.tx, session, unified=ctx.settings.unified_session)
    if not address_codes.enter(ctx.tx, code, **asked, tries=MOST_TRIES):
        return "wrong"
    if _is_of_another(ctx, ask.name, address):
        return "of_another"
    contacts.link(
        ctx.tx,
        channel=ask.name,
        kind="person",
        place=address,
        name=address,
        user_id=user_id,
        address=f"{ask.name}:{address}",
    )
    found = contacts.find(ctx.tx, ask.name, "person", address)
    if found is None or found.user_id != user_id:
        return "of_another"
    if session is not None:
        sessions.hear(ctx.tx, session.id, found.address)
        note = NewMessage(session_id=session.id, lane_id=lane_id, role="assistant", kind="note", text=_LINKED)
        # The reply address of this mail lets its reader write, also where nobody else proves whose mail it is.
        deliveries.post(ctx.tx, [note], only=[found.address])
        found = contacts.find(ctx.tx, ask.name, "person", address) or found
    ctx.tx.ring(f"user:{user_id}")
    return VerifiedShape.of(found)


def _listens(ctx: Context, name: str) -> bool:
    return any(channel.name == name and channel.listens for channel in channels_now(ctx))


def _check(ctx: Context, ask: VerifyAddress) -> str:
    """Give the address as it is compared, or refuse it."""
    check_links(ctx)
    kinds = {channel.name: channel.kind for channel in channels_now(ctx)}
    if ask.name not in kinds:
        raise NotFound(f"There is no channel {ask.name}. List them with list_channels; an admin sets them up.")
    if kinds[ask.name] != MAIL:
        raise Invalid("Only mail addresses are verified by a code; link a chat with link_channel.", field="name")
    address = spell_address(ask.address.strip().removeprefix(f"{ask.name}:"))
    # In an address of a channel a slash begins a thread.
    if not is_mailbox(address) or "/" in address:
        raise Invalid(
            f"{address:.80} is not a mail address; write anna@example.org.", field="address", code="out_of_range"
        )
    return address


def spell_address(address: str) -> str:
    """Spell a mail address as channels compare it: small ASCII letters."""
    return "".join(char.lower() if char.isascii() else char for char in address)


def _is_of_another(ctx: Context, channel: str, address: str) -> bool:
    """Say whether an address is another user's: their contact, or granted to them."""
    known = contacts.find(ctx.tx, channel, "person", address)
    if known is not None:
        return known.user_id != ctx.caller.user_id
    owners = people.granted_users(ctx.tx, f"{channel}:{address}")
    return bool(owners) and ctx.caller.user_id not in owners
