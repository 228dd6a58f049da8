"""The contract: every operation, once. Routes, OpenAPI, MCP tools, commands and clients are derived from this table.

Standard library only: a command that asks a running server imports this, and no operation.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import quote, urlencode

from homing.model.errors import Invalid, NotFound

Json = dict[str, Any]
Kind = Literal["read", "write", "prepared", "work", "bytes"]
Who = Literal["anyone", "user", "admin"]

_PART = re.compile(r"{(\w+)}")
_PREFIX = re.compile(r"{\w+_(\w+)}")


# Compared and hashed as the one row that it is.
@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """One thing that may be asked.

    Its function is `homing.operations.<module>.<name>`; the types of request and answer are that function's own.
    """

    name: str
    module: str
    tag: str
    method: str
    path: str
    """Names the fields of the request that it holds; in public the last word of each is enough: {job_id} is {id}."""
    kind: Kind
    status: int
    who: Who
    """`anyone`: the request carries its own proof."""
    mcp: bool
    """Rule 47: what widens an agent's reach, or says who may act, is not offered to MCP clients."""
    command: str | None
    """What a person types for it after `homing`."""
    query: tuple[str, ...]
    """Fields that stand in the query beside a body."""
    once: str | None
    """The member of the answer that is shown once and never kept."""
    also: Mapping[int, str]
    """Other good answers, and when they come."""
    defaults: Mapping[str, object] = field(default_factory=dict[str, object])
    address: str | None = None
    """The operationId of a second address."""

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PATCH", "PUT")

    @property
    def in_path(self) -> dict[str, str]:
        """Give the field of the request for each public name in the path."""
        return dict(zip(_PART.findall(self.public_path), _PART.findall(self.path), strict=True))

    @property
    def public_path(self) -> str:
        return public(self.path)

    def given(self, fields: Mapping[str, Any]) -> Json:
        """Leave out what is None, except in a body: there it is null, and asks for the default."""
        return {name: value for name, value in fields.items() if value is not None or self._in_body(name)}

    def spelled(self, fields: Mapping[str, Any]) -> tuple[str, Json | None]:
        """Spell a request: its path with the query, and its body."""
        rest = {name: value for name, value in self.given(fields).items() if name not in self.in_path.values()}
        path = filled(self.path, fields)
        query = {name: _text(value) for name, value in rest.items() if not self._in_body(name)}
        body = {name: value for name, value in rest.items() if self._in_body(name)}
        return f"{path}?{urlencode(query)}" if query else path, body if self.has_body else None

    def _in_body(self, name: str) -> bool:
        return self.has_body and name not in self.query


def public(path: str) -> str:
    """Name the parts of a path as the public documents do."""
    return _PREFIX.sub(r"{\1}", path)


def filled(path: str, fields: Mapping[str, Any]) -> str:
    """Put ids and session keys into a path."""

    def fill(part: re.Match[str]) -> str:
        if fields.get(part[1]) is None:
            raise Invalid(f"{part[1]} is missing.", field=part[1], code="missing")
        return quote(str(fields[part[1]]), safe=":@")

    return _PART.sub(fill, path)


def named(name: str) -> Operation:
    """Find an operation by its name."""
    if name not in BY_NAME:
        raise NotFound(f"There is no operation {name:.100}.")
    return BY_NAME[name]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _op(
    tag: str,
    function: str,
    address: str,
    command: str | None = None,
    *,
    kind: Kind | None = None,
    status: int = 200,
    who: Who = "user",
    mcp: bool = True,
    query: tuple[str, ...] = (),
    once: str | None = None,
    also: Mapping[int, str] | None = None,
) -> Operation:
    module, _, name = function.partition(".")
    method, _, path = address.partition(" ")
    return Operation(
        name=name,
        module=module,
        tag=tag,
        method=method,
        path=path,
        kind=kind or ("read" if method == "GET" else "write"),
        status=status,
        who=who,
        mcp=mcp,
        command=command,
        query=query,
        once=once,
        also=also or {},
    )


_AGENT = "/api/agents/{agent_id}"
_APPROVAL = "/api/approvals/{approval_id}"
_SESSION = "/api/sessions/{session_key}"
_JOB = "/api/jobs/{job_id}"
_SERVERS = "/api/agents/{agent_id}/mcp-servers"
_SERVER = f"{_SERVERS}/{{name}}"
_MODEL = "GET /api/settings/model"
_CLOSED = {200: "With `wait`: the turn that took the message has closed."}
_VERIFIED = {200: "With the right `code`: the address is your contact."}
_DEDUPED = {200: "The session knows this dedupe_key."}

