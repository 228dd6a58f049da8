"""Bad input of every kind gets a 4xx with a sentence that helps, never a 5xx, and changes nothing."""

from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response

from homing.store import Store
from homing.web.app import make_app
from homing.web.bodies import MAX_BODY
from support.asking import add, session
from support.site import BASE, OWNER_TOKEN, Site, field_codes, problem

JSON = {"Content-Type": "application/json"}
PLAIN = {"session_key": "web:abc", "when": "every 2h", "message": "look"}


async def test_a_body_that_is_not_json_is_malformed_and_told_where(site: Site) -> None:
    response = await site.owner.post("/api/jobs", content=b'{"when": ', headers=JSON)
    assert response.status_code == 400
    assert problem(response)["code"] == "malformed"
    assert "line 1" in problem(response)["detail"]


UNREADABLE = [
    b"[]", b'"text"', b"null", b"7", b"{", b"\xff\xfe", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1e999}',
    b"[" * 100_000, b'{"a": ' * 5000, b'{"a": ' + b"9" * 5000 + b"}", b"\x00", b'{"a": "\x00"}', b"{'a': 1}",
]  # fmt: skip


async def test_what_no_json_reader_should_take_is_malformed(site: Site) -> None:
    owner = site.owner
    for body in UNREADABLE:
        for method, path in (("POST", "/api/jobs"), ("PATCH", "/api/me"), ("POST", "/api/sessions/web:abc/messages")):
            response = await owner.request(method, path, content=body, headers=JSON)
            assert response.status_code == 400, (body[:40], method, path, response.text)
            assert problem(response)["code"] == "malformed"
            assert "sys." not in problem(response)["detail"], "nobody there can set Python's limits"
    assert (await owner.get("/api/jobs")).json()["items"] == []


async def test_json_must_be_called_json(site: Site) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        response = await site.owner.post("/api/jobs", content=b'{"when": "x"}', headers={"Content-Type": kind})
        assert response.status_code == 400
        assert "application/json" in problem(response)["detail"]
    session(site.world)
    kind = "application/vnd.homing+json; charset=utf-8"
    taken = await site.owner.post("/api/sessions/web:abc/messages", content=b'{"text": "hi"}',
                                  headers={"Content-Type": kind})  # fmt: skip
    assert taken.status_code == 202


async def test_a_body_over_one_megabyte_is_refused_before_it_is_read(site: Site) -> None:
    pulled = 0

    async def endless():
        nonlocal pulled
        for _ in range(1000):
            pulled += 65_536
            yield b"x" * 65_536

    declared = await site.owner.post("/api/memories", content=b"x" * (MAX_BODY + 1), headers=JSON)
    assert declared.status_code == 413
    assert problem(declared)["code"] == "too_large"
    streamed = await site.owner.post("/api/memories", content=endless(), headers=JSON)
    assert streamed.status_code == 413
    assert pulled < 2 * MAX_BODY
    session(site.world, "web:mine")
    url = (await site.owner.post("/api/sessions/web:mine/hooks", json={})).json()["url"]
    hooked = await site.owner.post(url[url.index("/api/") :], content=b"x" * (MAX_BODY + 1))
    assert hooked.status_code == 413


async def test_unknown_fields_are_refused_with_the_nearest_known_name(site: Site) -> None:
    session(site.world)
    body = await site.owner.post("/api/jobs", json={**PLAIN, "delete_after_runs": True})
    assert field_codes(body) == {"delete_after_runs": "unknown_field"}
    assert "delete_after_run?" in problem(body)["detail"]
    query = await site.owner.get("/api/jobs", params={"stat": "active"})
    assert field_codes(query) == {"stat": "unknown_field"}
    assert "status?" in problem(query)["detail"]
    assert field_codes(await site.owner.get("/api/events", params={"after": "1"})) == {"after": "unknown_field"}
    assert field_codes(await site.owner.post("/api/jobs", json=PLAIN, params={"name": "x"})) == {
        "name": "unknown_field"
    }
    assert (await site.owner.get("/api/jobs")).json()["items"] == []


WRONG_JOBS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"when": None, "schedule": None}, {"when": "missing"}),
    ({"message": None}, {"message": "missing"}),
    ({"when": "soonish"}, {"when": "schedule_unreadable"}),
    ({"when": "every 2h", "schedule": {"kind": "cron", "cron": "0 9 * * *"}}, {"schedule": "schedule_twice"}),
    ({"when": "2001-01-01T00:00Z"}, {"when": "schedule_in_past"}),
    ({"when": None, "schedule": {"kind": "cron", "cron": "0 0 30 2 *"}}, {"schedule.cron": "schedule_never_fires"}),
    ({"timezone": "Mars/Olympus"}, {"timezone": "unknown_timezone"}),
    ({"name": "x" * 129}, {"name": "out_of_range"}),
    ({"message": "x" * 16_385}, {"message": "out_of_range"}),
    ({"name": 7}, {"name": "wrong_type"}),
    ({"quiet": "perhaps"}, {"quiet": "wrong_type"}),
    ({"max_runs": 10**400}, {"max_runs": "out_of_range"}),
    ({"max_runs": 0}, {"max_runs": "out_of_range"}),
    ({"payload": {"timeout_seconds": -1}}, {"payload.timeout_seconds": "out_of_range"}),
    ({"status": "active"}, {"status": "read_only"}),
    ({"wake": "never"}, {"wake": "out_of_range"}),
]


