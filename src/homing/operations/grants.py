"""Addresses that an agent may also write to, for one user: list them, add one, take one back (rules 33, 53, 58)."""

from homing.model.errors import Forbidden, Invalid, NotFound
from homing.model.webhook_urls import check_mailbox
from homing.operations.context import Context
from homing.operations.sessions import check_agent
from homing.operations.shapes.base import Listing
from homing.operations.shapes.people_asks import AddGrant, Gone, GrantRef, GrantShape, ListGrants, NewGrantShape
from homing.store import people, sessions
from homing.store.people import Grant


def list_grants(ctx: Context, ask: ListGrants) -> Listing[GrantShape]:
    """List the addresses that your agents may also write to; an admin may ask for another user's."""
    found = people.list_grants(ctx.tx, _user_id(ctx, ask.user))
    return Listing(items=[GrantShape.of(grant) for grant in found])


def add_grant(ctx: Context, ask: AddGrant) -> NewGrantShape:
    """Let an agent write to an address: one of your webhooks or, as an admin, a mail address."""
    user_id = _user_id(ctx, ask.user)
    agent_id = check_agent(ctx, ask.agent_id)
    warnings = _check(ctx, user_id, ask.address)
    known = people.find_grant(ctx.tx, user_id=user_id, agent_id=agent_id, address=ask.address)
    grant = known or people.add_grant(ctx.tx, user_id=user_id, agent_id=agent_id, address=ask.address)
    if known is None:
        _audit(ctx, "add_grant", grant)
    return NewGrantShape.of(grant, warnings=warnings)


def remove_grant(ctx: Context, ask: GrantRef) -> Gone:
    """Take a grant back: sessions no longer send there, and messages on their way are refused."""
    grant = people.get_grant(ctx.tx, ask.grant_id)
    if grant is None or (grant.user_id != ctx.caller.user_id and not ctx.caller.admin):
        raise NotFound(f"There is no grant {ask.grant_id}. List yours with list_grants.")
    # Sessions are locked before the grant is taken: one that is being given the address right now holds the grant.
    sessions.lock(ctx.tx, sessions.with_address(ctx.tx, grant.address, grant.user_id, grant.agent_id))
    if not people.remove_grant(ctx.tx, grant.id):
        raise NotFound(f"There is no grant {ask.grant_id}. List yours with list_grants.")
    if not _is_own_webhook(ctx, grant.user_id, grant.address):
        answering = sessions.with_address(ctx.tx, grant.address, grant.user_id, grant.agent_id)
        sessions.drop_address(ctx.tx, grant.address, answering)
    _audit(ctx, "remove_grant", grant)
    return Gone(id=grant.id)


def _user_id(ctx: Context, named: str | None) -> str:
    if named is None or named == ctx.caller.user_id:
        return ctx.caller.user_id
    ctx.admin()
    if people.get_user(ctx.tx, named) is None:
        raise NotFound(f"There is no user {named}.")
    return named


def _check(ctx: Context, user_id: str, address: str) -> list[str]:
    """Refuse what cannot be written to, or is not the caller's to give; say what is still missing."""
    channel, _, place = address.partition(":")
    match channel:
        case "webhook" if _is_own_webhook(ctx, user_id, address):
            return []
        case "webhook":
            raise Invalid(
                f"There is no webhook {place}. List yours with list_webhooks.", field="address", code="out_of_range"
            )
        case "email":
            check_mailbox(place, field="address")
            if not ctx.caller.admin:
                raise Forbidden(
                    "Only an admin may grant a mail address: nothing here proves whose it is. Ask your admin."
                )
            return [] if ctx.settings.smtp_url else ["Mail is not set up on this server: set HOMING_SMTP_URL."]
        case _:
            raise Invalid(
                f"Nothing can be sent to {address} from here. Give email:NAME@HOST, or one of your webhooks.",
                field="address",
                code="out_of_range",
            )


def _is_own_webhook(ctx: Context, user_id: str, address: str) -> bool:
    channel, _, place = address.partition(":")
    webhook = people.get_webhook(ctx.tx, place) if channel == "webhook" else None
    return webhook is not None and webhook.user_id == user_id


def _audit(ctx: Context, action: str, grant: Grant) -> None:
    if grant.user_id == ctx.caller.user_id:
        return
    detail = {"owner": grant.user_id, "agent_id": grant.agent_id, "address": grant.address}
    people.audit(ctx.tx, user_id=ctx.caller.user_id, action=action, object_id=grant.id, detail=detail)
