"""One operation, one name: every operation has its address and every address its operation, and each works."""

import json
from typing import Any

import jsonschema_rs
import pytest

from homing.model.contract import OPERATIONS, SECOND_ADDRESSES, STREAMS
from homing.model.messages import NewMessage
from homing.store import Tx, sessions
from homing.web.openapi import document
from homing.web.problems import CODES
from support.site import Site, problem
from support.visits import visits


@pytest.fixture(scope="module")
def openapi() -> dict[str, Any]:
    return document()


def operations_of(openapi: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["operationId"]: one for path in openapi["paths"].values() for one in path.values()}


def test_every_operation_has_its_address_and_every_address_its_operation(openapi: dict[str, Any]) -> None:
    names = {operation.name for operation in OPERATIONS}
    assert operations_of(openapi).keys() == names | STREAMS.keys() | {row.address for row in SECOND_ADDRESSES}


def test_an_operation_that_reads_is_a_get_and_every_change_is_not() -> None:
    reading = {row.name for row in OPERATIONS if row.method == "GET"}
    reads = {row.name for row in OPERATIONS if row.kind == "read"} - {"preview_schedule"}
    # Two read outside the database: a folder, and servers with models. An export is not JSON alone.
    assert reading == reads | {"get_file", "list_models", "export_session"}


