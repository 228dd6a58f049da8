"""What machines ask: alive, ready, figures; and the page for whoever has a browser."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from homing.store import Tx, inbounds, maintenance
from homing.store import tables as t
from homing.store.inbounds import NewInbound
from homing.web.page import ROOMS, Page
from support.asking import add, session
from support.site import COOKIE, OWNER_TOKEN, STRANGER_TOKEN, Site, kill, open_site, owe, problem
from support.worlds import World, make_instance, stop_scheduler


def beat(world: World, *, schedules: bool = True) -> None:
    world.write(lambda tx: maintenance.beat(tx, "worker_1", name="test", schedules=schedules, next_wake_at=None))


async def test_alive_is_not_ready(site: Site) -> None:
    site.world.write(stop_scheduler)
    alive = await site.nobody.get("/healthz")
    assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
    assert (await site.nobody.head("/healthz")).status_code == 200
    waiting = await site.nobody.get("/readyz")
    assert waiting.status_code == 503
    assert "scheduler" not in problem(waiting)["detail"], "no details for everybody"
    beat(site.world, schedules=False)
    assert (await site.nobody.get("/readyz")).status_code == 503
    site.world.write(lambda tx: tx.run(sa.update(t.worker).values(schedules=True)))
    ready = await site.nobody.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
    old = timedelta(seconds=31)
    site.world.write(lambda tx: tx.run(sa.update(t.worker).values(beat_at=tx.now() - old)))
    assert (await site.nobody.get("/readyz")).status_code == 503


async def test_without_a_scheduler_of_its_own_it_waits_for_none(world: World) -> None:
    site = open_site(replace(world, instance=make_instance(replace(world.settings, scheduler_enabled=False))))
    assert (await site.nobody.get("/readyz")).status_code == 200


async def test_a_database_of_another_version_is_not_ready(site: Site) -> None:
    beat(site.world)
    assert (await site.nobody.get("/readyz")).status_code == 200
    site.world.write(lambda tx: tx.run(sa.text("update alembic_version set version_num = '9999'")))
    assert (await site.nobody.get("/readyz")).status_code == 503


async def figures(site: Site) -> dict[tuple[str, tuple[str, ...]], float]:
    response = await site.nobody.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, tuple(sorted(sample.labels.values()))): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


async def test_figures_are_counted_from_the_rows(site: Site) -> None:
    world = site.world
    world.write(stop_scheduler)
    empty = await figures(site)
    assert empty["homing_info", ("0.0-test",)] == 1
    assert empty["homing_workers", ()] == 0
    beat(world)
    job = add(world)
    await site.owner.post(f"/api/jobs/{job.id}/run")
    await site.owner.post("/api/sessions/web:abc/messages", json={"text": "hi"})
    [dead, _] = owe(world, "web:abc", "x", ["webhook:wh_a", "webhook:wh_b"])
    kill(world, dead)
    _close_a_turn(world)
    told = await figures(site)
    assert told["homing_lane_waiting", ("people",)] == 1
    assert told["homing_lane_waiting", ("machines",)] == 1
    assert told["homing_runs_active", ("queued",)] == 1
    assert told["homing_deliveries", ("dead",)] == 1
    assert told["homing_deliveries", ("pending",)] == 1
    assert told["homing_workers", ()] == 1
    assert told["homing_turn_duration_last_hour_count", ("person",)] == 1
    assert told["homing_turn_duration_longest_last_hour_seconds", ("person",)] == 3
    assert told["homing_model_tokens_last_hour", ("input", "offline")] == 7
    assert told["homing_model_tokens_last_hour", ("offline", "output")] == 5
    assert told["homing_jobs_due", ()] == 0


def _close_a_turn(world: World) -> None:
    """Write a turn of three seconds, as the engine would have."""
    session_id = session(world, "web:other")

    def work(tx: Tx) -> None:
        new = NewInbound(session_id=session_id, lane_id=session_id, user_id="default", source="person", text="?",
                         line="people")  # fmt: skip
        inbounds.take_in(tx, [new])
        values = {
            "id": "turn_x", "lane_id": session_id, "session_id": session_id, "user_id": "default", "agent_id": "main",
            "source": "person", "state": "closed", "outcome": "answered", "model": "offline", "prompt": "?",
            "input_tokens": 7, "output_tokens": 5, "opened_at": tx.now() - timedelta(seconds=3), "closed_at": tx.now(),
        }  # fmt: skip
        tx.run(sa.insert(t.turn).values(values))
        tx.run(sa.update(t.inbound).where(t.inbound.c.lane_id == session_id).values(state="taken", turn_id="turn_x"))

    world.write(work)


async def test_figures_are_for_this_machine_or_an_admin(site: Site) -> None:
    assert (await site.client(address="10.0.0.9").get("/metrics")).status_code == 401
    assert (await site.client(STRANGER_TOKEN, address="10.0.0.9").get("/metrics")).status_code == 403
    assert (await site.client(OWNER_TOKEN, address="10.0.0.9").get("/metrics")).status_code == 200
    for header in ("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "X-Real-IP", "Via"):
        proxied = site.client(**{header: "1.1 proxy"})
        assert (await proxied.get("/metrics")).status_code == 401, "a proxy on this machine speaks for others"
    named = site.client(Host="192.168.1.7:4664")
    assert (await named.get("/metrics")).status_code == 401


async def test_behind_a_proxy_that_adds_no_header_figures_need_an_admin(world: World) -> None:
    settings = replace(world.settings, public_url="https://homing.example.org")
    site = open_site(replace(world, instance=make_instance(settings)))
    assert (await site.nobody.get("/metrics")).status_code == 401, "nginx passes on its own loopback name"
    assert (await site.owner.get("/metrics")).status_code == 200


@pytest.fixture
def built(site: Site, tmp_path: Path) -> Site:
    """A page that was built."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>Homing</title>")
    (tmp_path / "favicon.svg").write_text("<svg/>")
    (tmp_path / "assets" / "index-a1b2c3.js").write_text("export {}")
    (tmp_path.parent / "secret.txt").write_text("not for anybody")
    _serve(site.app, tmp_path)
    return site


