"""`request_access`: an agent asks to reach a host, or to write to an address. A yes adds a grant, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass

from homing.model.actions import ActionResult, Asked
from homing.model.agents import Agent
from homing.model.approvals import Audience
from homing.model.errors import Conflict, Invalid, NotFound
from homing.model.people import is_place
from homing.model.sessions import Session
from homing.operations.agent_messages import read_target
from homing.operations.approvals import Request, hold_places
from homing.operations.context import Context
from homing.operations.grants import check_address, give_host, granted_session, is_own_webhook, read_host
from homing.sandbox.hosts import read_hosts
from homing.settings import Settings
from homing.store import LookAgain, Tx, agents, people, sessions
from homing.tools.tool import CallContext, Plan, RequestTool
from homing.tools.typed_arguments import parameters, read_arguments

_NAME = "request_access"
_PARAMETERS = parameters(
    required=["reason"],
    host={"type": "string", "description": "A host for your programs: example.org, *.example.org or 127.0.0.1:8080"},
    address={
        "type": "string",
        "description": "Instead, to write there: email:anna@example.org, agent:research or a conversation's key",
    },
    reason={"type": "string", "description": "What you need it for, in one sentence for the person who decides"},
)


def offer(settings: Settings) -> RequestTool:
    """Give the tool."""

    async def prepare(context: CallContext, arguments: Mapping[str, object]) -> Plan:
        given = read_arguments(_NAME, _PARAMETERS, arguments)
        reason = given["reason"]
        if ("host" in given) == ("address" in given):
            raise Invalid("Give either a host or an address.", field="host", code="missing")
        if "host" in given:
            host = read_host(given["host"])
            return lambda ctx, home, agent: _host_request(ctx, agent, host, reason)
        return lambda ctx, home, agent: _address_request(
            ctx, home, agent, read_target(ctx, home, given["address"]), reason
        )

    return RequestTool(
        name=_NAME,
        description=(
            "Ask a person to let your programs reach a host, or to let you write to an address. You are told later"
            " whether it was allowed."
        ),
        parameters=_PARAMETERS,
        prepare=prepare,
        action=lambda asked: _Access(asked=asked, settings=settings),
    )


def _host_request(ctx: Context, agent: Agent, host: str, reason: str) -> Request | str:
    today = agents.get(ctx.tx, agent.id)
    if today is not None and read_hosts(today.all_hosts).covers(read_hosts([host])):
        return f"{host} is allowed already: your programs reach it, at the latest from the next turn on."
    return Request(
        tool=_NAME,
        args={"host": host},
        title=f"{agent.name} asks to reach {host}",
        reason=reason,
        audience="admin",
    )


def _address_request(ctx: Context, home: Session, agent: Agent, address: str, reason: str) -> Request | str:
    tx, user_id = ctx.tx, home.user_id
    if not address.isascii():
        # On a card it could not be told from another that looks the same.
        raise Invalid(
            "An address with letters beyond a to z cannot be asked for: ask an administrator to add the grant.",
            field="address",
            code="out_of_range",
        )
    if lacking := check_address(tx, ctx.settings, user_id, address):
        raise Conflict(lacking[0])
    own = address in sessions.addresses(tx, [home.id])[home.id]
    if own or people.find_grant(tx, user_id=user_id, agent_id=agent.id, address=address):
        return f"You may write to {address} already."
    audience: Audience = "owner" if _is_own(tx, user_id, address) else "admin"
    return Request(
        tool=_NAME,
        args={"address": address, "for_user": user_id},
        title=f"{agent.name} asks to write to {address}",
        reason=reason,
        audience=audience,
    )


def _is_own(tx: Tx, user_id: str, address: str) -> bool:
    """Rule 53: an address is a user's own when an admin granted it to them, for whichever agent. So are their
    conversations, and what an agent is asked for them.
    """
    return (
        not is_place(address)
        or is_own_webhook(tx, user_id, address)
        or people.granted_to_any(tx, user_id=user_id, address=address)
    )


@dataclass(frozen=True, kw_only=True)
class _Access:
    """Adds the grant, together with the end of its approval."""

    asked: Asked
    settings: Settings
    repeatable: bool = True
    seconds: float = 60.0

    async def work(self) -> None:
        pass

    def _target(self, tx: Tx) -> set[int]:
        given = self.asked.arguments
        return set() if "host" in given else granted_session(tx, str(given["for_user"]), str(given["address"]))

    def finish(self, tx: Tx, worked: None) -> ActionResult:
        approval, given = self.asked.approval, self.asked.arguments
        by = approval.answered_by
        assert by is not None
        # Sessions before agents and grants, as everywhere.
        target = self._target(tx)
        hold_places(tx, approval, unified=self.settings.unified_session, also=target)
        if self._target(tx) - target:
            raise LookAgain
        if "host" in given:
            host = str(given["host"])
            grant, new = give_host(tx, approval.agent_id, host, by=by)
            text = f"Your programs may reach {host} from now on ({grant.id})."
        else:
            address, user_id = str(given["address"]), str(given["for_user"])
            check_address(tx, self.settings, user_id, address)
            if approval.audience == "owner" and not _is_own(tx, user_id, address):
                # What an admin took back while it was open is the admin's to give again.
                return ActionResult(text=f"{address} no longer belongs to the user.", ended="approver_gone")
            # Held: an agent that is removed takes its grants with it.
            agent = agents.hold(tx, approval.agent_id)
            if agent is None or agent.removed_at is not None:
                raise NotFound(f"There is no agent {approval.agent_id} any more.")
            known = people.find_grant(tx, user_id=user_id, agent_id=agent.id, address=address)
            grant = known or people.add_grant(tx, user_id=user_id, agent_id=agent.id, address=address)
            new = known is None
            text = f"You may write to {address} from now on ({grant.id})."
        if new:
            detail = {"agent_id": grant.agent_id, "address": grant.address, "approval_id": approval.id}
            people.audit(tx, user_id=by, action="add_grant", object_id=grant.id, detail=detail)
        return ActionResult(text=text)
