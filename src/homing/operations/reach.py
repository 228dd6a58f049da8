"""The addresses at which a user can be reached without a conversation: for alerts (rules 33, 38)."""

from collections.abc import Mapping, Sequence
from typing import Any

from homing.model.channel_info import MAIL
from homing.model.errors import Invalid
from homing.model.incoming import place_of
from homing.model.messages import ALERT, Message
from homing.model.people import is_place
from homing.model.push import PUSH
from homing.model.sessions import Session, channel_of
from homing.operations.context import Context
from homing.operations.kept_channels import with_kept
from homing.operations.push import is_own_browser
from homing.settings import Settings
from homing.store import Tx, contacts, listeners, people, sessions


def linked(tx: Tx, settings: Settings, user_id: str) -> list[str]:
    """List the addresses outside that are a user's own: granted ones, their webhooks, their chats in channels, those of
    their conversations in which nobody else writes. Whatever links another kind of address to a user is added here.
    """
    granted = [grant.address for grant in people.list_grants(tx, user_id, all_hosts=False) if is_place(grant.address)]
    webhooks = [f"webhook:{webhook.id}" for webhook in people.list_webhooks(tx, user_id)]
    found = contacts.of_user(tx, user_id)
    chats = [contact.address for contact in found if contact.kind == "person"]
    every = dict.fromkeys([*granted, *webhooks, *chats, *sessions.outside_addresses(tx, user_id)])
    # Where people talk, only the user's direct chats are their own: not what others read, nor what somebody blocked.
    talked = listeners.names(tx)
    own = {place_of(contact.address) for contact in found if contact.kind == "person" and not contact.blocked}
    # A mail address that an admin granted is one's own, too (rule 53).
    mail = with_kept(tx, settings).mail_names
    own |= {address for address in granted if channel_of(address) in mail}
    return [address for address in every if channel_of(address) not in talked or place_of(address) in own]


def may_use(tx: Tx, user_id: str, address: str) -> bool:
    """Say whether a conversation may use an address that it has: in a channel, while its user has a contact there."""
    return channel_of(address) not in listeners.names(tx) or contacts.is_linked(tx, user_id, address)


def may_send(tx: Tx, session: Session, agent_id: str, address: str) -> bool:
    """Rule 33: a session writes to its own addresses (in a channel, while its user has a contact there), or to one
    granted to its agent.
    """
    own = address in sessions.addresses(tx, [session.id])[session.id] and may_use(tx, session.user_id, address)
    return own or people.granted(tx, user_id=session.user_id, agent_id=agent_id, address=address)


def reachable(tx: Tx, settings: Settings, user_id: str) -> list[str]:
    """List those of a user's own addresses to which this server can send."""
    sends_mail = with_kept(tx, settings).sends_mail
    return [address for address in linked(tx, settings, user_id) if sends_mail or channel_of(address) != MAIL]


def may_deliver(tx: Tx, settings: Settings, session: Session, message: Message, address: str) -> bool:
    """Judge what a courier is about to send, or a person wants sent again.

    Words of Homing itself, such as a test, also go to a webhook of the session's user: it is tried before it is added.
    An alert goes to any address that is its user's own, and so does a request of another's conversation, which need
    not be an address of an admin's home.
    """
    channel, _, place = address.partition(":")
    if channel == PUSH:
        return is_own_browser(tx, session.user_id, address)
    own_words = message.kind == "note" and message.turn_id is None and message.run_id is None
    alert = own_words and ALERT in message.meta
    if alert or message.kind == "approval":
        if address in linked(tx, settings, session.user_id):
            return True
        if alert:
            return False
    webhook = people.get_webhook(tx, place) if own_words and channel == "webhook" else None
    if webhook is not None and webhook.user_id == session.user_id:
        return True
    return may_send(tx, session, session.agent_id, address)


def check_alert_to(ctx: Context, columns: Mapping[str, Any], user_id: str) -> None:
    """Refuse an address for alerts that is not one of the user's own."""
    wanted: Sequence[str] = columns["alert_to"] or ()
    if not wanted:
        return
    own = reachable(ctx.tx, ctx.settings, user_id)
    mine = linked(ctx.tx, ctx.settings, user_id)
    for address in wanted:
        if address in mine and address not in own:
            raise Invalid(
                f"Alerts cannot go to {address}: this server sends no mail. An admin has to set HOMING_SMTP_URL.",
                field="alert_to",
                code="out_of_range",
            )
        if address not in own:
            yours = f"Yours are: {', '.join(own)}." if own else "You have none yet."
            raise Invalid(
                f"Alerts cannot go to {address}: it is not one of your addresses. {yours} Add a webhook, or ask an"
                " admin to grant you a mail address.",
                field="alert_to",
                code="out_of_range",
            )
