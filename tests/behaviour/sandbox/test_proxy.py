"""The only way out of the sandbox: hosts on a list, each address judged, and no more than the run's measure."""

import asyncio
import errno
import gc
import os
import socket
import socketserver
import tempfile
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from homing.sandbox import proxy
from homing.sandbox.hosts import read_hosts
from homing.sandbox.proxy import HEAD_SECONDS, MAX_BYTES, MAX_CONNECTIONS, open_proxy
from support.sandboxes import Driver

CHUNK = b"x" * (1 << 20)


class Site(BaseHTTPRequestHandler):
    """Answers with the path, or with a flood, or when it is told to."""

    go_on = threading.Event()

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        if self.path == "/flood":
            for _ in range((MAX_BYTES >> 20) + 2):
                self.wfile.write(CHUNK)
        if self.path == "/wait":
            self.go_on.wait(20)
        self.wfile.write(f"page {self.path} of {self.headers['Host']}, {self.headers['Proxy-Authorization']}".encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        pass

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    Site.go_on.set()
    server.shutdown()
    server.server_close()
    thread.join()


class Names:
    """A name service whose answers a test gives, one after the other."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self._answers = {name.replace("_", "."): said for name, said in answers.items()}
        self.asked: list[str] = []

    def look_up(self, host: str, port: int, **_: Any) -> list[Any]:
        self.asked.append(host)
        return [(2, 1, 6, "", (address, port)) for address in self._answers[host].pop(0)]


class Client:
    """Speaks to a proxy as a program inside does."""

    def __init__(self, path: Any) -> None:
        self._path = path

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(self._path)

    async def ask(self, request: str) -> str:
        reader, writer = await self.open(request)
        answer = await reader.read()
        writer.close()
        return answer.decode()

    async def open(self, request: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await self.connect()
        writer.write(f"{request} HTTP/1.1\r\nHost: somebody.else\r\nProxy-Authorization: me\r\n\r\n".encode())
        return reader, writer


@asynccontextmanager
async def proxied(*entries: str, names: Names | None = None) -> AsyncGenerator[Client]:
    look_up = socket.getaddrinfo if names is None else names.look_up
    async with open_proxy(read_hosts(entries), look_up=look_up) as path:
        yield Client(path)


async def test_a_host_on_the_list_is_reached_and_sees_its_own_name_only(port: int) -> None:
    async with proxied(f"site.test:{port}", names=Names(site_test=[["127.0.0.1"]])) as client:
        answer = await client.ask(f"GET http://site.test:{port}/a?b=1")

    assert answer.endswith(f"page /a?b=1 of site.test:{port}, None")


async def test_a_tunnel_to_a_host_on_the_list_is_opened(port: int) -> None:
    async with proxied(f"127.0.0.1:{port}") as client:
        reader, writer = await client.open(f"CONNECT 127.0.0.1:{port}")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.write(b"GET /through HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b"page /through of None, None")
        writer.close()


async def test_a_host_that_is_not_on_the_list_is_refused_before_its_name_is_looked_up(port: int) -> None:
    names = Names()
    async with proxied(f"site.test:{port}", "example.org", names=names) as client:
        for refused in ("evil.test", f"site.test:{port + 1}", "sub.example.org", "example.org.evil.test"):
            answer = await client.ask(f"GET http://{refused}/")
            assert answer.startswith("HTTP/1.1 403")
            assert "is not among the hosts that this program may reach" in answer
    assert names.asked == []


@pytest.mark.parametrize("inside", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fe80::1"])
async def test_a_name_that_leads_inside_is_refused(inside: str) -> None:
    names = Names(example_org=[[inside], ["93.184.216.34", inside]])
    async with proxied("example.org", names=names) as client:
        alone = await client.ask("CONNECT example.org:443")
        among_others = await client.ask("CONNECT example.org:443")

    assert alone.startswith("HTTP/1.1 403")
    assert "example.org leads to" in alone
    assert among_others.startswith("HTTP/1.1 403")


async def test_a_name_that_answers_differently_the_second_time_is_not_asked_again(port: int) -> None:
    names = Names(site_test=[["127.0.0.1"], ["10.0.0.1"]])
    async with proxied(f"site.test:{port}", names=names) as client:
        assert (await client.ask(f"GET http://site.test:{port}/")).startswith("HTTP/1.0 200")
    assert names.asked == ["site.test"]


async def test_a_clouds_metadata_needs_its_very_address_on_the_list() -> None:
    names = Names(metadata_test=[["169.254.169.254"]])
    async with proxied("metadata.test:80", names=names) as client:
        assert (await client.ask("GET http://metadata.test/")).startswith("HTTP/1.1 403")


async def test_an_address_is_refused_without_its_own_entry(port: int) -> None:
    async with proxied("example.org", f"127.0.0.1:{port + 1}") as client:
        for spelled in ("127.0.0.1", "2130706433", "0x7f.1", "[::1]", "localhost"):
            assert (await client.ask(f"GET http://{spelled}:{port}/")).startswith("HTTP/1.1 403")


async def test_a_name_that_only_ends_like_one_on_the_list_is_not_looked_up(port: int) -> None:
    names = Names()
    async with proxied("*.example.org", f"127.0.0.1:{port}", names=names) as client:
        for name in ("evil.test\0.example.org", ".example.org", "evil.test/.example.org"):
            assert (await client.ask(f"CONNECT {name}:{port}")).startswith("HTTP/1.1 403")
    assert names.asked == []


async def test_a_port_that_there_is_not_is_refused() -> None:
    names = Names()
    async with proxied("example.org", names=names) as client:
        for wrong in ("0", "-1", "65536", "+80", "8_0", "9" * 5000):
            assert (await client.ask(f"CONNECT example.org:{wrong}")).startswith("HTTP/1.1 400")
    assert names.asked == []


async def test_the_heads_of_requests_are_part_of_the_measure(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MAX_BYTES", 100_000)
    async with proxied(f"127.0.0.1:{port}") as client:
        answers = [await client.ask(f"PUT http://127.0.0.1:{port}/{'x' * 40_000}") for _ in range(4)]
    assert answers[0].startswith("HTTP/1.0 501")
    assert answers[-1].startswith("HTTP/1.1 403")


async def test_a_long_folder_for_temporary_files_holds_the_socket(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    async with open_proxy(read_hosts([f"127.0.0.1:{port}"])) as path:
        assert path.is_relative_to(long)
        fd = os.open(path.parent, os.O_RDONLY)
        answer = await Client(f"/proc/self/fd/{fd}/{path.name}").ask(f"GET http://127.0.0.1:{port}/")
        os.close(fd)
    assert answer.startswith("HTTP/1.0 200")
    assert list(long.iterdir()) == []


async def test_what_is_not_a_request_is_refused() -> None:
    async with proxied("example.org") as client:
        for bad in ("GET /", "GET https://example.org/", "CONNECT example.org", "CONNECT example.org:x", "hello"):
            assert (await client.ask(bad)).startswith("HTTP/1.1 400")


async def test_a_host_that_does_not_answer_is_a_502(port: int) -> None:
    closed = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    gone = closed.sockets[0].getsockname()[1]
    closed.close()
    await closed.wait_closed()
    async with proxied(f"127.0.0.1:{gone}") as client:
        assert (await client.ask(f"GET http://127.0.0.1:{gone}/")).startswith("HTTP/1.1 502")


async def test_a_host_that_becomes_unreachable_in_mid_answer_only_ends_its_connection(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, unhandled = asyncio.open_connection, list[Any]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))

    async def breaking(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await connect(host, port)
        reader.set_exception(OSError(errno.EHOSTUNREACH, "No route to host"))
        return reader, writer

    monkeypatch.setattr(asyncio, "open_connection", breaking)
    async with proxied(f"127.0.0.1:{port}") as client:
        assert await client.ask(f"GET http://127.0.0.1:{port}/wait") == ""
        assert "403" in await client.ask("GET http://somewhere.else/")
    gc.collect()

    assert unhandled == []


async def test_the_connection_beyond_the_limit_is_refused_until_another_ends(port: int) -> None:
    async with proxied(f"127.0.0.1:{port}") as client:
        held = [await client.open(f"CONNECT 127.0.0.1:{port}") for _ in range(MAX_CONNECTIONS)]
        for reader, _ in held:
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        answer = await client.ask(f"GET http://127.0.0.1:{port}/")
        assert answer.startswith("HTTP/1.1 503")
        assert "A program has at most 32 connections." in answer
        for reader, writer in held:
            writer.close()
            await reader.read()
        assert (await client.ask(f"GET http://127.0.0.1:{port}/")).startswith("HTTP/1.0 200")


async def test_a_flood_of_connections_that_say_nothing_is_closed_at_once_beyond_twice_the_limit() -> None:
    async with proxied("example.org") as client:
        flood = [await client.connect() for _ in range(300)]
        ended = [asyncio.ensure_future(reader.read()) for reader, _ in flood]
        async with asyncio.timeout(HEAD_SECONDS / 2):
            while sum(task.done() for task in ended) < 300 - 2 * MAX_CONNECTIONS:
                await asyncio.wait([task for task in ended if not task.done()], return_when=asyncio.FIRST_COMPLETED)
        for _, writer in flood:
            writer.close()
        await asyncio.gather(*ended, return_exceptions=True)


async def test_a_run_moves_no_more_than_its_measure(port: int) -> None:
    async with proxied(f"127.0.0.1:{port}") as client:
        reader, writer = await client.open(f"GET http://127.0.0.1:{port}/flood")
        got = 0
        while data := await reader.read(1 << 20):
            got += len(data)
        writer.close()
        # The head of the request is part of it.
        assert MAX_BYTES - 200 < got <= MAX_BYTES
        answer = await client.ask(f"GET http://127.0.0.1:{port}/")
    assert answer.startswith("HTTP/1.1 403")
    assert "A program moves at most 100 MB per run." in answer


async def test_a_program_that_goes_on_has_its_measure_again_after_a_while(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "MAX_BYTES", 100_000)
    ask = f"PUT http://127.0.0.1:{port}/{'x' * 40_000}"
    async with open_proxy(read_hosts([f"127.0.0.1:{port}"]), goes_on=True) as path:
        client = Client(path)
        answers = [await client.ask(ask) for _ in range(4)]
        monkeypatch.setattr(proxy, "WINDOW_SECONDS", 0.0)
        later = await client.ask(ask)
    assert "A program moves at most 0 MB in 10 minutes." in answers[-1]
    assert later.startswith("HTTP/1.0 501")


async def test_the_end_of_a_run_ends_its_connections(port: int) -> None:
    async with proxied(f"127.0.0.1:{port}") as client:
        reader, writer = await client.open(f"GET http://127.0.0.1:{port}/wait")
        await reader.readuntil(b"\r\n\r\n")
    assert await reader.read() == b""
    writer.close()


@contextmanager
def _echo_server() -> Iterator[int]:
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


class Echo(socketserver.BaseRequestHandler):
    """Sends back what comes."""

    def handle(self) -> None:
        while data := self.request.recv(65536):
            self.request.sendall(data)


FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=10).read().decode())"


def test_a_program_in_the_sandbox_reaches_what_is_on_its_list_and_nothing_else(driver: Driver, port: int) -> None:
    allowed = [f"localhost:{port}", f"127.0.0.1:{port}"]
    for host in allowed:
        fetch = ["python3", "-c", FETCH, f"http://{host}/fetched"]
        assert f"page /fetched of {host}" in driver.ask("program", argv=fetch, hosts=allowed)["out"]
        refused = driver.ask("program", argv=fetch, hosts=["example.org"])
        assert (refused["out"], refused["code"]) == ("", 1)
        assert "HTTP Error 403" in refused["err"]
        assert driver.ask("program", argv=fetch)["out"] == ""


def test_a_program_that_ignores_the_proxy_reaches_nothing(driver: Driver, port: int) -> None:
    connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=5)"
    answer = driver.ask("program", argv=["python3", "-c", connect], hosts=[f"127.0.0.1:{port}"])

    assert "Connection refused" in answer["err"]


def test_large_bodies_pass_the_forwarder_both_ways_at_once(driver: Driver, port: int) -> None:
    echo = """
import socket, sys, threading, urllib.request
at = sys.argv[1]
where = urllib.request.getproxies()["http"].removeprefix("http://").split(":")
ends = []
for _ in range(8):
    end = socket.create_connection((where[0], int(where[1])))
    end.sendall(f"CONNECT {at} HTTP/1.1\\r\\n\\r\\n".encode())
    assert b" 200 " in end.recv(1000)
    ends.append(end)
got = [0] * len(ends)
def read(i):
    while data := ends[i].recv(65536):
        got[i] += len(data)
readers = [threading.Thread(target=read, args=(i,)) for i in range(len(ends))]
for reader in readers: reader.start()
for end in ends:
    end.sendall(b"x" * 1_000_000)
    end.shutdown(socket.SHUT_WR)
for reader in readers: reader.join()
print(got == [1_000_000] * len(ends))
"""
    with _echo_server() as at:
        answer = driver.ask("program", argv=["python3", "-c", echo, f"127.0.0.1:{at}"], hosts=[f"127.0.0.1:{at}"])

    assert (answer["out"], answer["err"]) == ("True\n", "")


def test_many_connections_of_a_program_do_not_end_its_forwarder(driver: Driver, port: int) -> None:
    flood = f"""
import socket, time, urllib.request
at = urllib.request.getproxies()["http"].removeprefix("http://").split(":")
held = [socket.create_connection((at[0], int(at[1]))) for _ in range(400)]
for end in held: end.close()
for _ in range(100):
    try:
        print(urllib.request.urlopen("http://127.0.0.1:{port}/after").read().decode())
        break
    except OSError:
        time.sleep(0.05)  # until it has noticed that the others are gone
"""
    answer = driver.ask("program", argv=["python3", "-c", flood], hosts=[f"127.0.0.1:{port}"])

    assert "page /after" in answer["out"], answer


def test_the_program_finds_no_child_that_it_did_not_start(driver: Driver) -> None:
    wait = "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')"

    assert driver.ask("program", argv=["python3", "-c", wait], hosts=["example.org"])["out"] == "none\n"
