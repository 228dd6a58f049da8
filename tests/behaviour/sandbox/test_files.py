"""The files of a workspace, from outside: no link leads out of it, whatever a program inside does meanwhile."""

import ctypes
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from homing.model.errors import Invalid, NotFound, Refused, TooLarge
from homing.sandbox import files
from homing.sandbox.files import Entry, Workspace
from homing.sandbox.workspaces import make_workspace

LIBC = ctypes.CDLL(None, use_errno=True)
SECRET = "what only the host may read"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    make_workspace(tmp_path / "workspaces" / "one")
    return Workspace(folder=tmp_path / "workspaces" / "one")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "notes.txt").write_text(SECRET)
    return folder


def refused(do: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        do()
    return caught.value.detail


def test_a_file_is_written_read_edited_and_listed(workspace: Workspace) -> None:
    workspace.write_file("a/b/notes.txt", "one\ntwo\nthree\n")
    workspace.edit_file("/workspace/a/b/notes.txt", "two", "2 äö")

    assert workspace.read_file("a/./b//notes.txt").text == "one\n2 äö\nthree\n"
    assert workspace.read_file("a/b/notes.txt", offset=2, limit=1).text == "2 äö\n"
    assert workspace.list_files() == [Entry(name="a", kind="folder", size=workspace.list_files()[0].size)]
    assert workspace.list_files("/workspace/a/b") == [Entry(name="notes.txt", kind="file", size=17)]
    assert workspace.list_files("/workspace") == workspace.list_files(".") == workspace.list_files()


def test_what_is_written_belongs_to_who_runs_inside(workspace: Workspace) -> None:
    workspace.write_file("a/notes.txt", "x")
    owner = workspace.folder.stat().st_uid

    assert {path.stat().st_uid for path in workspace.folder.rglob("*")} == {owner}


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside/notes.txt", "a/../../outside", "/workspacex/y", "/"])
def test_a_path_outside_the_workspace_is_refused(workspace: Workspace, path: str) -> None:
    for do in (workspace.read_file, lambda p: workspace.write_file(p, "x"), workspace.list_files):
        with pytest.raises(Invalid):
            do(path)


@pytest.mark.parametrize("path", ["", ".", "/workspace", "x" * 1001, "a\0b"])
def test_a_path_that_names_no_file_is_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(Invalid):
        workspace.read_file(path)


def test_a_link_is_followed_nowhere(workspace: Workspace, outside: Path) -> None:
    (workspace.folder / "folder").symlink_to(outside)
    (workspace.folder / "file").symlink_to(outside / "notes.txt")

    for path in ("folder/notes.txt", "file"):
        assert "links are not followed" in refused(lambda path=path: workspace.read_file(path))
        assert refused(lambda path=path: workspace.write_file(path, "x"))
    assert "links are not followed" in refused(lambda: workspace.list_files("folder"))
    assert [entry.kind for entry in workspace.list_files()] == ["link", "link"]
    assert (outside / "notes.txt").read_text() == SECRET


def test_only_regular_files_are_read_and_replaced(workspace: Workspace) -> None:
    os.mkfifo(workspace.folder / "pipe")
    (workspace.folder / "folder").mkdir()

    assert refused(lambda: workspace.read_file("pipe")) == "pipe is not a regular file."
    assert refused(lambda: workspace.write_file("pipe", "x")) == "pipe is not a regular file, so it is not replaced."
    assert "list_files" in refused(lambda: workspace.read_file("folder"))
    assert refused(lambda: workspace.write_file("folder", "x"))
    assert [entry.kind for entry in workspace.list_files()] == ["folder", "other"]


def test_each_file_that_cannot_be_read_has_its_sentence(workspace: Workspace) -> None:
    (workspace.folder / "binary").write_bytes(b"\x89PNG\xff\xfe")
    with (workspace.folder / "huge").open("wb") as file:
        file.truncate(files.MAX_FILE + 1)
    workspace.write_file("short", "one\n")

    assert refused(lambda: workspace.read_file("missing")) == "missing does not exist; list_files shows what does."
    assert refused(lambda: workspace.read_file("binary")) == "binary is not text in UTF-8."
    assert refused(lambda: workspace.read_file("huge")) == "huge has more than 2 MB; use a program to take parts of it."
    assert refused(lambda: workspace.read_file("short", offset=5)) == "short has 1 lines."
    assert refused(lambda: workspace.read_file("short", offset=0)) == "offset and limit count lines from 1."
    assert "through a link or a file" in refused(lambda: workspace.read_file("short/x"))
    with pytest.raises(NotFound):
        workspace.list_files("missing")


def test_an_edit_needs_exactly_one_place(workspace: Workspace) -> None:
    workspace.write_file("notes.txt", "aa\naa\n")

    assert "has this text 2 times" in refused(lambda: workspace.edit_file("notes.txt", "aa", "b"))
    assert "does not have this text" in refused(lambda: workspace.edit_file("notes.txt", "c", "b"))
    assert refused(lambda: workspace.edit_file("notes.txt", "", "b")) == "Say which text is to be replaced."
    assert workspace.read_file("notes.txt").text == "aa\naa\n"


def test_a_full_workspace_and_a_huge_text_are_refused_and_leave_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TooLarge, match="at most 2 MB"):
        workspace.write_file("notes.txt", "x" * (files.MAX_FILE + 1))
    monkeypatch.setattr(files, "MAX_WORKSPACE", 1 << 20)
    workspace.write_file("large", "x" * 900_000)
    with pytest.raises(TooLarge, match=r"The workspace is full \(1 MB\)"):
        workspace.write_file("notes.txt", "x" * 200_000)

    assert [entry.name for entry in workspace.list_files()] == ["large"]


