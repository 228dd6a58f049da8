"""Every operation: named as the contract has it, described, and closed to strangers."""

import contextlib
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from homing.model.contract import BY_NAME
from homing.model.contract import OPERATIONS as ROWS
from homing.model.errors import Refused
from homing.model.people import OWNER
from homing.operations import Context, bind, read
from homing.operations import deliveries as delivery_ops
from homing.operations.grants import add_grant
from homing.operations.hooks import add_hook
from homing.operations.memories import add_memory
from homing.operations.people import create_token
from homing.operations.push import add_push
from homing.operations.runs import run_job
from homing.operations.scripts import NOT_TRIED
from homing.operations.shapes import session_asks
from homing.operations.shapes.job_asks import JobRef
from homing.operations.shapes.people_asks import AddGrant, AddMemory, AddWebhook, CreateToken
from homing.operations.shapes.push_asks import AddPush
from homing.operations.webhooks import add_webhook
from homing.store import Tx, kept_files
from homing.store.tables import metadata
from support.asking import add, refused, session
from support.push import Browser
from support.worlds import STRANGER, World

OPERATIONS = [bind(row) for row in ROWS]
NAMES = """
get_status get_me update_me list_agents get_agent add_agent update_agent remove_agent
list_mcp_servers add_mcp_server update_mcp_server remove_mcp_server test_mcp_server accept_mcp_tools
list_approvals get_approval answer_approval list_questions answer_question list_inbox see_inbox
list_users list_tokens create_token revoke_token sign_in sign_out add_session
list_sessions get_session update_session delete_session send_message list_messages mark_read
branch_session export_session cancel_turn
list_turns get_turn
test_address list_hooks add_hook remove_hook call_hook
list_webhooks add_webhook remove_webhook list_push add_push remove_push list_channels test_channel list_channel_kinds
add_channel update_channel remove_channel link_channel verify_address list_contacts update_contact remove_contact
add_file get_file list_grants add_grant remove_grant
add_job list_jobs get_job update_job remove_job
enable_job disable_job skip_job undo_job run_job try_job try_script why_job list_runs get_run cancel_run list_upcoming
preview_schedule
search get_usage get_model set_model list_models
list_deliveries retry_delivery list_memories add_memory confirm_memory undo_dream remove_memory
admin_list_jobs admin_update_job admin_disable_job
""".split()


def test_the_operations_are_those_of_the_contract_each_under_the_name_of_its_function() -> None:
    assert [row.name for row in ROWS] == NAMES
    for operation in OPERATIONS:
        assert operation.function.__name__ == operation.row.name
        assert re.fullmatch(r"[A-Z].+\.", operation.summary), operation.row.name


def test_every_ask_and_answer_has_a_schema_that_doors_can_show() -> None:
    for operation in OPERATIONS:
        ask = operation.request.model_json_schema()
        answer = operation.answer.model_json_schema(mode="serialization")
        assert ask["type"] == answer["type"] == "object"
        assert ask["additionalProperties"] is False
        assert {*operation.row.in_path.values(), *operation.row.query} <= operation.request.model_fields.keys()


def _file(tx: Tx) -> str:
    file = kept_files.add(tx, user_id=OWNER, name="x.png", media_type="image/png", size=1, sha256="0")
    assert kept_files.mark_stored(tx, file.id)
    return file.id


def owned(world: World) -> dict[str, str]:
    """Let the owner have one of everything; return what a stranger would have to name."""
    job = add(world)
    hook = world.ask(add_hook, session_asks.AddHook(session_key="web:abc"))
    test = world.ask(delivery_ops.test_address, session_asks.TestAddress(session_key="web:abc", address="web:abc"))
    return {
        "session_key": "web:abc",
        "job_id": job.id,
        "run_id": world.ask(run_job, JobRef(job_id=job.id)).id,
        "turn_id": world.open_turn("web:abc"),
        "hook_id": hook.id,
        "delivery_id": test.id,
        "webhook_id": world.ask(add_webhook, AddWebhook(url="https://example.com/")).id,
        "push_id": world.ask(add_push, read(AddPush, Browser().subscription)).id,
        "memory_id": world.ask(add_memory, AddMemory(text="secret fruit")).id,
        "token_id": world.ask(create_token, CreateToken()).id,
        "grant_id": world.ask(add_grant, AddGrant(address="email:owner@example.org")).id,
        "file_id": world.write(_file),
    }


