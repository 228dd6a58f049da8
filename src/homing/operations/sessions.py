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
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.session import SessionShape
from homing.operations.shapes.session_asks import AddSession, ListSessions, SessionRef, UpdateSession
from homing.operations.views import show_session, show_sessions
from homing.store import LookAgain, agents, sessions


def add_session(ctx: Context, ask: AddSession) -> SessionShape:
    """Make a session; without a key it gets a new one."""
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
    """List your sessions, newest activity first; sessions of isolated runs only with channel=cron."""
    key = cursors.decode(ask.cursor, int, int)
    before = None if key is None else (_instant(key[0]), key[1])
    found = sessions.listed(
        ctx.tx, user_id=ctx.caller.user_id, q=ask.q, channel=ask.channel, before=before, limit=ask.limit + 1
    )
    page = found[: ask.limit]
    following = cursors.encode(epoch_us(page[-1].updated_at), page[-1].id) if len(found) > ask.limit else None
    return Page(items=show_sessions(ctx, page), next_cursor=following)


def _instant(microseconds: int) -> datetime:
    try:
        return from_epoch_us(microseconds)
    except OverflowError:
        raise cursors.bad() from None


def update_session(ctx: Context, ask: UpdateSession) -> SessionShape:
    """Change the given fields of a session; null means the default."""
    session = ctx.session(ask.session_key)
    if ask.gave("agent_id") and ctx.caller.door == "mcp":
        # Rule 47: the other agent may do more.
        raise Forbidden(
            "Only a person gives a conversation another agent: on the page, or with homing sessions update --agent."
        )
    agent_id = check_agent(ctx, ask.agent_id) if ask.gave("agent_id") else session.agent_id
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
    wanted = None
    if ask.gave("addresses"):
        wanted = list(dict.fromkeys(ask.addresses)) if ask.addresses is not None else [session.key]
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
        sessions.set_addresses(ctx.tx, session.id, wanted)
    sessions.change(ctx.tx, session, values, revision=session.revision)
    return show_session(ctx, ctx.session(session.key))


def check_address(ctx: Context, session: Session, address: str, *, field: str, agent_id: str | None = None) -> None:
    """Rule 33: a session answers to its own address, to its user's webhooks, or to one that was granted."""
    if address == session.key or address in sessions.addresses(ctx.tx, [session.id])[session.id]:
        return
    if may_write(ctx, session, agent_id or session.agent_id, address):
        return
    raise Invalid(
        f"{address} is not an address of this session. Use its own ({session.key}), one of your webhooks"
        " (list_webhooks), or one that was granted (list_grants); an admin grants mail addresses with add_grant.",
        field=field,
        code="out_of_range",
    )
