"""The folders that packages are built into, each named by the digest of its lock; the same lock is the same folder.

A folder has its name once it is whole, and is never changed again. Who runs a program with it holds a shared lock on a
file beside it, which no program inside can reach; what nobody holds can be removed. Anything else here is a build in
progress, or the rest of a dead one.
"""

import ctypes
import fcntl
import math
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Generator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EEXIST, ENOTEMPTY
from pathlib import Path

from homing.model.errors import Failed
from homing.sandbox.bubblewrap import SEARCHED
from homing.sandbox.errors import NoSandbox

MAX_ENVIRONMENT = 1 << 30
GRACE_SECONDS = 3600.0
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_NAME = re.compile(r"[0-9a-f]{64}")
_PYTHON = re.compile(r"python\d+\.\d+")
_LOCK = ".lock"
_BUILD = ".build-"
_GONE = "The packages of this agent are not on this machine any more. Try again: they are built when they are missing."


@dataclass(frozen=True, kw_only=True)
class BuildFolder:
    """Where one build works; `held_fd` has the lock that says so."""

    folder: Path
    held_fd: int

    @property
    def environment(self) -> Path:
        return self.folder / "environment"

    def is_full(self) -> bool:
        """Say whether it has written more than an environment with what was fetched for it can be."""
        return used_bytes(self.folder) > 2 * MAX_ENVIRONMENT


@dataclass(frozen=True, kw_only=True)
class Environments:
    """The environments in one folder."""

    folder: Path

    def find(self, digest: str) -> Path | None:
        """Give the environment of a lock, if it is here and this machine still has its Python."""
        found = self.folder / name_of(digest)
        python = found / "bin" / "python"
        if (
            not _lock_of(found).is_file()
            or not found.is_dir()
            or (python.is_symlink() and not _has_library(found, python))
        ):
            return None
        return found

    def refresh(self, digest: str) -> bool:
        """Say whether an environment is here; if so, the grace of a new one begins again."""
        with self._locked():
            found = self.find(digest)
            if found is not None:
                os.utime(_lock_of(found))
            return found is not None

    def start_build(self) -> BuildFolder:
        """Make a folder to build in, which stays until `discard`, or until our death and a sweep."""
        with self._locked():
            folder = self.folder / f"{_BUILD}{secrets.token_hex(8)}"
            folder.mkdir(mode=0o700)
            fd = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX)
        build = BuildFolder(folder=folder, held_fd=fd)
        build.environment.mkdir(mode=0o755)
        return build

    def discard(self, build: BuildFolder) -> None:
        """Remove what is left of a build."""
        _remove(build.folder)
        os.close(build.held_fd)

    def keep(self, build: BuildFolder, digest: str) -> None:
        """Give a whole environment its name. Another builder of the same lock may have been first: then that stays."""
        _sync_all(self.folder)
        final = self.folder / name_of(digest)
        with self._locked():
            _lock_of(final).touch(mode=0o600)
            try:
                build.environment.rename(final)
            except OSError as error:
                if error.errno not in (EEXIST, ENOTEMPTY):
                    raise
            _sync(self.folder)

    def sweep(self, keep: AbstractSet[str], *, grace_seconds: float = GRACE_SECONDS) -> list[str]:
        """Remove dead builds, and the environments that are neither kept, nor in use, nor just built.

        Gives the names of what was removed. The grace is for an environment that no row names yet.
        """
        if not self.folder.is_dir():
            return []
        kept, dead = {name_of(digest) for digest in keep}, dict[str, Path]()
        with self._locked():
            for path in sorted(self.folder.iterdir()):
                if path.name.startswith(_BUILD):
                    with _exclusive(path / _LOCK) as unused:
                        if unused:
                            dead[path.name] = path
                elif _NAME.fullmatch(path.name) and path.name not in kept:
                    with _exclusive(_lock_of(path)) as unused:
                        if unused and _age_seconds(path) >= grace_seconds:
                            # So that a half-removed folder never has a digest as its name.
                            dead[path.name] = path.rename(self.folder / f"{_BUILD}{secrets.token_hex(8)}")
                            _lock_of(path).unlink(missing_ok=True)
                elif path.suffix == _LOCK and _NAME.fullmatch(path.stem) and not path.with_suffix("").exists():
                    # Its builder was killed before its environment had a name.
                    path.unlink(missing_ok=True)
        for path in dead.values():
            _remove(path)
        return list(dead)

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Between making a folder and locking it, nobody sweeps."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def name_of(digest: str) -> str:
    """Spell a digest as a folder's name: without its colon, which would part a PATH."""
    found = _DIGEST.fullmatch(digest)
    if found is None:
        raise ValueError(f"{digest[:100]!a} is not a digest")
    return found[1]


