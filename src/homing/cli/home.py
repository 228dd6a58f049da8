"""The files in home by which processes find each other: the owner's token, and the running server.

`server.json` is true while it is locked: a killed server's lock dies with it, so a stale address is never believed,
and a token never sent to whoever took the port afterwards.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from homing.cli.problems import failed
from homing.settings import Settings

ANNOUNCED = "server.json"


def make_home(settings: Settings) -> Path:
    """Make the home folder, private to its owner, and make sure that we may write in it."""
    home = settings.home
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = home / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise failed(
            f"{home} cannot be written to ({error.strerror or error}).",
            hint="Make it writable, or set HOMING_HOME to a folder that is.",
        ) from None
    return home


def known_token(settings: Settings) -> str | None:
    """Tell the token that commands send: the setting's, else the one in home."""
    if settings.token:
        return settings.token
    with suppress(FileNotFoundError, NotADirectoryError):
        return settings.token_file.read_text("utf-8").strip() or None
    return None


def owner_token(settings: Settings) -> str:
    """Tell the owner's token; on the first start make one that only they can read."""
    known = known_token(settings)
    if known:
        return known
    make_home(settings)
    fresh = "hom_" + secrets.token_urlsafe(32)
    try:
        handle = os.open(settings.token_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        # Another process was first, or left an empty file.
        return known_token(settings) or _replace(settings.token_file, fresh)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(fresh + "\n")
    return fresh


def _replace(path: Path, text: str) -> str:
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return text


def announced_url(settings: Settings) -> str | None:
    """Tell where this home's server is, if one is running."""
    try:
        with (settings.home / ANNOUNCED).open(encoding="utf-8") as file:
            if not _is_locked(file.fileno()):
                return None
            url = json.load(file).get("url")
    except (OSError, ValueError, AttributeError):
        return None
    return url if isinstance(url, str) else None


@contextmanager
def announced(settings: Settings, url: str) -> Generator[None]:
    """Let commands of this home find the server at `url` for as long as the block lasts."""
    path = settings.home / ANNOUNCED
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # Another `homing serve` of this home is announced already; commands go to that one.
        os.close(handle)
        yield
        return
    try:
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps({"url": url, "pid": os.getpid()}).encode())
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(handle)


@contextmanager
def only_engine(database: Path, home: Path) -> Generator[None]:
    """Be the one engine of a SQLite database for as long as the block lasts."""
    lock = database.with_name(database.name + ".lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise failed(f"{lock} cannot be opened ({error.strerror}).", hint="Make its folder writable.") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pid = os.read(handle, 32).decode(errors="replace").strip()
        os.close(handle)
        where = _where(home)
        raise failed(
            f"Another Homing{f' (process {pid})' if pid else ''} already runs on {database}{where}.",
            code="already_running",
            hint="Use that one (`homing open`), stop it first, or set HOMING_HOME for a second one.",
        ) from None
    try:
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        # The file stays: taking it away would let two others lock two different files of one name.
        os.close(handle)


def _where(home: Path) -> str:
    with suppress(OSError, ValueError, AttributeError):
        url = json.loads((home / ANNOUNCED).read_text("utf-8")).get("url")
        return f", at {url}" if url else ""
    return ""


def _is_locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(handle, fcntl.LOCK_UN)
    return False
