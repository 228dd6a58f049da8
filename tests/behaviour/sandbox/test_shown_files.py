"""Files of a conversation in the sandbox, for root and for an ordinary user: read below /files, and nothing else."""

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homing.sandbox.shown_files import ShownFiles
from support.sandboxes import Driver


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


def test_a_program_reads_the_files_it_was_given_and_no_other(driver: Driver) -> None:
    look = "cat /files/file_a/notes.txt; ls /files"
    ran = driver.ask("program", argv=["sh", "-c", look], files=["file_a"])
    assert (ran["code"], ran["out"]) == (0, "file_afile_a\n")
    ran = driver.ask("program", argv=["sh", "-c", "ls /files"])
    assert ran["code"] != 0


@pytest.mark.parametrize(
    "change",
    [
        "echo x >/files/file_a/notes.txt",
        "echo x >/files/file_a/new",
        "rm -f /files/file_a/notes.txt",
        "mv /files/file_a /files/x",
        "chmod 777 /files/file_a/notes.txt",
        "mkdir /files/more",
    ],
)
def test_nothing_of_them_can_be_changed(driver: Driver, change: str) -> None:
    ran = driver.ask("program", argv=["sh", "-c", f"{change} 2>/dev/null || echo no"], files=["file_a"])
    assert ran["out"] == "no\n"
    again = driver.ask("program", argv=["cat", "/files/file_a/notes.txt"], files=["file_a"])
    assert again["out"] == "file_a"


async def test_a_copy_is_whole_or_not_there(tmp_path: Path) -> None:
    shown = ShownFiles(folder=tmp_path / "shown")

    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await shown.add("file_a", "a.txt", broken())
    assert list(shown.folder.iterdir()) == []
    assert shown.find("file_a") is None
    place = await shown.add("file_a", "a.txt", pieces(b"who", b"le"))
    assert (place / "a.txt").read_bytes() == b"whole"
    # A second one at the same moment changes nothing.
    assert await shown.add("file_a", "a.txt", pieces(b"whole")) == place
    assert [path.name for path in shown.folder.iterdir()] == ["file_a"]
    assert shown.folder.stat().st_mode & 0o777 == 0o700


async def test_copies_that_nobody_has_used_for_a_day_go(tmp_path: Path) -> None:
    shown = ShownFiles(folder=tmp_path / "shown")
    shown.sweep()
    for name in ("file_a", "file_b"):
        place = await shown.add(name, "a.txt", pieces(b"x"))
        long_ago = time.time() - 90_000
        os.utime(place, (long_ago, long_ago))
    assert shown.find("file_b")
    shown.sweep()
    assert [path.name for path in shown.folder.iterdir()] == ["file_b"]
