"""`install_packages`: looked up before anybody is asked, built after a yes, swapped by one row (rule 44)."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from behaviour.approvals.answers import answer, ended, pending, shown, told
from homing.model.people import OWNER
from homing.operations.packages import lock_in
from homing.sandbox.packages import Packages
from homing.sandbox.share import Share
from homing.store import Tx, approvals, environments
from homing.testing import FakeClock, tool_call
from homing.testing.scripted import wire_messages
from support.package_index import PackageIndex
from support.sandboxes import need_bubblewrap
from support.site import STRANGER_TOKEN
from support.whole import Whole, open_whole
from support.worlds import pass_time

KEY = "web:fruit"
USE = {"command": "python3 -c 'import owl; print(owl.version)'"}


@pytest.fixture
async def whole(database: str, tmp_path: Path, index: PackageIndex) -> AsyncIterator[Whole]:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home") as whole:
        yield whole


async def asked(whole: Whole, *, key: str = KEY, **names: Any) -> dict[str, Any]:
    """Let the agent ask for packages, and give the request."""
    said = await whole.call("install_packages", {"reason": "to hoot", **names}, key=key)
    assert said.startswith("Asked (appr_"), said
    [approval] = await pending(whole)
    return approval


async def installed(whole: Whole, approval: dict[str, Any], *, key: str = KEY) -> dict[str, Any]:
    # Of its own, so that the words about an earlier one are not taken for these.
    words = f"They are there ({approval['id']})."
    whole.model.reply(words)
    await answer(whole, approval)
    done = await ended(whole, approval)
    await told(whole, words, key=key)
    return done


async def test_an_approved_lock_is_built_beside_and_used_in_the_same_conversation(whole: Whole) -> None:
    assert "No module named" in await whole.call("run_command", USE, key=KEY)
    approval = await asked(whole, pip=["owl"], apt=["jq"])
    args = approval["args"]
    assert (approval["title"], approval["audience"], approval["reason"]) == (
        "Install 2 packages for Main: owl, jq",
        "admin",
        "to hoot",
    )
    assert args["asked"] == {"pip": ["owl"], "apt": ["jq"]}
    assert args["by_hand"] == "sudo apt install jq"
    assert [line.partition(" bytes")[0].rpartition(",")[0] for line in args["packages"]] == [
        "pip feather 1.0",
        "pip owl 1.0",
    ]
    assert args["packages"][1].endswith("published 2020-01-02, new, asked for")
    assert args["packages"][0].endswith("new, needed by others")
    assert "--hash=sha256:" in "".join(args["lock"]["pip_lock"])
    assert json.loads(approval["shown"]) == args
    assert "No module named" in await whole.call("run_command", USE, key=KEY)

    done = await installed(whole, approval)
    assert done["state"] == "done"
    assert "Installed owl." in done["result"]
    assert "sudo apt install jq" in shown(whole)
    ran = await whole.call("run_command", USE, key=KEY)
    assert "1.0" in ran
    assert "No module named" not in ran
    assert "owl 1.0 runs" in await whole.call("run_command", {"command": "hoot"}, key="web:other")
    agent = await whole.ask("GET", "/agents/main")
    assert agent["packages"] == {"pip": ["owl"], "npm": []}
    ready = {"digest": args["environment"], "state": "ready", "error": None, "approval_id": approval["id"]}
    assert agent["environment"] == ready
    again = await whole.call("install_packages", {"pip": ["owl"]}, key=KEY)
    assert again.startswith("These packages are installed already.")


async def test_the_card_warns_of_packages_that_are_young_or_of_unknown_age(whole: Whole, index: PackageIndex) -> None:
    index.add_wheel("chick", at=f"{datetime.now(UTC) - timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}")
    index.add_wheel("stray", at=None)
    approval = await asked(whole, pip=["chick", "stray", "owl"])
    assert approval["args"]["warnings"] == [
        "chick 1.0 was published within the last 7 days.",
        "The release date of stray 1.0 is unknown.",
    ]
    assert all(words in approval["shown"] for words in approval["args"]["warnings"])


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "Name at least one package"),
    ({"pip": ["https://evil.example/x.whl"]}, "cannot be asked for from pip"),
    ({"pip": ["./owl"]}, "cannot be asked for from pip"),
    ({"pip": ["--index-url=http://evil.example"]}, "cannot be asked for from pip"),
    ({"pip": ["foo.whl"]}, "cannot be asked for from pip"),
    ({"npm": ["git+ssh://evil.example/x"]}, "cannot be asked for from npm"),
    ({"apt": ["jq; rm -rf /"]}, "cannot be asked for from apt"),
    ({"pip": ["nosuchowl"]}, "nosuchowl"),
    ({"pip": [{"name": "owl"}]}, "must be a list of texts"),
    ({"pip": ["owl"], "index": "http://evil.example"}, "has no index"),
]


async def test_names_that_cannot_be_never_reach_a_person(whole: Whole) -> None:
    for given, said in REFUSED:
        assert said in await whole.call("install_packages", given, key=KEY), given
    assert (await whole.ask("GET", "/approvals"))["items"] == []


async def test_an_index_that_is_away_is_told_and_nobody_is_asked(whole: Whole, index: PackageIndex) -> None:
    index.status = 503
    assert "could not be looked up now" in await whole.call("install_packages", {"pip": ["owl"]})
    assert await pending(whole) == []


async def test_a_second_request_replaces_the_first_with_the_union(whole: Whole) -> None:
    first = await asked(whole, pip=["owl"])
    second = await asked(whole, pip=["wren"], key="web:other")
    assert second["args"]["asked"] == {"pip": ["owl", "wren"]}
    old = await whole.ask("GET", f"/approvals/{first['id']}")
    assert (old["state"], old["ended"]) == ("expired", "replaced")
    await answer(whole, first, code=409)
    same = await whole.call("install_packages", {"pip": ["owl"], "reason": "to hoot"}, key="web:other")
    assert "This was asked before" in same


async def test_one_more_than_fits_beside_an_open_request_is_told_what_to_wait_for(whole: Whole) -> None:
    approval = await asked(whole, apt=[f"owl{number}" for number in range(20)])
    said = await whole.call("install_packages", {"apt": ["wren"]}, key="web:other")
    assert f"({approval['id']}) wait for an answer" in said
    assert [one["id"] for one in await pending(whole)] == [approval["id"]]


async def test_two_conversations_that_ask_at_once_leave_one_request_for_both(whole: Whole) -> None:
    keys = {"web:one": "owl", "web:two": "wren"}
    for name in keys.values():
        whole.model.when(f"get {name}", [tool_call("install_packages", {"pip": [name]})], "Asked.")
    await asyncio.gather(*(whole.say(f"get {name}", key=key) for key, name in keys.items()))
    [approval] = await pending(whole)
    assert sorted(approval["args"]["asked"]["pip"]) == ["owl", "wren"]


async def test_a_lock_on_an_environment_that_changed_is_looked_up_and_asked_again(
    database: str, tmp_path: Path, index: PackageIndex
) -> None:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home", acting=False) as whole:
        first = await asked(whole, pip=["owl"])
        await answer(whole, first)
        second = await asked(whole, pip=["wren"], key="web:other")
        assert second["args"]["lock"]["base"] is None
        await whole.engine.actions.step()
        assert (await ended(whole, first))["state"] == "done"
        await answer(whole, second)
        await whole.engine.actions.step()
        old = await ended(whole, second)
        assert (old["state"], old["ended"]) == ("expired", "replaced")
        assert "Other packages were installed" in old["error"]
        [again] = await pending(whole)
        assert again["args"]["asked"] == {"pip": ["wren"]}
        assert sorted(again["args"]["lock"]["pip"]) == ["owl", "wren"]
        await answer(whole, again)
        await whole.engine.actions.step()
        assert (await ended(whole, again))["state"] == "done"
        assert (await whole.ask("GET", "/agents/main"))["packages"]["pip"] == ["owl", "wren"]


async def test_of_two_approved_installs_at_once_one_is_used_and_the_other_is_asked_again(
    database: str, tmp_path: Path, index: PackageIndex
) -> None:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home", acting=False) as whole:
        first = await asked(whole, pip=["owl"])
        await answer(whole, first)
        second = await asked(whole, pip=["wren"], key="web:other")
        await answer(whole, second)
        assert first["args"]["lock"]["base"] is second["args"]["lock"]["base"] is None
        # Both are built on the same environment before either is used.
        index.open.clear()
        acting = asyncio.create_task(whole.engine.actions.step())
        async with asyncio.timeout(60):
            while not {"/files/owl", "/files/wren"} <= {path.partition("-")[0] for path in index.asked}:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        index.open.set()
        await acting
        ends = {one["id"]: await ended(whole, one) for one in (first, second)}
        assert sorted(one["state"] for one in ends.values()) == ["done", "expired"]
        [again] = await pending(whole)
        [used] = [one for one in ends.values() if one["state"] == "done"]
        [left] = [one for one in ends.values() if one["state"] == "expired"]
        assert left["ended"] == "replaced"
        assert again["args"]["asked"] == left["args"]["asked"]
        assert again["args"]["lock"]["base"] == used["args"]["environment"]
        agent = await whole.ask("GET", "/agents/main")
        assert agent["packages"]["pip"] == used["args"]["asked"]["pip"]
        await answer(whole, again)
        await whole.engine.actions.step()
        assert (await ended(whole, again))["state"] == "done"
        assert sorted((await whole.ask("GET", "/agents/main"))["packages"]["pip"]) == ["owl", "wren"]


async def test_a_failed_build_changes_nothing_and_is_told(whole: Whole, index: PackageIndex, tmp_path: Path) -> None:
    await installed(whole, await asked(whole, pip=["wren"]))
    before = (await whole.ask("GET", "/agents/main"))["environment"]
    approval = await asked(whole, pip=["owl"])
    index.remove("owl")
    whole.model.reply("It failed.")
    await answer(whole, approval)
    done = await ended(whole, approval)
    assert done["state"] == "failed"
    assert done["error"]
    await told(whole, "It failed.", key=KEY)
    agent = await whole.ask("GET", "/agents/main")
    failed = {"digest": before["digest"], "state": "failed", "error": done["error"], "approval_id": approval["id"]}
    assert agent["environment"] == failed
    assert agent["packages"]["pip"] == ["wren"]
    assert "1.0" in await whole.call("run_command", {"command": "python3 -c 'import wren; print(wren.version)'"})


async def test_who_approved_for_somebody_else_is_told_at_home_that_the_build_failed(
    whole: Whole, index: PackageIndex
) -> None:
    await whole.say("Hello", key="web:own")
    await whole.call("install_packages", {"pip": ["owl"]}, key=KEY, token=STRANGER_TOKEN)
    [approval] = await pending(whole)
    index.remove("owl")
    await answer(whole, approval)
    done = await ended(whole, approval)
    listed = await whole.ask("GET", "/sessions/web:own/messages?limit=100")
    notes = [one["text"] for one in listed["items"] if one["kind"] == "note"]
    words = f"{done['title']}: approved by Owner, but it failed. See: homing approvals get {done['id']}"
    assert (done["state"], notes) == ("failed", [words])


async def test_a_request_for_packages_of_the_machine_names_nothing_that_was_there_before(whole: Whole) -> None:
    await installed(whole, await asked(whole, pip=["owl"]))
    more = await installed(whole, await asked(whole, pip=["wren"], key="web:two"), key="web:two")
    assert more["result"] == "Installed wren. Your programs find them from now on."
    before = (await whole.ask("GET", "/agents/main"))["environment"]["digest"]
    kept = whole.homing.store.write_now(environments.in_use)
    only = await installed(whole, await asked(whole, apt=["jq"], key="web:three"), key="web:three")
    assert only["result"] == "An administrator must run: sudo apt install jq."
    assert (await whole.ask("GET", "/agents/main"))["environment"]["digest"] == before
    assert whole.homing.store.write_now(environments.in_use) == kept


async def test_a_package_of_npm_is_asked_for_built_and_used(whole: Whole, index: PackageIndex) -> None:
    index.add_npm(
        "left-owl", bin={"hoot-js": "hoot.js"}, files={"hoot.js": "#!/usr/bin/env node\nconsole.log('hoot')\n"}
    )
    approval = await asked(whole, npm=["left-owl"])
    assert approval["args"]["packages"] == ["npm left-owl 1.0.0, 1234 bytes, published 2020-01-02, new, asked for"]
    assert (await installed(whole, approval))["state"] == "done"
    assert "left-owl 1.0.0" in await whole.call("run_command", {"command": "node -p \"require('left-owl')\""}, key=KEY)
    assert "hoot" in await whole.call("run_command", {"command": "hoot-js"}, key=KEY)
    assert (await whole.ask("GET", "/agents/main"))["packages"] == {"pip": [], "npm": ["left-owl"]}


async def test_a_package_yanked_between_the_yes_and_the_build_fails_with_the_words_of_the_index(
    database: str, tmp_path: Path, index: PackageIndex
) -> None:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home", acting=False) as whole:
        approval = await asked(whole, pip=["owl"])
        await answer(whole, approval)
        index.yank("owl", "it bites")
        await whole.engine.actions.step()
        done = await ended(whole, approval)
        assert (done["state"], "it bites" in done["error"]) == ("failed", True), done["error"]


async def test_a_machine_that_lacks_the_folder_builds_it_when_it_is_needed(whole: Whole, tmp_path: Path) -> None:
    await installed(whole, await asked(whole, pip=["owl"]))
    [folder] = [path for path in (tmp_path / "home").rglob("environments/*") if path.is_dir()]
    folder.rename(tmp_path / "away")
    assert "1.0" in await whole.call("run_command", USE)
    assert folder.is_dir()


async def test_the_current_and_the_previous_environment_are_kept(whole: Whole) -> None:
    digests = list[str]()
    for name in ("feather", "wren", "owl"):
        await installed(whole, await asked(whole, pip=[name]))
        digests.append((await whole.ask("GET", "/agents/main"))["environment"]["digest"])
    assert whole.homing.store.write_now(environments.in_use) == set(digests[1:])


async def test_killed_between_build_and_row_it_is_ended_once_by_the_next_worker(
    database: str, tmp_path: Path, index: PackageIndex
) -> None:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home") as whole:
        approval = await asked(whole, pip=["owl"])
        store = whole.homing.store
        await whole.engine.runner.stop()

        def die(tx: Tx) -> None:
            """Leave what a worker leaves that is killed after the build."""
            digest = approval["digest"]
            approvals.answer(
                tx, approval["id"], digest=digest, state="approved", by=OWNER, answered_with=None, note=None
            )
            seen = approvals.get(tx, approval["id"])
            assert seen is not None
            assert approvals.take(tx, seen, "worker_dead", tx.now() + timedelta(seconds=5))

        store.write_now(die)
        lock = lock_in(approval["args"])
        await Packages(share=Share(folder=tmp_path / "home" / "share")).build(lock)
        assert (await whole.ask("GET", "/agents/main"))["environment"]["digest"] is None
    async with open_whole(database, tmp_path / "home") as whole:
        whole.model.reply("They are there.")
        done = await ended(whole, approval)
        await told(whole, "They are there.", key=KEY)
        assert done["state"] == "done"
        assert (await whole.ask("GET", "/agents/main"))["packages"]["pip"] == ["owl"]
        assert "1.0" in await whole.call("run_command", USE, key=KEY)
        items = (await whole.ask("GET", f"/sessions/{KEY}/messages?limit=100"))["items"]
        assert [one["text"] for one in items].count("They are there.") == 1


async def test_nothing_is_asked_where_it_is_denied(whole: Whole) -> None:
    agent = await whole.ask("GET", "/agents/main")
    tools = {"run_command": "allow", "install_packages": "deny"}
    await whole.ask("PATCH", "/agents/main", {"tools": tools, "revision": agent["revision"]})
    await whole.say("hello", key=KEY)
    assert "install_packages" not in whole.offered()


async def test_a_scheduled_run_asks_at_night_and_uses_the_packages_in_the_morning(
    database: str, tmp_path: Path, index: PackageIndex, clock: FakeClock
) -> None:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home", clock=clock) as whole:

        def sleep(by: timedelta) -> None:
            pass_time(whole.homing.store, clock, by)
            whole.homing.store.write_now(lambda tx: tx.ring("jobs"))

        await whole.say("Hello", key=KEY)
        job = {"session_key": KEY, "when": "every day at 3", "message": "look for owls"}
        added = await whole.ask("POST", "/jobs", job, code=201)
        whole.model.when("look for owls", [tool_call("install_packages", {"pip": ["owl"]})], "I asked for owl.")
        now = whole.homing.store.write_now(lambda tx: tx.now())
        sleep(datetime.fromisoformat(added["state"]["next_run_at"]) - now)
        async with asyncio.timeout(60):
            while not (found := (await whole.ask("GET", f"/runs?job_id={added['id']}&state=ok"))["items"]):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert [run["trigger"] for run in found] == ["timer"]
        sleep(timedelta(hours=5))

        [approval] = await pending(whole)
        assert (approval["asked_by"], approval["job_id"], approval["session_key"]) == ("run", added["id"], KEY)
        why = (await whole.ask("GET", f"/jobs/{added['id']}/why"))["answer"]
        assert f"waits for an answer: {approval['title']} (`homing approvals get {approval['id']}`)." in why
        listed = await whole.ask("GET", f"/sessions/{KEY}/messages?limit=100")
        assert [one["approval"]["id"] for one in listed["items"] if one["approval"]] == [approval["id"]]

        # While it is built, the conversation goes on.
        index.open.clear()
        await answer(whole, approval)
        await asyncio.to_thread(index.waiting.wait, 30)
        assert (await whole.ask("GET", "/agents/main"))["environment"]["state"] == "building"
        whole.model.reply("Good morning.")
        assert await whole.say("Good morning!", key=KEY) == "Good morning."
        whole.model.reply([tool_call("run_command", USE)])
        whole.model.reply("Owl 1.0 works.")
        index.open.set()
        await told(whole, "Owl 1.0 works.", key=KEY)
        results = [message.text for message in wire_messages(whole.model.seen[-1]) if message.role == "tool"]
        assert "]\n1.0\n[end" in results[-1]
        assert (await ended(whole, approval))["state"] == "done"
