"""Every operation has its word at the command line, or a reason to have none."""

from importlib import import_module

from homing.cli.tree import COMMANDS, GROUPS
from homing.model.contract import OPERATIONS

WORDS = {
    "get_status": "cron status", "list_jobs": "cron list", "add_job": "cron add", "get_job": "cron get",
    "update_job": "cron update", "remove_job": "cron remove", "enable_job": "cron enable",
    "disable_job": "cron disable", "run_job": "cron run", "skip_job": "cron skip", "undo_job": "cron undo",
    "list_runs": "cron runs", "why_job": "cron why", "preview_schedule": "cron preview",
    "update_session": "sessions update", "test_address": "sessions test", "list_grants": "grants list",
    "add_grant": "grants add", "remove_grant": "grants remove", "list_sessions": "sessions list",
    "get_session": "sessions get", "delete_session": "sessions delete",
    "list_deliveries": "deliveries list", "retry_delivery": "deliveries retry", "list_memories": "memories list",
    "add_memory": "memories add", "confirm_memory": "memories confirm", "remove_memory": "memories remove",
    "list_hooks": "hooks list",
    "add_hook": "hooks add", "remove_hook": "hooks remove", "list_webhooks": "webhooks list",
    "add_webhook": "webhooks add", "remove_webhook": "webhooks remove", "list_tokens": "tokens list",
    "list_users": "tokens list", "create_token": "tokens create", "revoke_token": "tokens revoke",
    "send_message": "send",
}  # fmt: skip

# Part of another word: what `chat`, `run --watch` or `sessions get` ask for on their way.
WITHIN = {"get_me", "add_session", "list_messages", "cancel_turn", "get_run"}
# For pages, programs and admins; the contract names no command for them.
ELSEWHERE = {
    "update_me", "list_agents", "sign_in", "sign_out", "call_hook", "cancel_run",
    "list_upcoming", "admin_list_jobs", "admin_update_job", "admin_disable_job",
}  # fmt: skip


def test_every_operation_has_its_word_or_a_reason_to_have_none() -> None:
    assert {operation.name for operation in OPERATIONS} == WORDS.keys() | WITHIN | ELSEWHERE
    known = set(COMMANDS) | {f"{group} {word}" for group, words in GROUPS.items() for word in words.commands}
    assert set(WORDS.values()) <= known


def test_every_word_leads_to_a_function_that_explains_itself() -> None:
    tables = [COMMANDS, *(group.commands for group in GROUPS.values()), *(group.hidden for group in GROUPS.values())]
    for where in {where for table in tables for where in table.values()}:
        module, _, function = where.partition(":")
        assert getattr(import_module(f"homing.cli.{module}"), function).__doc__, where
