"""The files in home by which processes find each other: the home's id, the owner's token, and the locks."""

import fcntl
import json
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from homing.cli.output import note
from homing.cli.problems import failed, refused
from homing.client.home import ANNOUNCED, known_token
from homing.settings import Settings

ID = "id"


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


def home_id(settings: Settings) -> str:
    """Tell the id of this home, made once: several homes may share a database, and each has an owner's token."""
    path = make_home(settings) / ID
    fresh = secrets.token_hex(8)
    with suppress(FileExistsError):
        _write_new(path, fresh)
        return fresh
    return path.read_text("utf-8").strip() or _replace(path, fresh)


@contextmanager
def home_lock(settings: Settings) -> Generator[str]:
    """Change the owner's token alone, one process at a time; gives the home's id."""
    home = home_id(settings)
    handle = os.open(settings.home / ID, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield home
    finally:
        os.close(handle)


def owner_token(settings: Settings) -> str:
    """Tell the owner's token; on the first start make one that only they can read."""
    known = known_token(settings)
    if known:
        return known
    make_home(settings)
    fresh = new_token()
    try:
        _write_new(settings.token_file, fresh)
    except FileExistsError:
        # Another process was first, or left an empty file.
        return known_token(settings) or _replace(settings.token_file, fresh)
    return fresh


def replace_token(settings: Settings) -> str:
    """Put a fresh token in the place of the one in home, all at once; only its owner can read it."""
    return _replace(make_home(settings) / settings.token_file.name, new_token())


def new_token() -> str:
    return "hom_" + secrets.token_urlsafe(32)


def _write_new(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def _replace(path: Path, text: str) -> str:
    fresh = path.with_name(f".{path.name}-{os.getpid()}")
    fresh.unlink(missing_ok=True)
    _write_new(fresh, text)
    fresh.replace(path)
    return text


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


def sqlite_file(settings: Settings) -> Path | None:
    """Tell the file of a SQLite database; None for PostgreSQL."""
    scheme, _, rest = settings.database_url.partition("://")
    if scheme != "sqlite":
        return None
    path = rest.partition("?")[0].removeprefix("/")
    if not path or path == ":memory:":
        raise refused("HOMING_DATABASE_URL names no file: use sqlite:///path/to/homing.db, so that jobs survive.")
    return Path(path)


@contextmanager
def only_engine(database: Path, home: Path) -> Generator[None]:
    """Be the one engine of a sound SQLite database for as long as the block lasts."""
    with engine_lock(database, home) as unclean:
        if unclean:
            _check(database)
        yield


@contextmanager
def engine_lock(database: Path, home: Path) -> Generator[bool]:
    """Keep every engine off a SQLite database; say whether the last one did not end cleanly.

    Two locks: the one beside the file holds the engine's process id for as long as it runs, so that a kill leaves it
    there; the one on the file itself holds whatever name the file is reached by.
    """
    real = database.resolve()
    held = _lock(real.with_name(real.name + ".lock"), database, home)
    try:
        # Never closed while SQLite has the file open in this process: that would drop SQLite's own locks.
        handle = _lock(real, database, home)
        try:
            unclean = os.pread(held, 1, 0) != b"" or _has_log(real)
            os.ftruncate(held, 0)
            os.pwrite(held, str(os.getpid()).encode(), 0)
            yield unclean
            # Only after a good end; what an error or a kill leaves is looked at by the next engine.
            os.ftruncate(held, 0)
        finally:
            os.close(handle)
    finally:
        # The file stays: taking it away would let two others lock two different files of one name.
        os.close(held)


def _lock(path: Path, database: Path, home: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise failed(f"{path} cannot be opened ({error.strerror}).", hint="Make it and its folder writable.") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pid = os.pread(handle, 32, 0).decode(errors="replace").strip() if path.suffix == ".lock" else ""
        os.close(handle)
        raise failed(
            f"Another Homing{f' (process {pid})' if pid else ''} already runs on {database}{_where(home)}.",
            code="already_running",
            hint="Use that one (`homing open`), stop it first, or set HOMING_HOME for a second one.",
        ) from None
    return handle


def _check(database: Path) -> None:
    """Look for damage after an unclean end, for seconds at most: running on would make it worse."""
    from homing.store import files

    try:
        damage = files.check(database, seconds=files.CHECK_SECONDS)
    except TimeoutError:
        note(f"{database} was not closed well, and is too large to be checked at start; `homing doctor` checks it.")
        return
    if damage is not None:
        raise failed(f"The database {database} is damaged: {damage}.", code="damaged", hint=files.RESTORE)


def _has_log(database: Path) -> bool:
    """SQLite takes its log away when the last connection is closed; a kill leaves it."""
    with suppress(OSError):
        return database.with_name(database.name + "-wal").stat().st_size > 0
    return False


def _where(home: Path) -> str:
    with suppress(OSError, ValueError, AttributeError):
        url = json.loads((home / ANNOUNCED).read_text("utf-8")).get("url")
        return f", at {url}" if url else ""
    return ""
