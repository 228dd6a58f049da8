"""A home of an older version is started by this one, and goes on where it was killed."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import sqlalchemy as sa

from e2e.page.house import PATIENCE, House, wait_until
from homing.testing import PostgresServer, StubModelServer, WebhookReceiver
from support.kept_homes import VERSIONS, KeptHome, load_home


@dataclass(frozen=True, kw_only=True)
class Upgraded:
    """A kept home under the new program, with those it talks to."""

    instance: House
    kept: KeptHome
    stub: StubModelServer
    receiver: WebhookReceiver

    def texts(self, key: str = "web:kept") -> list[str]:
        return [message["text"] for message in self.instance.get(f"/sessions/{key}/messages?limit=200")["items"]]


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'home' / 'homing.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.fresh()
    yield url
    server.drop(url)


@pytest.fixture(params=VERSIONS)
def upgraded(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> Iterator[Upgraded]:
    home = tmp_path / "home"
    home.mkdir()
    with StubModelServer() as stub, WebhookReceiver() as receiver:
        kept = load_home(request.param, database, webhook_url=receiver.url)
        (home / "token").write_text(kept.owner_token)
        come_due(database, "stretch")
        stub.when("what do I like", "This call is on record and not made again.", "You like apples.")
        stub.when("and tomorrow?", "Tomorrow as well.")
        stub.when("Check the oven", "The oven is off.")
        with House(tmp_path, stub, database=database) as instance:
            yield Upgraded(instance=instance, kept=kept, stub=stub, receiver=receiver)


def come_due(database: str, name: str) -> None:
    """Let a job come due while nothing runs, as during an upgrade."""
    engine = sa.create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    due_at = time.time_ns() // 1000 - 20_000_000
    with engine.begin() as connection:
        changed = connection.execute(
            sa.text("update job set next_run_at = :due_at where name = :name"), {"due_at": due_at, "name": name}
        )
        assert changed.rowcount == 1
    engine.dispose()


def ask(instance: House, path: str, **headers: str) -> Any:
    """Ask with another proof than the owner's token."""
    with urlopen(Request(f"{instance.url}{path}", headers=headers), timeout=PATIENCE) as response:
        return json.load(response)


def test_an_upgraded_home_goes_on_with_its_turn_its_run_its_message_and_its_delivery(upgraded: Upgraded) -> None:
    instance, kept = upgraded.instance, upgraded.kept
    wait_until(lambda: instance.get("/sessions/web:kept")["lane_size"] == 0, "the end of what waited in the lane")
    wait_until(lambda: instance.get("/sessions/web:kept")["state"] == "idle", "an idle conversation")
    # The reminder that came due meanwhile may stand anywhere.
    said = [text for text in upgraded.texts() if text != "Stretch"]
    assert said[said.index("what do I like?") :][:2] == ["what do I like?", "You like apples."]
    assert "Tomorrow as well." in said
    assert "The oven is off." in said
    run = instance.get(f"/runs/{kept.queued_run}")
    assert (run["state"], run["trigger"]) == ("ok", "manual")
    # What came due during the upgrade ran once.
    [stretch] = [job for job in instance.get("/jobs?limit=200")["items"] if job["name"] == "stretch"]
    wait_until(lambda: instance.get(f"/jobs/{stretch['id']}/runs")["items"], "the job that came due")
    assert [run["state"] for run in instance.get(f"/jobs/{stretch['id']}/runs")["items"]] == ["ok"]
    # The turn went on after its finished tool call: the model was asked once more, with the result that is on record.
    first = next(request for request in upgraded.stub.requests if "what do I like" in str(request.messages))
    assert [message.role for message in first.messages][-2:] == ["assistant", "tool"]
    wait_until(lambda: instance.get("/deliveries?state=pending")["items"] == [], "the end of all deliveries")
    carried = [request.headers["webhook-id"] for request in upgraded.receiver.requests]
    assert carried[0] == kept.delivery
    assert len(carried) == len(set(carried))


def test_an_upgraded_home_keeps_its_jobs_memories_and_what_its_people_sign_in_with(upgraded: Upgraded) -> None:
    instance, kept = upgraded.instance, upgraded.kept
    jobs = {job["name"]: job for job in instance.get("/jobs?limit=200")["items"]}
    assert {name: job["status"] for name, job in jobs.items()} == {
        "fruit watch": "active",
        "in the far future": "active",
        "every six hours": "active",
        "monthly": "active",
        "stretch": "active",
        "standup": "active",
        "dig": "active",
        "quiet price": "active",
        "bounded": "active",
        "old nanobot job": "active",
        "paused one": "paused",
        "paused until": "paused",
        "ran once": "done",
    }
    assert jobs["paused one"]["state"]["disabled_reason"] == "on holiday"
    assert jobs["monthly"]["dedupe_key"] == "report"
    assert jobs["fruit watch"]["words"] == "Weekdays at 08:00 Europe/Berlin"
    assert {memory["text"] for memory in instance.get("/memories")["items"]} == {"The user likes apples", "我喜欢苹果"}
    assert [memory["text"] for memory in instance.get("/memories?q=%E8%8B%B9%E6%9E%9C")["items"]] == ["我喜欢苹果"]
    ana = {"Authorization": f"Bearer {kept.user_token}"}
    assert [memory["text"] for memory in ask(instance, "/api/memories", **ana)["items"]] == ["Ana plays chess"]
    assert [job["message"] for job in _payloads(ask(instance, "/api/jobs", **ana))] == ["Ana's lunch"]
    # A browser signs in again once: a cookie of 0.1.0 has no page's key (ADR 0030).
    cookie = Request(f"{instance.url}/api/me", headers={"Cookie": f"homing_{instance.port}={kept.cookie}"})
    with pytest.raises(HTTPError, match="401"):
        urlopen(cookie, timeout=PATIENCE)
    with urlopen(
        Request(f"{instance.url}/api/hooks/{kept.hook_token}", data=b"Build 42 is green", method="POST"),
        timeout=PATIENCE,
    ) as response:
        assert response.status == 202
    wait_until(lambda: "Build 42 is green" in upgraded.texts(), "the hook's message")


def _payloads(jobs: Any) -> list[dict[str, Any]]:
    return [job["payload"] for job in jobs["items"]]
