"""Agents: list them, read one; admins make, change and remove them. An edit counts as rule 40 says."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from homing.model.agents import (
    BUILT_IN,
    INSTRUCTIONS,
    MAIN,
    MAX_ID,
    SCHEDULERS,
    Agent,
    BuiltInTool,
    ToolPolicy,
    check_id,
    id_from_name,
)
from homing.model.errors import Conflict, Invalid, NotFound, UnknownTool
from homing.model.hours import read_hours
from homing.model.mcp_servers import is_secret_name
from homing.model.scripts import Script
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.definition import check_thinking
from homing.operations.hands import Desk
from homing.operations.heartbeats import heartbeat_of
from homing.operations.models import check_model, default_model, uses_offline
from homing.operations.packages import INSTALL, SAME, OwnPackages, hold_own_home, install_own, look_up_own
from homing.operations.scripts import CHANGED_MEANWHILE, NOT_TRIED, TriedScript, try_of_agent
from homing.operations.shapes.agent import (
    AddAgent,
    AgentRef,
    AgentServer,
    AgentShape,
    EnvironmentShape,
    HeartbeatAsk,
    HeartbeatShape,
    PackagesShape,
    ToolInEffect,
    UpdateAgent,
)
from homing.operations.shapes.base import Listing, Nothing
from homing.operations.shapes.people_asks import Gone
from homing.operations.status import ALIVE
from homing.operations.workers import WORKSPACE
from homing.sandbox.hosts import check_hosts, is_local
from homing.settings import SECRET, read_secret
from homing.store import agents, approvals, contacts, environments, maintenance, mcp_servers, people

CHANGED = "agents"
"""Rung when an agent changed. Agents are everybody's, so the ring does not say whose."""
_MOST = 200
_NAMED = 5
_OTHERS = " A conversation of another user is changed by that user only: ask them."
_NO_SEARCH = "It needs a search server, and HOMING_SEARCH_URL is not set on this server."
NEEDS_PORT = "{host} is this machine, which is reached only with a port: write {host}:8080, for example."
_NEVER_BEATS = (
    "Nothing goes through the checklist yet: set heartbeat.minutes, or HOMING_HEARTBEAT_MINUTES for every agent."
)
_OFFLINE_BEATS = "The checklist waits for a model: the offline model does not go through it."


def list_agents(ctx: Context, ask: Nothing) -> Listing[AgentShape]:
    """List the agents; their instructions, hosts and secrets are shown to admins only."""
    lacking = _lacking(ctx)
    return Listing(items=[_show(ctx, agent, lacking=lacking) for agent in agents.listed(ctx.tx)])


def get_agent(ctx: Context, ask: AgentRef) -> AgentShape:
    """Read one agent; its instructions, hosts and secrets are shown to admins only."""
    return _show(ctx, _living(agents.get(ctx.tx, ask.agent_id), ask.agent_id))


@dataclass(frozen=True, kw_only=True)
class PreparedAgent:
    """What was tried and looked up before an agent is written."""

    tried: TriedScript = NOT_TRIED
    packages: OwnPackages = SAME


UNPREPARED = PreparedAgent()


async def prepare_add_agent(desk: Desk, ask: AddAgent) -> PreparedAgent:
    """Run the script of a new agent's heartbeat once, and look up its packages."""
    tried = await _try_script(desk, None, ask)
    return PreparedAgent(tried=tried, packages=await look_up_own(desk, None, ask.packages) if ask.packages else SAME)


