"""`install_packages`: an agent asks for packages (rule 44).

They are looked up before anybody is asked, so the card shows the exact lock. A yes builds that lock beside the old
environment, and one row swaps them. What another request installed meanwhile makes the lock outdated: then it is looked
up and asked again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homing.model.actions import ActionResult, Asked
from homing.model.agents import Agent
from homing.model.approvals import Approval
from homing.model.errors import BadPackage, Conflict, Failed, Invalid, NotFound, ToolFailed
from homing.model.packages import MAX_NAMES, PackageLock, PackageRequest, Resolved
from homing.model.sessions import Session
from homing.operations.actions import WorkAgain
from homing.operations.agents import CHANGED
from homing.operations.approvals import Request, ask, hold_places
from homing.operations.context import Context, Instance
from homing.operations.packages import INSTALL as NAME
from homing.operations.packages import asked_in, lock_in, package_card
from homing.sandbox.packages import BUILD_SECONDS, RESOLVE_SECONDS
from homing.store import Tx, agents, approvals, environments, people
from homing.tools.environments import AgentPackages
from homing.tools.tool import CallContext, Outdated, Plan, RequestTool
from homing.tools.toolbox import caller_of, home_session
from homing.tools.typed_arguments import list_of, parameters, read_arguments

_GRACE_SECONDS = 60.0
_NAMED = 10
_PARAMETERS = parameters(
    pip=list_of("string", "Python packages, such as requests or pandas>=2"),
    npm=list_of("string", "npm packages, such as left-pad or @types/node@^22"),
    apt=list_of("string", "Packages of the system: never installed by this, only shown to the administrator"),
    reason={"type": "string", "description": "What you need them for, in one sentence for the person who decides"},
)


def offer(packages: AgentPackages, instance: Instance) -> RequestTool:
    """Give the tool."""

    async def prepare(context: CallContext, arguments: Mapping[str, object]) -> Plan:
        given = read_arguments(NAME, _PARAMETERS, arguments)
        request = _read_request(given)
        seen = await packages.store.read(lambda tx: _Seen.look(tx, context.agent.id))
        wanted = _with_pending(request, seen)
        try:
            resolved = await packages.resolve(wanted, seen.base)
        except Failed as error:
            raise ToolFailed(error.detail) from None
        return lambda ctx, home, agent: _request(ctx, agent, seen, wanted, resolved, given.get("reason"))

    return RequestTool(
        name=NAME,
        description=(
            "Ask an administrator to install packages for your programs (run_command). They are looked up now and"
            " installed after a yes; you are told then. Name all that you need in one call."
        ),
        parameters=_PARAMETERS,
        prepare=prepare,
        action=lambda asked: _Install(asked=asked, packages=packages, instance=instance),
        seconds=2 * RESOLVE_SECONDS + _GRACE_SECONDS,
    )


def _read_request(given: Mapping[str, Any]) -> PackageRequest:
    names: dict[str, Any] = {manager: tuple(given.get(manager, ())) for manager in ("pip", "npm", "apt")}
    if not any(names.values()):
        raise Invalid("Name at least one package in pip, npm or apt.", field="pip", code="missing")
    return PackageRequest(**names)


def _with_pending(request: PackageRequest, seen: "_Seen") -> PackageRequest:
    """Add what waits for an answer: a further request replaces it."""
    if seen.pending is None or seen.asked is None:
        return request
    try:
        return seen.asked.joined(request)
    except BadPackage:
        # Each of them can be asked for: together they are too many.
        raise Conflict(
            f"Packages of an earlier request ({seen.pending.id}) wait for an answer, and with these they would be more"
            f" than {MAX_NAMES}. Ask again when it is answered."
        ) from None


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What a lookup is based on: what the agent has, and what it is waiting for."""

    base: PackageLock | None
    pending: Approval | None

    @classmethod
    def look(cls, tx: Tx, agent_id: str) -> "_Seen":
        return cls(base=environments.of_agent(tx, agent_id), pending=approvals.pending_packages(tx, agent_id))

    @property
    def asked(self) -> PackageRequest | None:
        return asked_in(self.pending.arguments) if self.pending else None

    @property
    def names(self) -> tuple[str | None, str | None]:
        return self.base.digest if self.base else None, self.pending.id if self.pending else None


