"""Make, read, list and change sessions."""

from datetime import datetime

from homing.model.agents import MAIN
from homing.model.errors import Conflict, Forbidden, Invalid
from homing.model.ids import new_id
from homing.model.runs import epoch_us, from_epoch_us
from homing.model.schedules import check_zone
from homing.model.sessions import HTTP_CHANNELS, Session, channel_of, check_key
from homing.operations.context import Context
from homing.operations.handovers import hand_over, may_write, prepare_handover
from homing.operations.models import check_model
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.session import SessionShape
from homing.operations.shapes.session_asks import AddSession, ListSessions, MarkRead, SessionRef, UpdateSession
from homing.operations.views import show_session, show_sessions
from homing.store import LookAgain, agents, contacts, deliveries, sessions
from homing.store.inbox import inbox_topic


def add_session(ctx: Context, ask: AddSession) -> SessionShape:
    """Make a session; without a key it gets a new one."""
    if ask.agent_id not in (None, MAIN):
        _check_chooses_agent(ctx)
    key = ask.key or new_id("web").replace("_", ":", 1)
    agent_id = check_agent(ctx, ask.agent_id)
    zone = check_zone(ask.timezone) if ask.timezone else None
    made = make_session(ctx, key, agent_id=agent_id, title=ask.title, timezone=zone)
    if made is None:
        raise Conflict(f"You have a session {key} already. Use it, or choose another key.", code="session_exists")
    return show_session(ctx, made)


def make_session(
    ctx: Context,
    key: str,
    *,
    agent_id: str = MAIN,
    title: str | None = None,
    timezone: str | None = None,
    field: str = "key",
) -> Session | None:
    """Make a session for the caller; None when they have one of that key already."""
    check_key(key)
    if channel_of(key) not in HTTP_CHANNELS and ctx.caller.door != "import":
        raise Invalid(
            f"{channel_of(key)}: keys belong to their channel. Use web:, cli: or api: followed by a name.",
            field=field,
            code="reserved_key",
        )
    return sessions.add(ctx.tx, key=key, user_id=ctx.caller.user_id, agent_id=agent_id, title=title, timezone=timezone)


def _check_chooses_agent(ctx: Context) -> None:
    """Rule 47: another agent may do more than the usual one, so no program chooses it."""
    if ctx.caller.door == "mcp":
        raise Forbidden(
            "Only a person gives a conversation another agent: on the page, or with homing sessions update --agent."
        )


def check_agent(ctx: Context, agent_id: str | None) -> str:
    """Name an agent that is there, and stays at least as long as this transaction."""
    if agent_id is None:
        return MAIN
    agent = agents.hold(ctx.tx, agent_id)
    if agent is None or agent.removed_at is not None:
        raise Invalid(
            f"There is no agent {agent_id}. List them with list_agents.", field="agent_id", code="out_of_range"
        )
    return agent_id


def get_session(ctx: Context, ask: SessionRef) -> SessionShape:
    """Read one session: its open turn and what waits."""
    return show_session(ctx, ctx.session(ask.session_key))


def list_sessions(ctx: Context, ask: ListSessions) -> Page[SessionShape]:
    """List your sessions, newest activity first: isolated runs only with channel=cron, archived ones if asked for."""
    key = cursors.decode(ask.cursor, int, int)
    before = None if key is None else (_instant(key[0]), key[1])
    found = sessions.listed(
        ctx.tx,
        user_id=ctx.caller.user_id,
        q=ask.q,
        channel=ask.channel,
        pinned=ask.pinned,
        archived=False if ask.archived is None and not ask.q else ask.archived,
        before=before,
        limit=ask.limit + 1,
    )
    page = found[: ask.limit]
    following = cursors.encode(epoch_us(page[-1].updated_at), page[-1].id) if len(found) > ask.limit else None
    return Page(items=show_sessions(ctx, page), next_cursor=following)


def mark_read(ctx: Context, ask: MarkRead) -> SessionShape:
    """Note that you have read a session up to a message; what was read further stays read."""
    session = ctx.session(ask.session_key)
    read_up_to(ctx, session, ask.seq)
    return show_session(ctx, ctx.session(ask.session_key))