def add_agent(ctx: Context, ask: AddAgent, prepared: PreparedAgent = UNPREPARED) -> AgentShape:
    """Make an agent (admins only). An id that a removed agent had is that agent's again, newly defined."""
    place = _place(ctx, prepared.packages)
    if len(agents.listed(ctx.tx)) >= _MOST:
        raise Conflict(f"There are {_MOST} agents, and no more are allowed. Remove one first.", code="quota_reached")
    agent_id = _new_id(ctx, ask.name) if ask.id is None else check_id(ask.id)
    fresh = Agent(id=agent_id, name=ask.name, instructions=INSTRUCTIONS)
    wanted, warnings = _changed(ctx, fresh, ask)
    _check_tried(ctx, fresh, wanted, prepared.tried)
    if not agents.add(ctx.tx, wanted):
        before = agents.lock(ctx.tx, agent_id)
        if before is None or before.removed_at is None:
            raise Conflict(f"There is an agent {agent_id} already. Change it with update_agent, or choose another id.")
        agents.change(ctx.tx, replace(wanted, revision=before.revision))
    if place is not None:
        install_own(ctx, _living(agents.lock(ctx.tx, agent_id), agent_id), prepared.packages, place)
    return _written(ctx, agent_id, "add_agent", warnings, {"name": wanted.name})


async def prepare_update_agent(desk: Desk, ask: UpdateAgent) -> PreparedAgent:
    """Run the script of an agent's heartbeat once, if the change gives it another; look up packages that were given."""
    tried = await _try_script(desk, ask.agent_id, ask)
    packages = await look_up_own(desk, ask.agent_id, ask.packages) if ask.gave("packages") else SAME
    return PreparedAgent(tried=tried, packages=packages)


def update_agent(ctx: Context, ask: UpdateAgent, prepared: PreparedAgent = UNPREPARED) -> AgentShape:
    """Change the given fields of an agent (admins only); null means the default."""
    place = _place(ctx, prepared.packages)
    before = _living(agents.lock(ctx.tx, ask.agent_id), ask.agent_id)
    if ask.revision is not None and ask.revision != before.revision:
        raise Conflict(
            f"Somebody changed it meanwhile: it is at revision {before.revision}. Look again, then repeat the change.",
            code="stale_revision",
            extra={"current": _show(ctx, before).plain()},
        )
    wanted, warnings = _changed(ctx, before, ask)
    if place is not None:
        install_own(ctx, before, prepared.packages, place)
    if wanted == before:
        return _show(ctx, before, warnings)
    _check_tried(ctx, before, wanted, prepared.tried)
    agents.change(ctx.tx, wanted)
    fields = [name for name in ask.model_fields_set if getattr(wanted, name, None) != getattr(before, name, None)]
    return _written(ctx, before.id, "update_agent", warnings, {"fields": sorted(fields)})


def remove_agent(ctx: Context, ask: AgentRef) -> Gone:
    """Remove an agent that no conversation uses (admins only); what it did stays readable."""
    if ask.agent_id == MAIN:
        raise Conflict("The agent main cannot be removed. Change it with update_agent.")
    agent = _living(agents.lock(ctx.tx, ask.agent_id, alone=True), ask.agent_id)
    using, count = agents.sessions_with(ctx.tx, agent.id, limit=_NAMED)
    if using:
        raise _in_use(ctx, agent, using, count)
    agents.remove(ctx.tx, agent.id)
    contacts.remove_ungranted(ctx.tx)
    _record(ctx, agent, "remove_agent", {"name": agent.name})
    return Gone(id=agent.id)


def _place(ctx: Context, packages: OwnPackages) -> tuple[Session, int] | None:
    """Lock where a change of packages is shown, if there is one; refuse it where nobody could install them."""
    if packages.resolved is None:
        return None
    if why := _lacking(ctx).get(INSTALL):
        raise Conflict(why, code="no_sandbox")
    return hold_own_home(ctx)


