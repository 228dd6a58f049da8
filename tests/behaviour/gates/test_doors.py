"""Scripts at the doors: tried before they are written, refused where they cannot run, and written by agents as well."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homing.wiring import ServerHands
from support.site import STRANGER_TOKEN
from support.whole import Whole, open_whole

YES = 'print(\'{"wakeAgent": true, "data": "pears"}\')'
NO = "print('{\"wakeAgent\": false}')"


@pytest.fixture
async def whole(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with open_whole(database, tmp_path) as whole:
        await whole.ask("POST", "/sessions", {"key": "web:chat"}, code=201)
        yield whole


def job(**given: object) -> dict[str, object]:
    return {"session_key": "web:chat", "when": "every 1h", "message": "look", "script_language": "python"} | given


async def test_a_script_is_tried_and_nothing_is_kept(whole: Whole) -> None:
    script = "print('looking')\nimport json\nprint(json.dumps({'wakeAgent': True, 'data': state, 'state': 2}))"
    body = {"script": script, "script_language": "python", "state": {"n": 1}}
    tried = await whole.ask("POST", "/scripts/try", body)
    assert tried["result"] == {"wakeAgent": True, "data": {"n": 1}, "state": 2}
    assert (tried["ended"], tried["code"], tried["err"], tried["fault"]) == ("exit", 0, "", None)
    assert tried["out"].startswith("looking\n")
    bash = await whole.ask("POST", "/scripts/try", {"script": "cat >&2; exit 3"})
    assert (bash["code"], bash["result"]) == (3, None)
    assert '"scheduled_for"' in bash["err"]
    assert bash["fault"].startswith("The script ended with exit code 3.")
    assert (await whole.ask("GET", "/jobs"))["items"] == []


async def test_a_script_that_does_not_work_is_refused_when_it_is_written(whole: Whole) -> None:
    refused = await whole.ask("POST", "/jobs", job(script="print(nobody)"), code=422)
    assert refused["errors"][0]["code"] == "script_failed"
    assert "name 'nobody' is not defined" in refused["detail"]
    added = await whole.ask("POST", "/jobs", job(script=NO, script_seconds=5), code=201)
    assert (added["script"], added["script_language"], added["script_hosts"], added["script_seconds"]) == (
        NO, "python", [], 5,
    )  # fmt: skip
    assert added["script_state"] is None
    path = f"/jobs/{added['id']}"
    await whole.ask("PATCH", path, {"script": "1/0"}, code=422)
    assert (await whole.ask("GET", path))["script"] == NO
    # What says nothing about the script does not run it.
    await whole.ask("PATCH", path, {"name": "another"})
    assert (await whole.ask("PATCH", path, {"script": None}))["script"] is None
    await whole.ask("PATCH", f"/admin{path}", {"script": "1/0"}, code=422)
    await whole.ask("POST", "/jobs", job(script=NO, script_state=1), code=422)
    await whole.ask("POST", "/jobs", job(script="#" * 70_000), code=422)
    await whole.ask("POST", "/jobs", job(script=NO, script_seconds=301), code=422)


async def test_where_there_is_no_sandbox_bash_is_refused_and_python_works(database: str, tmp_path: Path) -> None:
    async with open_whole(database, tmp_path, SANDBOX="off") as whole:
        await whole.ask("POST", "/sessions", {"key": "web:chat"}, code=201)
        refused = await whole.ask("POST", "/jobs", job(script="true", script_language="bash"), code=409)
        assert (refused["code"], refused["detail"]) == (
            "no_sandbox", "Running programs is switched off here (HOMING_SANDBOX=off).",
        )  # fmt: skip
        await whole.ask("POST", "/scripts/try", {"script": "true"}, code=409)
        await whole.ask("POST", "/jobs", job(script=NO), code=201)


async def test_a_job_with_a_script_runs_through_all_of_homing(whole: Whole) -> None:
    whole.model.otherwise("I see pears.")
    script = 'echo \'{"wakeAgent": true, "data": "pears"}\''
    added = await whole.ask("POST", "/jobs", job(script=script, script_language="bash"), code=201)
    run = await whole.ask("POST", f"/jobs/{added['id']}/run", code=202)
    while run["state"] in ("queued", "running"):
        run = await whole.ask("GET", f"/runs/{run['id']}")
    assert (run["state"], run["gate"]["data"]) == ("ok", "pears")
    assert run["gate"]["out"] == '{"wakeAgent": true, "data": "pears"}\n'
    assert [row.get("gate", "left out") for row in (await whole.ask("GET", "/runs"))["items"]] == ["left out"]


async def test_hosts_are_opened_by_those_who_may(whole: Whole) -> None:
    whole.change_agent(hosts=("*.example.org", "127.0.0.1:9"))
    await whole.ask("POST", "/jobs", job(script=NO, script_hosts=["10.0.0.1:80"]), code=201)
    bad = await whole.ask("POST", "/jobs", job(script=NO, script_hosts=["*.org"]), code=422)
    assert bad["errors"][0]["field"] == "script_hosts"
    alone = await whole.ask("POST", "/jobs", job(script_hosts=["example.org"]), code=422)
    assert "has no script" in alone["errors"][0]["detail"]
    await whole.ask("POST", "/sessions", {"key": "web:theirs"}, token=STRANGER_TOKEN, code=201)
    theirs = job(script=NO, session_key="web:theirs")
    await whole.ask("POST", "/jobs", theirs | {"script_hosts": ["news.example.com"]}, token=STRANGER_TOKEN, code=201)
    await whole.ask("POST", "/jobs", theirs | {"script_hosts": ["127.0.0.1:9"]}, token=STRANGER_TOKEN, code=201)
    inwards = theirs | {"script_hosts": ["10.0.0.1:80"]}
    refused = await whole.ask("POST", "/jobs", inwards, token=STRANGER_TOKEN, code=422)
    assert refused["code"] == "host_not_allowed"


async def test_a_host_granted_to_an_agent_may_stand_in_its_scripts(whole: Whole) -> None:
    whole.change_agent(tools=None)
    hosts = {"script_hosts": "api.example.org"}
    call = {"action": "add", "when": "every 1h", "message": "look", "script": NO, "script_language": "python"} | hosts
    assert "is not among this agent's hosts" in await whole.call("schedule_task", call)
    await whole.ask("POST", "/grants", {"host": "api.example.org", "agent_id": "main"}, code=201)
    assert (await whole.call("schedule_task", call)).startswith("Added")


async def test_the_state_of_a_try_is_measured_in_bytes_of_json(whole: Whole) -> None:
    body = {"script": NO, "script_language": "python"}
    refused = await whole.ask("POST", "/scripts/try", body | {"state": "\u00e4" * 4000}, code=422)
    assert refused["detail"] == "The state is larger than 16 kB."
    await whole.ask("POST", "/scripts/try", body | {"state": "\u00e4" * 2000})


async def test_what_a_script_asks_wrongly_is_its_own_fault(whole: Whole) -> None:
    wrong = {
        "fetch()": "TypeError: fetch takes one URL",
        "fetch(1)": "TypeError: fetch takes one URL",
        "fetch('http://[x')": "Error: ",
        "import time\ntime.sleep()": "TypeError",
        "import time\ntime.sleep('long')": "TypeError",
    }
    for script, said in wrong.items():
        tried = await whole.ask("POST", "/scripts/try", {"script": script, "script_language": "python"})
        assert tried["fault"].startswith("The script ended with exit code 1."), script
        assert said in tried["err"], script


async def test_an_agent_writes_a_script_that_is_tried_first(whole: Whole) -> None:
    whole.change_agent(tools=None, hosts=("api.example.org",))
    call = {"action": "add", "when": "every 1h", "message": "look", "script": NO, "script_language": "python"}
    assert (await whole.call("schedule_task", call)).startswith("Added")
    [made] = (await whole.ask("GET", "/jobs"))["items"]
    assert made["script"] == NO
    told = await whole.call("schedule_task", call | {"script": "1/0"})
    assert "The test run of the script failed. The script ended with exit code 1." in told
    told = await whole.call("schedule_task", call | {"script_hosts": ["evil.example.com"]})
    assert "evil.example.com is not among this agent's hosts" in told
    assert "Added" in await whole.call("schedule_task", call | {"script_hosts": "api.example.org"})
    change = {"action": "update", "job_id": made["id"], "script": YES}
    assert "Updated" in await whole.call("schedule_task", change)
    assert (await whole.ask("GET", f"/jobs/{made['id']}"))["script"] == YES
    assert len((await whole.ask("GET", "/jobs"))["items"]) == 2


async def test_interpreters_end_with_the_process(whole: Whole) -> None:
    await whole.ask("POST", "/scripts/try", {"script": NO, "script_language": "python"})
    hands = whole.homing.instance.hands
    assert isinstance(hands, ServerHands)
    await hands.close()
    assert (await whole.ask("POST", "/scripts/try", {"script": NO, "script_language": "python"}))["code"] == 0
