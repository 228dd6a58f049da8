"""Answers are small on the wire: JSON is gzipped where it pays, the page's files were compressed when they were built.

A stream is passed on event by event, whatever its reader accepts; a secret is never in a compressed answer.
"""

import gzip
import json
import zlib
from pathlib import Path

import pytest

from homing.web.compression import AT_LEAST_BYTES
from homing.web.page import BUILT, Page
from support.asking import session
from support.site import OWNER_TOKEN, Site

BODY = b"export const page = 1;\n" * 200


@pytest.fixture
async def full(site: Site) -> Site:
    """A site with an answer worth compressing."""
    session(site.world)
    for n in range(20):
        made = await site.owner.post("/api/memories", json={"text": f"Likes apples better than pears, number {n}"})
        assert made.status_code == 201, made.text
    return site


async def raw(site: Site, path: str, **headers: str) -> tuple[dict[str, str], bytes]:
    """Ask without a client that decompresses in silence."""
    client = site.client(OWNER_TOKEN)
    async with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        return dict(answer.headers), b"".join([chunk async for chunk in answer.aiter_raw()])


@pytest.mark.parametrize("accepts", ["gzip", "br, gzip;q=0.5", "gzip, deflate, br, zstd", "*"])
async def test_a_long_json_answer_is_gzipped_for_those_who_take_it(full: Site, accepts: str) -> None:
    plain_headers, plain = await raw(full, "/api/memories", **{"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain_headers
    assert len(plain) > AT_LEAST_BYTES
    headers, body = await raw(full, "/api/memories", **{"Accept-Encoding": accepts})
    assert headers["content-encoding"] == "gzip"
    assert headers["content-type"].startswith("application/json")
    assert headers["content-length"] == str(len(body))
    assert json.loads(gzip.decompress(body)) == json.loads(plain)
    assert len(body) < len(plain) / 3
    # A cache in between must not give one to who asked for the other.
    assert "accept-encoding" in headers["vary"].lower()
    assert "accept-encoding" in plain_headers["vary"].lower()
    assert headers["content-security-policy"]
    assert headers["x-request-id"]


@pytest.mark.parametrize("accepts", ["", "identity", "br", "gzip;q=0", "gzip; q=0.000, br", "*;q=0"])
async def test_who_does_not_take_gzip_does_not_get_it(full: Site, accepts: str) -> None:
    headers, body = await raw(full, "/api/memories", **{"Accept-Encoding": accepts})
    assert "content-encoding" not in headers
    assert len(json.loads(body)["items"]) == 20


async def test_a_short_answer_a_refusal_and_what_holds_a_secret_stay_as_they_are(full: Site) -> None:
    client = full.client(OWNER_TOKEN, **{"Accept-Encoding": "gzip"})
    short = await client.get("/api/me")
    assert "content-encoding" not in short.headers
    refused = await client.get("/api/memories", params={"limit": "x" * 5000})
    assert refused.status_code == 422
    assert "content-encoding" not in refused.headers
    # What is given once (a token, a signing secret) answers a POST, and no answer to a POST is compressed.
    made = await client.post("/api/sessions/web:abc/messages", json={"text": "long " * 3000})
    token = await client.post("/api/tokens", json={"name": "n" * 60})
    assert [answer.headers.get("content-encoding") for answer in (made, token)] == [None, None]


@pytest.fixture
async def built(site: Site, tmp_path: Path) -> Site:
    """A page that was built, with its compressed files; one file has none."""
    assets = tmp_path / "assets"
    assets.mkdir()
    for path in (tmp_path / "index.html", assets / "index-abc.js"):
        path.write_bytes(BODY)
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(BODY))
        # Not brotli; the server does not look inside.
        path.with_name(path.name + ".br").write_bytes(b"br:" + zlib.compress(BODY))
    (assets / "small-abc.js").write_bytes(b"1")
    site.app.router.default = Page(tmp_path)
    return site


@pytest.mark.parametrize("path", ["/assets/index-abc.js", "/", "/week", "/index.html"])
async def test_the_pages_files_come_as_their_reader_takes_them(built: Site, path: str) -> None:
    kind = "javascript" if path.endswith(".js") else "text/html"
    seen: dict[str, str] = {}
    for accepts, encoding in (("gzip, deflate, br", "br"), ("gzip", "gzip"), ("br;q=0, gzip", "gzip"), ("", None)):
        headers, body = await raw(built, path, **{"Accept-Encoding": accepts})
        assert headers.get("content-encoding") == encoding, accepts
        assert kind in headers["content-type"]
        assert headers["content-length"] == str(len(body))
        assert headers["vary"].lower() == "accept-encoding"
        plain = {"br": lambda b: zlib.decompress(b[3:]), "gzip": gzip.decompress, None: bytes}[encoding](body)
        assert plain == BODY
        seen[encoding or ""] = headers["etag"]
        again = await built.nobody.get(path, headers={"Accept-Encoding": accepts, "If-None-Match": headers["etag"]})
        assert (again.status_code, again.headers["vary"].lower()) == (304, "accept-encoding")
    assert len(set(seen.values())) == 3, "each of them is another representation"
    other = await built.nobody.get(path, headers={"Accept-Encoding": "br", "If-None-Match": seen["gzip"]})
    assert other.status_code == 200


async def test_a_file_without_a_compressed_one_comes_plain_and_compressed_ones_have_no_address(built: Site) -> None:
    headers, body = await raw(built, "/assets/small-abc.js", **{"Accept-Encoding": "br, gzip"})
    assert (body, headers.get("content-encoding")) == (b"1", None)
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    for name in ("index-abc.js.br", "index-abc.js.gz"):
        assert (await built.nobody.get(f"/assets/{name}")).status_code == 404
    lost = await built.nobody.get("/no/such/page", headers={"Accept-Encoding": "gzip"})
    assert (lost.status_code, lost.headers["content-encoding"]) == (404, "gzip")
    assert lost.content == BODY


def test_the_built_page_has_them() -> None:
    """Where the page is built, every script of it is there compressed, and the smaller for it."""
    scripts = list(BUILT.glob("assets/*.js"))
    assert scripts, "The page is not built: run `make page` (`make test` does it by itself)."
    for script in (one for one in scripts if one.stat().st_size >= AT_LEAST_BYTES):
        gz, br = (script.with_name(script.name + end) for end in (".gz", ".br"))
        assert gzip.decompress(gz.read_bytes()) == script.read_bytes()
        assert br.stat().st_size < gz.stat().st_size < script.stat().st_size
