"""What an agent may also reach: addresses, agents and conversations it may write to for one user, and hosts (rules 33,
53, 57, 58).

List them, add one, take one back. Hosts are the administrator's, and an agent has them for every user.
"""

from homing.model.channel_info import MAIL
from homing.model.errors import Forbidden, Invalid, NotFound
from homing.model.people import AGENT_GRANT, HOST_GRANT, SESSION_GRANT, is_place
from homing.model.sessions import UNIFIED, channel_of
from homing.model.webhook_urls import check_mailbox
from homing.operations.agent_messages import askers_of, tell_askers
from homing.operations.agents import CHANGED, NEEDS_PORT
from homing.operations.context import Context
from homing.operations.kept_channels import with_kept
from homing.operations.sessions import check_agent
from homing.operations.shapes.base import Listing
from homing.operations.shapes.people_asks import AddGrant, Gone, GrantRef, GrantShape, ListGrants, NewGrantShape
from homing.sandbox.hosts import check_hosts, is_local, spell_host
from homing.settings import Settings
from homing.store import LookAgain, Tx, agents, contacts, deliveries, inbounds, people, sessions
from homing.store.people import Grant


def list_grants(ctx: Context, ask: ListGrants) -> Listing[GrantShape]:
    """List the addresses that your agents may also write to, and for admins the hosts that agents may also reach.

    An admin may ask for another user's.
    """
    all_hosts = ctx.caller.admin and ask.user is None
    found = people.list_grants(ctx.tx, _user_id(ctx, ask.user), all_hosts=all_hosts)
    return Listing(items=[GrantShape.of(grant, now=ctx.now) for grant in found])


def add_grant(ctx: Context, ask: AddGrant) -> NewGrantShape:
    """Let an agent write to an address, to another agent or into another conversation of yours, or reach a host.

    An address is one of your webhooks or, as an admin, a mail address or a channel's. Hosts are an admin's to grant.
    """
    address = _address(ask)
    if ask.host is not None:
        return _add_host(ctx, ask, ask.host)
    user_id = _user_id(ctx, ask.user)
    # Locked first, and looked at afterwards: one that is being deleted takes the grants to it along.
    target = granted_session(ctx.tx, user_id, address)
    sessions.lock(ctx.tx, target)
    if granted_session(ctx.tx, user_id, address) - target:
        raise LookAgain
    agent_id = check_agent(ctx, ask.agent_id)
    warnings = check_address(ctx.tx, ctx.settings, user_id, address)
    if is_place(address) and not address.startswith("webhook:") and not ctx.caller.admin:
        what = "a mail address" if channel_of(address) in with_kept(ctx.tx, ctx.settings).mail_names else "this address"
        raise Forbidden(f"Only an admin may grant {what}: nothing here proves whose it is. Ask your admin.")
    known = people.find_grant(ctx.tx, user_id=user_id, agent_id=agent_id, address=address)
    grant = known or people.add_grant(ctx.tx, user_id=user_id, agent_id=agent_id, address=address)
    if known is None:
        _audit(ctx, "add_grant", grant)
    return NewGrantShape.of(grant, now=ctx.now, warnings=warnings)


def _address(ask: AddGrant) -> str:
    """Spell what is granted as grants keep it."""
    given = {
        "address": ("", ask.address),
        "session_key": (SESSION_GRANT, ask.session_key),
        "to_agent_id": (AGENT_GRANT, ask.to_agent_id),
        "host": (HOST_GRANT, ask.host),
    }
    found = {field: f"{beginning}{value}" for field, (beginning, value) in given.items() if value is not None}
    if len(found) == 1:
        return next(iter(found.values()))
    choice = "an address, a session_key, a to_agent_id or a host"
    if not found:
        raise Invalid(f"address is missing: give {choice}.", field="address", code="missing")
    raise Invalid(f"Give only one: {choice}.", field=list(found)[-1], code="out_of_range")


def _add_host(ctx: Context, ask: AddGrant, host: str) -> NewGrantShape:
    if ask.user is not None:
        raise Invalid("A host is granted to an agent, for every user of it.", field="user", code="out_of_range")
    ctx.admin()
    entry = read_host(host)
    grant, new = give_host(ctx.tx, check_agent(ctx, ask.agent_id), entry, by=ctx.caller.user_id)
    if new:
        _audit(ctx, "add_grant", grant)
    return NewGrantShape.of(grant, now=ctx.now, warnings=[NEEDS_PORT.format(host=entry)] if is_local(entry) else [])


def read_host(given: str) -> str:
    """Spell a host as grants keep it, or refuse what cannot be in a list of hosts."""
    try:
        check_hosts([given])
    except Invalid as error:
        raise Invalid(error.detail, field="host", code="out_of_range") from None
    return spell_host(given)


def give_host(tx: Tx, agent_id: str, host: str, *, by: str) -> tuple[Grant, bool]:
    """Grant a host to an agent, once, also if several people give it; says whether it is new."""
    # Two admins at once would give it twice, and taking one back would not take the host away.
    agent = agents.lock(tx, agent_id)
    if agent is None or agent.removed_at is not None:
        raise NotFound(f"There is no agent {agent_id} any more.")
    known = people.find_host_grant(tx, agent_id=agent_id, host=host)
    grant = known or people.add_grant(tx, user_id=by, agent_id=agent_id, address=f"{HOST_GRANT}{host}")
    tx.ring(CHANGED)
    return grant, known is None


