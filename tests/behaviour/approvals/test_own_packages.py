"""An admin changes an agent's packages themselves: the same row as a request, answered by them (rule 44)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from behaviour.approvals.answers import answer, ended, pending
from homing.model.people import OWNER
from homing.store import people
from support.package_index import PackageIndex
from support.sandboxes import need_bubblewrap
from support.site import OWNER_TOKEN, STRANGER_TOKEN
from support.whole import Whole, open_whole

USE = {"command": "python3 -c 'import owl; print(owl.version)'"}


@pytest.fixture
async def whole(database: str, tmp_path: Path, index: PackageIndex) -> AsyncIterator[Whole]:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home") as whole:
        yield whole


async def change(whole: Whole, code: int = 200, **packages: Any) -> dict[str, Any]:
    return await whole.ask("PATCH", "/agents/main", {"packages": packages}, code=code)


async def built(whole: Whole, agent: dict[str, Any]) -> dict[str, Any]:
    return await ended(whole, {"id": agent["environment"]["approval_id"]})


async def test_an_admins_own_change_is_an_answered_approval_and_is_built_like_one(whole: Whole) -> None:
    await whole.say("Hello", key="web:home")
    turns = len(whole.model.seen)
    agent = await change(whole, pip=["owl"])
    assert agent["environment"]["state"] == "building"
    done = await built(whole, agent)
    assert (done["state"], done["answered_by"], done["audience"]) == ("done", OWNER, "admin")
    assert (done["turn_id"], done["asked_by"], done["title"]) == (None, "person", "Install 2 packages for Main: owl")
    assert "--hash=sha256:" in "".join(done["args"]["lock"]["pip_lock"])
    assert done["result"] == "The programs of Main find owl from now on."
    agent = await whole.ask("GET", "/agents/main")
    assert (agent["packages"], agent["environment"]["state"]) == ({"pip": ["owl"], "npm": []}, "ready")
    # The card is at the admin's home, and nobody is woken.
    listed = await whole.ask("GET", "/sessions/web:home/messages?limit=100")
    cards = [one["approval"] for one in listed["items"] if one["approval"]]
    assert cards == [{"id": done["id"], "state": "done"}]
    assert len(whole.model.seen) == turns
    assert "1.0" in await whole.call("run_command", USE)

    # The list is replaced whole: what is not in it goes.
    agent = await change(whole, pip=["wren"])
    done = await built(whole, agent)
    assert (done["args"]["removed"], done["args"]["whole"]) == (["pip owl"], True)
    assert (await whole.ask("GET", "/agents/main"))["packages"]["pip"] == ["wren"]
    assert "No module named" in await whole.call("run_command", USE)

    again = await change(whole, pip=["wren"])
    assert again["environment"]["approval_id"] == done["id"]
    agent = await whole.ask("PATCH", "/agents/main", {"packages": None})
    done = await built(whole, agent)
    assert (done["title"], done["result"]) == (
        "Change the packages of Main: without pip wren",
        "Main has no packages any more.",
    )
    agent = await whole.ask("GET", "/agents/main")
    assert (agent["packages"], agent["environment"]["digest"]) == ({"pip": [], "npm": []}, None)
    assert "hello" in await whole.call("run_command", {"command": "echo hello"})


async def test_a_new_agent_can_be_given_packages(whole: Whole) -> None:
    made = await whole.ask("POST", "/agents", {"name": "Owls", "packages": {"pip": ["owl"]}}, code=201)
    assert (await built(whole, made))["state"] == "done"
    assert (await whole.ask("GET", "/agents/owls"))["packages"]["pip"] == ["owl"]


async def test_what_cannot_be_installed_is_refused_and_changes_nothing(whole: Whole, index: PackageIndex) -> None:
    for name in ("https://evil.example/x.whl", "./owl", "--index-url=x", "foo.whl", "nosuchowl"):
        problem = await change(whole, pip=[name], code=422)
        assert problem["code"] == "bad_package", problem
    assert "more than" not in (await change(whole, npm=["../owl"], code=422))["detail"]
    index.status = 503
    assert "could not be looked up now" in (await change(whole, pip=["owl"], code=409))["detail"]
    assert (await whole.ask("GET", "/approvals"))["items"] == []


async def test_only_a_person_who_may_approve_changes_packages(whole: Whole) -> None:
    whole.homing.store.write_now(
        lambda tx: people.add_token(
            tx, user_id=OWNER, role="admin", kind="token", secret="hom_plain", expires_at=None, approve=False
        )
    )
    body = {"packages": {"pip": ["owl"]}}
    problem = await whole.ask("PATCH", "/agents/main", body, token="hom_plain", code=403)
    assert "--approve" in problem["detail"]
    await whole.ask("PATCH", "/agents/main", body, token=STRANGER_TOKEN, code=403)
    # It may still change the rest.
    await whole.ask("PATCH", "/agents/main", {"name": "Mine"}, token="hom_plain")
    assert (await whole.ask("GET", "/approvals"))["items"] == []


async def test_a_failed_build_changes_nothing_and_is_told_at_home(
    database: str, tmp_path: Path, index: PackageIndex
) -> None:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home", acting=False) as whole:
        agent = await change(whole, pip=["owl"])
        # One at a time.
        problem = await change(whole, pip=["feather"], code=409)
        assert f"being installed now ({agent['environment']['approval_id']})" in problem["detail"]
        index.remove("owl")
        await whole.engine.actions.step()
        done = await built(whole, agent)
        assert done["state"] == "failed"
        agent = await whole.ask("GET", "/agents/main")
        assert (agent["environment"]["digest"], agent["environment"]["state"]) == (None, "failed")
        assert agent["packages"]["pip"] == []
        home = next(one["key"] for one in (await whole.ask("GET", "/sessions"))["items"] if one["home"])
        texts = [one["text"] for one in (await whole.ask("GET", f"/sessions/{home}/messages?limit=100"))["items"]]
        assert any("approved by Owner, but it failed" in text for text in texts), texts


async def test_an_agents_open_request_is_looked_up_again_after_an_admins_change(whole: Whole) -> None:
    await whole.call("install_packages", {"pip": ["owl"]})
    [asked] = await pending(whole)
    await built(whole, await change(whole, pip=["wren"]))
    await answer(whole, asked)
    assert (await ended(whole, asked))["ended"] == "replaced"
    [again] = await pending(whole)
    assert sorted(again["args"]["lock"]["pip"]) == ["owl", "wren"]


async def test_of_two_admins_changes_at_once_one_counts(whole: Whole, index: PackageIndex) -> None:
    async def patch(name: str) -> int:
        headers = {"Authorization": f"Bearer {OWNER_TOKEN}"}
        body = {"packages": {"pip": [name]}}
        return (await whole.http.request("PATCH", "/api/agents/main", json=body, headers=headers)).status_code

    codes = await asyncio.gather(patch("owl"), patch("wren"))
    # A change that comes when the other is built is a change of its own.
    assert 200 in codes
    assert set(codes) <= {200, 409}
    rows = (await whole.ask("GET", "/approvals"))["items"]
    assert len(rows) == codes.count(200)
