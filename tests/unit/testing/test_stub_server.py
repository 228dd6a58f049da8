"""The stub itself: gates, the log, many at once, and as a process of its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from homing.testing import StubModelServer, tool_call


def body(text: str, *, stream: bool = False) -> dict[str, Any]:
    return {"model": "gpt-5", "stream": stream, "messages": [{"role": "user", "content": text}]}


async def ask(client: httpx2.AsyncClient, stub: StubModelServer, text: str = "hello") -> str:
    response = await client.post(f"{stub.openai_url}/chat/completions", json=body(text))
    return response.json()["choices"][0]["message"]["content"]


async def test_a_held_reply_waits_until_it_is_released(stub: StubModelServer) -> None:
    stub.reply("at last", hold=True)
    async with httpx2.AsyncClient() as client:
        asking = asyncio.create_task(ask(client, stub))
        (request,) = await asyncio.to_thread(stub.wait_for_requests, 1)
        assert request.outcome is None
        assert not asking.done()
        stub.release()
        assert await asking == "at last"
    assert stub.requests[0].outcome == "answered"


async def test_a_named_gate_lets_only_its_own_go_and_stays_open(stub: StubModelServer) -> None:
    stub.when("a", "A", hold="one")
    stub.when("b", "B", hold="two")
    async with httpx2.AsyncClient(timeout=10) as client:
        a, b = asyncio.create_task(ask(client, stub, "a")), asyncio.create_task(ask(client, stub, "b"))
        await asyncio.to_thread(stub.wait_for_requests, 2)
        stub.release("two")
        assert await b == "B"
        assert await ask(client, stub, "b") == "B"
        assert not a.done()
        stub.release("one")
        assert await a == "A"


async def test_a_stream_can_be_held_in_the_middle(stub: StubModelServer) -> None:
    stub.reply("", chunks=["one ", "two ", "three"], hold=True, hold_after_chunks=2)
    async with (
        httpx2.AsyncClient(timeout=10) as client,
        client.stream("POST", f"{stub.openai_url}/chat/completions", json=body("x", stream=True)) as response,
    ):
        seen = ""
        async for text in response.aiter_text():
            seen += text
            if "two" in seen and "three" not in seen:
                assert stub.requests[0].outcome is None
                stub.release()
        assert "three" in seen
        assert seen.endswith("data: [DONE]\n\n")


async def test_sixty_requests_are_held_at_once_and_all_answered(stub: StubModelServer) -> None:
    stub.otherwise(lambda messages: f"re: {messages[-1].text}")
    stub.when("hold me", *["fine"], hold="all")
    limits = httpx2.Limits(max_connections=60)
    async with httpx2.AsyncClient(limits=limits, timeout=20) as client:
        asking = [asyncio.create_task(ask(client, stub, f"hold me {n}")) for n in range(60)]
        held = await asyncio.to_thread(stub.wait_for_requests, 60)
        assert all(request.outcome is None for request in held)
        stub.release("all")
        assert await asyncio.gather(*asking) == ["fine"] * 60
        answers = await asyncio.gather(*(ask(client, stub, f"{n}") for n in range(60)))
    assert answers == [f"re: {n}" for n in range(60)]
    assert [request.number for request in stub.requests] == list(range(1, 121))


def test_waiting_in_vain_says_what_was_seen(stub: StubModelServer) -> None:
    httpx2.post(f"{stub.openai_url}/chat/completions", json=body("x"))
    with pytest.raises(TimeoutError, match=r"2 requests; seen: #1 answered"):
        stub.wait_for_requests(2, timeout=0.05)


def test_a_request_shows_its_messages(stub: StubModelServer) -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
    ]
    httpx2.post(f"{stub.openai_url}/chat/completions", json={"model": "m", "messages": messages})
    (request,) = stub.requests
    assert request.texts() == ["Be brief.", "one", "two"]
    assert request.last_user_text == "two"
    assert request.body["messages"] == messages


def test_the_log_file_has_a_line_at_arrival_and_one_at_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with StubModelServer(log=log) as stub:
        headers = {"authorization": "Bearer secret"}
        stub.fail(500)
        httpx2.post(f"{stub.openai_url}/chat/completions", json=body("我喜欢苹果"), headers=headers)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["event"], line["number"]) for line in lines] == [("arrived", 1), ("finished", 1)]
    assert lines[0]["body"] == body("我喜欢苹果")
    assert lines[0]["headers"]["authorization"] == "***"
    assert lines[1]["outcome"] == "status 500"
    assert lines[0]["at"] < lines[1]["at"]


def test_a_taken_port_is_refused_at_once(stub: StubModelServer) -> None:
    with pytest.raises(OSError, match="address already in use"):
        StubModelServer(port=int(stub.url.rpartition(":")[2])).start()


def test_the_environment_points_both_clients_here(stub: StubModelServer) -> None:
    environment = stub.environment()
    assert environment["OPENAI_BASE_URL"] == stub.url + "/v1"
    assert environment["ANTHROPIC_BASE_URL"] == stub.url


@contextmanager
def a_process(module: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    command = [sys.executable, "-m", f"homing.testing.{module}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        try:
            assert process.stdout
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def test_as_a_process_it_is_steered_from_outside(tmp_path: Path) -> None:
    log, script = tmp_path / "log.jsonl", tmp_path / "script.json"
    script.write_text(json.dumps({"rules": [{"when": "apples", "replies": ["from the file"]}]}))
    arguments = ("--port", "0", "--log", str(log), "--script", str(script))
    with a_process("stub_server", *arguments) as (process, where), httpx2.Client(timeout=10) as client:
        control, model = f"{where['url']}/__stub__", f"{where['openai_url']}/chat/completions"

        def answer(text: str) -> str:
            return client.post(model, json=body(text)).json()["choices"][0]["message"]["content"]

        assert answer("apples") == "from the file"
        taken = client.post(f"{control}/script", json={"replies": ["posted", {"text": "held", "hold": "g"}]})
        assert taken.json() == {"taken": True}
        assert answer("pears") == "posted"
        assert client.post(f"{control}/release", json={"gate": "g"}).status_code == 200
        assert answer("pears") == "held"
        seen = client.get(f"{control}/log?wait_for=3&timeout=5").json()["requests"]
        assert [request["body"]["messages"][0]["content"] for request in seen] == ["apples", "pears", "pears"]
        assert client.get(f"{control}/log?wait_for=9&timeout=0.05").status_code == 408
        refused = client.post(f"{control}/script", json={"replys": []})
        assert (refused.status_code, "replys" in refused.json()["detail"]) == (400, True)
        assert client.get(f"{control}/nonsense").status_code == 404
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert len(log.read_text().splitlines()) == 6


def test_the_log_of_a_process_survives_its_kill(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with a_process("stub_server", "--log", str(log)) as (process, where):
        httpx2.post(f"{where['openai_url']}/chat/completions", json=body("x"))
        process.kill()
        process.wait(10)
    assert [json.loads(line)["event"] for line in log.read_text().splitlines()] == ["arrived", "finished"]


def test_a_tool_call_can_be_scripted_by_rule(stub: StubModelServer) -> None:
    stub.when("remind", tool_call("schedule_task", {"when": "in 2 minutes", "message": "stretch"}, call_id="c1"))
    answer = httpx2.post(f"{stub.openai_url}/chat/completions", json=body("remind me")).json()
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert (call["id"], call["function"]["name"]) == ("c1", "schedule_task")
