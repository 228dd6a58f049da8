"""Getting a page from the web: what is followed, what is refused, and what bounds it."""

import asyncio
import gzip
import os
import socket
import ssl
import zlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from homing import __version__
from homing.channels.pinned import Network, direct
from homing.model.errors import Error, Forbidden, Invalid, ToolFailed
from homing.sandbox.hosts import read_hosts
from homing.tools import fetching
from homing.tools.fetching import Page, fetch, read_url
from support.certificates import certify
from support.pages import moved, page, serving_pages


def anywhere(url: httpx2.URL) -> None:
    """Allow every URL; addresses are judged all the same."""


async def get(url: str, *hosts: str, look_up: Any = None, tls: ssl.SSLContext | None = None, **options: Any) -> Page:
    options.setdefault("may_go", anywhere)
    if look_up or tls:
        options["network"] = Network(connect=partial(direct, tls or ssl.create_default_context()), look_up=look_up)
    return await fetch(read_url(url), hosts=read_hosts(hosts), **options)


async def refusal(url: str, *hosts: str, **options: Any) -> str:
    with pytest.raises((Forbidden, Invalid, ToolFailed)) as caught:
        await get(url, *hosts, **options)
    return caught.value.detail


def names(**addresses: str | list[str]) -> Any:
    """Stand in for the world's name service; a list is answered one after the other."""

    def look_up(host: str, port: int, **_: object) -> list[Any]:
        known = addresses.get(host.split(".", maxsplit=1)[0])
        if known is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        address = known if isinstance(known, str) else known.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    return look_up


async def test_a_page_is_asked_for_plainly_and_names_homing() -> None:
    async with serving_pages() as server:
        server.pages["/prices"] = page("<p>Apples 2.40")
        found = await get(server.url("/prices#today"), server.place)
    assert (found.status, found.body, found.url) == (200, b"<p>Apples 2.40", server.url("/prices"))
    [request] = server.requests
    assert request.startswith("GET /prices HTTP/1.1\r\n")
    assert f"user-agent: Homing/{__version__}\r\n" in request.lower().replace("homing/", "Homing/")
    assert "cookie" not in request.lower()
    assert "authorization" not in request.lower()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "example.org",
        "https://",
        "https://user:secret@example.org/",
        "https://example.org/a b",
        "https://example.org\\@evil.example/",
        "https://example.org/\nHost: evil.example",
        "http://example.org:99999/",
        "http://[::1/",
        f"https://example.org/{'a' * 2100}",
        "javascript:alert(1)",
    ],
)
async def test_what_is_not_the_url_of_a_page_is_refused(url: str) -> None:
    with pytest.raises(Invalid):
        read_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://0.0.0.0:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://0x7f.1:{port}/",
        "http://2130706433:{port}/",
        "http://127.1:{port}/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://168.63.129.16/",
    ],
)
async def test_nothing_inside_is_reached_without_an_exact_entry(url: str) -> None:
    async with serving_pages() as server:
        said = await refusal(url.format(port=server.port), "localhost", "example.org", f"127.0.0.1:{server.port + 1}")
        assert server.requests == []
    assert "entry with its port" in said


async def test_a_name_that_leads_inside_is_refused_and_an_exact_entry_lets_it_in() -> None:
    async with serving_pages() as server:
        server.pages["/"] = page("hello")
        url = f"http://wiki.example:{server.port}/"
        assert "this machine" in await refusal(url, "wiki.example", look_up=names(wiki="127.0.0.1"))
        found = await get(url, f"wiki.example:{server.port}", look_up=names(wiki="127.0.0.1"))
    assert found.body == b"hello"
    assert f"host: wiki.example:{server.port}" in server.requests[0].lower()


async def test_a_name_that_resolves_differently_the_second_time_does_not_lead_inside() -> None:
    async with serving_pages() as server:
        answers = ["127.0.0.2", "127.0.0.1"]
        # Nobody listens at the first answer, which alone counts; the second, which was never judged, is not asked for.
        url, place = f"http://rebind.example:{server.port}/", f"rebind.example:{server.port}"
        assert "cannot be reached" in await refusal(url, place, look_up=names(rebind=answers))
        assert answers == ["127.0.0.1"]
        assert server.requests == []


async def test_each_redirect_is_judged_again() -> None:
    async with serving_pages() as server, serving_pages() as inside:
        inside.pages["/"] = page("secret")
        for target in (inside.url(), f"http://public.example:{inside.port}/", "http://169.254.169.254/", "file:///etc"):
            server.pages["/go"] = moved(target)
            await refusal(server.url("/go"), server.place, look_up=names(public="127.0.0.1"))
        assert inside.requests == []