def _serve(app: Starlette, folder: Path) -> None:
    app.router.default = Page(folder)


async def test_every_path_of_the_page_is_the_page(built: Site) -> None:
    for path in ("/", "/sign-in", "/chat/web:abc", "/automations/job_x", "/index.html"):
        response = await built.nobody.get(path)
        assert response.status_code == 200, path
        assert response.headers["content-type"].startswith("text/html")
        assert response.headers["cache-control"] == "no-cache"
    assert (await built.nobody.head("/")).status_code == 200
    assert (await built.nobody.get("/favicon.svg")).headers["content-type"] == "image/svg+xml"


async def test_a_file_with_a_hash_in_its_name_is_kept_for_ever(built: Site) -> None:
    response = await built.nobody.get("/assets/index-a1b2c3.js")
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "javascript" in response.headers["content-type"]
    gone = await built.nobody.get("/assets/index-older.js")
    assert gone.status_code == 404
    assert "Reload" in problem(gone)["detail"]


OUTSIDE = ("/../secret.txt", "/..%2fsecret.txt", "/assets/../../secret.txt", "/%2e%2e/secret.txt", "//etc/passwd")


async def test_nothing_outside_the_page_is_served(built: Site) -> None:
    for path in OUTSIDE:
        response = await built.nobody.get(path)
        assert "not for anybody" not in response.text, path
        assert "root:" not in response.text, path


async def test_the_page_is_only_read_and_programs_get_problems(built: Site) -> None:
    assert problem(await built.nobody.post("/sign-in"))["code"] == "wrong_method"
    for path in ("/api/nothing", "/mcp", "/api", "/api/cron/list", "/api/jobs/x/nothing"):
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            response = await built.nobody.request(method, path)
            assert response.status_code == 404, (method, path)
            if method != "HEAD":
                assert problem(response)["code"] == "not_found"


async def test_a_path_that_is_none_of_the_pages_says_so_to_programs(built: Site) -> None:
    read = await built.nobody.get("/wunder/cron/list")
    assert read.status_code == 404
    assert read.headers["content-type"].startswith("text/html"), "people see the page, which says it in words"
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        response = await built.nobody.request(method, "/wunder/cron/list")
        assert response.status_code == 404
        assert problem(response)["code"] == "not_found"


def test_the_rooms_of_the_page_are_those_that_its_source_knows() -> None:
    source = (Path(__file__).parents[3] / "ui/src/App.tsx").read_text()
    named = set(re.findall(r'room === "([^"]+)"', source)) | set(re.findall(r'path === "/([^"]*)"', source))
    assert {room for room in ROOMS if room} == named


async def test_a_page_that_is_not_built_says_how(site: Site, tmp_path: Path) -> None:
    _serve(site.app, tmp_path / "nothing")
    response = await site.nobody.get("/")
    assert response.status_code == 404
    assert "make page" in problem(response)["detail"]


async def test_the_document_is_open_to_everybody(site: Site) -> None:
    document = await site.nobody.get("/api/openapi.json")
    assert document.status_code == 200
    assert document.json()["openapi"].startswith("3.1")
    assert document.json()["components"]["securitySchemes"]["cookie"]["name"] == COOKIE
