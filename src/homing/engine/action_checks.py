"""What must still hold when an approved action is taken (rule 49): session, agent, tool and approver."""

from dataclasses import replace

from homing.engine.action_endings import INTERRUPTED, End
from homing.model.actions import Asked
from homing.model.agents import BUILT_IN
from homing.model.approvals import Approval
from homing.model.incoming import CONTACT
from homing.store import Tx, agents, contacts, mcp_servers, people, sessions, turns


def look_again(tx: Tx, taken: Approval) -> Asked | End:
    """Give what was asked for with its rows as they are now, or how it ends because something no longer holds."""
    found = _look(tx, taken)
    if isinstance(found, End) and taken.begun_at is not None:
        # It may have happened: nobody may say that it was not done.
        return End(state="unknown", error=INTERRUPTED)
    return found


def _look(tx: Tx, taken: Approval) -> Asked | End:
    if not taken.intact:
        return End(state="failed", error="What is stored is not what was approved.")
    home = sessions.get(tx, taken.session_id)
    if home.deleted_at is not None:
        return End(state="expired", ended="session_deleted")
    if not _still_approver(tx, taken):
        return End(state="expired", ended="approver_gone")
    today = agents.get(tx, taken.agent_id)
    if today is None or today.removed_at is not None:
        return End(state="expired", ended="agent_changed")
    if taken.turn_id is None:
        return Asked(approval=taken, turn_or_none=None, agent=today)
    turn = turns.get_turn(tx, taken.turn_id)
    if turn is None or home.agent_id != today.id:
        return End(state="expired", ended="agent_changed")
    if today.has_mcp_servers:
        now = tx.now()
        today = replace(today, mcp_servers=tuple(one.seen_at(now) for one in mcp_servers.listed(tx, today.id)))
    agent = agents.as_opened(tx, today, turn).narrowed(today)
    if taken.tool in BUILT_IN and agent.policy(taken.tool) == "deny":
        return End(state="expired", ended="agent_changed")
    return Asked(approval=taken, turn_or_none=turn, agent=agent)


def without_tool(taken: Approval) -> End:
    """Say how an action ends whose tool nobody finds."""
    if taken.begun_at is not None:
        return End(state="unknown", error=INTERRUPTED)
    if taken.tool_sha256 is None and taken.tool not in BUILT_IN:
        return End(state="failed", error=f"This version of Homing does not know the action {taken.tool}.")
    return End(state="expired", ended="tool_changed")


def _still_approver(tx: Tx, approval: Approval) -> bool:
    """Say whether who approved still may: approved and then revoked does not run."""
    user = people.get_user(tx, approval.answered_by) if approval.answered_by else None
    if user is not None and (approval.answered_with or "").startswith(CONTACT):
        # Answered by button: as long as that person is still linked.
        linked = contacts.get(tx, approval.answered_with or "", user_id=user.id) is not None
        return linked and (approval.audience == "owner" or user.role == "admin")
    # A sign-in that was revoked has no row any more.
    proof = people.get_token(tx, approval.answered_with) if approval.answered_with else None
    if user is None or (approval.answered_with and (proof is None or proof.revoked_at is not None)):
        return False
    return approval.audience == "owner" or {user.role, (proof or user).role} == {"admin"}