def _request(
    ctx: Context, agent: Agent, seen: _Seen, wanted: PackageRequest, resolved: Resolved, reason: str | None
) -> Request | str:
    if _Seen.look(ctx.tx, agent.id).names != seen.names:
        raise Outdated
    if _is_there(resolved, seen.base) and not wanted.apt:
        return "These packages are installed already. Your programs find them, at the latest from the next turn on."
    replaces = seen.pending.id if seen.pending else None
    return package_card(agent, wanted, resolved, ctx.now, base=seen.base, reason=reason, replaces=replaces)


def _is_there(resolved: Resolved, base: PackageLock | None) -> bool:
    return resolved.lock.is_empty or (base is not None and base.digest == resolved.lock.digest)


@dataclass(frozen=True, kw_only=True)
class _Install:
    """Builds what was approved, and lets the agent use it in the transaction that ends the approval."""

    asked: Asked
    packages: AgentPackages
    instance: Instance
    repeatable: bool = True
    seconds: float = BUILD_SECONDS + RESOLVE_SECONDS + _GRACE_SECONDS

    async def work(self) -> Resolved | None:
        args, agent_id = self.asked.arguments, self.asked.agent.id
        lock = lock_in(args)
        base = await self.packages.store.read(lambda tx: environments.of_agent(tx, agent_id))
        if (base.digest if base else None) != lock.base:
            return await self.packages.resolve(asked_in(args), base)
        if not lock.is_empty:
            await self.packages.build(lock)
        return None

    def finish(self, tx: Tx, worked: Resolved | None) -> ActionResult:
        approval = self.asked.approval
        # Sessions before agents, as everywhere.
        unified = self.instance.settings.unified_session
        hold_places(tx, approval, unified=unified, asks_again=worked is not None)
        agent = agents.lock(tx, approval.agent_id)
        if agent is None or agent.removed_at is not None:
            raise NotFound(f"There is no agent {approval.agent_id} any more.")
        lock = lock_in(self.asked.arguments) if worked is None else worked.lock
        if agent.environment != lock.base:
            raise WorkAgain(f"{_MEANWHILE} Ask for them again.")
        if worked is not None:
            return self._ask_again(tx, agent, worked)
        by_hand = self.asked.arguments.get("by_hand")
        notes = [f"An administrator must run: {by_hand}."] if by_hand else []
        wanted = asked_in(self.asked.arguments)
        if wanted.whole or (not lock.is_empty and lock.digest != agent.environment):
            environments.use(tx, agent, lock)
            tx.ring(CHANGED)
            notes.insert(0, _installed(agent, wanted, lock))
            detail = {"environment": lock.digest, "before": lock.base, "approval_id": approval.id}
            by = approval.answered_by or agent.id
            people.audit(tx, user_id=by, action=NAME, object_id=agent.id, detail=detail)
        return ActionResult(text=" ".join(notes))

    def _ask_again(self, tx: Tx, agent: Agent, resolved: Resolved) -> ActionResult:
        asked, approval = self.asked, self.asked.approval
        if asked.turn_or_none is None:
            return ActionResult(text=f"{_MEANWHILE} Look at the agent's packages, then change them.", ended="replaced")
        wanted = asked_in(asked.arguments)
        base = environments.of_agent(tx, agent.id)
        if _is_there(resolved, base) and not wanted.apt:
            return ActionResult(text="They were installed meanwhile with other packages.")
        if approvals.pending_packages(tx, agent.id) is not None:
            return ActionResult(text=f"{_MEANWHILE} Ask for them again.", ended="replaced")
        ctx = Context(tx=tx, caller=caller_of(asked.turn, approval.session_key, None), instance=self.instance)
        home: Session = home_session(tx, asked.turn)
        request = package_card(agent, wanted, resolved, tx.now(), base=base, reason=approval.reason)
        said = ask(ctx, home, request, call_key=f"{approval.id}:again")
        return ActionResult(text=f"{_MEANWHILE} {said}", ended="replaced")


_MEANWHILE = "Other packages were installed for this agent since this was asked, so what was approved does not fit."


def _installed(agent: Agent, wanted: PackageRequest, lock: PackageLock) -> str:
    if not wanted.whole:
        return f"Installed {_named(wanted)}. Your programs find them from now on."
    if lock.is_empty:
        return f"{agent.name} has no packages any more."
    return f"The programs of {agent.name} find {_named(wanted)} from now on."


def _named(asked: PackageRequest) -> str:
    names: Sequence[str] = (*asked.pip, *asked.npm)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