def test_the_document_is_openapi_3_1_and_every_reference_in_it_leads_somewhere(openapi: dict[str, Any]) -> None:
    assert openapi["openapi"].startswith("3.1")

    def follow(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                _, kind, group, name = value["$ref"].split("/")
                assert name in openapi[kind][group], value["$ref"]
            for inner in value.values():
                follow(inner)
        elif isinstance(value, list):
            for inner in value:
                follow(inner)

    follow(openapi)


def test_numbers_have_their_limits_in_the_document(openapi: dict[str, Any]) -> None:
    parameters = {one["name"]: one["schema"] for one in operations_of(openapi)["list_jobs"]["parameters"]}
    assert (parameters["recent"]["minimum"], parameters["recent"]["maximum"]) == (0, 100)
    assert '"ge"' not in json.dumps(openapi)


def test_every_address_says_which_problems_it_answers_with(openapi: dict[str, Any]) -> None:
    for name, operation in operations_of(openapi).items():
        told = operation["responses"].keys()
        assert {"400", "401", "403", "404", "422", "429", "500", "503"} <= told, name
    told = set[str]()
    for response in openapi["components"]["responses"].values():
        _, codes = response["content"]["application/problem+json"]["schema"]["allOf"]
        told |= set(codes["properties"]["code"]["enum"])
    assert told == {code for status, codes in CODES.items() if status != 405 for code in codes}


async def test_every_operation_answers_as_the_document_says(site: Site, openapi: dict[str, Any]) -> None:
    described = operations_of(openapi)
    visited: set[str] = set()
    async for visit in visits(site):
        response = await visit.pay(site.owner)
        assert response.status_code == visit.status, (visit, response.text)
        assert response.headers["content-type"] == "application/json"
        schema = described[visit.operation]["responses"][str(visit.status)]["content"]["application/json"]["schema"]
        whole = {**schema, "components": openapi["components"]}
        jsonschema_rs.validator_for(whole).validate(response.json())
        visited.add(visit.operation)
    # Files are visited in test_files.py: one is not JSON on its way in, the other on its way out. A model is set in
    # test_model_setting.py: that takes a home on the disk. An address is verified in test_mail.py: that takes a mail
    # account. An export is read in test_transcripts.py. Channels are changed in test_added_channels.py.
    elsewhere = {"add_file", "get_file", "export_session", "set_model", "verify_address"}
    elsewhere |= {"add_channel", "update_channel", "remove_channel"}
    assert visited == described.keys() - STREAMS.keys() - elsewhere


async def test_nobody_gets_in_anywhere_without_a_token(site: Site) -> None:
    async for visit in visits(site):
        response = await visit.pay(site.nobody)
        if visit.operation in {"sign_in", "sign_out", "call_hook"}:
            assert response.status_code == visit.status, visit
        else:
            assert response.status_code == 401, visit
    for path in ("/api/events", "/api/sessions/web:abc/events"):
        assert (await site.nobody.get(path)).status_code == 401


OWN = {
    "list_approvals", "list_inbox", "see_inbox", "get_usage", "list_contacts", "list_channels",
    "get_status", "get_me", "update_me", "list_agents", "get_agent", "list_tokens", "create_token",
    "sign_in", "sign_out", "list_push", "add_push",
    "add_session", "list_sessions", "call_hook", "list_webhooks", "add_webhook", "list_grants", "list_jobs",
    "list_upcoming",
    "preview_schedule", "try_script", "list_memories", "add_memory", "search",
}  # fmt: skip
"""What anybody may ask, because it tells of their own things only."""
ADMINS = {
    "list_users", "add_grant", "add_agent", "update_agent", "remove_agent", "list_mcp_servers", "add_mcp_server",
    "update_mcp_server", "remove_mcp_server", "test_mcp_server", "accept_mcp_tools", "test_channel",
    "list_channel_kinds", "get_model", "list_models", "link_channel",
}  # fmt: skip
"""What takes an admin; of a grant, a mail address does. A chat is linked with a token that may answer approvals."""


async def test_a_stranger_sees_and_touches_nothing_of_anybody_else(site: Site) -> None:
    """Every operation is tried with the wrong token, on things that are there."""
    async for visit in visits(site):
        if visit.operation == "send_message":
            # A key is everybody's own: a message to it makes one of the stranger's.
            continue
        response = await visit.pay(site.stranger)
        if visit.operation in OWN:
            assert response.status_code == visit.status, (visit, response.text)
        else:
            refused = 403 if visit.operation.startswith("admin_") or visit.operation in ADMINS else 404
            assert response.status_code == refused, (visit, response.text)
        assert not any(secret in response.text for secret in ("fruit watch", "example.com/two", "likes pears"))
        mine = await site.owner.get("/api/jobs", params={"q": "fruit watch"})
        assert [job["name"] for job in mine.json()["items"]] == ["fruit watch"], visit
    assert (await site.stranger.get("/api/sessions/web:abc/events")).status_code == 404
    tokens = (await site.stranger.get("/api/tokens")).json()["items"]
    assert {token["user_id"] for token in tokens} == {"stranger"}


async def test_a_cursor_of_one_list_is_refused_by_every_other(site: Site) -> None:
    owner = site.owner
    for n in range(2):
        await owner.post("/api/sessions", json={"key": f"web:{n}"})
        await owner.post("/api/sessions/web:0/messages", json={"text": "hi"})
        await owner.post("/api/memories", json={"text": f"fact {n}"})
        job = await owner.post("/api/jobs", json={"session_key": "web:0", "when": "every day at 9", "message": f"m{n}"})
        assert (await owner.post(f"/api/jobs/{job.json()['id']}/run", json={})).status_code == 202
    site.world.write(_say_twice)
    lists = ("/api/sessions", "/api/jobs", "/api/runs", "/api/memories", "/api/sessions/web:0/messages")
    for mine in lists:
        cursor = (await owner.get(mine, params={"limit": 1})).json()["next_cursor"]
        assert cursor, mine
        for other in {*lists, "/api/deliveries", "/api/admin/jobs"} - {mine}:
            if {mine, other} == {"/api/jobs", "/api/admin/jobs"}:
                continue
            response = await owner.get(other, params={"cursor": cursor})
            assert problem(response)["code"] == "bad_cursor", f"{mine} -> {other}"


def _say_twice(tx: Tx) -> None:
    session = sessions.find(tx, "web:0", user_id="default")
    assert session is not None
    said = NewMessage(session_id=session.id, lane_id=session.id, role="user", kind="chat", text="hello")
    sessions.lock(tx, {session.id})
    sessions.append_messages(tx, [said, said])