def test_a_file_that_is_replaced_does_not_count_twice_in_a_full_workspace(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_WORKSPACE", 1 << 20)
    workspace.write_file("a/large", "x" * 900_000)
    workspace.write_file("a/large", "y" * 900_000)

    assert workspace.read_file("a/large").text == "y" * 900_000
    with pytest.raises(TooLarge, match="The workspace is full"):
        workspace.write_file("a/b/other", "x" * 900_000)
    assert [entry.name for entry in workspace.list_files("a")] == ["large"]


def test_a_workspace_whose_folder_is_missing_has_its_sentence(workspace: Workspace) -> None:
    workspace.folder.rmdir()

    for do in (lambda: workspace.read_file("a"), lambda: workspace.write_file("a", "x"), workspace.list_files):
        assert refused(do) == "The workspace cannot be used: No such file or directory."


def test_a_folder_with_too_many_entries_is_not_listed(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LISTED", 2)
    for name in "abc":
        workspace.write_file(name, "x")

    assert refused(workspace.list_files) == "The workspace has 3 entries; list them with a program."


def test_a_name_that_is_not_text_is_listed_all_the_same(workspace: Workspace) -> None:
    with open(os.fsencode(workspace.folder) + b"/\xff", "w"):  # noqa: PTH123 - bytes
        pass

    assert [entry.name for entry in workspace.list_files()] == ["\ufffd"]


@contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Exchange two names as fast as possible, as a program inside may: neither is ever missing."""
    stopped = threading.Event()

    def swap() -> None:
        while not stopped.is_set():
            LIBC.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


@pytest.mark.parametrize("place", ["folder", "file"])
def test_a_link_that_is_swapped_in_while_a_file_is_opened_leads_nowhere(
    workspace: Workspace, outside: Path, place: str
) -> None:
    (workspace.folder / "folder").mkdir()
    (workspace.folder / "folder" / "notes.txt").write_text("inside")
    if place == "folder":
        target = workspace.folder / "folder"
        (workspace.folder / "link").symlink_to(outside)
    else:
        target = workspace.folder / "folder" / "notes.txt"
        (workspace.folder / "link").symlink_to(outside / "notes.txt")
    read, written = list[str](), 0
    with swapping(target, workspace.folder / "link"):
        for _ in range(1500):
            with suppress(Invalid):
                read.append(workspace.read_file("folder/notes.txt").text)
        for _ in range(300):
            with suppress(Invalid):
                workspace.write_file("folder/notes.txt", "inside")
                written += 1

    assert read
    assert written
    assert set(read) == {"inside"}
    assert [path.name for path in outside.iterdir()] == ["notes.txt"]
    assert (outside / "notes.txt").read_text() == SECRET


def test_two_places_that_overlap_are_two_places(workspace: Workspace) -> None:
    workspace.write_file("notes.txt", "aaa")

    assert "has this text 2 times" in refused(lambda: workspace.edit_file("notes.txt", "aa", "b"))
    assert workspace.read_file("notes.txt").text == "aaa"


def test_lines_end_where_other_programs_end_them(workspace: Workspace) -> None:
    workspace.write_file("notes.txt", "one\x0c\u2028\x85still\r\ntwo\rstill\nthree")

    assert workspace.read_file("notes.txt", offset=1, limit=1).text == "one\x0c\u2028\x85still\r\n"
    assert workspace.read_file("notes.txt", offset=2).text == "two\rstill\nthree"


def test_half_a_character_is_refused_in_a_text_and_in_a_path(workspace: Workspace) -> None:
    assert "half a character" in refused(lambda: workspace.write_file("notes.txt", "\ud800"))
    for path in ("\ud800", "a/\udcff"):
        assert "valid Unicode" in refused(lambda path=path: workspace.read_file(path))
        assert "valid Unicode" in refused(lambda path=path: workspace.write_file(path, "x"))
        assert "valid Unicode" in refused(lambda path=path: workspace.list_files(path))
    assert workspace.list_files() == []


def test_a_name_that_is_too_long_for_the_disk_has_its_sentence(workspace: Workspace) -> None:
    for path in ("x" * 256, f"{'x' * 256}/y"):
        for do in (workspace.read_file, lambda p: workspace.write_file(p, "x"), workspace.list_files):
            assert "File name too long" in refused(lambda do=do, path=path: do(path))


def test_a_program_stays_executable_when_it_is_edited(workspace: Workspace) -> None:
    workspace.write_file("run.sh", "#!/bin/sh\necho one\n")
    (workspace.folder / "run.sh").chmod(0o4755)
    workspace.edit_file("run.sh", "one", "two")

    assert (workspace.folder / "run.sh").stat().st_mode & 0o7777 == 0o755


def test_a_tree_deeper_than_we_have_descriptors_does_not_stop_a_write(workspace: Workspace) -> None:
    fd = os.open(workspace.folder, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    try:
        workspace.write_file("notes.txt", "x")
        assert workspace.read_file("notes.txt").text == "x"
    finally:
        # Python's own way to remove a tree stops at its limit of recursion.
        subprocess.run(["rm", "-rf", str(workspace.folder / "d")], check=True)


def test_a_pipe_that_is_swapped_in_for_a_folder_is_not_waited_for(workspace: Workspace) -> None:
    (workspace.folder / "folder").mkdir()
    os.mkfifo(workspace.folder / "pipe")
    # A process of its own, which can be ended when it waits.
    count = f"""
from pathlib import Path
from homing.sandbox.files import Workspace
for _ in range(3000): Workspace(folder=Path({str(workspace.folder)!r})).used_bytes()
"""
    with swapping(workspace.folder / "folder", workspace.folder / "pipe"):
        subprocess.run([sys.executable, "-c", count], check=True, timeout=30)


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """Be another user than root for a while; gives a folder of theirs."""
    with tempfile.TemporaryDirectory(prefix="homing-files-") as name:
        root = os.geteuid() == 0
        if root:
            os.chown(name, 1899999999, -1)
            os.seteuid(1899999999)
        try:
            yield Path(name)
        finally:
            if root:
                os.seteuid(0)


def test_a_folder_that_a_program_closed_to_everybody_does_not_stop_the_others(ordinary_user: Path) -> None:
    workspace = Workspace(folder=ordinary_user / "one")
    make_workspace(workspace.folder)
    workspace.write_file("closed/notes.txt", "x")
    (workspace.folder / "closed").chmod(0o400)
    workspace.write_file("notes.txt", "x")

    assert workspace.read_file("notes.txt").text == "x"
    for do in (workspace.list_files, lambda p: workspace.write_file(f"{p}/notes.txt", "x")):
        assert "Permission denied" in refused(lambda do=do: do("closed"))
    (workspace.folder / "closed").chmod(0o700)


def test_a_full_disk_has_its_own_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(tmp_path)], check=False).returncode:
        pytest.skip("need the right to mount")
    try:
        make_workspace(tmp_path / "one")
        workspace = Workspace(folder=tmp_path / "one")
        told = refused(lambda: workspace.write_file("notes.txt", "x" * 1_900_000))

        assert told == "notes.txt was not written: the disk under the workspace is full."
        assert workspace.list_files() == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_edits_at_the_same_time_do_not_undo_each_other(workspace: Workspace) -> None:
    places = [f"<{n}>" for n in range(20)]
    workspace.write_file("notes.txt", "\n".join(places))
    threads = [threading.Thread(target=workspace.edit_file, args=("notes.txt", p, f"done {p}")) for p in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert workspace.read_file("notes.txt").text == "\n".join(f"done {place}" for place in places)


def test_very_many_empty_files_fill_a_workspace_too(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_WORKSPACE", 1 << 20)
    for n in range(300):
        (workspace.folder / f"{n}.txt").touch()
    with pytest.raises(TooLarge, match="The workspace is full"):
        workspace.write_file("one-more.txt", "x")
