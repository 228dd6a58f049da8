"""The side door of the real process: `homing mcp` started by an MCP client, and /mcp of a running `homing up`."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from homing.testing import Reply, StubModelServer
from support.doors import problem_of, text_of

NOTHING_FIRES = "No server is running: nothing fires until `homing up`."
WATCH = {"session_key": "cli:main", "action": "add", "when": "every weekday at 8", "message": "Look at the fruit"}
A_CALL_THAT_WAITS = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {
            "name": "send_message",
            "arguments": {"session_key": "cli:main", "text": "hello", "wait": 120},
        },
    },
)
HELLO = {"session_key": "cli:main", "text": "help"}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A home of its own, without a key for any model."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return kept | {"HOMING_HOME": str(tmp_path / "home"), "TZ": "Europe/Berlin", "HOMING_PORT": "0"}


@asynccontextmanager
async def homing_up(env: dict[str, str]) -> AsyncGenerator[str]:
    """Run `homing up` for as long as the block lasts; give its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "homing", "up", "--no-open", env=env, stdout=asyncio.subprocess.PIPE
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            address = await anext(line.decode().split()[-1] async for line in process.stdout if b"  Open " in line)
        yield address
    finally:
        process.terminate()
        # Read on: what it says at the end must not stop it.
        await process.communicate()


@asynccontextmanager
async def homing_mcp(env: dict[str, str], *arguments: str, said: Path | None = None) -> AsyncGenerator[Client]:
    """Let the official client start `homing mcp`."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "homing", "mcp", *arguments], env=env)
    with (said or Path(os.devnull)).open("w") as stderr:
        async with Client(stdio_client(server, errlog=stderr)) as client:
            yield client


async def test_a_client_that_starts_us_is_served_by_the_running_server(env: dict[str, str], tmp_path: Path) -> None:
    said = tmp_path / "stderr"
    async with homing_up(env), homing_mcp(env, said=said) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "schedule_task", "send_message", "list_messages",
        ]  # fmt: skip
        answered = await client.call_tool("send_message", HELLO | {"wait": 60})
        assert answered.structured_content["outcome"] == "answered"
        read = await client.call_tool("list_messages", {"session_key": "cli:main"})
        assert [one["role"] for one in read.structured_content["items"]] == ["user", "assistant"]
        added = await client.call_tool("schedule_task", WATCH)
        assert text_of(added).startswith("Added ")
        assert NOTHING_FIRES not in text_of(added)
        refused = await client.call_tool("send_message", {"session_key": "cli:main", "txt": "hi", "text": "hi"})
        assert "Did you mean text?" in problem_of(refused)["detail"]
    assert said.read_text() == ""


async def test_without_a_server_the_database_is_used_and_every_answer_says_that_nothing_fires(
    env: dict[str, str], tmp_path: Path
) -> None:
    said = tmp_path / "stderr"
    async with homing_mcp(env, "--tools", "all", said=said) as client:
        sent = await client.call_tool("send_message", HELLO | {"wait": 120})
        assert sent.structured_content["will"] == "start"
        added = await client.call_tool("schedule_task", WATCH)
        assert text_of(added).startswith("Added ")
        assert text_of(added).endswith(NOTHING_FIRES)
        assert (await client.call_tool("get_me", {})).structured_content["user_id"] == "default"
    assert said.read_text().strip() == NOTHING_FIRES


async def test_a_server_that_comes_and_goes_is_found_and_missed_while_the_client_stays(env: dict[str, str]) -> None:
    async with homing_mcp(env) as client:
        first = await client.call_tool("send_message", HELLO)
        assert NOTHING_FIRES in text_of(first)
        async with homing_up(env):
            answered = await client.call_tool("send_message", HELLO | {"wait": 60})
            assert answered.structured_content["outcome"] == "answered"
        assert NOTHING_FIRES in text_of(await client.call_tool("schedule_task", WATCH))


async def test_arguments_beyond_the_bounds_are_refused_with_and_without_a_server(env: dict[str, str]) -> None:
    many = {f"unknown_{number}": 1 for number in range(201)}
    deep: object = "hi"
    for _ in range(40):
        deep = [deep]
    async with homing_mcp(env) as client:
        for arguments in (many, {"session_key": "cli:main", "text": deep}):
            refused = await client.call_tool("send_message", arguments)
            assert refused.structured_content["code"] == "malformed"
        async with homing_up(env):
            assert problem_of(await client.call_tool("send_message", many))["code"] == "malformed"


async def test_a_named_server_that_does_not_answer_is_an_error_and_not_passed_over(env: dict[str, str]) -> None:
    async with homing_mcp(env | {"HOMING_URL": "http://127.0.0.1:1"}) as client:
        told = problem_of(await client.call_tool("schedule_task", WATCH))
    assert told["code"] == "not_ready"
    assert told["detail"].startswith("No server answers at http://127.0.0.1:1")


async def test_a_token_that_the_server_does_not_know_is_told(env: dict[str, str]) -> None:
    async with homing_up(env) as url, homing_mcp(env | {"HOMING_URL": url, "HOMING_TOKEN": "hom_wrong"}) as client:
        told = problem_of(await client.call_tool("schedule_task", WATCH))
    assert told["code"] == "unauthenticated"


async def test_the_running_server_speaks_mcp_over_http_with_the_owners_token(env: dict[str, str]) -> None:
    async with homing_up(env) as url:
        token = (Path(env["HOMING_HOME"]) / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=90) as http,
            Client(streamable_http_client(f"{url}/mcp?tools=all", http_client=http)) as client,
        ):
            answered = await client.call_tool("send_message", HELLO | {"wait": 60})
            assert answered.structured_content["message"]["role"] == "assistant"
            status = await client.call_tool("get_status", {})
            assert status.structured_content["scheduler"]["enabled"]
        async with httpx2.AsyncClient() as nobody:
            assert (await nobody.post(f"{url}/mcp", json={})).status_code == 401


def test_ctrl_c_ends_it_while_stdin_is_still_open(env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "homing", "mcp"]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().decode().strip() == NOTHING_FIRES
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == -signal.SIGINT
        finally:
            process.kill()


async def test_the_end_of_stdin_ends_it_although_a_call_waits_for_its_answer(env: dict[str, str]) -> None:
    with StubModelServer() as stub:
        stub.when("hello", Reply(text="too late", hold=True))
        async with homing_up(env | {"HOMING_MODEL": "openai-chat:stub"} | stub.environment()):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "homing", "mcp"),
                env=env,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
            )
            try:
                assert process.stdin is not None
                process.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in A_CALL_THAT_WAITS))
                await process.stdin.drain()
                await asyncio.to_thread(stub.wait_for_requests, 1, timeout=60)
                process.stdin.close()
                async with asyncio.timeout(30):
                    assert await process.wait() == 0
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()


def test_serving_for_a_running_server_loads_neither_database_nor_models() -> None:
    look = "import sys, homing.cli.mcp, homing.mcp.stdio; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True).stdout.split()
    assert {"homing.mcp.stdio", "mcp"} <= set(loaded)
    assert not {"sqlalchemy", "fastapi", "pydantic_ai", "openai", "anthropic"} & set(loaded)