FILLED: dict[str, Any] = {
    "text": "x", "seq": 1, "address": "web:abc", "revision": 1, "when": "in 1h", "message": "x", "name": "mine now",
    "body": "x", "token": "x", "cookie": "x", "code": "x", "url": "https://example.com/",
}  # fmt: skip


def test_a_stranger_reaches_nothing_of_another_user_by_any_operation(world: World) -> None:
    names = owned(world)
    before = world.write(snapshot)
    for operation in OPERATIONS:
        fields = operation.request.model_fields
        if operation.row.name == "send_message":
            continue  # A key is a name of one user: this makes a conversation of the stranger's own.
        if operation.row.name == "try_job":
            continue  # It works outside any transaction: tests/behaviour/jobs/test_trials.py.
        for named in set(names) & set(fields):
            required = {name for name, field in fields.items() if field.is_required()}
            filled = {name: value for name, value in FILLED.items() if name in fields and name != "text"}
            if operation.row.name == "add_grant":
                filled = {}  # It takes one address, session_key, to_agent_id or host.
            given = filled | {name: (names | FILLED)[name] for name in {named} | required}
            error = refused(ask_it(world, operation.row.name, given), Refused)
            assert error.status in (403, 404), (operation.row.name, named, error)
            assert (error.status == 403) == operation.row.name.startswith("admin_"), (operation.row.name, named)
    assert world.write(snapshot) == before


def test_lists_show_a_stranger_nothing_of_another_user(world: World) -> None:
    names = owned(world)
    for operation in OPERATIONS:
        if operation.row.kind == "read" and operation.row.name not in (
            "list_agents",
            "preview_schedule",
            "admin_list_jobs",
            "list_users",
            "list_channel_kinds",
            "get_model",
        ):
            required = {name for name, field in operation.request.model_fields.items() if field.is_required()}
            if not required:
                shown = str(ask_it(world, operation.row.name, {})())
                assert not [value for value in names.values() if value in shown], operation.row.name


def test_every_ask_refuses_an_unknown_field(world: World) -> None:
    session(world)
    for operation in OPERATIONS:
        error = refused(lambda ask=operation.request: read(ask, {"surprise": 1}), Refused)
        assert error.status == 422


@pytest.mark.parametrize("poison", ["\x00", "\ud800", "x" * 5000, "../../etc/passwd", "%", "'; drop table job; --"])
def test_no_odd_text_in_any_field_breaks_an_operation(world: World, poison: str) -> None:
    session(world)
    for operation in OPERATIONS:
        if operation.row.name in ("try_job", "try_script", "add_file", "verify_address"):
            # They work outside any transaction; the doors try them.
            continue
        given = dict.fromkeys(operation.request.model_fields, poison)
        refused_or_done(ask_it(world, operation.row.name, given))
        required = {name: poison for name, field in operation.request.model_fields.items() if field.is_required()}
        refused_or_done(ask_it(world, operation.row.name, required))
        for name in operation.request.model_fields:
            refused_or_done(ask_it(world, operation.row.name, required | {name: poison}))


def refused_or_done(act: Callable[[], object]) -> None:
    with contextlib.suppress(Refused):
        act()


def ask_it(world: World, name: str, given: dict[str, Any]) -> Callable[[], object]:
    operation = bind(BY_NAME[name])

    def act() -> object:
        ask = read(operation.request, given)
        # Without a script nothing is tried before a job is written.
        done = NOT_TRIED if name in ("add_job", "update_job", "admin_update_job") else None
        # With all rights that a user can have.
        ctx = partial(Context, caller=replace(STRANGER, approve=True), instance=world.instance)
        found = world.write(lambda tx: operation.run(ctx(tx=tx), ask, done))
        return operation.answered(found).plain()

    return act


def snapshot(tx: Tx) -> dict[str, list[Any]]:
    """All that is the owner's."""
    return {table.name: sorted(map(str, tx.rows(table.select()))) for table in metadata.sorted_tables}
