"""Every operation has its word at the command line, or a reason to have none."""

import re
from importlib import import_module
from pathlib import Path

import homing.cli
from homing.cli.tree import COMMANDS, GROUPS
from homing.model.contract import OPERATIONS

# Part of another word: what `chat`, `run --watch` or `sessions get` ask for on their way.
WITHIN = {"get_me", "add_session", "list_messages", "cancel_turn", "get_run"}
# For pages, programs and admins; the contract names no command for them.
ELSEWHERE = {
    "update_me", "sign_in", "sign_out", "call_hook", "cancel_run",
    "list_upcoming", "admin_list_jobs", "admin_update_job", "admin_disable_job", "see_inbox", "add_push",
}  # fmt: skip
# About this machine, or several operations in one word.
OWN = {
    "up", "chat", "watch", "open", "status", "serve", "work", "doctor", "mcp", "import", "export", "tokens rotate",
    "db upgrade", "db backup", "db restore", "mcp-servers get", "approvals deny",
    "files list",
}  # fmt: skip


def test_every_operation_has_its_word_or_a_reason_to_have_none_and_every_word_its_operation() -> None:
    assert {row.name for row in OPERATIONS if row.command is None} == WITHIN | ELSEWHERE
    words = {re.sub(r" (--\w+|[A-Z]+)", "", row.command) for row in OPERATIONS if row.command}
    known = set(COMMANDS) | {f"{group} {word}" for group, words in GROUPS.items() for word in words.commands}
    assert words | OWN == known
    assert not words & OWN


def test_commands_ask_for_exactly_the_operations_that_have_a_word() -> None:
    sources = [path.read_text() for path in Path(homing.cli.__path__[0]).rglob("*.py")]
    asked = {name for text in sources for name in re.findall(r"\.(?:ask|pages)\(\s*\"(\w+)\"", text)}
    asked |= {f"list_{names}" for text in sources for names in re.findall(r"list_by_state\(\w+, \"(\w+)\"", text)}
    # What carries bytes has a verb of its own.
    asked |= {row.name for row in OPERATIONS if row.kind == "bytes"}
    assert asked == {row.name for row in OPERATIONS} - ELSEWHERE


def test_every_word_leads_to_a_function_that_explains_itself() -> None:
    tables = [COMMANDS, *(group.commands for group in GROUPS.values()), *(group.hidden for group in GROUPS.values())]
    for where in {where for table in tables for where in table.values()}:
        module, _, function = where.partition(":")
        assert getattr(import_module(f"homing.cli.{module}"), function).__doc__, where