def _in_use(ctx: Context, agent: Agent, using: Sequence[tuple[str, str | None, str]], count: int) -> Conflict:
    has = "1 conversation uses" if count == 1 else f"{count} conversations use"
    me = ctx.caller.user_id
    titled = [(f"{title} ({key})" if title else key, user_id) for key, title, user_id in using]
    named = ", ".join(called if user_id == me else f"{called} of the user {user_id}" for called, user_id in titled)
    more = f" and {count - len(using)} more" if count > len(using) else ""
    others = any(user_id != me for _, _, user_id in using)
    return Conflict(
        f"{has} the agent {agent.id}. In use by: {named}{more}. Give each another agent (update_session with agent_id)"
        f" or delete it, then remove the agent.{_OTHERS if others else ''}",
        extra={
            "sessions": count,
            "conversations": [{"key": key, "title": title, "user_id": user_id} for key, title, user_id in using],
        },
    )


def _written(
    ctx: Context, agent_id: str, action: str, warnings: Collection[str], detail: Mapping[str, object]
) -> AgentShape:
    agent = _living(agents.get(ctx.tx, agent_id), agent_id)
    _record(ctx, agent, action, detail)
    return _show(ctx, agent, warnings)


def _record(ctx: Context, agent: Agent, action: str, detail: Mapping[str, object]) -> None:
    told = {**detail, "revision": agent.revision}
    people.audit(ctx.tx, user_id=ctx.caller.user_id, action=action, object_id=agent.id, detail=told)
    ctx.tx.ring(CHANGED)


def _living(agent: Agent | None, agent_id: str) -> Agent:
    if agent is None or agent.removed_at is not None:
        raise NotFound(f"There is no agent {agent_id}. List them with list_agents.")
    return agent


def _new_id(ctx: Context, name: str) -> str:
    """Make an id of a name, with a number behind it if that one is or was another agent's."""
    base = id_from_name(name)
    taken = agents.ids_like(ctx.tx, base[: MAX_ID - 4])
    numbered = (f"{base[: MAX_ID - 4]}-{n}" for n in range(2, 2 + len(taken)))
    return next(one for one in (base, *numbered) if one not in taken)


def _changed(ctx: Context, before: Agent, ask: AddAgent | UpdateAgent) -> tuple[Agent, list[str]]:
    """Put the fields given over an agent; refuse what cannot be, and say what will not work as wished."""
    all_values: dict[str, Any] = {
        "name": ask.name or before.id,
        "model": ask.model or None,
        "thinking": ask.thinking or None,
        "instructions": INSTRUCTIONS if ask.instructions is None else ask.instructions,
        "tools": _tools(ask.tools),
        "hosts": _hosts(ask.hosts or ()),
        "secrets": _secrets(ask.secrets or ()),
        "guest_tools": _known_tools(ask.guest_tools or (), field="guest_tools"),
        "heartbeat": _heartbeat(before, ask.heartbeat),
    }
    values = {name: value for name, value in all_values.items() if ask.gave(name)}
    wanted = replace(before, **values)
    check_model(ctx, wanted.model, before=before.model, field="model")
    check_thinking(wanted.thinking, field="thinking")
    warnings: list[str] = []
    model = wanted.model or default_model(ctx.instance, before.server_model)
    if "model" in values and not ctx.instance.calls_tools(model):
        warnings.append(f"The model {model} cannot call tools: this agent can only talk, and sets no reminders.")
    if "heartbeat" in values:
        warnings += _why_no_beat(ctx, wanted)
    warnings += [NEEDS_PORT.format(host=host) for host in wanted.hosts if host not in before.hosts and is_local(host)]
    warnings += [why for name in wanted.secrets if name not in before.secrets and (why := _why_unset(ctx, name))]
    return wanted, warnings


def _why_no_beat(ctx: Context, agent: Agent) -> list[str]:
    beat = heartbeat_of(agent, ctx.settings)
    if beat.checklist is None:
        return []
    if not beat.minutes:
        return [_NEVER_BEATS]
    return [_OFFLINE_BEATS] if uses_offline(ctx.instance, agent) else []


