"""What an agent sends with its tool `send_message` (rules 33, 57): to an address, or into another conversation.

A message to an agent is an inbound in that agent's conversation for the same user; what its turn closes with comes back
to the conversation that asked (`engine/answers.py`). Grants decide, and loop brakes bound it (rule 35).
"""

from collections.abc import Iterable, Mapping, Sequence

from homing.model.agents import Agent
from homing.model.brakes import DEEPEST, LOOP, MOST_SENT, PAUSED_FOR, SENT_WITHIN, disabled_words
from homing.model.errors import Conflict, Forbidden, Invalid, NotFound
from homing.model.messages import ASKING_TURN, FROM_AGENT, FROM_NAME, SENDING_TURN, SENT_TO, NewMessage
from homing.model.people import AGENT_GRANT, SESSION_GRANT, ActingTurn, is_place
from homing.model.sessions import Session, asked_key
from homing.model.turns import Inbound
from homing.operations.brakes import caused_too_many, depth_after
from homing.operations.context import Context
from homing.operations.files import attach_files
from homing.operations.notes import give_note
from homing.operations.questions import of_guest
from homing.operations.reach import may_send
from homing.operations.shapes.base import utc
from homing.store import LookAgain, Tx, agents, deliveries, inbounds, kept_files, lanes, people, sessions, turns
from homing.store.inbounds import NewInbound
from homing.store.lanes import Cause
from homing.store.people import Grant

_MOST_FILES = 50


def send(ctx: Context, home: Session, *, to: str, text: str, file_ids: Sequence[str]) -> str:
    """Send what a turn says to where it says; give the words for the model."""
    address = read_target(ctx, home, to)
    known = {file.id for file in kept_files.of_session(ctx.tx, home.id, _MOST_FILES)} if file_ids else set[str]()
    if foreign := [file_id for file_id in file_ids if file_id not in known]:
        raise Invalid(f"There is no file {foreign[0]:.64} in this conversation.", field="files", code="out_of_range")
    if is_place(address):
        return _send_to_address(ctx, home, address, text, file_ids)
    return _send_to_conversation(ctx, home, address, text, file_ids)


def read_target(ctx: Context, home: Session, to: str) -> str:
    """Read an agent's id or name, a conversation's key or an address as a grant spells it."""
    tx, to = ctx.tx, to.strip()
    if ":" not in to:
        return f"{AGENT_GRANT}{_agent_named(tx, to).id}"
    if not is_place(to) or to in sessions.addresses(tx, [home.id])[home.id]:
        return to
    known = people.find_grant(
        tx, user_id=home.user_id, agent_id=_turn(ctx).agent_id, address=f"{SESSION_GRANT}{to}"
    ) or sessions.is_screen(to)
    return f"{SESSION_GRANT}{to}" if known else to


def _agent_named(tx: Tx, named: str) -> Agent:
    found = [one for one in agents.listed(tx) if named == one.id or named.casefold() == one.name.casefold()]
    exact = [one for one in found if one.id == named] or found
    if len(exact) != 1:
        there = ", ".join(one.id for one in exact or agents.listed(tx))
        what = "Several agents are called" if exact else "There is no agent"
        raise Invalid(f"{what} {named:.64}. Use an id: {there}.", field="to", code="out_of_range")
    return exact[0]


def _turn(ctx: Context) -> ActingTurn:
    assert ctx.caller.turn is not None
    return ctx.caller.turn


def _send_to_address(ctx: Context, home: Session, address: str, text: str, file_ids: Sequence[str]) -> str:
    tx, turn = ctx.tx, _turn(ctx)
    lane_id = lanes.enter(tx, home, unified=ctx.settings.unified_session)
    home = ctx.again(home)
    if not may_send(tx, home, turn.agent_id, address):
        raise _not_granted(ctx, home, address)
    if deliveries.sent_since(tx, home.id, ctx.now - SENT_WITHIN) >= MOST_SENT:
        raise _too_many()
    message = NewMessage(
        session_id=home.id,
        lane_id=lane_id,
        role="assistant",
        kind="chat",
        text=text,
        meta={SENDING_TURN: turn.id, SENT_TO: address},
        files=attach_files(tx, home, file_ids, user_id=home.user_id),
    )
    deliveries.post(tx, [message], cause="sent", only=[address])
    own = address in sessions.addresses(tx, [home.id])[home.id]
    return f"Sent to {address}." + (" Your closing answer is not sent there again." if own else "")