async def test_a_job_that_cannot_be_taken_names_the_field_and_why(site: Site) -> None:
    session(site.world)
    owner = site.owner
    for wrong, told in WRONG_JOBS:
        body = {name: value for name, value in (PLAIN | wrong).items() if value is not None}
        response = await owner.post("/api/jobs", json=body)
        assert list(field_codes(response).values()) == list(told.values()), (wrong, response.text)
    assert (await owner.get("/api/jobs")).json()["items"] == []


NOT_THERE = [
    ("GET", "/api/jobs/job_unknown"),
    ("PATCH", "/api/jobs/job_unknown"),
    ("DELETE", "/api/jobs/job_unknown"),
    ("POST", "/api/jobs/job_unknown/run"),
    ("GET", "/api/sessions/web:unknown"),
    ("GET", "/api/sessions/web:unknown/messages"),
    ("GET", "/api/sessions/web:unknown/events"),
    ("GET", "/api/sessions/%FF%FE"),
    ("GET", "/api/sessions/web:a%00b"),
    ("GET", "/api/sessions/web:%ED%A0%80"),
    ("GET", "/api/runs/job_x:1"),
    ("POST", "/api/deliveries/dlv_unknown/retry"),
    ("DELETE", "/api/memories/mem_unknown"),
    ("DELETE", "/api/tokens/tok_unknown"),
    ("DELETE", "/api/webhooks/wh_unknown"),
    ("POST", "/api/hooks/guessed"),
    ("GET", "/api/nothing"),
    ("GET", "/api"),
    ("GET", "/api/jobs/"),
]


async def test_what_is_not_there_is_not_found(site: Site) -> None:
    for method, path in NOT_THERE:
        response = await site.owner.request(method, path)
        assert response.status_code == 404, (method, path, response.text)
        assert problem(response)["code"] == "not_found"


async def test_a_wrong_method_names_the_right_ones(site: Site) -> None:
    response = await site.owner.put("/api/jobs")
    assert response.status_code == 405
    assert problem(response)["code"] == "wrong_method"
    assert response.headers["allow"] == "GET, POST"
    assert "GET, POST" in problem(response)["detail"]
    assert (await site.owner.put("/api/jobs/job_x")).headers["allow"] == "DELETE, GET, PATCH"


async def test_a_plus_that_nobody_encoded_is_read_as_one(site: Site) -> None:
    session(site.world)
    for path in ("/api/upcoming?from=2030-11-17T00:00:00+08:00&to=2030-11-18T00:00:00.5+0800",
                 "/api/runs?from=2030-11-17T00:00+08:00"):  # fmt: skip
        assert (await site.owner.get(path)).status_code == 200, path


async def test_days_at_the_ends_of_the_calendar_are_refused(site: Site) -> None:
    session(site.world)
    for query in (
        {"from": "9999-12-31", "to": "9999-12-31"},
        {"from": "9999-12-31"},
        {"from": "0001-01-01", "to": "0001-01-01"},
        {"to": f"in {'9' * 400} days"},
    ):
        response = await site.owner.get("/api/upcoming", params=query)
        assert set(field_codes(response).values()) <= {"out_of_range", "schedule_unreadable"}, query


async def test_a_title_of_blanks_is_none(site: Site) -> None:
    assert field_codes(await site.owner.post("/api/sessions", json={"title": "  "})) == {"title": "out_of_range"}
    made = await site.owner.post("/api/sessions", json={"title": " Fruit "})
    assert made.json()["title"] == "Fruit"


async def test_a_page_that_cannot_be_is_refused(site: Site) -> None:
    for limit in ("0", "201", "many", "", "9" * 5000, "1.5", "-1"):
        response = await site.owner.get("/api/jobs", params={"limit": limit})
        assert set(field_codes(response).values()) <= {"out_of_range", "wrong_type"}, limit
    assert field_codes(await site.owner.get("/api/jobs?status=%FF")) == {"status": "out_of_range"}


async def test_a_cursor_we_did_not_write_is_refused(site: Site) -> None:
    lists = ("/api/jobs", "/api/sessions", "/api/runs", "/api/deliveries", "/api/memories", "/api/tokens")
    for path in lists:
        for cursor in ("x", "W10", "bnVsbA", "💥", "W251bGwsbnVsbCxudWxsXQ", "A" * 1000):
            response = await site.owner.get(path, params={"cursor": cursor})
            assert response.status_code == 400, (path, cursor, response.text)
            assert problem(response)["code"] == "bad_cursor"


async def test_the_same_word_twice_in_a_query_is_refused(site: Site) -> None:
    response = await site.owner.get("/api/jobs?limit=1&limit=2")
    assert problem(response)["code"] == "malformed"