OPERATIONS: tuple[Operation, ...] = (
    _op("status", "status.get_status", "GET /api/status", "cron status"),
    _op("people", "people.get_me", "GET /api/me"),
    _op("people", "people.update_me", "PATCH /api/me"),
    _op("agents", "agents.list_agents", "GET /api/agents", "agents list"),
    _op("agents", "agents.get_agent", f"GET {_AGENT}", "agents get ID", mcp=False),
    _op(
        "agents",
        "agents.add_agent",
        "POST /api/agents",
        "agents add",
        kind="prepared",
        status=201,
        who="admin",
        mcp=False,
    ),
    _op(
        "agents", "agents.update_agent", f"PATCH {_AGENT}", "agents update ID", kind="prepared", who="admin", mcp=False
    ),
    _op("agents", "agents.remove_agent", f"DELETE {_AGENT}", "agents remove ID", who="admin", mcp=False),
    _op("mcp servers", "mcp_servers.list_mcp_servers", f"GET {_SERVERS}", "mcp-servers list", who="admin", mcp=False),
    _op(
        "mcp servers",
        "mcp_servers.add_mcp_server",
        f"POST {_SERVERS}",
        "mcp-servers add NAME",
        kind="prepared",
        status=201,
        who="admin",
        mcp=False,
    ),
    _op(
        "mcp servers",
        "mcp_servers.update_mcp_server",
        f"PATCH {_SERVER}",
        "mcp-servers update NAME",
        kind="prepared",
        who="admin",
        mcp=False,
    ),
    _op(
        "mcp servers",
        "mcp_servers.remove_mcp_server",
        f"DELETE {_SERVER}",
        "mcp-servers remove NAME",
        who="admin",
        mcp=False,
    ),
    _op(
        "mcp servers",
        "mcp_servers.test_mcp_server",
        f"POST {_SERVER}/test",
        "mcp-servers test NAME",
        kind="work",
        who="admin",
        mcp=False,
    ),
    _op(
        "mcp servers",
        "mcp_servers.accept_mcp_tools",
        f"POST {_SERVER}/accept",
        "mcp-servers accept NAME",
        who="admin",
        mcp=False,
    ),
    _op("approvals", "approvals.list_approvals", "GET /api/approvals", "approvals list"),
    _op("approvals", "approvals.get_approval", f"GET {_APPROVAL}", "approvals get ID"),
    _op("approvals", "approvals.answer_approval", f"POST {_APPROVAL}", "approvals approve ID", mcp=False),
    _op("questions", "questions.list_questions", "GET /api/questions", "questions list"),
    _op("questions", "questions.answer_question", "POST /api/questions/{question_id}", "questions answer ID"),
    _op("inbox", "inbox.list_inbox", "GET /api/inbox", "inbox"),
    _op("inbox", "inbox.see_inbox", "POST /api/inbox/seen", mcp=False),
    _op("people", "people.list_users", "GET /api/users", "tokens list --all", who="admin", mcp=False),
    _op("people", "people.list_tokens", "GET /api/tokens", "tokens list", mcp=False),
    _op("people", "people.create_token", "POST /api/tokens", "tokens create", status=201, mcp=False, once="token"),
    _op("people", "people.revoke_token", "DELETE /api/tokens/{token_id}", "tokens revoke ID", mcp=False),
    _op("auth", "people.sign_in", "POST /api/auth/sign-in", who="anyone", mcp=False),
    _op("auth", "people.sign_out", "POST /api/auth/sign-out", who="anyone", mcp=False),
    _op("sessions", "sessions.add_session", "POST /api/sessions", status=201),
    _op("sessions", "sessions.list_sessions", "GET /api/sessions", "sessions list"),
    _op("sessions", "sessions.get_session", f"GET {_SESSION}", "sessions get SESSION"),
    _op("sessions", "sessions.update_session", f"PATCH {_SESSION}", "sessions update SESSION"),
    _op("sessions", "session_deletion.delete_session", f"DELETE {_SESSION}", "sessions delete SESSION"),
    _op(
        "sessions",
        "messages.send_message",
        f"POST {_SESSION}/messages",
        "send",
        status=202,
        query=("wait",),
        also=_CLOSED,
    ),
    _op("sessions", "messages.list_messages", f"GET {_SESSION}/messages"),
    # What a person has seen, no program may say for them.
    _op("sessions", "sessions.mark_read", f"POST {_SESSION}/read", "sessions read SESSION", mcp=False),
    _op(
        "sessions",
        "branching.branch_session",
        f"POST {_SESSION}/branch",
        "sessions branch SESSION SEQ",
        status=201,
    ),
    _op(
        "sessions",
        "transcripts.export_session",
        f"GET {_SESSION}/export",
        "sessions export SESSION",
        kind="bytes",
        mcp=False,
    ),
    _op("sessions", "messages.cancel_turn", f"POST {_SESSION}/cancel", status=202),
    _op("sessions", "turns.list_turns", f"GET {_SESSION}/turns", "turns list SESSION"),
    _op("sessions", "turns.get_turn", "GET /api/turns/{turn_id}", "turns get ID"),
    _op("sessions", "deliveries.test_address", f"POST {_SESSION}/test", "sessions test SESSION", status=202),
    _op("hooks", "hooks.list_hooks", f"GET {_SESSION}/hooks", "hooks list"),
    _op("hooks", "hooks.add_hook", f"POST {_SESSION}/hooks", "hooks add", status=201, once="url"),
    _op("hooks", "hooks.remove_hook", f"DELETE {_SESSION}/hooks/{{hook_id}}", "hooks remove ID"),
    _op("hooks", "hooks.call_hook", "POST /api/hooks/{token}", status=202, who="anyone", mcp=False),
    _op("hooks", "webhooks.list_webhooks", "GET /api/webhooks", "webhooks list"),
    _op("hooks", "webhooks.add_webhook", "POST /api/webhooks", "webhooks add URL", status=201, once="secret"),
    _op("hooks", "webhooks.remove_webhook", "DELETE /api/webhooks/{webhook_id}", "webhooks remove ID"),
    # A browser that is added reads along: no program may add one.
    _op("push", "push.list_push", "GET /api/push", "push list", mcp=False),
    _op("push", "push.add_push", "POST /api/push", status=201, mcp=False),
    _op("push", "push.remove_push", "DELETE /api/push/{push_id}", "push remove ID", mcp=False),
    _op("channels", "channels.list_channels", "GET /api/channels", "channels list"),
    _op(
        "channels",
        "channels.test_channel",
        "POST /api/channels/{name}/test",
        "channels test NAME",
        kind="work",
        who="admin",
        mcp=False,
    ),
    _op("channels", "channels.list_channel_kinds", "GET /api/channel-kinds", "channels kinds", who="admin", mcp=False),
    _op(
        "channels",
        "channels.add_channel",
        "POST /api/channels",
        "channels add NAME",
        kind="prepared",
        status=201,
        who="admin",
        mcp=False,
    ),
    _op(
        "channels",
        "channels.update_channel",
        "PATCH /api/channels/{name}",
        "channels update NAME",
        kind="prepared",
        who="admin",
        mcp=False,
    ),
    _op(
        "channels",
        "channels.remove_channel",
        "DELETE /api/channels/{name}",
        "channels remove NAME",
        who="admin",
        mcp=False,
    ),
    # Rule 47: what says who may talk to an agent is offered to no program.
    _op(
        "contacts",
        "contacts.link_channel",
        "POST /api/channels/{name}/link",
        "channels link NAME",
        status=201,
        mcp=False,
        once="code",
    ),
    _op(
        "contacts",
        "verification.verify_address",
        "POST /api/channels/{name}/verify",
        "channels verify NAME ADDRESS",
        kind="work",
        status=202,
        mcp=False,
        also=_VERIFIED,
    ),
    _op("contacts", "contacts.list_contacts", "GET /api/contacts", "contacts list", mcp=False),
    _op("contacts", "contacts.update_contact", "PATCH /api/contacts/{contact_id}", "contacts update ID", mcp=False),
    _op("contacts", "contacts.remove_contact", "DELETE /api/contacts/{contact_id}", "contacts remove ID", mcp=False),
    _op("files", "files.add_file", "POST /api/files", "files add PATH", kind="bytes", status=201, mcp=False),
    _op("files", "files.get_file", "GET /api/files/{file_id}", "files get ID", kind="bytes", mcp=False),
    _op("grants", "grants.list_grants", "GET /api/grants", "grants list", mcp=False),
    _op("grants", "grants.add_grant", "POST /api/grants", "grants add", status=201, mcp=False),
    _op("grants", "grants.remove_grant", "DELETE /api/grants/{grant_id}", "grants remove ID", mcp=False),
    _op("jobs", "jobs.add_job", "POST /api/jobs", "cron add", kind="prepared", status=201, also=_DEDUPED),
    _op("jobs", "jobs.list_jobs", "GET /api/jobs", "cron list"),
    _op("jobs", "jobs.get_job", f"GET {_JOB}", "cron get ID"),
    _op("jobs", "job_changes.update_job", f"PATCH {_JOB}", "cron update ID", kind="prepared"),
    _op("jobs", "removal.remove_job", f"DELETE {_JOB}", "cron remove ID"),
    _op("jobs", "job_changes.enable_job", f"POST {_JOB}/enable", "cron enable ID"),
    _op("jobs", "job_changes.disable_job", f"POST {_JOB}/disable", "cron disable ID"),
    _op("jobs", "job_changes.skip_job", f"POST {_JOB}/skip", "cron skip ID"),
    _op("jobs", "undo.undo_job", f"POST {_JOB}/undo", "cron undo ID"),
    _op("jobs", "runs.run_job", f"POST {_JOB}/run", "cron run ID", status=202),
    _op("jobs", "trials.try_job", f"POST {_JOB}/try", "cron try ID", kind="work", status=202),
    _op("jobs", "scripts.try_script", "POST /api/scripts/try", "cron try-script", kind="work"),
    _op("jobs", "why.why_job", f"GET {_JOB}/why", "cron why ID"),
    _op("runs", "runs.list_runs", "GET /api/runs", "cron runs ID"),
    _op("runs", "runs.get_run", "GET /api/runs/{run_id}"),
    _op("runs", "runs.cancel_run", "POST /api/runs/{run_id}/cancel", status=202),
    _op("runs", "upcoming.list_upcoming", "GET /api/upcoming"),
    _op("runs", "upcoming.preview_schedule", "POST /api/schedules/preview", "cron preview", kind="read"),
    _op("search", "search.search", "GET /api/search", "search WORDS"),
    _op("usage", "usage.get_usage", "GET /api/usage", "usage"),
    _op("settings", "model_setting.get_model", _MODEL, "model get", who="admin", mcp=False),
    _op(
        "settings",
        "model_setting.set_model",
        f"PUT {_MODEL[4:]}",
        "model set NAME",
        kind="prepared",
        who="admin",
        mcp=False,
    ),
    _op("settings", "model_setting.list_models", f"{_MODEL}s", "model list", kind="work", who="admin", mcp=False),
    _op("deliveries", "deliveries.list_deliveries", "GET /api/deliveries", "deliveries list"),
    _op(
        "deliveries",
        "deliveries.retry_delivery",
        "POST /api/deliveries/{delivery_id}/retry",
        "deliveries retry ID",
        status=202,
    ),
    _op("memories", "memories.list_memories", "GET /api/memories", "memories list"),
    _op("memories", "memories.add_memory", "POST /api/memories", "memories add", status=201),
    _op(
        "memories",
        "memories.confirm_memory",
        "POST /api/memories/{memory_id}/confirm",
        "memories confirm ID",
        mcp=False,
    ),
    _op("memories", "dreams.undo_dream", "POST /api/memories/undo", "memories undo ID", mcp=False),
    _op("memories", "memories.remove_memory", "DELETE /api/memories/{memory_id}", "memories remove ID"),
    _op("admin", "admin.admin_list_jobs", "GET /api/admin/jobs", who="admin"),
    _op("admin", "admin.admin_update_job", "PATCH /api/admin/jobs/{job_id}", kind="prepared", who="admin"),
    _op("admin", "admin.admin_disable_job", "POST /api/admin/jobs/{job_id}/disable", who="admin"),
)
BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS}

SECOND_ADDRESSES = (
    replace(BY_NAME["list_runs"], path=f"{_JOB}/runs", defaults={"limit": 20}, address="list_runs_of_job"),
)
STREAMS = {"watch_session": f"{_SESSION}/events", "watch_events": "/api/events"}
"""Streams of events. They are not operations: they have no single answer."""
