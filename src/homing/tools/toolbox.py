"""Which tools an agent gets for one turn. Ours commit their effect together with their step."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from homing.agent.journal import Shown, Tool, ToolCall
from homing.agent.named_urls import stands, urls_in
from homing.model.agents import BUILT_IN, SCHEDULERS, Agent
from homing.model.bounds import check_bounds
from homing.model.errors import Forbidden, Refused
from homing.model.people import ActingTurn, Caller
from homing.model.sessions import Session
from homing.model.turns import Turn
from homing.operations.context import Context, Instance
from homing.store import Store, Tx, agents, jobs, sessions
from homing.store.steps import Done
from homing.tools import memory, quiet, schedule_task
from homing.tools.reading import read
from homing.tools.tool import CallContext, OutsideTool, ToolSpec

Commit = Callable[[ToolCall, Callable[[Tx], Done]], Awaitable[str]]


@dataclass(frozen=True, kw_only=True)
class _Scene:
    """What every tool of a turn needs to know."""

    turn: Turn
    session_key: str
    agent: Agent
    instance: Instance
    store: Store
    commit: Commit


def toolbox(
    *,
    turn: Turn,
    session_key: str,
    agent: Agent,
    instance: Instance,
    store: Store,
    commit: Commit,
    outside: Sequence[OutsideTool] = (),
) -> list[Tool]:
    """Give an agent the tools its configuration allows, and in a quiet scheduled turn the way to say nothing.

    `agent` is as it was at the turn's opening; what an edit takes away counts from the next call.
    """
    scene = _Scene(turn=turn, session_key=session_key, agent=agent, instance=instance, store=store, commit=commit)
    offered = [tool for tool in outside if tool.name not in BUILT_IN or agent.policy(tool.name) == "allow"]
    return [*(_own(offer, scene) for offer in _offers(turn, agent)), *(_outside(tool, scene) for tool in offered)]


def _offers(turn: Turn, agent: Agent) -> list[ToolSpec]:
    offers = [schedule_task.offer(agent.scheduler)] if agent.scheduler else []
    # Rule 27, for memory: what no person asked for deletes nothing.
    kept_back = set[str]() if turn.source == "person" else {"forget"}
    offers += [
        offer for name, offer in memory.OFFERS.items() if agent.policy(name) == "allow" and name not in kept_back
    ]
    if turn.source == "run" and turn.policy.quiet:
        offers.append(quiet.OFFER)
    return offers


def _own(offer: ToolSpec, scene: _Scene) -> Tool:
    async def run(call: ToolCall) -> str:
        check_bounds(call.args, "arguments")
        # Reading what the model was shown takes a while, and is not done while others wait for the transaction.
        shown = call.shown() if offer.name in SCHEDULERS else None

        def work(tx: Tx) -> Done:
            _still_allowed(tx, scene.agent, offer.name)
            outside: str | None = None
            if shown is not None:
                outside = shown.outside or _outside_the_job(tx, scene.turn)
                _check_named(call, replace(shown, outside=outside))
            caller = _caller(scene.turn, scene.session_key, outside)
            ctx = Context(tx=tx, caller=caller, instance=scene.instance)
            return offer.function(ctx, _home(tx, scene.turn), call.args)

        return await scene.commit(call, work)

    return Tool(
        name=offer.name,
        description=offer.description,
        parameters=offer.parameters,
        run=run,
        own=True,
        aliases=offer.aliases,
    )


def _outside(tool: OutsideTool, scene: _Scene) -> Tool:
    async def run(call: ToolCall) -> str:
        check_bounds(call.args, "arguments")

        def look(tx: Tx) -> tuple[Agent, str | None]:
            return _still_allowed(tx, scene.agent, tool.name), _outside_the_job(tx, scene.turn)

        agent, source = await scene.store.read(look)
        ctx = CallContext(
            turn=scene.turn, session_key=scene.session_key, agent=agent, shown=lambda: _shown(call, source)
        )
        return await tool.run(ctx, call.args)

    return Tool(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        run=run,
        repeatable=tool.repeatable,
        seconds=tool.seconds,
    )


def _outside_the_job(tx: Tx, turn: Turn) -> str | None:
    """Name what from outside was shown to the agent that wrote the job that this turn works on.

    A run that sees nothing of that conversation would otherwise do freely what the conversation may not.
    """
    job = jobs.get(tx, turn.job_id) if turn.source == "run" and turn.job_id else None
    return job.outside if job else None


def _shown(call: ToolCall, by_the_job: str | None) -> Shown:
    """Give what the model was shown when it made a call; the words of its job may be from outside too."""
    shown = call.shown()
    return replace(shown, outside=shown.outside or by_the_job)


def _check_named(call: ToolCall, shown: Shown) -> None:
    """Refuse an automation with a URL that nobody named: its turn could fetch it (rule 41)."""
    if shown.outside is None:
        return
    try:
        fields = read(call.args).fields
    except Refused:
        # The tool itself says what is wrong.
        return
    text = json.dumps(dict(fields), ensure_ascii=False, default=str)
    if any(not stands(url, shown) for url in urls_in(text)):
        raise Forbidden(
            f"This conversation holds text from outside ({shown.outside}), so an automation may name only URLs that the"
            " user, an automation or an earlier page named letter by letter. Ask the user to name the whole URL."
        )


def _still_allowed(tx: Tx, opened: Agent, name: str) -> Agent:
    """Give the agent without what an edit has taken away since the turn's opening; refuse a tool that was."""
    today = agents.get(tx, opened.id)
    agent = opened if today is None else opened.narrowed(today)
    if name in BUILT_IN and agent.policy(name) != "allow":
        raise Forbidden(f"The tool {name} was switched off for this agent while this turn was running.")
    return agent


def _caller(turn: Turn, session_key: str, shown_outside: str | None) -> Caller:
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
        shown_outside=shown_outside,
    )
    return Caller(user_id=turn.user_id, role="user", door="tool", turn=acting)


def _home(tx: Tx, turn: Turn) -> Session:
    """Find the conversation a turn belongs to: an isolated run's own session ends with it, so that is its parent."""
    session = sessions.get(tx, turn.session_id)
    return session if session.parent_id is None else sessions.get(tx, session.parent_id)
