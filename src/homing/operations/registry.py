"""Every operation by its name: what doors offer, and what a test walks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from homing.operations import (
    admin,
    deliveries,
    grants,
    hooks,
    job_changes,
    jobs,
    memories,
    messages,
    people,
    removal,
    runs,
    session_deletion,
    sessions,
    status,
    undo,
    upcoming,
    webhooks,
    why,
)
from homing.operations.context import Context
from homing.operations.shapes import delivery, job, job_asks, message, people_asks, run, run_asks, session, session_asks
from homing.operations.shapes.base import Answer, Ask, Listing, Nothing, Page


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One thing that may be asked. What of the ask is not in the body is path or query."""

    name: str
    function: Callable[[Context, Any], Any]
    """Does it in one transaction; gives the answer, or what `finish` makes it of."""
    ask: type[Ask]
    answer: type[Answer]
    reads: bool = False
    body: type[Ask] | None = None
    status: int = 200
    finish: Callable[[Any], Answer] | None = None
    """Computes the answer, after the transaction."""
    open: bool = False
    """Nobody need be known to ask it: the ask carries its own proof."""
    withheld: bool = False
    """Rule 47: it widens what an agent may do, or who may act, so no MCP server and no tool offers it."""

    def answered(self, found: Any) -> Any:
        """Make the answer of what the function gave."""
        return found if self.finish is None else self.finish(found)

    @property
    def summary(self) -> str:
        return (self.function.__doc__ or "").strip().splitlines()[0]


def _reads(
    name: str,
    function: Callable[[Context, Any], Any],
    ask: type[Ask],
    answer: type[Answer],
    *,
    finish: Callable[[Any], Answer] | None = None,
    withheld: bool = False,
) -> Operation:
    return Operation(name=name, function=function, ask=ask, answer=answer, reads=True, finish=finish, withheld=withheld)


def _writes(
    name: str,
    function: Callable[[Context, Any], Answer],
    ask: type[Ask],
    answer: type[Answer],
    *,
    body: type[Ask] | None = None,
    status: int = 200,
    open_: bool = False,
    withheld: bool = False,
) -> Operation:
    return Operation(
        name=name,
        function=function,
        ask=ask,
        answer=answer,
        body=body,
        status=status,
        open=open_,
        withheld=withheld,
    )


_JOB = job.JobShape
_REF = job_asks.JobRef
_SESSION = session_asks.SessionRef

