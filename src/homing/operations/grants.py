"""Addresses that an agent may also write to, for one user: list them, add one, take one back (rules 33, 53, 58)."""

from homing.model.errors import Forbidden, Invalid, NotFound
from homing.model.targets import check_mailbox
from homing.operations.desk import Desk
from homing.operations.sessions import check_agent
from homing.operations.shapes.base import Listing, utc
from homing.operations.shapes.people_asks import AddGrant, Gone, GrantRef, GrantShape, ListGrants, NewGrantShape
from homing.store import people, sessions
from homing.store.people import Grant


def list_grants(desk: Desk, ask: ListGrants) -> Listing[GrantShape]:
    """List the addresses that agents may also write to for oneself; an admin may ask for another user's."""
    found = people.list_grants(desk.tx, _user_id(desk, ask.user))
    return Listing(items=[_shape(grant) for grant in found])


def add_grant(desk: Desk, ask: AddGrant) -> NewGrantShape:
    """Let an agent write to an address. Anybody's own webhooks may be granted; a mail address takes an admin."""
    user_id = _user_id(desk, ask.user)
    agent_id = check_agent(desk, ask.agent_id)
    warnings = _check(desk, user_id, ask.address)
    known = people.find_grant(desk.tx, user_id=user_id, agent_id=agent_id, address=ask.address)
    grant = known or people.add_grant(desk.tx, user_id=user_id, agent_id=agent_id, address=ask.address)
    if known is None:
        _audit(desk, "add_grant", grant)
    return NewGrantShape(**_shape(grant).model_dump(), warnings=warnings)


def remove_grant(desk: Desk, ask: GrantRef) -> Gone:
    """Take a grant back: sessions no longer answer there, and what is still on its way is refused."""
    grant = people.get_grant(desk.tx, ask.grant_id)
    if grant is None or (grant.user_id != desk.caller.user_id and not desk.caller.admin):
        raise NotFound(f"There is no grant {ask.grant_id}. List yours with list_grants.")
    # Sessions are locked before the grant is taken: one that is being given the address right now holds the grant.
    sessions.lock(desk.tx, sessions.with_address(desk.tx, grant.address, grant.user_id, grant.agent_id))
    if not people.remove_grant(desk.tx, grant.id):
        raise NotFound(f"There is no grant {ask.grant_id}. List yours with list_grants.")
    if not _is_own_webhook(desk, grant.user_id, grant.address):
        answering = sessions.with_address(desk.tx, grant.address, grant.user_id, grant.agent_id)
        sessions.drop_address(desk.tx, grant.address, answering)
    _audit(desk, "remove_grant", grant)
    return Gone(id=grant.id)


def _user_id(desk: Desk, named: str | None) -> str:
    if named is None or named == desk.caller.user_id:
        return desk.caller.user_id
    desk.admin()
    if people.get_user(desk.tx, named) is None:
        raise NotFound(f"There is no user {named}.")
    return named


def _check(desk: Desk, user_id: str, address: str) -> list[str]:
    """Refuse what cannot be written to, or is not the caller's to give; say what is still missing."""
    channel, _, place = address.partition(":")
    match channel:
        case "webhook" if _is_own_webhook(desk, user_id, address):
            return []
        case "webhook":
            raise Invalid(
                f"There is no webhook {place}. List yours with list_webhooks.", field="address", code="out_of_range"
            )
        case "email":
            check_mailbox(place, field="address")
            if not desk.caller.admin:
                raise Forbidden(
                    "Only an admin may grant a mail address: nothing here proves whose it is. Ask your admin."
                )
            return [] if desk.settings.smtp_url else ["Mail is not set up on this server: set HOMING_SMTP_URL."]
        case _:
            raise Invalid(
                f"Nothing can be sent to {address} from here. Give email:NAME@HOST, or one of your webhooks.",
                field="address",
                code="out_of_range",
            )


def _is_own_webhook(desk: Desk, user_id: str, address: str) -> bool:
    channel, _, place = address.partition(":")
    webhook = people.get_webhook(desk.tx, place) if channel == "webhook" else None
    return webhook is not None and webhook.user_id == user_id


def _audit(desk: Desk, action: str, grant: Grant) -> None:
    if grant.user_id == desk.caller.user_id:
        return
    detail = {"owner": grant.user_id, "agent_id": grant.agent_id, "address": grant.address}
    people.audit(desk.tx, user_id=desk.caller.user_id, action=action, object_id=grant.id, detail=detail)


def _shape(grant: Grant) -> GrantShape:
    return GrantShape(
        id=grant.id,
        user_id=grant.user_id,
        agent_id=grant.agent_id,
        address=grant.address,
        created_at=str(utc(grant.created_at)),
    )
