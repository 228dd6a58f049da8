"""What an asked agent closes its turn with goes back to the conversation that asked, with the closing (rule 57)."""

from homing.engine.closing_turn import ClosingTurn
from homing.model.brakes import DEEPEST
from homing.model.messages import ANSWERS, FROM_AGENT, FROM_NAME
from homing.operations.brakes import caused_too_many
from homing.store import Tx, agents, inbounds
from homing.store.inbounds import NewInbound
from homing.store.lanes import Cause


def answer(tx: Tx, closing: ClosingTurn) -> None:
    """Put the answer of a turn that another agent opened into the lane that asked. It asks for no answer itself."""
    asker, turn = closing.asker, closing.turn
    if asker is None or asker.deleted_at is not None or asker.id == closing.session.id:
        return
    agent = agents.get(tx, turn.agent_id)
    depth = turn.depth + 1
    braked = depth > DEEPEST or caused_too_many(
        tx, Cause(kind="answers"), session_id=asker.id, lane_id=closing.asker_lane
    )
    inbounds.take_in(
        tx,
        [
            NewInbound(
                session_id=asker.id,
                lane_id=closing.asker_lane,
                user_id=asker.user_id,
                source="agent",
                text=_words(closing),
                # Rule 35: beyond a brake it is not lost, but it opens no turn.
                line="note" if braked else "machines",
                depth=depth,
                meta={
                    FROM_AGENT: turn.agent_id,
                    FROM_NAME: agent.name if agent else turn.agent_id,
                    "from_session": closing.session.key,
                    ANSWERS: closing.asking_turn_id,
                },
            )
        ],
    )


def _words(closing: ClosingTurn) -> str:
    if closing.silent:
        return "(No answer: the conversation in which it was asked was deleted.)"
    if closing.asker is not None and closing.asker.several and not closing.session.several:
        # Rule 60: it was asked while its user was alone there, and answered with what only they may read.
        return "(Answered in its own conversation: other people write here now.)"
    match closing.result.outcome:
        case "failed":
            return f"(It did not finish.) {closing.result.closing}"
        case "cancelled":
            return f"(Somebody stopped it.) {closing.result.closing}"
        case _:
            return closing.result.closing
