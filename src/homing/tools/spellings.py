"""Which names a model may use for a field, and which field each one means.

Names are compared without case, dashes and underscores: deleteAfterRun, delete-after-run and delete_after_run are one.
"""

import re

NAMES = {
    "action": "action",
    "jobid": "job_id",
    "taskid": "job_id",
    "id": "job_id",
    "when": "when",
    "schedule": "schedule",
    "scheduletext": "when",
    "tz": "tz",
    "timezone": "tz",
    "processafter": "process_after",
    "recurrence": "recurrence",
    "startsat": "starts_at",
    "until": "until",
    "endsat": "until",
    "maxruns": "max_runs",
    "message": "message",
    "prompt": "message",
    "text": "text",
    "name": "name",
    "description": "description",
    "kind": "kind",
    "reminder": "reminder",
    "lightweight": "reminder",
    "session": "session",
    "sessiontarget": "session",
    "isolated": "isolated",
    "writeback": "write_back",
    "continue": "continue",
    "wake": "wake",
    "wakemode": "wake",
    "model": "model",
    "thinking": "thinking",
    "thinkinglevel": "thinking",
    "timeoutseconds": "timeout_seconds",
    "context": "context",
    "catchup": "catch_up",
    "catchupwindowseconds": "catch_up_window_seconds",
    "quiet": "quiet",
    "enabled": "enabled",
    "deleteafterrun": "delete_after_run",
    "dedupekey": "dedupe_key",
    "mayschedule": "may_schedule",
    "revision": "revision",
    "limit": "limit",
    "all": "all",
    "count": "count",
    "reason": "reason",
    "script": "script",
}
# Parts of a schedule that stand flat among the arguments; the schedule's own reader knows them all.
SCHEDULE_PARTS = {
    "at": "at",
    "atms": "at_ms",
    "every": "every",
    "everyms": "every_ms",
    "everyseconds": "every_seconds",
    "cron": "cron",
    "expr": "expr",
    "cronexpr": "cron_expr",
    "interval": "interval",
    "anchor": "anchor",
    "anchorms": "anchor_ms",
}
# Whose and where: the turn knows, and a model that could say so could reach other people's chats.
CONTEXT = frozenset(
    "sessionkey sessionid originalsessionkey user userid sender senderid agent agentid deliver delivery channel"
    " channelmeta chatid to target recipient address addresses".split()
)
READ_ONLY = frozenset(
    "state status next nextrun nextrunat words origin recent createdat updatedat removedat lastrun lastrunat laststatus"
    " lasterror".split()
)
# Other schedulers need these to do what ours does anyway: list disabled jobs, and run one that is not due.
NEEDLESS = frozenset({"force", "includedisabled"})

ACTIONS = {
    "add": "add",
    "create": "add",
    "list": "list",
    "get": "get",
    "show": "get",
    "why": "get",
    "runs": "get",
    "logs": "get",
    "update": "update",
    "remove": "remove",
    "delete": "remove",
    "cancel": "remove",
    "enable": "enable",
    "resume": "enable",
    "disable": "disable",
    "pause": "disable",
    "run": "run",
    "skip": "skip",
    "status": "status",
    "undo": "undo",
}
PAYLOAD_KINDS = {"agentturn": "agent_turn", "reminder": "reminder", "systemevent": "system_event"}

_NOUN = re.compile(r"(?<=[a-z])(?:tasks?|jobs?)$")


def plain(name: str) -> str:
    """Take away what spellings differ in."""
    return re.sub(r"[\s_-]", "", name).lower()


def action_of(given: str) -> str | None:
    """Name the action somebody meant; `list_tasks` and `cancelJob` are list and remove."""
    word = plain(given)
    return ACTIONS.get(word) or ACTIONS.get(_NOUN.sub("", word))
