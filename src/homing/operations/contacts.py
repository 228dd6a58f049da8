"""Who may talk through a channel: make a code that links a chat, list contacts, change and remove them (rule 53)."""

import re

from homing.model.channel_info import MAIL
from homing.model.errors import Conflict, Invalid, NotFound
from homing.model.incoming import CODE_FOR, Contact, new_link_code, place_of
from homing.model.qr import qr_svg
from homing.operations.approvals import check_links
from homing.operations.context import Context
from homing.operations.kept_channels import channels_now
from homing.operations.shapes.base import Listing, Nothing, utc
from homing.operations.shapes.contact_asks import ContactRef, ContactShape, LinkChannel, LinkShape, UpdateContact
from homing.operations.shapes.people_asks import Gone
from homing.store import LookAgain, contacts, deliveries, listeners, sessions
from homing.store.listeners import Listener

MOST_CODES = 20
_PLAIN_NAME = re.compile(r"@\w+")


def link_channel(ctx: Context, ask: LinkChannel) -> LinkShape:
    """Make a code that links a chat to you: send what `say` holds there, within ten minutes, once."""
    check_links(ctx)
    listener = listeners.get(ctx.tx, ask.name)
    kinds = {channel.name: channel.kind for channel in channels_now(ctx)}
    # A channel that was removed leaves its listener's row behind; one of another process is known by its claim.
    if listener is None or (ask.name not in kinds and listener.is_free(ctx.now)):
        raise NotFound(f"No channel {ask.name} listens here. List them with list_channels; an admin sets them up.")
    if kinds.get(ask.name) == MAIL:
        raise Invalid(
            "A mail address is linked by a code that is sent to it: use verify_address.",
            field="name",
            code="out_of_range",
        )
    if ask.group and ask.session_key is not None:
        raise Invalid(
            "A group gets a conversation of its own, so that nobody there sees yours: leave session_key out.",
            field="session_key",
            code="out_of_range",
        )
    session = ctx.session(ask.session_key) if ask.session_key is not None else None
    if contacts.open_codes(ctx.tx, ctx.caller.user_id) >= MOST_CODES:
        raise Conflict(f"You have {MOST_CODES} codes that nobody has used yet. Wait ten minutes.")
    code, expires_at = new_link_code(), ctx.now + CODE_FOR
    contacts.add_code(
        ctx.tx,
        code,
        user_id=ctx.caller.user_id,
        channel=ask.name,
        session_id=session.id if session is not None else None,
        for_group=ask.group,
        made_from=ctx.caller.token_id,
        expires_at=expires_at,
    )
    # It opens a direct chat, where a group's code does not count.
    url = listener.link_url.replace("{code}", code) if listener.link_url is not None and not ask.group else None
    return LinkShape(
        code=code,
        say=_words(code, listener) if ask.group else f"link {code}",
        account=listener.account,
        url=url,
        qr=qr_svg(url) if url is not None else None,
        expires_at=str(utc(expires_at)),
    )


def _words(code: str, listener: Listener) -> str:
    """Say what to send in a group, where a bot hears only what names it. Where links to bots exist (Telegram), it hears
    commands with its name, but not mentions.
    """
    name = (listener.account or "").partition(" ")[0]
    if not _PLAIN_NAME.fullmatch(name):
        return f"link {code}"
    return f"/link{name} {code}" if listener.link_url is not None else f"{name} link {code}"


def list_contacts(ctx: Context, ask: Nothing) -> Listing[ContactShape]:
    """List the people and groups that may talk to your agents through a channel."""
    return Listing(items=[ContactShape.of(contact) for contact in contacts.of_user(ctx.tx, ctx.caller.user_id)])


def update_contact(ctx: Context, ask: UpdateContact) -> ContactShape:
    """Say for a group who may talk there, and what wakes the agent."""
    contact = _see(ctx, ask.contact_id)
    if contact.kind != "group":
        raise Invalid("Only a group has these settings.", field="who", code="out_of_range")
    wanted = {"who": ask.who, "wakes": ask.wakes}
    values: dict[str, object] = {name: value for name, value in wanted.items() if value is not None}
    if values:
        contacts.change(ctx.tx, contact.id, values)
        ctx.tx.ring(f"user:{ctx.caller.user_id}")
    return ContactShape.of(_see(ctx, contact.id))


def remove_contact(ctx: Context, ask: ContactRef) -> Gone:
    """Remove a contact: nobody is heard there any more, nothing is sent there, and what was on its way is given up."""
    tx, contact = ctx.tx, _see(ctx, ask.contact_id)
    # A group may have been linked in one of its threads: all of it goes.
    place = place_of(contact.address)
    known = sessions.at_place(tx, place, contact.user_id)
    sessions.lock(tx, known)
    if sessions.at_place(tx, place, contact.user_id) != known or not contacts.remove(tx, contact.id):
        raise LookAgain
    revisions = sessions.drop_place(tx, place, known)
    revs = {session_id: revision.rev for session_id, revision in revisions.items()}
    deliveries.give_up(tx, place, revs, error="The contact was removed before this was sent.", threads=True)
    tx.ring(f"user:{contact.user_id}")
    return Gone(id=contact.id)


def _see(ctx: Context, contact_id: str) -> Contact:
    contact = contacts.get(ctx.tx, contact_id, user_id=ctx.caller.user_id)
    if contact is None:
        raise NotFound(f"There is no contact {contact_id}. List yours with list_contacts.")
    return contact
