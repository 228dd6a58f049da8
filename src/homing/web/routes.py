"""Every operation at its address. This table is the HTTP half of the contract; nothing else names a path."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, get_type_hints

from homing.operations import (
    admin,
    deliveries,
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
from homing.operations.shapes.base import Answer, Ask

Operation = Callable[..., Any]


@dataclass(frozen=True)
class Route:
    """One operation at one address."""

    noun: str
    operation: Operation
    method: str
    path: str
    _: KW_ONLY
    status: int = 200
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    """Which field of the ask each part of the path fills."""
    defaults: Mapping[str, object] = field(default_factory=dict[str, object])
    also: Mapping[int, str] = field(default_factory=dict[int, str])
    """Other good answers, and when they come."""
    once: str | None = None
    """The member of the answer that is shown once and never kept."""
    alias: str | None = None

    @property
    def name(self) -> str:
        """The operationId: the operation's own name, except for its second address."""
        return self.alias or self.operation.__name__

    @cached_property
    def ask(self) -> type[Ask]:
        return _hints(self.operation)["ask"]

    @cached_property
    def answer(self) -> type[Answer]:
        return _hints(self.operation)["return"]


def _hints(operation: Operation) -> dict[str, Any]:
    return get_type_hints(operation)


_KEY = {"key": "session_key"}
_JOB = {"id": "job_id"}
_RUN = {"id": "run_id"}

ROUTES: tuple[Route, ...] = (
    Route("status", status.get_status, "GET", "/api/status"),
    Route("people", people.get_me, "GET", "/api/me"),
    Route("people", people.update_me, "PATCH", "/api/me"),
    Route("people", people.list_agents, "GET", "/api/agents"),
    Route("people", people.list_tokens, "GET", "/api/tokens"),
    Route("people", people.create_token, "POST", "/api/tokens", status=201, once="token"),
    Route("people", people.revoke_token, "DELETE", "/api/tokens/{id}", named={"id": "token_id"}),
    Route("sessions", sessions.add_session, "POST", "/api/sessions", status=201),
    Route("sessions", sessions.list_sessions, "GET", "/api/sessions"),
    Route("sessions", sessions.get_session, "GET", "/api/sessions/{key}", named=_KEY),
    Route("sessions", sessions.update_session, "PATCH", "/api/sessions/{key}", named=_KEY),
    Route("sessions", session_deletion.delete_session, "DELETE", "/api/sessions/{key}", named=_KEY),
    Route("sessions", messages.list_messages, "GET", "/api/sessions/{key}/messages", named=_KEY),
    Route("sessions", messages.cancel_turn, "POST", "/api/sessions/{key}/cancel", named=_KEY, status=202),
    Route("sessions", deliveries.test_address, "POST", "/api/sessions/{key}/test", named=_KEY, status=202),
    Route("hooks", hooks.list_hooks, "GET", "/api/sessions/{key}/hooks", named=_KEY),
    Route("hooks", hooks.add_hook, "POST", "/api/sessions/{key}/hooks", named=_KEY, status=201, once="url"),
    Route("hooks", hooks.remove_hook, "DELETE", "/api/sessions/{key}/hooks/{id}", named={**_KEY, "id": "hook_id"}),
    Route("hooks", webhooks.list_webhooks, "GET", "/api/webhooks"),
    Route("hooks", webhooks.add_webhook, "POST", "/api/webhooks", status=201, once="secret"),
    Route("hooks", webhooks.remove_webhook, "DELETE", "/api/webhooks/{id}", named={"id": "webhook_id"}),
    Route("jobs", jobs.add_job, "POST", "/api/jobs", status=201, also={200: "The session knows this dedupe_key."}),
    Route("jobs", jobs.list_jobs, "GET", "/api/jobs"),
    Route("jobs", jobs.get_job, "GET", "/api/jobs/{id}", named=_JOB),
    Route("jobs", job_changes.update_job, "PATCH", "/api/jobs/{id}", named=_JOB),
    Route("jobs", removal.remove_job, "DELETE", "/api/jobs/{id}", named=_JOB),
    Route("jobs", job_changes.enable_job, "POST", "/api/jobs/{id}/enable", named=_JOB),
    Route("jobs", job_changes.disable_job, "POST", "/api/jobs/{id}/disable", named=_JOB),
    Route("jobs", job_changes.skip_job, "POST", "/api/jobs/{id}/skip", named=_JOB),
    Route("jobs", undo.undo_job, "POST", "/api/jobs/{id}/undo", named=_JOB),
    Route("jobs", runs.run_job, "POST", "/api/jobs/{id}/run", named=_JOB, status=202),
    Route("jobs", why.why_job, "GET", "/api/jobs/{id}/why", named=_JOB),
    Route("runs", runs.list_runs, "GET", "/api/runs"),
    Route(
        "runs",
        runs.list_runs,
        "GET",
        "/api/jobs/{id}/runs",
        named=_JOB,
        defaults={"limit": 20},
        alias="list_runs_of_job",
    ),
    Route("runs", runs.get_run, "GET", "/api/runs/{id}", named=_RUN),
    Route("runs", runs.cancel_run, "POST", "/api/runs/{id}/cancel", named=_RUN, status=202),
    Route("runs", upcoming.list_upcoming, "GET", "/api/upcoming"),
    Route("runs", upcoming.preview_schedule, "POST", "/api/schedules/preview"),
    Route("deliveries", deliveries.list_deliveries, "GET", "/api/deliveries"),
    Route(
        "deliveries",
        deliveries.retry_delivery,
        "POST",
        "/api/deliveries/{id}/retry",
        named={"id": "delivery_id"},
        status=202,
    ),
    Route("memories", memories.list_memories, "GET", "/api/memories"),
    Route("memories", memories.add_memory, "POST", "/api/memories", status=201),
    Route("memories", memories.remove_memory, "DELETE", "/api/memories/{id}", named={"id": "memory_id"}),
    Route("admin", admin.admin_list_jobs, "GET", "/api/admin/jobs"),
    Route("admin", admin.admin_update_job, "PATCH", "/api/admin/jobs/{id}", named=_JOB),
    Route("admin", admin.admin_disable_job, "POST", "/api/admin/jobs/{id}/disable", named=_JOB),
)
"""Those whose endpoint is like all others: proof, ask, answer."""

SEND = Route(
    "sessions",
    messages.send_message,
    "POST",
    "/api/sessions/{key}/messages",
    status=202,
    named=_KEY,
    also={200: "With `wait`: the turn that took the message has closed."},
)
SIGN_IN = Route("auth", people.sign_in, "POST", "/api/auth/sign-in")
SIGN_OUT = Route("auth", people.sign_out, "POST", "/api/auth/sign-out")
CALL_HOOK = Route(
    "hooks",
    hooks.call_hook,
    "POST",
    "/api/hooks/{token}",
    status=202,
    named={"token": "token"},
)