OPERATIONS: tuple[Operation, ...] = (
    _reads("get_status", status.get_status, Nothing, people_asks.StatusShape),
    _reads("get_me", people.get_me, Nothing, people_asks.MeShape),
    _writes("update_me", people.update_me, people_asks.UpdateMe, people_asks.MeShape, body=people_asks.UpdateMe),
    _reads("list_agents", people.list_agents, Nothing, Listing[people_asks.AgentShape]),
    _reads("list_users", people.list_users, Nothing, Listing[people_asks.UserShape], withheld=True),
    _reads("list_tokens", people.list_tokens, people_asks.ListTokens, Listing[people_asks.TokenShape], withheld=True),
    _writes(
        "create_token",
        people.create_token,
        people_asks.CreateToken,
        people_asks.NewTokenShape,
        body=people_asks.CreateToken,
        status=201,
        withheld=True,
    ),
    _writes("revoke_token", people.revoke_token, people_asks.TokenRef, people_asks.Gone, withheld=True),
    _writes(
        "sign_in",
        people.sign_in,
        people_asks.SignIn,
        people_asks.SignedInShape,
        body=people_asks.SignIn,
        open_=True,
        withheld=True,
    ),
    _writes("sign_out", people.sign_out, people_asks.SignOut, people_asks.SignedOutShape, open_=True, withheld=True),
    _writes(
        "add_session",
        sessions.add_session,
        session_asks.AddSession,
        session.SessionShape,
        body=session_asks.AddSession,
        status=201,
    ),
    _reads("list_sessions", sessions.list_sessions, session_asks.ListSessions, Page[session.SessionShape]),
    _reads("get_session", sessions.get_session, _SESSION, session.SessionShape),
    _writes(
        "update_session",
        sessions.update_session,
        session_asks.UpdateSession,
        session.SessionShape,
        body=session_asks.SessionPatch,
    ),
    _writes("delete_session", session_deletion.delete_session, session_asks.DeleteSession, session_asks.DeletedShape),
    _writes(
        "send_message",
        messages.send_message,
        session_asks.SendMessage,
        session_asks.SentShape,
        body=session_asks.MessageBody,
        status=202,
    ),
    _reads("list_messages", messages.list_messages, session_asks.ListMessages, Page[message.MessageShape]),
    _writes(
        "cancel_turn",
        messages.cancel_turn,
        session_asks.CancelTurn,
        session_asks.CancelledShape,
        body=session_asks.CancelBody,
        status=202,
    ),
    _writes(
        "test_address",
        deliveries.test_address,
        session_asks.TestAddress,
        delivery.DeliveryShape,
        body=session_asks.TestBody,
        status=202,
    ),
    _reads("list_hooks", hooks.list_hooks, _SESSION, Listing[session_asks.HookShape]),
    _writes(
        "add_hook",
        hooks.add_hook,
        session_asks.AddHook,
        session_asks.NewHookShape,
        body=session_asks.HookBody,
        status=201,
    ),
    _writes("remove_hook", hooks.remove_hook, session_asks.RemoveHook, people_asks.Gone),
    _writes(
        "call_hook",
        hooks.call_hook,
        session_asks.CallHook,
        session_asks.CalledShape,
        status=202,
        open_=True,
        withheld=True,
    ),
    _reads("list_webhooks", webhooks.list_webhooks, Nothing, Listing[people_asks.WebhookShape]),
    _writes(
        "add_webhook",
        webhooks.add_webhook,
        people_asks.AddWebhook,
        people_asks.NewWebhookShape,
        body=people_asks.AddWebhook,
        status=201,
    ),
    _writes("remove_webhook", webhooks.remove_webhook, people_asks.WebhookRef, people_asks.Gone),
    _reads("list_grants", grants.list_grants, people_asks.ListGrants, Listing[people_asks.GrantShape], withheld=True),
    _writes(
        "add_grant",
        grants.add_grant,
        people_asks.AddGrant,
        people_asks.NewGrantShape,
        body=people_asks.AddGrant,
        status=201,
        withheld=True,
    ),
    _writes("remove_grant", grants.remove_grant, people_asks.GrantRef, people_asks.Gone, withheld=True),
    _writes("add_job", jobs.add_job, job_asks.AddJob, _JOB, body=job_asks.AddJob, status=201),
    _reads("list_jobs", jobs.list_jobs, job_asks.ListJobs, Page[job.JobShape]),
    _reads("get_job", jobs.get_job, job_asks.GetJob, _JOB),
    _writes("update_job", job_changes.update_job, job_asks.UpdateJob, _JOB, body=job_asks.JobPatch),
    _writes("remove_job", removal.remove_job, _REF, _JOB),
    _writes("enable_job", job_changes.enable_job, _REF, _JOB),
    _writes("disable_job", job_changes.disable_job, job_asks.DisableJob, _JOB, body=job_asks.DisableBody),
    _writes("skip_job", job_changes.skip_job, job_asks.SkipJob, _JOB, body=job_asks.SkipBody),
    _writes("undo_job", undo.undo_job, job_asks.UndoJob, _JOB, body=job_asks.UndoBody),
    _writes("run_job", runs.run_job, _REF, run.RunShape, status=202),
    _reads("why_job", why.why_job, job_asks.WhyJob, run_asks.WhyShape),
    _reads("list_runs", runs.list_runs, run_asks.ListRuns, Page[run.RunRow]),
    _reads("get_run", runs.get_run, run_asks.RunRef, run.RunShape),
    _writes("cancel_run", runs.cancel_run, run_asks.RunRef, run.RunShape, status=202),
    _reads(
        "list_upcoming",
        upcoming.list_upcoming,
        job_asks.ListUpcoming,
        run_asks.UpcomingList,
        finish=upcoming.tell_upcoming,
    ),
    Operation(
        name="preview_schedule",
        function=upcoming.preview_schedule,
        ask=job_asks.PreviewSchedule,
        answer=run_asks.PreviewShape,
        reads=True,
        body=job_asks.PreviewSchedule,
    ),
    _reads("list_deliveries", deliveries.list_deliveries, session_asks.ListDeliveries, Page[delivery.DeliveryShape]),
    _writes("retry_delivery", deliveries.retry_delivery, session_asks.DeliveryRef, delivery.DeliveryShape, status=202),
    _reads("list_memories", memories.list_memories, people_asks.ListMemories, Page[people_asks.MemoryShape]),
    _writes(
        "add_memory",
        memories.add_memory,
        people_asks.AddMemory,
        people_asks.MemoryShape,
        body=people_asks.AddMemory,
        status=201,
    ),
    _writes("confirm_memory", memories.confirm_memory, people_asks.MemoryRef, people_asks.MemoryShape, withheld=True),
    _writes("remove_memory", memories.remove_memory, people_asks.MemoryRef, people_asks.Gone),
    _reads("admin_list_jobs", admin.admin_list_jobs, job_asks.AdminListJobs, Page[job.JobShape]),
    _writes("admin_update_job", admin.admin_update_job, job_asks.UpdateJob, _JOB, body=job_asks.JobPatch),
    _writes("admin_disable_job", admin.admin_disable_job, job_asks.DisableJob, _JOB, body=job_asks.DisableBody),
)