async def test_nul_and_half_characters_are_taken_out_where_text_enters(site: Site) -> None:
    session(site.world)
    body = b'{"session_key": "web:abc", "when": "every 2h", "message": "a\\u0000b\\ud800c", "name": "\\udfffn"}'
    response = await site.owner.post("/api/jobs", content=body, headers=JSON)
    assert response.status_code == 201, response.text
    assert (response.json()["payload"]["message"], response.json()["name"]) == ("abc", "n")
    strange = await site.owner.post("/api/jobs", content=b'{"\\ud800": 1, "when": "\\ud800soon"}', headers=JSON)
    assert strange.status_code == 422
    problem(strange)


async def test_a_stale_revision_is_refused_with_what_is_there_now(site: Site) -> None:
    job = add(site.world)
    first = await site.owner.patch(f"/api/jobs/{job.id}", json={"name": "one", "revision": job.revision})
    assert first.status_code == 200
    second = await site.owner.patch(f"/api/jobs/{job.id}", json={"name": "two", "revision": job.revision})
    assert second.status_code == 409
    told = problem(second)
    assert told["code"] == "stale_revision"
    assert told["current"]["name"] == "one"
    assert (await site.owner.get(f"/api/jobs/{job.id}")).json()["name"] == "one"


async def test_a_session_with_automations_is_refused_in_two_steps_with_the_exact_members(site: Site) -> None:
    job = add(site.world, name="fruit watch")
    blocked = await site.owner.delete("/api/sessions/web:abc")
    assert blocked.status_code == 409
    told = problem(blocked)
    assert told["code"] == "blocked_by_automations"
    assert (told["deleted"], told["blocked_by_automations"]) == (False, True)
    assert told["automations"] == [{"id": job.id, "name": "fruit watch", "enabled": True}]
    deleted = await site.owner.delete("/api/sessions/web:abc", params={"delete_automations": "true"})
    assert deleted.status_code == 200
    assert deleted.json() == {"deleted": True, "blocked_by_automations": False, "automations": []}
    assert (await site.owner.get("/api/sessions/web:abc")).status_code == 404
    assert (await site.owner.get(f"/api/jobs/{job.id}")).status_code == 404


async def test_a_second_run_now_names_the_first(site: Site) -> None:
    job = add(site.world)
    first = await site.owner.post(f"/api/jobs/{job.id}/run")
    assert first.status_code == 202
    second = await site.owner.post(f"/api/jobs/{job.id}/run")
    assert second.status_code == 409
    assert problem(second)["code"] == "already_running"
    assert problem(second)["run_id"] == first.json()["id"]


async def test_nobody_makes_or_takes_over_a_session_of_another_channel(site: Site) -> None:
    for key in ("telegram:1", "slack:C1", "cron:job_x:1", "unified:default", "system:x"):
        made = await site.owner.post("/api/sessions", json={"key": key})
        assert made.status_code == 422, made.text
        said = await site.owner.post(f"/api/sessions/{key}/messages", json={"text": "hi"})
        assert said.status_code in (404, 422), said.text
    session(site.world, "web:mine")
    # A key is each user's own: the same one makes another session and says nothing about the first.
    own = await site.stranger.post("/api/sessions", json={"key": "web:mine"})
    assert (own.status_code, own.json()["user_id"]) == (201, "stranger")
    await site.stranger.post("/api/sessions/web:mine/messages", json={"text": "hi"})
    assert (await site.owner.get("/api/sessions/web:mine")).json()["lane_size"] == 0


async def test_a_bug_is_told_without_a_trace_and_found_by_its_request_id(
    site: Site, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken(_: Request) -> Response:
        raise RuntimeError("the secret of the house")

    site.app.router.add_route("/api/broken", broken)
    response = await site.owner.get("/api/broken")
    assert response.status_code == 500
    told = problem(response)
    assert told["code"] == "internal"
    assert "secret" not in response.text
    logged = capsys.readouterr().out + caplog.text
    assert told["request_id"] in logged
    assert "the secret of the house" in logged


async def test_a_caller_who_leaves_in_the_middle_of_a_body_is_no_bug(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/api/memories", "raw_path": b"/api/memories", "query_string": b"", "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {OWNER_TOKEN}".encode()),
                    (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 4664),
    }  # fmt: skip
    messages: list[Any] = [{"type": "http.request", "body": b'{"te', "more_body": True}, {"type": "http.disconnect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await site.app(scope, receive, send)
    assert sent == []
    logged = capsys.readouterr().out
    assert "request_gone" in logged
    assert "request_broke" not in logged
    assert (await site.owner.get("/api/memories")).json()["items"] == []


async def test_a_database_that_is_away_is_not_ready(site: Site) -> None:
    away = Store("postgresql://nobody@127.0.0.1:1/nothing", site.world.clock)
    app = make_app(store=away, instance=site.world.instance, clock=site.world.clock)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
        response = await client.get("/api/jobs", headers={"Authorization": f"Bearer {OWNER_TOKEN}"})
        assert response.status_code == 503
        assert problem(response)["code"] == "not_ready"
        assert response.headers["retry-after"]
        assert "nothing" not in response.text, "where the database is, is nobody's business"
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/readyz")).status_code == 503
    await away.close()