def remove_grant(ctx: Context, ask: GrantRef) -> Gone:
    """Take a grant back: sessions no longer send there, and messages on their way are refused; a host is closed."""
    grant = people.get_grant(ctx.tx, ask.grant_id)
    if grant is None or not (ctx.caller.admin or (grant.user_id == ctx.caller.user_id and grant.host is None)):
        raise NotFound(f"There is no grant {ask.grant_id}. List yours with list_grants.")
    if not is_place(grant.address) and grant.host is None:
        return _end_talk(ctx, grant)
    # Sessions are locked before the grant is taken: one that is being given the address right now holds the grant.
    sessions.lock(ctx.tx, sessions.with_address(ctx.tx, grant.address, grant.user_id))
    if not people.remove_grant(ctx.tx, grant.id):
        raise NotFound(f"There is no grant {ask.grant_id}. List yours with list_grants.")
    if grant.host is not None:
        ctx.tx.ring(CHANGED)
    elif not is_own_webhook(ctx.tx, grant.user_id, grant.address):
        # If its sender is not a contact any more, conversations with other agents lose the address, too.
        ended = (grant.user_id, grant.address) in contacts.remove_ungranted(ctx.tx)
        answering = sessions.with_address(ctx.tx, grant.address, grant.user_id, None if ended else grant.agent_id)
        revs = sessions.drop_address(ctx.tx, grant.address, answering)
        deliveries.give_up(ctx.tx, grant.address, revs, error="The grant was removed before this was sent.")
        ctx.tx.ring(f"user:{grant.user_id}")
    _audit(ctx, "remove_grant", grant)
    return Gone(id=grant.id)


def _end_talk(ctx: Context, grant: Grant) -> Gone:
    """Take back that an agent writes into other conversations: what no turn has seen is withdrawn, and told."""
    tx = ctx.tx
    asked = inbounds.waiting_from_agents(tx, grant_id=grant.id)
    askers = askers_of(tx, asked, unified=ctx.settings.unified_session)
    sessions.lock(tx, {i for one in asked for i in (one.session_id, one.lane_id, *askers.get(one.id, ()))})
    if not people.remove_grant(tx, grant.id):
        raise NotFound(f"There is no grant {grant.id}. List yours with list_grants.")
    # A sender holds the grant: what came since our look is all there now, and its sessions are not locked by us.
    if {one.id for one in inbounds.waiting_from_agents(tx, grant_id=grant.id)} - {one.id for one in asked}:
        raise LookAgain
    withdrawn = inbounds.withdraw_of_grant(tx, grant.id)
    for session_id in sorted({one.session_id for one in withdrawn}):
        sessions.touch(tx, session_id)
    tell_askers(tx, withdrawn, askers, "the grant was taken back.")
    _audit(ctx, "remove_grant", grant)
    return Gone(id=grant.id)


def _user_id(ctx: Context, named: str | None) -> str:
    if named is None or named == ctx.caller.user_id:
        return ctx.caller.user_id
    ctx.admin()
    if people.get_user(ctx.tx, named) is None:
        raise NotFound(f"There is no user {named}.")
    return named


def granted_session(tx: Tx, user_id: str, address: str) -> set[int]:
    """Name the living conversation that a grant leads into, if it leads into one: to be locked before it is added."""
    is_session = address.startswith(SESSION_GRANT)
    found = sessions.find(tx, address.removeprefix(SESSION_GRANT), user_id=user_id) if is_session else None
    return {found.id} if found is not None else set()


def check_address(tx: Tx, settings: Settings, user_id: str, address: str) -> list[str]:
    """Refuse what cannot be written to for a user; say what is still missing."""
    settings = with_kept(tx, settings)
    channel, _, place = address.partition(":")
    match channel:
        case "webhook" if is_own_webhook(tx, user_id, address):
            return []
        case "webhook":
            raise Invalid(
                f"There is no webhook {place}. List yours with list_webhooks.", field="address", code="out_of_range"
            )
        case "agent":
            agent = agents.hold(tx, place)
            if agent is None or agent.removed_at is not None:
                raise Invalid(
                    f"There is no agent {place}. List them with list_agents.", field="to_agent_id", code="out_of_range"
                )
            return []
        case "session":
            if place.startswith(UNIFIED) or sessions.find(tx, place, user_id=user_id) is None:
                raise NotFound(f"There is no session {place}. List yours with list_sessions.")
            return []
        case _ if channel in settings.mail_names:
            check_mailbox(place, field="address")
            ready = settings.sends_mail or channel != MAIL
            return [] if ready else ["Mail is not set up on this server: set HOMING_SMTP_URL."]
        case _ if place and channel in settings.channel_names:
            return []
        case _:
            raise Invalid(
                f"Nothing can be sent to {address} from here. Give email:NAME@HOST, or one of your webhooks.",
                field="address",
                code="out_of_range",
            )


def is_own_webhook(tx: Tx, user_id: str, address: str) -> bool:
    """Say whether an address is one of a user's webhooks."""
    channel, _, place = address.partition(":")
    webhook = people.get_webhook(tx, place) if channel == "webhook" else None
    return webhook is not None and webhook.user_id == user_id


def _audit(ctx: Context, action: str, grant: Grant) -> None:
    if grant.user_id == ctx.caller.user_id and grant.host is None:
        return
    detail = {"owner": grant.user_id, "agent_id": grant.agent_id, "address": grant.address}
    people.audit(ctx.tx, user_id=ctx.caller.user_id, action=action, object_id=grant.id, detail=detail)
