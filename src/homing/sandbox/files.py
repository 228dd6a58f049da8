"""The files of a workspace, from outside the sandbox: a program inside may change anything there at any moment.

Every part of a path is opened by itself and no link is followed, so nothing leads out; only regular files are read;
a write is a new file that takes the old one's name.
"""

import fcntl
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EDQUOT, ELOOP, ENOSPC, ENOTDIR
from io import StringIO
from pathlib import Path
from typing import Literal

from homing.model.errors import Invalid, NotFound, TooLarge
from homing.sandbox.bubblewrap import WORKSPACE

MAX_FILE = 2 << 20
MAX_WORKSPACE = 1 << 30
MAX_LISTED = 1000
DEFAULT_LINES = 2000
_MAX_PATH = 1000
_HALF_CHARACTER = "The text has half a character in it (a lone surrogate)."
# Folders in folders: each that is being looked into takes one of our descriptors.
_MAX_DEPTH = 100
# An empty file takes up room too, and time to be counted.
_LEAST_FILE = 4096
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK the opening of a pipe would wait for somebody to write into it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a folder's list."""

    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """Lines of a text file: from number `first` to `last`, of `total`."""

    text: str
    first: int
    last: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A folder made by `make_workspace`."""

    folder: Path

    def read_file(self, path: str, *, offset: int = 1, limit: int = DEFAULT_LINES) -> Excerpt:
        """Give a text file's lines from number `offset` on, at most `limit` of them."""
        # Lines as every program counts them; `splitlines` would also end them at a form feed and the like.
        lines = StringIO(self._text(path), newline="\n").readlines()
        if offset < 1 or limit < 1:
            raise _invalid("offset and limit count lines from 1.", field="offset")
        if lines and offset > len(lines):
            raise _invalid(f"{path} has {len(lines)} lines.", field="offset")
        shown = lines[offset - 1 : offset - 1 + limit]
        return Excerpt(text="".join(shown), first=offset, last=offset - 1 + len(shown), total=len(lines))

    def read_bytes(self, path: str, most: int) -> bytes:
        """Give a file of any kind as it is at this moment, if it has at most so many bytes."""
        return self._bytes(path, most)

    def write_file(self, path: str, text: str) -> None:
        """Write a text file, with the folders above it."""
        if not _is_text(text):
            raise _invalid(_HALF_CHARACTER, field="text")
        with self._locked():
            self._write(path, text)

    def _write(self, path: str, text: str) -> None:
        data = text.encode()
        if len(data) > MAX_FILE:
            raise TooLarge(f"A file has at most {MAX_FILE >> 20} MB; write it in parts, or let a program make it.")
        *folders, name = _parts(path)
        if self.used_bytes() + len(data) - self._replaced_bytes(path, folders, name) > MAX_WORKSPACE:
            raise TooLarge(f"The workspace is full ({MAX_WORKSPACE >> 20} MB). Delete what is not needed.")
        with self._opened(path, folders, make=True) as parent:
            self._replace(parent, name, path, data)

    def edit_file(self, path: str, old: str, new: str) -> None:
        """Replace the one place in a file that has this text."""
        if not old:
            raise _invalid("Say which text is to be replaced.", field="old")
        if not _is_text(new):
            raise _invalid(_HALF_CHARACTER, field="new")
        with self._locked():
            self._edit(path, old, new)

    def _edit(self, path: str, old: str, new: str) -> None:
        text = self._text(path)
        first = text.find(old)
        if first < 0:
            raise _invalid(f"{path} does not have this text. Read it again: spaces and line ends count.", field="old")
        # Two places may overlap, which `count` does not see.
        if text.find(old, first + 1) >= 0:
            found = max(2, text.count(old))
            raise _invalid(f"{path} has this text {found} times. Give more of what stands around it.", field="old")
        self._write(path, text[:first] + new + text[first + len(old) :])

    def list_files(self, path: str = "") -> list[Entry]:
        """List a folder by name."""
        with self._opened(path, _parts(path, empty=True)) as folder, _reported(path or "The workspace"):
            names = sorted(os.listdir(folder))  # noqa: PTH208 - a descriptor has no path
            if len(names) > MAX_LISTED:
                raise TooLarge(f"{path or 'The workspace'} has {len(names)} entries; list them with a program.")
            return [entry for name in names if (entry := _entry(folder, name)) is not None]

    def used_bytes(self) -> int:
        """Count what the files of the workspace take up, as far down as we look and until it is more than they may."""
        with self._opened("", []) as top:
            return _used(top, _MAX_DEPTH, enough=MAX_WORKSPACE + 1)

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Let one write at a time pass, also of other processes: two edits of a file must not undo each other.

        The lock lies beside the workspace, where no program inside can hold it.
        """
        beside = self.folder.with_name(f".{self.folder.name}.lock")
        with _reported_workspace():
            fd = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _replaced_bytes(self, path: str, folders: list[str], name: str) -> int:
        try:
            with self._opened(path, folders) as parent, _reported(path):
                return _room(os.stat(name, dir_fd=parent, follow_symlinks=False))
        except NotFound:
            return 0

    def _text(self, path: str) -> str:
        data = self._bytes(path, MAX_FILE)
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise _invalid(f"{path} is not text in UTF-8.") from None

    def _bytes(self, path: str, most: int) -> bytes:
        *folders, name = _parts(path)
        with self._opened(path, folders) as parent, _reported(path):
            fd = os.open(name, _FILE, dir_fd=parent)
            try:
                mode = os.fstat(fd).st_mode
                if stat.S_ISDIR(mode):
                    raise _invalid(f"{path} is a folder; list_files shows what is in it.")
                if not stat.S_ISREG(mode):
                    raise _invalid(f"{path} is not a regular file.")
                with open(fd, "rb", closefd=False) as file:
                    data = file.read(most + 1)
            finally:
                os.close(fd)
        if len(data) > most:
            raise TooLarge(f"{path} has more than {most >> 20} MB; use a program to take parts of it.")
        return data

    @contextmanager
    def _opened(self, path: str, folders: list[str], *, make: bool = False) -> Generator[int]:
        """Open a folder below the workspace, one part at a time."""
        with _reported_workspace():
            fd = os.open(self.folder, _FOLDER)
        try:
            with _reported(path):
                owner = os.fstat(fd).st_uid
                for name in folders:
                    made = make and _made(fd, name)
                    inner = os.open(name, _FOLDER, dir_fd=fd)
                    os.close(fd)
                    fd = inner
                    if made:
                        _chown(fd, owner)
            yield fd
        finally:
            os.close(fd)

    def _replace(self, parent: int, name: str, path: str, data: bytes) -> None:
        beside = f".homing-{secrets.token_hex(8)}"
        with _reported(path):
            mode = _mode_of(parent, name)
            if mode is not None and not stat.S_ISREG(mode):
                raise _invalid(f"{path} is not a regular file, so it is not replaced.")
            fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=parent)
            try:
                with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor has no path
                    file.write(data)
                    _chown(fd, self.folder.stat().st_uid)
                    if mode is not None:
                        os.fchmod(fd, mode & 0o777)
                os.rename(beside, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(beside, dir_fd=parent)
                raise


def _parts(path: str, *, empty: bool = False) -> list[str]:
    """Split a path as the program inside spells it, relative or below /workspace."""
    # Without "surrogateescape": a name that is not text can be listed, and nothing else.
    if len(path) > _MAX_PATH or "\0" in path or not _is_text(path):
        raise _invalid(f"A path has at most {_MAX_PATH} characters of valid Unicode, and no NUL.")
    inner = path.removeprefix(WORKSPACE) if path == WORKSPACE or path.startswith(f"{WORKSPACE}/") else path
    if inner.startswith("/") and inner == path:
        raise _invalid(f"{path} is outside the workspace; write a path below {WORKSPACE}.")
    parts = [part for part in inner.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise _invalid(f"{path} has .. in it; write it without.")
    if not parts and not empty:
        raise _invalid("Name a file.")
    return parts


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mode_of(folder: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _room(found: os.stat_result) -> int:
    return max(found.st_blocks * 512, _LEAST_FILE)


def _used(folder: int, depth: int, *, enough: int) -> int:
    """Count a folder's bytes. Not by `os.fwalk`: it opens a pipe that has just taken a folder's name, and waits."""
    used = 0
    with suppress(OSError):
        for name in os.listdir(folder):
            # What is gone meanwhile, or closed to us, counts as nothing.
            with suppress(OSError):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                used += _room(found)
                if used >= enough:
                    break
                if depth and stat.S_ISDIR(found.st_mode):
                    inner = os.open(name, _FOLDER, dir_fd=folder)
                    try:
                        used += _used(inner, depth - 1, enough=enough - used)
                    finally:
                        os.close(inner)
    return used


def _made(folder: int, name: str) -> bool:
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
    except FileExistsError:
        return False
    return True


def _chown(fd: int, uid: int) -> None:
    """As root, let what we made belong to who runs inside."""
    if os.geteuid() == 0:
        os.fchown(fd, uid, uid)


def _entry(folder: int, name: str) -> Entry | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    kinds: dict[int, Literal["file", "folder", "link"]] = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "folder",
        stat.S_IFLNK: "link",
    }
    shown = os.fsencode(name).decode(errors="replace")
    return Entry(name=shown, kind=kinds.get(stat.S_IFMT(found.st_mode), "other"), size=found.st_size)


@contextmanager
def _reported(path: str) -> Generator[None]:
    """Turn the system's errors into sentences about the path that was asked for."""
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"{path} does not exist; list_files shows what does.") from None
    except OSError as error:
        if error.errno in (ELOOP, ENOTDIR):
            raise _invalid(f"{path} leads through a link or a file; links are not followed.") from None
        if error.errno in (ENOSPC, EDQUOT):
            raise TooLarge(f"{path} was not written: the disk under the workspace is full.") from None
        raise _invalid(f"{path} cannot be used: {error.strerror}.") from error


@contextmanager
def _reported_workspace() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise _invalid(f"The workspace cannot be used: {error.strerror}.") from error


def _invalid(detail: str, *, field: str = "path") -> Invalid:
    return Invalid(detail, field=field, code="out_of_range")
