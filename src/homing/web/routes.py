"""Every operation at its address. This table is the HTTP half of the contract; nothing else names a path."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from homing.operations import OPERATIONS, Operation

_KNOWN = {operation.name: operation for operation in OPERATIONS}


@dataclass(frozen=True)
class Route:
    """One operation at one address."""

    noun: str
    name: str
    method: str
    path: str
    _: KW_ONLY
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    """Which field of the ask each part of the path fills."""
    defaults: Mapping[str, object] = field(default_factory=dict[str, object])
    also: Mapping[int, str] = field(default_factory=dict[int, str])
    """Other good answers, and when they come."""
    once: str | None = None
    """The member of the answer that is shown once and never kept."""
    alias: str | None = None
    """The operationId of an operation's second address."""

    @property
    def operation(self) -> Operation:
        return _KNOWN[self.name]

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PATCH")


_KEY = {"key": "session_key"}
_JOB = {"id": "job_id"}
_RUN = {"id": "run_id"}

ROUTES: tuple[Route, ...] = (
    Route("status", "get_status", "GET", "/api/status"),
    Route("people", "get_me", "GET", "/api/me"),
    Route("people", "update_me", "PATCH", "/api/me"),
    Route("people", "list_agents", "GET", "/api/agents"),
    Route("people", "list_users", "GET", "/api/users"),
    Route("people", "list_tokens", "GET", "/api/tokens"),
    Route("people", "create_token", "POST", "/api/tokens", once="token"),
    Route("people", "revoke_token", "DELETE", "/api/tokens/{id}", named={"id": "token_id"}),
    Route("sessions", "add_session", "POST", "/api/sessions"),
    Route("sessions", "list_sessions", "GET", "/api/sessions"),
    Route("sessions", "get_session", "GET", "/api/sessions/{key}", named=_KEY),
    Route("sessions", "update_session", "PATCH", "/api/sessions/{key}", named=_KEY),
    Route("sessions", "delete_session", "DELETE", "/api/sessions/{key}", named=_KEY),
    Route("sessions", "list_messages", "GET", "/api/sessions/{key}/messages", named=_KEY),
    Route("sessions", "cancel_turn", "POST", "/api/sessions/{key}/cancel", named=_KEY),
    Route("sessions", "test_address", "POST", "/api/sessions/{key}/test", named=_KEY),
    Route("hooks", "list_hooks", "GET", "/api/sessions/{key}/hooks", named=_KEY),
    Route("hooks", "add_hook", "POST", "/api/sessions/{key}/hooks", named=_KEY, once="url"),
    Route("hooks", "remove_hook", "DELETE", "/api/sessions/{key}/hooks/{id}", named={**_KEY, "id": "hook_id"}),
    Route("hooks", "list_webhooks", "GET", "/api/webhooks"),
    Route("hooks", "add_webhook", "POST", "/api/webhooks", once="secret"),
    Route("hooks", "remove_webhook", "DELETE", "/api/webhooks/{id}", named={"id": "webhook_id"}),
    Route("grants", "list_grants", "GET", "/api/grants"),
    Route("grants", "add_grant", "POST", "/api/grants"),
    Route("grants", "remove_grant", "DELETE", "/api/grants/{id}", named={"id": "grant_id"}),
    Route("jobs", "add_job", "POST", "/api/jobs", also={200: "The session knows this dedupe_key."}),
    Route("jobs", "list_jobs", "GET", "/api/jobs"),
    Route("jobs", "get_job", "GET", "/api/jobs/{id}", named=_JOB),
    Route("jobs", "update_job", "PATCH", "/api/jobs/{id}", named=_JOB),
    Route("jobs", "remove_job", "DELETE", "/api/jobs/{id}", named=_JOB),
    Route("jobs", "enable_job", "POST", "/api/jobs/{id}/enable", named=_JOB),
    Route("jobs", "disable_job", "POST", "/api/jobs/{id}/disable", named=_JOB),
    Route("jobs", "skip_job", "POST", "/api/jobs/{id}/skip", named=_JOB),
    Route("jobs", "undo_job", "POST", "/api/jobs/{id}/undo", named=_JOB),
    Route("jobs", "run_job", "POST", "/api/jobs/{id}/run", named=_JOB),
    Route("jobs", "why_job", "GET", "/api/jobs/{id}/why", named=_JOB),
    Route("runs", "list_runs", "GET", "/api/runs"),
    Route(
        "runs",
        "list_runs",
        "GET",
        "/api/jobs/{id}/runs",
        named=_JOB,
        defaults={"limit": 20},
        alias="list_runs_of_job",
    ),
    Route("runs", "get_run", "GET", "/api/runs/{id}", named=_RUN),
    Route("runs", "cancel_run", "POST", "/api/runs/{id}/cancel", named=_RUN),
    Route("runs", "list_upcoming", "GET", "/api/upcoming"),
    Route("runs", "preview_schedule", "POST", "/api/schedules/preview"),
    Route("deliveries", "list_deliveries", "GET", "/api/deliveries"),
    Route(
        "deliveries",
        "retry_delivery",
        "POST",
        "/api/deliveries/{id}/retry",
        named={"id": "delivery_id"},
    ),
    Route("memories", "list_memories", "GET", "/api/memories"),
    Route("memories", "add_memory", "POST", "/api/memories"),
    Route("memories", "confirm_memory", "POST", "/api/memories/{id}/confirm", named={"id": "memory_id"}),
    Route("memories", "remove_memory", "DELETE", "/api/memories/{id}", named={"id": "memory_id"}),
    Route("admin", "admin_list_jobs", "GET", "/api/admin/jobs"),
    Route("admin", "admin_update_job", "PATCH", "/api/admin/jobs/{id}", named=_JOB),
    Route("admin", "admin_disable_job", "POST", "/api/admin/jobs/{id}/disable", named=_JOB),
)
"""Those whose endpoint is like all others: proof, ask, answer."""

SEND = Route(
    "sessions",
    "send_message",
    "POST",
    "/api/sessions/{key}/messages",
    named=_KEY,
    also={200: "With `wait`: the turn that took the message has closed."},
)
SIGN_IN = Route("auth", "sign_in", "POST", "/api/auth/sign-in")
SIGN_OUT = Route("auth", "sign_out", "POST", "/api/auth/sign-out")
CALL_HOOK = Route(
    "hooks",
    "call_hook",
    "POST",
    "/api/hooks/{token}",
    named={"token": "token"},
)
