"""Which tools an agent gets for one turn. Ours commit their effect together with their step.

A tool whose policy is `ask` is offered as one that only asks: its calls are made later (`tools/approved_calls.py`).
Some tools are requests by nature: what they ask for is not the call itself.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from homing.agent.journal import Shown, Tool, ToolCall
from homing.agent.named_urls import stands, urls_in
from homing.model.agents import BUILT_IN, SCHEDULERS, Agent
from homing.model.approvals import one_line
from homing.model.bounds import check_bounds
from homing.model.dreams import KEY as DREAM
from homing.model.dreams import TOOL
from homing.model.errors import Conflict, Forbidden, ModelFailed, Refused
from homing.model.people import ActingTurn, Caller
from homing.model.sessions import Session
from homing.model.trials import NOT_CALLED
from homing.model.turns import Turn
from homing.operations.approvals import Request, ask
from homing.operations.context import Context, Instance
from homing.operations.hands import Desk
from homing.store import Store, Tx, agents, jobs, sessions
from homing.store.steps import Done
from homing.tools import memory, questions, quiet, schedule_task, send_message
from homing.tools.dreaming import DESCRIPTION, PARAMETERS, update_memories
from homing.tools.reading import read
from homing.tools.tool import CallContext, Outdated, OutsideTool, Plan, RequestTool, ToolSpec

_PREPARED_AT_MOST = 3
_BRIEF = 60
GUEST_TOOLS = ("fetch_url", "search_web", "ask_question")

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
    requests: Sequence[RequestTool] = (),
    own: Sequence[ToolSpec] = (),
) -> list[Tool]:
    """Give an agent the tools its configuration allows, and in a quiet scheduled turn the way to say nothing.

    `agent` is as it was at the turn's opening; what an edit takes away counts from the next call.
    """
    scene = _Scene(turn=turn, session_key=session_key, agent=agent, instance=instance, store=store, commit=commit)
    if turn.policy.system == DREAM:
        return [_dreaming(scene)]
    offered = [tool for tool in outside if tool.name not in BUILT_IN or agent.policy(tool.name) != "deny"]
    if turn.policy.trial:
        return _for_trial(scene, _offers(turn, agent, own), offered, requests)
    found = [
        *(
            _asking(offer, scene) if agent.asks(offer.name) else _own(offer, scene)
            for offer in _offers(turn, agent, own)
        ),
        *(_asking(tool, scene) if tool.asks or agent.asks(tool.name) else _outside(tool, scene) for tool in offered),
        *(_requesting(tool, scene) for tool in requests if agent.policy(tool.name) != "deny"),
    ]
    return [tool for tool in found if not turn.policy.guest or _for_guests(tool.name, agent)]


def _for_trial(
    scene: _Scene, own: Sequence[ToolSpec], outside: Sequence[OutsideTool], requests: Sequence[RequestTool]
) -> list[Tool]:
    """Offer a trial the same tools. Those that may change something are noted and not called, and nobody is asked."""
    agent = scene.agent
    return [
        *(
            _own(offer, scene) if offer.reads_only and not agent.asks(offer.name) else _noted(offer, scene)
            for offer in own
        ),
        *(
            _outside(tool, scene)
            if tool.reads_only and not (tool.asks or agent.asks(tool.name))
            else _noted(tool, scene)
            for tool in outside
        ),
        *(_noted(tool, scene) for tool in requests if agent.policy(tool.name) != "deny"),
    ]


def _noted(tool: ToolSpec | OutsideTool | RequestTool, scene: _Scene) -> Tool:
    async def run(call: ToolCall) -> str:
        check_bounds(call.args, "arguments")
        return await scene.commit(call, lambda tx: Done(text=NOT_CALLED))

    return Tool(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        run=run,
        own=True,
        aliases=tool.aliases if isinstance(tool, ToolSpec) else (),
    )


def _for_guests(name: str, agent: Agent) -> bool:
    """Rule 60: what a guest's turn may use. It touches no job, whatever the agent's list says (rule 27)."""
    return name not in SCHEDULERS and (name in GUEST_TOOLS or name in agent.guest_tools)


def _offers(turn: Turn, agent: Agent, own: Sequence[ToolSpec]) -> list[ToolSpec]:
    offers = [offer for name, offer in own_tools(agent, own).items() if agent.policy(name) != "deny"]
    if turn.acts_as != "person":
        # Rule 27, for memory: what no person asked for deletes nothing.
        offers = [offer for offer in offers if offer.name != "forget"]
    if turn.of_job and turn.policy.quiet:
        offers.append(quiet.OFFER)
    return offers


def own_tools(agent: Agent, here: Sequence[ToolSpec] = ()) -> dict[str, ToolSpec]:
    """Give the tools that work on our own rows, by the names under which this agent knows them.

    `here` are those that only this process has, because it has workspaces.
    """
    schedulers = {agent.scheduler: schedule_task.offer(agent.scheduler)} if agent.scheduler else {}
    return {
        **schedulers,
        **memory.OFFERS,
        **{offer.name: offer for offer in (questions.OFFER, send_message.OFFER, *here)},
    }


def _dreaming(scene: _Scene) -> Tool:
    """Offer memory upkeep its only tool. Told twice what is wrong, it ends: nonsense changes nothing."""
    refusals = 0

    async def run(call: ToolCall) -> str:
        nonlocal refusals
        check_bounds(call.args, "arguments")

        def work(tx: Tx) -> Done:
            ctx = Context(tx=tx, caller=caller_of(scene.turn, scene.session_key, None), instance=scene.instance)
            return Done(text=update_memories(ctx, home_session(tx, scene.turn), scene.turn, call.args))

        try:
            return await scene.commit(call, work)
        except Refused as refused:
            refusals += 1
            if refusals > 1:
                raise ModelFailed(f"The model gave changes that cannot be made. {refused.detail}") from None
            raise

    return Tool(name=TOOL, description=DESCRIPTION, parameters=PARAMETERS, run=run, own=True)


def _asking(tool: ToolSpec | OutsideTool, scene: _Scene) -> Tool:
    """Offer a tool of which each call is an approval: the call asks, and is made after a yes (rule 42)."""

    async def run(call: ToolCall) -> str:
        check_bounds(call.args, "arguments")
        shown = call.shown() if tool.name in SCHEDULERS else None

        def work(tx: Tx) -> Done:
            agent = still_allowed(tx, scene.agent, tool.name)
            outside = None if shown is None else shown.outside or _outside_the_job(tx, scene.turn)
            ctx = Context(tx=tx, caller=caller_of(scene.turn, scene.session_key, None), instance=scene.instance)
            request = Request(
                tool=tool.name,
                args=call.args,
                title=_title(agent, tool.name, call.args),
                tool_sha256=tool.sha256 if isinstance(tool, OutsideTool) else None,
                outside=outside,
            )
            text = ask(ctx, home_session(tx, scene.turn), request, call_key=f"{scene.turn.id}:{call.key}")
            return Done(text=text)

        return await scene.commit(call, work)

    return Tool(
        name=tool.name,
        description=f"{tool.description} A person has to approve each call: it is made later, and you are told then.",
        parameters=tool.parameters,
        run=run,
        own=True,
        aliases=tool.aliases if isinstance(tool, ToolSpec) else (),
    )


def _title(agent: Agent, tool: str, args: Mapping[str, object]) -> str:
    """Tell a call from others of the same tool; all of its arguments are on the card."""
    brief = ", ".join(str(value) for value in args.values() if isinstance(value, str | int | float) and value != "")
    return f"{agent.name} asks to use {tool}{f': {one_line(brief, _BRIEF)}' if brief else ''}"


def _requesting(tool: RequestTool, scene: _Scene) -> Tool:
    async def run(call: ToolCall) -> str:
        check_bounds(call.args, "arguments")
        for _ in range(_PREPARED_AT_MOST):
            agent = await scene.store.read(lambda tx: still_allowed(tx, scene.agent, tool.name))
            plan = await tool.prepare(
                CallContext(turn=scene.turn, session_key=scene.session_key, agent=agent), call.args
            )

            def work(tx: Tx, plan: Plan = plan) -> Done:
                agent = still_allowed(tx, scene.agent, tool.name)
                ctx = Context(tx=tx, caller=caller_of(scene.turn, scene.session_key, None), instance=scene.instance)
                home = home_session(tx, scene.turn)
                request = plan(ctx, home, agent)
                if isinstance(request, str):
                    return Done(text=request)
                return Done(text=ask(ctx, home, request, call_key=f"{scene.turn.id}:{call.key}"))

            try:
                return await scene.commit(call, work)
            except Outdated:
                continue
        raise Conflict("Others asked for something of this kind at the same time. Call it again.")

    return Tool(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        run=run,
        own=True,
        seconds=tool.seconds,
    )


def _own(offer: ToolSpec, scene: _Scene) -> Tool:
    async def run(call: ToolCall) -> str:
        check_bounds(call.args, "arguments")
        # Reading what the model was shown takes a while, and is not done while others wait for the transaction.
        shown = call.shown() if offer.name in SCHEDULERS else None
        function = offer.function
        if offer.prepare is not None:
            if shown is not None:
                _check_named(call, shown)
            function = await offer.prepare(_desk(scene), call.args, lambda ctx: home_session(ctx.tx, scene.turn))

        def work(tx: Tx) -> Done:
            _check_no_approval(still_allowed(tx, scene.agent, offer.name), offer.name)
            outside: str | None = None
            if shown is not None:
                outside = shown.outside or _outside_the_job(tx, scene.turn)
                _check_named(call, replace(shown, outside=outside))
            caller = caller_of(scene.turn, scene.session_key, outside, call_key=f"{scene.turn.id}:{call.key}")
            ctx = Context(tx=tx, caller=caller, instance=scene.instance)
            return function(ctx, home_session(tx, scene.turn), call.args)

        return await scene.commit(call, work)

    return Tool(
        name=offer.name,
        description=offer.description,
        parameters=offer.parameters,
        run=run,
        own=True,
        seconds=offer.seconds,
        aliases=offer.aliases,
    )


def _desk(scene: _Scene) -> Desk:
    """For what a tool does before its transaction, as the same caller."""
    caller = caller_of(scene.turn, scene.session_key, None)
    return Desk(
        store=scene.store,
        context=lambda tx: Context(tx=tx, caller=caller, instance=scene.instance),
        hands_or_none=scene.instance.hands,
    )


def _outside(tool: OutsideTool, scene: _Scene) -> Tool:
    async def run(call: ToolCall) -> str:
        check_bounds(call.args, "arguments")

        def look(tx: Tx) -> tuple[Agent, str | None]:
            return still_allowed(tx, scene.agent, tool.name), _outside_the_job(tx, scene.turn)

        agent, source = await scene.store.read(look)
        _check_no_approval(agent, tool.name)
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
    job = jobs.get(tx, turn.job_id) if turn.acts_as == "run" and turn.job_id else None
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


def still_allowed(tx: Tx, opened: Agent, name: str) -> Agent:
    """Give the agent without what an edit has taken away since the turn's opening; refuse a tool that was."""
    today = agents.get(tx, opened.id)
    agent = opened if today is None else opened.narrowed(today)
    if name in BUILT_IN and agent.policy(name) == "deny":
        raise Forbidden(f"The tool {name} was switched off for this agent while this turn was running.")
    return agent


def _check_no_approval(agent: Agent, name: str) -> None:
    if agent.asks(name):
        raise Forbidden(f"Each call of {name} needs a person's approval from the next turn on.")


def caller_of(turn: Turn, session_key: str, shown_outside: str | None, *, call_key: str = "") -> Caller:
    # A turn that 0.1.0 opened does not say what came into it; its source does.
    outside = turn.policy.outside or (None if turn.acts_as == "person" else turn.acts_as)
    acting = ActingTurn(
        id=turn.id,
        session_id=turn.session_id,
        session_key=session_key,
        agent_id=turn.agent_id,
        source=turn.acts_as,
        job_id=turn.job_id,
        sender_id=turn.sender_id,
        depth=turn.depth,
        may_schedule=turn.acts_as == "person" or turn.policy.may_schedule,
        outside=outside,
        shown_outside=shown_outside,
        call_key=call_key,
    )
    return Caller(user_id=turn.user_id, role="user", door="tool", turn=acting)


def home_session(tx: Tx, turn: Turn) -> Session:
    """Find the conversation a turn belongs to: an isolated run's own session ends with it, so that is its parent."""
    session = sessions.get(tx, turn.session_id)
    return session if session.parent_id is None else sessions.get(tx, session.parent_id)
