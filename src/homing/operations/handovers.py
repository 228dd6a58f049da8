"""A session gets another agent (rule 40): its jobs and what waits go along, and a turn in progress keeps its own."""

from collections.abc import Collection
from dataclasses import dataclass

from homing.model.errors import Conflict
from homing.model.incoming import GRANTED
from homing.model.people import is_place
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.kept_channels import with_kept
from homing.store import LookAgain, contacts, inbounds, jobs, people, sessions, turns
from homing.store.lanes import unified_lanes


@dataclass(frozen=True, kw_only=True)
class Handover:
    """What a change of a session's agent touches: known before the sessions are locked."""

    agent_id: str
    job_ids: frozenset[str]
    apart: frozenset[int]
    """Sessions of isolated runs that have not begun."""
    shared: tuple[int, int] | None
    """The shared lanes with the agent until now and with the new one, where there may be such lanes."""
    session_ids: frozenset[int]


def prepare_handover(ctx: Context, session: Session, agent_id: str) -> Handover:
    """Lock the jobs, which come before sessions, and name the sessions to lock next."""
    tx = ctx.tx
    job_ids = jobs.ids_of_session(tx, session.id)
    jobs.lock(tx, job_ids)
    shared = _shared_lanes(ctx, session, agent_id)
    # Their jobs are locked: no other run is queued meanwhile.
    apart = sessions.waiting_apart(tx, session.id)
    return Handover(
        agent_id=agent_id,
        job_ids=frozenset(job_ids),
        apart=frozenset(apart),
        shared=shared,
        session_ids=frozenset({session.id, *apart, *(shared or ())}),
    )


def _shared_lanes(ctx: Context, session: Session, agent_id: str) -> tuple[int, int] | None:
    """Name the shared lanes with the old agent and the new one; something may wait there although it is off now."""
    old, new = (session.user_id, session.agent_id), (session.user_id, agent_id)
    if not ctx.settings.unified_session and not sessions.unified_of(ctx.tx, [old]):
        return None
    # Made if missing, the old one too: somebody may be about to put something into it.
    lanes = unified_lanes(ctx.tx, [old, new])
    return lanes[old], lanes[new]


def hand_over(ctx: Context, session: Session, handover: Handover, *, addresses: Collection[str] | None) -> None:
    """Give a locked session's jobs and waiting items the new agent; its own row is written by the caller."""
    tx = ctx.tx
    # Adding a job locks the session first: what is bound now stays all there is.
    if handover.job_ids.symmetric_difference(jobs.ids_of_session(tx, session.id)):
        raise LookAgain
    _check_grants(ctx, session, handover.agent_id, addresses)
    if handover.shared is not None:
        _move(ctx, session, *handover.shared)
    if handover.apart:
        sessions.give_agent(tx, handover.apart, handover.agent_id)
    if handover.job_ids:
        jobs.give_agent(tx, session.id, handover.agent_id, rev=sessions.touch(tx, session.id))


def _move(ctx: Context, session: Session, old_lane: int, new_lane: int) -> None:
    turn = turns.open_turn_of(ctx.tx, old_lane)
    if turn is not None and turn.session_id == session.id:
        # A second turn could open in the other lane meanwhile, and both would speak in one chat.
        raise Conflict(
            "An answer is in progress here, and with unified sessions each agent has a lane of its own. Wait for it, or"
            " stop it, then change the agent.",
            extra={"turn_id": turn.id},
        )
    inbounds.move_waiting(ctx.tx, session.id, from_lane=old_lane, to_lane=new_lane)


def _check_grants(ctx: Context, session: Session, agent_id: str, addresses: Collection[str] | None) -> None:
    """Rule 33: an address that only the agent until now may write to does not go along."""
    known = sessions.addresses(ctx.tx, [session.id])[session.id] if addresses is None else addresses
    for address in known:
        if address == session.key or not may_write(ctx, session, session.agent_id, address):
            continue
        if not may_write(ctx, session, agent_id, address):
            raise Conflict(
                f"{session.agent_id} may write to {address}, and {agent_id} may not. Grant it to {agent_id} too"
                " (add_grant), or take it from the session's addresses.",
                extra={"address": address},
            )


def may_write(ctx: Context, session: Session, agent_id: str, address: str) -> bool:
    """Rule 33: say whether an agent may write to one of the user's webhooks, to a mail address that they proved to be
    their own, or to an address that was granted.
    """
    channel, _, place = address.partition(":")
    own = (
        contacts.find(ctx.tx, channel, "person", place)
        if channel in with_kept(ctx.tx, ctx.settings).mail_names
        else None
    )
    if own is not None and own.user_id == session.user_id and own.linked_by != GRANTED:
        return True
    webhook = people.get_webhook(ctx.tx, place) if channel == "webhook" else None
    if webhook is not None and webhook.user_id == session.user_id:
        return True
    if not is_place(address):
        return False
    grant = people.find_grant(ctx.tx, user_id=session.user_id, agent_id=agent_id, address=address, hold=True)
    return grant is not None