async def _try_script(desk: Desk, agent_id: str | None, ask: AddAgent | UpdateAgent) -> TriedScript:
    if ask.heartbeat is None or not (ask.heartbeat.gave("script") or ask.heartbeat.gave("script_language")):
        return NOT_TRIED
    script = await desk.read(lambda ctx: _script_after(ctx, agent_id, ask))
    return await try_of_agent(desk, script, field="heartbeat.script") if script is not None else NOT_TRIED


def _script_after(ctx: Context, agent_id: str | None, ask: AddAgent | UpdateAgent) -> Script | None:
    """Give the script that the heartbeat has once a request is done; None if it is the one it has."""
    ctx.admin()
    fresh = Agent(id="new", name="new", instructions="")
    before = fresh if agent_id is None else _living(agents.get(ctx.tx, agent_id), agent_id)
    hosts = _hosts(ask.hosts or ()) if ask.gave("hosts") else before.hosts
    wanted = replace(before, hosts=hosts, heartbeat=_heartbeat(before, ask.heartbeat))
    script = heartbeat_of(wanted, ctx.settings).script
    return None if script == heartbeat_of(before, ctx.settings).script else script


def _check_tried(ctx: Context, before: Agent, wanted: Agent, tried: TriedScript) -> None:
    """Refuse a script that was not tried; what it may reach is the agent's own business."""
    old, new = heartbeat_of(before, ctx.settings).script, heartbeat_of(wanted, ctx.settings).script
    if new is None or (old is not None and (old.text, old.language) == (new.text, new.language)):
        return
    if tried.script is None or (tried.script.text, tried.script.language) != (new.text, new.language):
        raise Conflict(CHANGED_MEANWHILE)


def _why_unset(ctx: Context, name: str) -> str | None:
    try:
        if read_secret(ctx.settings.home, name) is not None:
            return None
    except Invalid as error:
        return error.detail
    return f"The secret {name} has no value here: set {SECRET}{name}, or write it to secrets/{name} in Homing's home."


def _tools(given: Mapping[str, ToolPolicy] | None) -> dict[str, ToolPolicy] | None:
    if given is None:
        return None
    _known_tools(given, field="tools")
    if asking := [name for name, policy in given.items() if policy == "ask" and not BUILT_IN[name].may_ask]:
        raise Invalid(
            f"Calls of {asking[0]} cannot wait for an approval: allow or deny it.",
            field=f"tools.{asking[0]}",
            code="out_of_range",
        )
    if len(named := [name for name in SCHEDULERS if given.get(name, "deny") != "deny"]) > 1:
        raise Invalid(
            f"{' and '.join(named)} are names of one tool; allow one of them.", field="tools", code="out_of_range"
        )
    return {name: _kept_policy(tool, given[name]) for name, tool in BUILT_IN.items() if name in given}


def _kept_policy(tool: BuiltInTool, given: ToolPolicy) -> ToolPolicy:
    return "ask" if tool.always_asks and given == "allow" else given


def _known_tools(names: Collection[str], *, field: str) -> tuple[str, ...]:
    unknown = [name for name in names if name not in BUILT_IN]
    if unknown:
        wrong = f"There is no tool {unknown[0]:.80}" if unknown[0] else "A name of a tool is empty"
        raise UnknownTool(
            f"{wrong}. The tools are: {', '.join(BUILT_IN)}.",
            field=field,
            code="unknown_tool",
        )
    return tuple(dict.fromkeys(names))


def _hosts(given: Collection[str]) -> tuple[str, ...]:
    check_hosts(given)
    return tuple(dict.fromkeys(entry.strip().lower() for entry in given))


def _secrets(given: Collection[str]) -> tuple[str, ...]:
    for name in given:
        if not is_secret_name(name):
            raise Invalid(
                f"{name:.80} is not the name of a secret: write capital letters, digits and _, such as GITHUB_TOKEN."
                " Its value belongs in HOMING_SECRET_NAME on the server, never here.",
                field="secrets",
                code="out_of_range",
            )
    return tuple(dict.fromkeys(given))