def search_path(environment: Path, *, system_first: bool = False) -> str:
    """Give the PATH of programs that run with an environment: its own first, unless the system's have to be."""
    own = f"{environment / 'bin'}:{environment / 'node_modules' / '.bin'}"
    return f"{SEARCHED}:{own}" if system_first else f"{own}:{SEARCHED}"


@contextmanager
def holding(environment: Path | None) -> Generator[dict[str, str]]:
    """Keep an environment from being removed, and give the variables that let a program find its packages."""
    if environment is None:
        yield {}
        return
    fd = _hold(environment)
    try:
        yield {"PATH": search_path(environment), "NODE_PATH": str(environment / "node_modules")}
    finally:
        os.close(fd)


def _lock_of(environment: Path) -> Path:
    return environment.with_name(f"{environment.name}.lock")


def _has_library(environment: Path, python: Path) -> bool:
    real = python.resolve()
    # After an upgrade of the system, python3 may be one that does not look into this environment's library.
    return real.is_file() and (not _PYTHON.fullmatch(real.name) or (environment / "lib" / real.name).is_dir())


def _hold(environment: Path) -> int:
    fd = -1
    try:
        fd = os.open(_lock_of(environment), os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # It may have been removed, and built again, since it was opened.
        if os.path.samestat(os.fstat(fd), _lock_of(environment).stat()) and environment.is_dir():
            return fd
    except OSError:
        pass
    if fd >= 0:
        os.close(fd)
    raise NoSandbox(_GONE)


def _age_seconds(environment: Path) -> float:
    try:
        return time.time() - _lock_of(environment).stat().st_mtime
    except FileNotFoundError:
        return math.inf


def used_bytes(folder: Path) -> int:
    """Count the files below a folder, each once however many names it has. They may change meanwhile."""
    seen, total = set[int](), 0
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with suppress(FileNotFoundError):
                found = (Path(top) / name).lstat()
                total += 0 if found.st_ino in seen else found.st_size
                seen.add(found.st_ino)
    return total


def open_to_all(folder: Path) -> None:
    """Let everybody read: as root another uid runs inside the sandbox, and a wheel may give any mode to its files."""
    # Its own mode was cut by the umask of a process that writes for its user only.
    folder.chmod(0o755)
    for top, folders, files in os.walk(folder):
        for path in (Path(top) / name for name in (*folders, *files)):
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                x = 0o111 if mode & 0o111 else 0
                path.chmod((mode & 0o755) | 0o444 | x)
            elif not stat.S_ISLNK(mode):
                raise Failed(f"A package has something that is neither a file nor a folder: {path.name[:100]!a}.")


@contextmanager
def _exclusive(lock: Path) -> Generator[bool]:
    """Take a lock that nobody else has, or say that somebody has it."""
    try:
        fd = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        # Its making was cut off, or its removal.
        yield True
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)


def _remove(folder: Path) -> None:
    # A wheel may hold a folder that its owner cannot write to.
    for top, folders, _ in os.walk(folder):
        for name in folders:
            with suppress(OSError):
                if not (Path(top) / name).is_symlink():
                    (Path(top) / name).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_all(folder: Path) -> None:
    """Wait until everything on this file system is on the disk: one call for thousands of files."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(handle) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(handle)
