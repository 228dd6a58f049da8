"""Which tools an agent gets for one turn. Each commits its effect together with its step."""

from collections.abc import Awaitable, Callable

from homing.agent.journal import Tool, ToolCall
from homing.model.bounds import check_bounds
from homing.model.people import SCHEDULERS, ActingTurn, Agent, Caller
from homing.model.sessions import Session
from homing.model.turns import Turn
from homing.operations.context import Context, Instance
from homing.store import Tx, sessions
from homing.store.steps import Done
from homing.tools import memory, quiet, schedule_task
from homing.tools.tool import ToolSpec

Commit = Callable[[ToolCall, Callable[[Tx], Done]], Awaitable[str]]


def toolbox(*, turn: Turn, session_key: str, agent: Agent, instance: Instance, commit: Commit) -> list[Tool]:
    """Give an agent the tools its configuration names, and in a quiet scheduled turn the way to say nothing."""
    return [_tool(offer, turn, session_key, instance, commit) for offer in _offers(turn, agent)]


def _offers(turn: Turn, agent: Agent) -> list[ToolSpec]:
    # Two names for one tool only confuse a model, so it gets the one that its prompts know.
    scheduler = next((name for name in agent.tools if name in SCHEDULERS), None)
    offers = [schedule_task.offer(scheduler)] if scheduler else []
    # Rule 27, for memory: what no person asked for deletes nothing.
    kept_back = set[str]() if turn.source == "person" else {"forget"}
    offers += [offer for name, offer in memory.OFFERS.items() if name in agent.tools and name not in kept_back]
    if turn.source == "run" and turn.policy.quiet:
        offers.append(quiet.OFFER)
    return offers


def _tool(offer: ToolSpec, turn: Turn, session_key: str, instance: Instance, commit: Commit) -> Tool:
    async def run(call: ToolCall) -> str:
        check_bounds(call.args, "arguments")

        def work(tx: Tx) -> Done:
            ctx = Context(tx=tx, caller=_caller(turn, session_key), instance=instance)
            return offer.function(ctx, _home(tx, turn), call.args)

        return await commit(call, work)

    return Tool(
        name=offer.name,
        description=offer.description,
        parameters=offer.parameters,
        run=run,
        own=True,
        aliases=offer.aliases,
    )


def _caller(turn: Turn, session_key: str) -> Caller:
    # A turn that 0.1.0 opened does not say what came into it; its source does.
    outside = turn.policy.outside or (None if turn.source == "person" else turn.source)
    acting = ActingTurn(
        id=turn.id,
        session_id=turn.session_id,
        session_key=session_key,
        agent_id=turn.agent_id,
        source=turn.source,
        job_id=turn.job_id,
        sender_id=turn.sender_id,
        depth=turn.depth,
        may_schedule=turn.source == "person" or turn.policy.may_schedule,
        outside=outside,
    )
    return Caller(user_id=turn.user_id, role="user", door="tool", turn=acting)


def _home(tx: Tx, turn: Turn) -> Session:
    """Find the conversation a turn belongs to: an isolated run's own session ends with it, so that is its parent."""
    session = sessions.get(tx, turn.session_id)
    return session if session.parent_id is None else sessions.get(tx, session.parent_id)