def _send_to_conversation(ctx: Context, home: Session, address: str, text: str, file_ids: Sequence[str]) -> str:
    tx, turn, unified = ctx.tx, _turn(ctx), ctx.settings.unified_session
    if of_guest(tx, turn.id):
        raise Forbidden("A guest opened this turn, so you cannot write to other agents or conversations.")
    if people.find_grant(tx, user_id=home.user_id, agent_id=turn.agent_id, address=address) is None:
        raise _not_granted(ctx, home, address)
    target = _target(ctx, home, address)
    home_lane = lanes.lane_of(tx, home, unified=unified)
    lane_id = lanes.enter(tx, target, unified=unified, also={home.id, home_lane})
    seen = (home.several, target.several)
    home, target = ctx.again(home), ctx.again(target)
    if (home.several, target.several) != seen:
        # It became a shared place between our look and our lock: its question goes elsewhere (rule 60).
        raise LookAgain
    # Sessions before grants, as everywhere. Locked until the end: two conversations of one agent count one after the
    # other, and a removal of the grant comes before or after.
    talks = people.lock_talks(tx, user_id=home.user_id, agent_id=turn.agent_id)
    grant = next((one for one in talks if one.address == address), None)
    if grant is None:
        raise _not_granted(ctx, home, address)
    if stopped := _stopped(ctx, grant, talks, home, home_lane, target, lane_id):
        return stopped
    sender = agents.get(tx, turn.agent_id)
    asked = NewInbound(
        session_id=target.id,
        lane_id=lane_id,
        user_id=target.user_id,
        source="agent",
        text=text,
        line="machines",
        grant_id=grant.id,
        depth=depth_after(turn),
        meta={
            FROM_AGENT: turn.agent_id,
            FROM_NAME: sender.name if sender else turn.agent_id,
            "from_session": home.key,
            ASKING_TURN: turn.id,
        },
        files=attach_files(tx, target, file_ids, user_id=home.user_id),
    )
    inbounds.take_in(tx, [asked])
    return (
        f"Sent to {target.agent_id} in the conversation {target.key}. Its answer comes later as a message in this"
        " conversation and opens a turn here. Do not wait for it and do not send it again: finish this turn."
    )


def _target(ctx: Context, home: Session, address: str) -> Session:
    """Find the conversation that a grant leads to; that with another agent is made when it is first needed."""
    tx, user_id = ctx.tx, home.user_id
    if address.startswith(SESSION_GRANT):
        if home.several:
            # What its user said there could come back to people who may not read it.
            raise Forbidden("Several people write here, so you cannot write into its user's own conversations.")
        return ctx.session(address.removeprefix(SESSION_GRANT))
    agent = agents.hold(tx, address.removeprefix(AGENT_GRANT))
    if agent is None or agent.removed_at is not None:
        raise NotFound(f"There is no agent {address.removeprefix(AGENT_GRANT)} any more.")
    # Rule 60: what a shared place asks is kept apart, with memories of its own.
    key, title = asked_key(agent.id), agent.name
    if home.several:
        key = f"{key}:{_shared_place(home)}"
        title = f"{title}{_ASKED_BY}{(home.title or home.key).rpartition(_ASKED_BY)[2]}"
    known = sessions.find(tx, key, user_id=user_id)
    if known is not None:
        if known.agent_id != agent.id or known.several != home.several:
            raise Conflict(
                f"The conversation {key} is used for something else, so {agent.id} cannot be asked there. The user can"
                " delete it; then ask again."
            )
        return known
    made = sessions.add(tx, key=key, user_id=user_id, agent_id=agent.id, title=title, addresses=())
    if made is None:
        raise LookAgain
    if home.several:
        sessions.mark_several(tx, made.id)
    return sessions.get(tx, made.id)


_ASKED_BY = ", asked by "


def _shared_place(home: Session) -> str:
    """Name the shared place that a question comes from: where an agent is asked for one, it is still that place."""
    place = home.key.removeprefix(f"{asked_key(home.agent_id)}:")
    return place if place.isdecimal() else str(home.id)