def read_up_to(ctx: Context, session: Session, seq: int) -> None:
    """Note how far the caller has read their session; every tab of theirs is told."""
    if seq <= session.read_seq:
        return
    sessions.lock(ctx.tx, [session.id])
    if sessions.mark_read(ctx.tx, ctx.again(session), seq):
        ctx.tx.ring(inbox_topic(session.user_id))


def _instant(microseconds: int) -> datetime:
    try:
        return from_epoch_us(microseconds)
    except OverflowError:
        raise cursors.bad() from None


def update_session(ctx: Context, ask: UpdateSession) -> SessionShape:
    """Change the given fields of a session; null means the default."""
    session = ctx.session(ask.session_key)
    if ask.gave("agent_id"):
        _check_chooses_agent(ctx)
    agent_id = check_agent(ctx, ask.agent_id) if ask.gave("agent_id") else session.agent_id
    if agent_id != session.agent_id and session.asks_agent:
        raise Conflict(f"Other agents ask {session.agent_id} here, so its agent cannot change. Start a new one.")
    handover = prepare_handover(ctx, session, agent_id) if agent_id != session.agent_id else None
    sessions.lock(ctx.tx, {session.id} if handover is None else handover.session_ids)
    before, session = session, ctx.again(session)
    if session.agent_id != before.agent_id:
        raise LookAgain
    values: dict[str, object] = {}
    if ask.gave("title"):
        values["title"] = ask.title
    if ask.gave("timezone"):
        values["timezone"] = check_zone(ask.timezone) if ask.timezone else None
    if ask.gave("model"):
        check_model(ctx, ask.model or None, before=session.model, field="model")
        values["model"] = ask.model or None
    values |= {name: bool(getattr(ask, name)) for name in ("pinned", "archived") if ask.gave(name)}
    wanted = None
    if ask.gave("addresses"):
        own = [session.key] if _counts(ctx, session, agent_id) else []
        wanted = list(dict.fromkeys(ask.addresses)) if ask.addresses is not None else own
        for n, address in enumerate(wanted):
            check_address(ctx, session, address, field=f"addresses.{n}", agent_id=agent_id)
    if ask.revision is not None and ask.revision != session.revision:
        raise Conflict(
            f"Somebody changed it meanwhile: it is at revision {session.revision}. Look again, then repeat the change.",
            code="stale_revision",
            extra={"current": show_session(ctx, session).plain()},
        )
    if handover is not None:
        hand_over(ctx, session, handover, addresses=wanted)
        values["agent_id"] = agent_id
    if not values and wanted is None:
        return show_session(ctx, session)
    if wanted is not None:
        dropped = set(sessions.addresses(ctx.tx, [session.id])[session.id]) - set(wanted)
        sessions.set_addresses(ctx.tx, session.id, wanted)
        for address in sorted(dropped):
            revs = {session.id: sessions.touch(ctx.tx, session.id)}
            deliveries.give_up(ctx.tx, address, revs, error="The address was removed before this was sent.")
    sessions.change(ctx.tx, session, values, revision=session.revision)
    return show_session(ctx, ctx.session(session.key))


def check_address(ctx: Context, session: Session, address: str, *, field: str, agent_id: str | None = None) -> None:
    """Rule 33: a session answers to its own address, to its user's webhooks, or to one that was granted."""
    if address in sessions.addresses(ctx.tx, [session.id])[session.id]:
        return
    if address == session.key and _counts(ctx, session, agent_id or session.agent_id):
        return
    if may_write(ctx, session, agent_id or session.agent_id, address):
        return
    if address == session.key:
        raise Invalid(
            f"{address} is not linked any more: nothing is sent there. Link it again with link_channel.",
            field=field,
            code="out_of_range",
        )
    raise Invalid(
        f"{address} is not an address of this session. Use its own ({session.key}), one of your webhooks"
        " (list_webhooks), or one that was granted (list_grants); an admin grants mail addresses with add_grant.",
        field=field,
        code="out_of_range",
    )


def _counts(ctx: Context, session: Session, agent_id: str) -> bool:
    """Say whether a session's key is its address: outside screens, while its user has a contact or a grant there."""
    if sessions.is_screen(session.key) or contacts.is_linked(ctx.tx, session.user_id, session.key):
        return True
    return may_write(ctx, session, agent_id, session.key)