def _heartbeat(before: Agent, given: HeartbeatAsk | None) -> dict[str, object]:
    if given is None:
        return {}
    if given.active_hours:
        try:
            read_hours(given.active_hours)
        except ValueError as error:
            raise Invalid(
                f"heartbeat.active_hours {error}.", field="heartbeat.active_hours", code="out_of_range"
            ) from None
    fields = {name: getattr(given, name) for name in given.model_fields_set}
    return {name: value for name, value in {**before.heartbeat, **fields}.items() if value not in (None, "")}


def _show(
    ctx: Context, agent: Agent, warnings: Collection[str] = (), *, lacking: Mapping[str, str] | None = None
) -> AgentShape:
    # Rule 47: an admin's MCP client is a program, and sees what everybody does.
    admin = ctx.caller.admin and ctx.caller.door != "mcp"
    return AgentShape.of(
        agent,
        model_in_effect=agent.model or default_model(ctx.instance, agent.server_model),
        instructions=agent.instructions if admin else None,
        tools_in_effect=_in_effect(agent, _lacking(ctx) if lacking is None else lacking),
        hosts=list(agent.hosts) if admin else None,
        granted_hosts=list(agent.granted_hosts) if admin else None,
        packages=_packages(ctx, agent) if admin else None,
        environment=_environment(ctx, agent) if admin else None,
        secrets=list(agent.secrets) if admin else None,
        guest_tools=list(agent.guest_tools),
        heartbeat=HeartbeatShape.model_validate(agent.heartbeat) if admin else None,
        mcp_servers=_servers(ctx, agent),
        warnings=list(warnings) or None,
    )


def _packages(ctx: Context, agent: Agent) -> PackagesShape:
    lock = environments.of_agent(ctx.tx, agent.id) if agent.environment else None
    return PackagesShape(pip=list(lock.pip) if lock else [], npm=list(lock.npm) if lock else [])


def _environment(ctx: Context, agent: Agent) -> EnvironmentShape:
    last, error = approvals.last_install(ctx.tx, agent.id), None
    if last is not None and last.state in ("approved", "running"):
        state = "building"
    elif last is not None and last.state == "failed":
        state, error = "failed", last.error
    else:
        state = "ready" if agent.environment else "none"
    return EnvironmentShape(
        digest=agent.environment, state=state, error=error, approval_id=last.id if last is not None else None
    )


def _servers(ctx: Context, agent: Agent) -> list[AgentServer]:
    found = mcp_servers.listed(ctx.tx, agent.id) if agent.has_mcp_servers else []
    return [AgentServer.of(server, tools=len(server.tools), offered=len(server.offered)) for server in found]


def _in_effect(agent: Agent, lacking: Mapping[str, str]) -> list[ToolInEffect]:
    """Tell each built-in tool with its policy, and why an allowed one cannot be used here."""
    found: list[ToolInEffect] = []
    for name, tool in BUILT_IN.items():
        policy = agent.policy(name)
        if name in SCHEDULERS and name != (agent.scheduler or SCHEDULERS[0]):
            continue
        why = lacking.get(name) if policy != "deny" else None
        state = "denied" if policy == "deny" else "unavailable" if why else "offered"
        found.append(
            ToolInEffect(
                name=name, policy=policy, default=tool.default, policies=list(tool.policies), state=state, why=why
            )
        )
    return found


def _lacking(ctx: Context) -> dict[str, str]:
    """Say which tools no worker has now, and what to do about it."""
    workers = maintenance.workers(ctx.tx, ALIVE)
    search = {} if ctx.settings.search_url else {"search_web": _NO_SEARCH}
    if not ctx.settings.sandbox:
        why = "It needs the sandbox, and HOMING_SANDBOX is off on this server."
    elif workers and not any(WORKSPACE in worker.can for worker in workers):
        why = "It needs the sandbox, which does not work on this server: `homing doctor` says why."
    else:
        return search
    return search | {name: why for name, tool in BUILT_IN.items() if tool.workspace}