def _stopped(
    ctx: Context,
    grant: Grant,
    talks: Sequence[Grant],
    home: Session,
    home_lane: int,
    target: Session,
    lane_id: int,
) -> str | None:
    """Rule 35: say why a message is not sent any more. The end of a chain is told once an hour, a pause always: it is
    an hour long itself. The turn goes on.
    """
    tx, now, turn = ctx.tx, ctx.now, _turn(ctx)
    if depth_after(turn) > DEEPEST:
        why = f"A chain of messages between agents ends after {DEEPEST}, and this one is at its end."
        if grant.told_at is None or grant.told_at <= now - PAUSED_FOR:
            people.stop_grant(tx, grant.id, told_at=now, paused_until=None)
            words = f"I stopped a chain of agents that write to each other. {why}"
            give_note(tx, home=home, lane_id=home_lane, text=words)
        return f"Not sent: {why} Do not try again; finish with an answer for the user."
    if grant.paused_until is not None and grant.paused_until > now:
        raise Forbidden(
            f"You may not write to {target.agent_id} until {utc(grant.paused_until)}: your messages kept causing turns."
        )
    if inbounds.by_grants(tx, [one.id for one in talks], now - SENT_WITHIN) >= MOST_SENT:
        raise _too_many()
    if not caused_too_many(tx, Cause(kind="grant", id=grant.id), session_id=target.id, lane_id=lane_id):
        return None
    why = f"{turn.agent_id} may not write to {target.agent_id} for an hour. {disabled_words(LOOP)}"
    people.stop_grant(tx, grant.id, told_at=now, paused_until=now + PAUSED_FOR)
    give_note(tx, home=home, lane_id=home_lane, text=why)
    return f"Not sent: {why} Do not try again; finish with an answer for the user."


def _too_many() -> Forbidden:
    return Forbidden(f"You sent {MOST_SENT} messages within a minute, which is the limit. Continue without sending it.")


def _not_granted(ctx: Context, home: Session, address: str) -> Forbidden:
    """Say how to ask, and where the agent may write already."""
    turn = _turn(ctx)
    agent = agents.get(ctx.tx, turn.agent_id)
    # A guest is not told where else. Each is spelled whole, as `read_target` takes it.
    known = [] if of_guest(ctx.tx, turn.id) else people.list_grants(ctx.tx, home.user_id, all_hosts=False)
    mine = [grant.address for grant in known if grant.host is None and grant.agent_id == turn.agent_id]
    asking = agent is not None and agent.policy("request_access") != "deny"
    how = f'Ask for it: request_access {{"address": "{address:.200}", "reason": "..."}}.' if asking else _BY_HAND
    return Forbidden(f"You may not write to {address:.200}. {how}" + (f" You may: {', '.join(mine)}." if mine else ""))


_BY_HAND = "The user can add a grant, under Settings or with homing grants add."


def asking_session(tx: Tx, meta: Mapping[str, object]) -> Session | None:
    """Find the conversation that a message of another agent came from; None when it is gone."""
    turn = turns.get_turn(tx, str(meta[ASKING_TURN])) if ASKING_TURN in meta else None
    if turn is None:
        return None
    session = sessions.get(tx, turn.session_id)
    home = session if session.parent_id is None else sessions.get(tx, session.parent_id)
    return home if home.deleted_at is None else None


def askers_of(tx: Tx, asked: Iterable[Inbound], *, unified: bool) -> dict[str, tuple[int, int]]:
    """Name, of messages that may be withdrawn, the conversations that wait for an answer and their lanes: to lock."""
    found = {one.id: session for one in asked if (session := asking_session(tx, one.meta)) is not None}
    return {one_id: (session.id, lanes.lane_of(tx, session, unified=unified)) for one_id, session in found.items()}


def tell_askers(tx: Tx, withdrawn: Iterable[Inbound], askers: Mapping[str, tuple[int, int]], why: str) -> None:
    """Tell locked conversations that a message of theirs is not answered any more; it wakes nobody. One that was
    deleted meanwhile is told nothing.
    """
    for one in withdrawn:
        if one.id not in askers:
            continue
        session_id, lane_id = askers[one.id]
        if session_id == one.session_id or sessions.get(tx, session_id).deleted_at is not None:
            continue
        note = NewInbound(
            session_id=session_id,
            lane_id=lane_id,
            user_id=one.user_id,
            source="system",
            text=f"A message that you sent to another agent was not read and is not answered: {why}",
            line="note",
        )
        inbounds.take_in(tx, [note])
