"""Files at the front door: streamed in, checked, given back as what they are, and to nobody else."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from errno import ENOSPC
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
import sqlalchemy as sa

from homing.engine.sweeper import Sweeper
from homing.files import FolderStore
from homing.model.files import MAX_FILE
from homing.operations.files import sweep_files
from homing.store import kept_files
from homing.store import tables as t
from support.hands import StillHands
from support.site import Site, open_site, problem
from support.worlds import World

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
KEY = {"Idempotency-Key": "k-1"}


async def add(site: Site, content: bytes, name: str = "x.png", **headers: str) -> httpx2.Response:
    return await site.owner.post("/api/files", files={"file": (name, content)}, headers=headers)


async def added(site: Site, content: bytes, name: str = "x.png") -> dict[str, Any]:
    response = await add(site, content, name)
    assert response.status_code == 201, response.text
    return response.json()


def folder_of(world: World) -> Path:
    return cast("StillHands", world.instance.hands).files.folder


def kept(world: World) -> list[Path]:
    return [path for path in folder_of(world).rglob("*") if path.is_file()]


async def test_a_file_comes_back_as_it_was(site: Site) -> None:
    file = await added(site, PNG, "../bird\u202e.png")
    assert file["name"] == "bird.png"
    assert (file["media_type"], file["bytes"]) == ("image/png", len(PNG))
    assert file["sha256"] == hashlib.sha256(PNG).hexdigest()
    back = await site.owner.get(f"/api/files/{file['id']}")
    assert back.content == PNG
    assert back.headers["content-type"] == "image/png"
    assert back.headers["content-disposition"].startswith("inline;")
    assert back.headers["x-content-type-options"] == "nosniff"
    assert back.headers["content-security-policy"] == "default-src 'none'; sandbox"
    [path] = kept(site.world)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("page.png", b"<!doctype html><script>alert(1)</script>", "text/html; charset=utf-8"),
        ("drawing.svg", b"<svg><script>alert(1)</script></svg>", "image/svg+xml"),
        ("report.pdf", b"%PDF-1.7", "application/pdf"),
        ('b\u00efrd "x".bin', b"\0\1", "application/octet-stream"),
    ],
)
async def test_what_is_not_a_safe_picture_is_a_download(site: Site, name: str, content: bytes, kind: str) -> None:
    file = await added(site, content, name)
    back = await site.owner.get(f"/api/files/{file['id']}")
    assert back.headers["content-disposition"].startswith('attachment; filename="')
    assert back.headers["content-type"] == kind
    assert back.content == content


async def test_nobody_else_gets_a_file(site: Site) -> None:
    file = await added(site, PNG)
    assert (await site.stranger.get(f"/api/files/{file['id']}")).status_code == 404
    assert (await site.nobody.get(f"/api/files/{file['id']}")).status_code == 401
    assert (await site.owner.get("/api/files/file_nothere")).status_code == 404
    assert (await site.nobody.post("/api/files", files={"file": ("x", PNG)})).status_code == 401


async def test_an_empty_file_is_refused_with_a_sentence(site: Site) -> None:
    told = problem(await add(site, b""))
    assert (told["status"], told["detail"]) == (422, "The file is empty. Send one that has at least one byte.")


async def test_25_mb_are_taken_and_a_byte_more_is_refused_while_it_comes_in(site: Site) -> None:
    assert (await added(site, b"\0" * MAX_FILE, "big.bin"))["bytes"] == MAX_FILE
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
        while sent < 2 * MAX_FILE:
            sent += 1 << 20
            yield b"\0" * (1 << 20)

    form = {"Content-Type": "multipart/form-data; boundary=b"}
    response = await site.owner.post("/api/files", content=endless(), headers=form)
    assert problem(response)["detail"] == "A file has at most 25 MB. Send a smaller one, or in parts."
    assert (response.status_code, sent) == (413, 26 << 20)
    declared = form | {"Content-Length": str(26 << 20)}
    early = await site.owner.post("/api/files", content=b"", headers=declared)
    assert early.status_code == 413
    assert len(kept(site.world)) == 1


FORM = (
    b'words\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="x.txt"\r\nContent-Type: text/html\r\n\r\n'
    b"one\r\n--two\r\n\r\n--b--\r\n"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_a_form_is_read_alike_in_pieces_of_every_size(site: Site, size: int) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(FORM), size):
            yield FORM[at : at + size]

    form = {"Content-Type": 'multipart/form-data; boundary="b"'}
    response = await site.owner.post("/api/files", content=pieces(), headers=form)
    assert response.status_code == 201, response.text
    back = await site.owner.get(f"/api/files/{response.json()['id']}")
    assert back.content == b"one\r\n--two\r\n"


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (FORM[:-12], "multipart/form-data; boundary=b", "broke off"),
        (FORM[:30], "multipart/form-data; boundary=b", "broke off"),
        (FORM, "multipart/form-data", "one part named"),
        (FORM, "application/octet-stream", "one part named"),
        (FORM.replace(b'name="file"', b'name="other"'), "multipart/form-data; boundary=b", "one part named"),
        (FORM.replace(b'; filename="x.txt"', b""), "multipart/form-data; boundary=b", "one part named"),
        (FORM.removesuffix(b"--\r\n") + b"\r\n" + FORM, "multipart/form-data; boundary=b", "one file at a time"),
        (FORM + b"x" * 20_000, "multipart/form-data; boundary=b", "more behind the file"),
        (b"x" * 20_000, "multipart/form-data; boundary=b", "one part named"),
    ],
)
async def test_a_cut_or_odd_upload_leaves_nothing(site: Site, body: bytes, kind: str, words: str) -> None:
    response = await site.owner.post("/api/files", content=body, headers={"Content-Type": kind})
    assert response.status_code == 400, response.text
    assert words in problem(response)["detail"]
    assert kept(site.world) == []
    assert site.world.write(lambda tx: tx.rows(sa.select(t.file))) == []


async def test_a_repeat_under_its_key_keeps_one_file(site: Site) -> None:
    first, again = await add(site, PNG, **KEY), await add(site, PNG, **KEY)
    assert first.json() == again.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert len(kept(site.world)) == 1
    assert (await add(site, PNG + b"x", **KEY)).status_code == 422


async def test_a_full_disk_is_said_and_leaves_nothing_that_can_be_referred_to(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    monkeypatch.setattr("homing.files.folder.os.fsync", fails)
    told = problem(await add(site, PNG))
    assert told["status"] == 503
    assert "The disk that keeps files is full." in told["detail"]
    assert kept(site.world) == []


async def test_a_store_that_is_away_is_said_at_every_door(site: Site) -> None:
    file = await added(site, PNG)
    folder = folder_of(site.world)
    folder.rename(folder.with_suffix(".away"))
    folder.write_text("not a folder")
    try:
        for response in (await add(site, PNG), await site.owner.get(f"/api/files/{file['id']}")):
            assert response.status_code == 503
            assert "Files cannot be kept or read now" in problem(response)["detail"]
    finally:
        folder.unlink()
        folder.with_suffix(".away").rename(folder)
    assert (await site.owner.get(f"/api/files/{file['id']}")).content == PNG


async def test_lost_bytes_are_a_404_that_says_so(site: Site) -> None:
    file = await added(site, PNG)
    kept(site.world)[0].unlink()
    told = problem(await site.owner.get(f"/api/files/{file['id']}"))
    assert (told["status"], told["detail"]) == (404, f"The bytes of {file['id']} are missing from the file store.")


async def test_files_of_one_user_are_bounded_together(world: World) -> None:
    small = world.with_settings(max_files_mb=1)
    site = open_site(small)
    assert (await add(site, b"\0" * (1 << 20))).status_code == 201
    told = problem(await add(site, PNG))
    assert (told["status"], told["code"]) == (409, "quota_reached")
    stranger = await site.stranger.post("/api/files", files={"file": ("x.png", PNG)})
    assert stranger.status_code == 201
    await asyncio.gather(*(client.aclose() for client in site.clients))


async def test_a_file_nobody_refers_to_goes_after_a_day_and_so_does_what_a_killed_upload_left(site: Site) -> None:
    file = await added(site, PNG)
    store: FolderStore = await cast("StillHands", site.world.instance.hands).file_store()
    left = store.incoming / "left"
    left.write_bytes(b"x")
    os.utime(left, (0, 0))
    assert await sweep_files(site.world.store, store) == 0
    assert not left.exists()
    old = {"created_at": site.world.now() - timedelta(days=1, seconds=1)}
    site.world.write(lambda tx: tx.run(sa.update(t.file).values(old)))
    # Killed between the mark and the bytes, and between the bytes and the row: the next sweep goes on.
    assert site.world.write(kept_files.take_unreferred) == [file["id"]]
    assert (await site.owner.get(f"/api/files/{file['id']}")).status_code == 404
    await store.delete(file["id"])
    assert await sweep_files(site.world.store, store) == 1
    assert kept(site.world) == []
    assert site.world.write(lambda tx: tx.rows(sa.select(t.file))) == []


async def test_a_sweep_takes_a_hundred_files_at_a_time_so_that_its_worker_beats_in_between(site: Site) -> None:
    for n in range(101):
        await added(site, b"%d" % n)
    old = {"created_at": site.world.now() - timedelta(days=1, seconds=1)}
    site.world.write(lambda tx: tx.run(sa.update(t.file).values(old)))
    store: FolderStore = await cast("StillHands", site.world.instance.hands).file_store()

    async def sweep() -> bool:
        return await sweep_files(site.world.store, store) > 0

    world = site.world
    sweeper = Sweeper(world.store, world.instance, world.clock, "worker_1", "here:1", None, sweep_outside=sweep)
    left: list[int] = []
    for _ in range(2):
        assert await sweeper.prune(), "there may be more, which does not wait for an hour"
        left.append(len(kept(world)))
    assert left == [1, 0]
    assert not await sweeper.prune()
