"""Which names a model may use for a field, and which field each one means.

Names are compared without case, dashes and underscores: deleteAfterRun, delete-after-run and delete_after_run are one.
"""

import re

from homing.model.job_fields import FIELDS, plain

# Whose and where: the turn knows, and a model that could say so could reach other people's chats.
CONTEXT = frozenset(
    "sessionkey sessionid originalsessionkey user userid sender senderid agent agentid deliver delivery channel"
    " channelmeta chatid to target recipient address addresses".split()
)
# What a job has stands in the table of its fields; the rest says which job, when, and what to do with it.
NAMES = {name: row.name for row in FIELDS for name in row.spellings if name not in CONTEXT} | {
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
    "text": "text",
    "reminder": "reminder",
    "lightweight": "reminder",
    "isolated": "isolated",
    "revision": "revision",
    "limit": "limit",
    "all": "all",
    "count": "count",
    "reason": "reason",
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
_NOUN = re.compile(r"(?<=[a-z])(?:tasks?|jobs?)$")


def action_of(given: str) -> str | None:
    """Name the action somebody meant; `list_tasks` and `cancelJob` are list and remove."""
    word = plain(given)
    return ACTIONS.get(word) or ACTIONS.get(_NOUN.sub("", word))