async def test_redirects_are_followed_and_asked_about_but_not_forever() -> None:
    asked: list[str] = []
    async with serving_pages() as server:
        for n in range(9):
            server.pages[f"/{n}"] = moved(f"/{n + 1}")
        server.pages["/9"] = page("at last")
        found = await get(server.url("/4"), server.place, may_go=lambda url: asked.append(url.path))
        assert (found.body, found.url) == (b"at last", server.url("/9"))
        assert asked == ["/4", "/5", "/6", "/7", "/8", "/9"]
        assert "more than 5 times" in await refusal(server.url("/3"), server.place)


async def test_a_cookie_goes_nowhere() -> None:
    async with serving_pages() as server:
        server.pages["/"] = page(status="302 Found", Location="/next", Set_Cookie="id=1; Path=/")
        server.pages["/next"] = page("hello")
        await get(server.url(), server.place)
    assert "cookie" not in server.requests[1].lower()


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving_pages() as server, serving_pages() as proxy:
        server.pages["/"] = page("hello")
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        assert (await get(server.url(), server.place)).body == b"hello"
        assert proxy.requests == []


@pytest.mark.parametrize("how", ["length", "chunked", "gzip", "deflate"])
async def test_a_page_that_is_too_large_is_not_read(how: str) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
        while True:
            yield b"10000\r\n" + b"a" * 65536 + b"\r\n"

    packed = gzip.compress if how == "gzip" else zlib.compress
    whole = {
        "length": page(b"a" * (fetching.MAX_BYTES + 1)),
        "chunked": endless,
        "gzip": page(packed(b"\0" * (64 << 20)), Content_Encoding=how),
        "deflate": page(packed(b"\0" * (64 << 20)), Content_Encoding=how),
    }
    async with serving_pages() as server:
        server.pages["/"] = whole[how]
        assert "larger than 2 MB" in await refusal(server.url(), server.place)


async def test_a_packed_page_is_unpacked_and_a_broken_one_is_a_sentence() -> None:
    async with serving_pages() as server:
        server.pages["/"] = page(gzip.compress(b"hello"), Content_Encoding="gzip")
        assert (await get(server.url(), server.place)).body == b"hello"
        for encoding, body in (("gzip", b"hello"), ("br", b"hello")):
            server.pages["/"] = page(body, Content_Encoding=encoding)
            assert "packed" in await refusal(server.url(), server.place)


async def test_a_server_that_drips_is_given_up_after_all_its_seconds() -> None:
    async def drip() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
        while True:
            yield b"a"
            await asyncio.sleep(0.02)

    async with serving_pages() as server:
        server.pages["/"] = drip
        assert "within 0.3 seconds" in await refusal(server.url(), server.place, seconds=0.3)


async def test_each_trouble_of_the_network_has_its_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert await refusal(f"http://{place}/", place) == f"{place} cannot be reached."
    assert await refusal("http://nowhere.example/", look_up=names()) == "There is no host nowhere.example."
    nothing = await refusal("http://nowhere.example/", look_up=lambda *_, **__: [])
    assert nothing == "There is no host nowhere.example."
    async with serving_pages() as server:
        for answer in (b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"):
            server.pages["/"] = answer
            said = await refusal(server.url(), server.place)
            assert said == f"{server.place} did not give a complete HTTP answer."


@pytest.mark.parametrize("certified", ["wiki.example", "other.example"])
async def test_a_certificate_is_checked_for_the_name(tmp_path: Path, certified: str) -> None:
    file = certify(tmp_path, certified)
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_side.load_cert_chain(file)
    tls = ssl.create_default_context(cafile=os.fspath(file))
    async with serving_pages(ssl=server_side) as server:
        server.pages["/"] = page("hello")
        url, place = f"https://wiki.example:{server.port}/", f"wiki.example:{server.port}"
        look_up = names(wiki="127.0.0.1")
        if certified == "wiki.example":
            assert (await get(url, place, look_up=look_up, tls=tls)).body == b"hello"
        else:
            assert "certificate" in await refusal(url, place, look_up=look_up, tls=tls)


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "500 Internal Server Error", "204 No Content"])
async def test_any_status_is_an_answer(status: str) -> None:
    async with serving_pages() as server:
        server.pages["/"] = page("oh", status=status) if "204" not in status else b"HTTP/1.1 204 No Content\r\n\r\n"
        found = await get(server.url(), server.place)
    assert f"{found.status} {found.reason}" == status


async def test_what_may_not_be_asked_for_is_not_asked_for() -> None:
    def nowhere(url: httpx2.URL) -> None:
        raise Forbidden("Not there.")

    async with serving_pages() as server:
        with pytest.raises(Error):
            await get(server.url(), server.place, may_go=nowhere)
        assert server.requests == []
