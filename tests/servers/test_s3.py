"""Files in a bucket, against moto's server, which nobody here wrote; the same contract holds for a folder."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from pydantic_ai.messages import BinaryContent, UserPromptPart

from homing.cli.checks import look_at_files
from homing.files import FolderStore, gather
from homing.files.bucket import BucketStore
from homing.model.errors import FilesAway, NotFound, TooLarge
from homing.model.files import FileStore
from homing.settings import load
from homing.store import tables as t
from support import published_servers
from support.ports import free_port
from support.site import OWNER_TOKEN
from support.whole import Whole, open_whole

BUCKET = "homing-files"
HEADERS = {"Authorization": f"Bearer {OWNER_TOKEN}"}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


class Moto:
    """The server, which can be stopped and started again; it forgets everything then."""

    def __init__(self, program: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        # The command says where its own Python is; a copied folder's would say where it was made.
        python = self._program.with_name("python")
        self._process = subprocess.Popen(
            [python, self._program, "-H", "127.0.0.1", "-p", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while True:
            with suppress(httpx2.HTTPError):
                httpx2.get(f"{self.url}/moto-api/", timeout=5)
                break
            assert time.monotonic() < deadline, "moto does not answer"
            time.sleep(0.1)

    def reset(self) -> None:
        httpx2.post(f"{self.url}/moto-api/reset")
        httpx2.put(f"{self.url}/{BUCKET}").raise_for_status()

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture(scope="module")
def server() -> Iterator[Moto]:
    place = published_servers.installed()
    if place is None:
        pytest.skip("need the published servers: make test-servers")
    moto = Moto(place / "python/bin/moto_server")
    moto.start()
    yield moto
    moto.stop()


@pytest.fixture
def moto(server: Moto, monkeypatch: pytest.MonkeyPatch) -> Moto:
    server.reset()
    given = {"ENDPOINT_URL": server.url, "ACCESS_KEY_ID": "it", "SECRET_ACCESS_KEY": "s3cret", "REGION": "us-east-1"}
    for name, value in given.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return server


class Ids:
    """The id that a database keeps."""

    def __init__(self) -> None:
        self.kept: str | None = None

    async def find(self) -> str | None:
        return self.kept

    async def keep(self, made: str) -> str:
        self.kept = self.kept or made
        return self.kept


def bucket(tmp_path: Path, ids: Ids, prefix: str = "/some/folder") -> BucketStore:
    return BucketStore(f"s3://{BUCKET}{prefix}", incoming=tmp_path / "incoming", find_id=ids.find, keep_id=ids.keep)


@pytest.fixture(params=["folder", "s3"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    if request.param == "folder":
        return FolderStore(folder=tmp_path / "files")
    request.getfixturevalue("moto")
    return bucket(tmp_path, Ids())


async def put(files: FileStore, file_id: str, content: bytes) -> None:
    async with gather(files.incoming) as gathering:
        for at in range(0, len(content), 1 << 20):
            await gathering.add(content[at : at + (1 << 20)])
        await files.put(file_id, await gathering.finish())


async def read(files: FileStore, file_id: str) -> bytes:
    return b"".join([piece async for piece in files.read(file_id)])


@pytest.mark.parametrize("size", [1, 264, 6 << 20, 25 << 20])
async def test_bytes_come_back_as_they_were(files: FileStore, size: int) -> None:
    content = os.urandom(size)
    await put(files, "file_aaaaaaaaaa", content)
    assert await read(files, "file_aaaaaaaaaa") == content
    assert list(files.incoming.iterdir()) == []


async def test_26_mb_are_refused_and_leave_nothing(files: FileStore) -> None:
    with pytest.raises(TooLarge):
        await put(files, "file_aaaaaaaaaa", b"x" * (26 << 20))
    with pytest.raises(NotFound):
        await read(files, "file_aaaaaaaaaa")


async def test_what_is_missing_is_not_found_and_deleting_it_is_no_error(files: FileStore) -> None:
    await put(files, "file_aaaaaaaaaa", b"x")
    await files.delete("file_aaaaaaaaaa")
    await files.delete("file_aaaaaaaaaa")
    with pytest.raises(NotFound, match="missing from the file store"):
        await read(files, "file_aaaaaaaaaa")


async def test_what_killed_uploads_left_is_tidied(files: FileStore) -> None:
    files.incoming.mkdir(parents=True, exist_ok=True)
    (files.incoming / "left").write_bytes(b"half")
    await files.tidy(datetime.now(UTC) - timedelta(days=1))
    assert (files.incoming / "left").exists()
    await files.tidy(datetime.now(UTC) + timedelta(seconds=5))
    assert not (files.incoming / "left").exists()


async def test_it_can_be_tried_and_leaves_nothing(files: FileStore) -> None:
    await files.check()
    await files.check()


async def test_two_prefixes_of_a_bucket_do_not_see_each_other(moto: Moto, tmp_path: Path) -> None:
    one, two = bucket(tmp_path, Ids(), "/one"), bucket(tmp_path, Ids(), "")
    await put(one, "file_aaaaaaaaaa", b"x")
    with pytest.raises(NotFound):
        await read(two, "file_aaaaaaaaaa")


async def test_another_bucket_is_told_apart(moto: Moto, tmp_path: Path) -> None:
    ids = Ids()
    await put(bucket(tmp_path, ids, "/one"), "file_aaaaaaaaaa", b"x")
    # Another process of the same database agrees; with another place it does not.
    assert await read(bucket(tmp_path, ids, "/one"), "file_aaaaaaaaaa") == b"x"
    with pytest.raises(FilesAway, match=r"has no object homing-files-id\. Set HOMING_FILES_URL to the right bucket"):
        await put(bucket(tmp_path, ids, "/two"), "file_bbbbbbbbbb", b"x")
    with pytest.raises(FilesAway, match="has no object"):
        await bucket(tmp_path, ids, "/two").check()


async def test_of_two_that_start_at_once_both_agree(moto: Moto, tmp_path: Path) -> None:
    ids = Ids()
    stores = [bucket(tmp_path, ids) for _ in range(4)]
    await asyncio.gather(*(put(one, f"file_{n}aaaaaaaaa", b"x") for n, one in enumerate(stores)))
    for n in range(4):
        assert await read(bucket(tmp_path, ids), f"file_{n}aaaaaaaaa") == b"x"


@pytest.mark.parametrize("why", ["no such bucket", "away"])
async def test_a_bucket_that_cannot_be_used_is_a_sentence(
    moto: Moto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "away":
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    else:
        httpx2.delete(f"{moto.url}/{BUCKET}").raise_for_status()
    words = {"no such bucket": "there is no such bucket", "away": "error sending request"}
    files = bucket(tmp_path, Ids())
    for attempt in (put(files, "file_aaaaaaaaaa", b"x"), files.check()):
        with pytest.raises(FilesAway, match=f"{words[why]}[.]$") as caught:
            await attempt
        assert "s3cret" not in str(caught.value)


@pytest.fixture
async def whole(moto: Moto, database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with open_whole(database, tmp_path, SANDBOX="off", FILES_URL=f"s3://{BUCKET}/home") as whole:
        whole.model.otherwise("Seen.")
        yield whole


async def upload(whole: Whole, code: int = 201) -> Any:
    answer = await whole.http.post("/api/files", files={"file": ("bird.png", PNG)}, headers=HEADERS, timeout=60)
    assert answer.status_code == code, answer.text
    return answer.json()


def objects(moto: Moto) -> list[str]:
    listed = httpx2.get(f"{moto.url}/{BUCKET}?list-type=2").text
    return [part.partition("</Key>")[0] for part in listed.split("<Key>")[1:]]


async def test_a_picture_goes_up_reaches_the_model_and_comes_back(whole: Whole, moto: Moto) -> None:
    file = await upload(whole)
    assert await whole.say("What is it?", files=[file["id"]]) == "Seen."
    parts = [part for message in whole.model.seen[-1] for part in message.parts if isinstance(part, UserPromptPart)]
    assert [item.data for part in parts for item in part.content if isinstance(item, BinaryContent)] == [PNG]
    back = await whole.http.get(f"/api/files/{file['id']}", headers=HEADERS)
    assert (back.content, back.headers["content-type"]) == (PNG, "image/png")
    assert sorted(objects(moto)) == [f"home/{file['id']}", "home/homing-files-id"]


async def test_what_nobody_refers_to_goes_after_a_day(whole: Whole, moto: Moto) -> None:
    kept, lost = await upload(whole), await upload(whole)
    await whole.say("Keep.", files=[kept["id"]])
    old = datetime(2020, 1, 1, tzinfo=UTC)
    whole.homing.store.write_now(lambda tx: tx.run(sa.update(t.file).values(created_at=old)))
    assert whole.engine.hands
    await whole.engine.hands.sweep()
    assert sorted(objects(moto)) == [f"home/{kept['id']}", "home/homing-files-id"]
    assert f"home/{lost['id']}" not in objects(moto)


async def test_while_the_bucket_is_away_words_are_answered_and_files_come_back(whole: Whole, moto: Moto) -> None:
    file = await upload(whole)
    httpx2.post(f"{moto.url}/moto-api/reset")
    said = await upload(whole, code=503)
    where = f"s3://{BUCKET}/home"
    assert said["detail"].endswith(f"Files cannot be kept or read now, in {where}: there is no such bucket.")
    assert await whole.say("And now?", files=[file["id"]]) == "Seen."
    moto.reset()
    assert (await upload(whole))["name"] == "bird.png"


def test_doctor_says_where_files_are_kept_and_whether_that_works(moto: Moto, tmp_path: Path) -> None:
    url = f"s3://{BUCKET}/home"
    settings = load({"HOMING_HOME": str(tmp_path), "HOMING_FILES_URL": url})
    found = look_at_files(settings)
    assert (found.state, found.said) == ("ok", f"will be kept in {url}")
    asyncio.run(_start_once(tmp_path, url))
    found = look_at_files(settings)
    assert (found.state, found.said) == ("ok", f"are kept in {url}, and that works")
    httpx2.post(f"{moto.url}/moto-api/reset")
    found = look_at_files(settings)
    assert (found.state, found.said) == ("wrong", f"cannot be kept in {url} now")


async def _start_once(home: Path, url: str) -> None:
    async with open_whole(f"sqlite:///{home / 'homing.db'}", home, SANDBOX="off", FILES_URL=url) as whole:
        whole.model.otherwise("Seen.")
        await upload(whole)


async def test_without_the_extra_one_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "homing.files.bucket", raising=False)
    monkeypatch.setitem(sys.modules, "obstore", None)
    database, url = f"sqlite:///{tmp_path / 'one.db'}", f"s3://{BUCKET}/home"
    async with open_whole(database, tmp_path, SANDBOX="off", FILES_URL=url) as whole:
        whole.model.otherwise("Seen.")
        said = await upload(whole, code=409)
        assert said["detail"].endswith("pip install 'homing[s3]'.")
        assert await whole.say("And words?") == "Seen."
