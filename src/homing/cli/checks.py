"""What `homing doctor` looks at: this machine, the database, the model, the channels, the sandbox and the server."""

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import homing
from homing.agent.models import Models
from homing.cli.connection import running_server
from homing.cli.home import sqlite_file
from homing.cli.instance import UNMARKED_FIX, unmarked_words
from homing.cli.problems import Problem, hint_of, spoken
from homing.model.channel_info import MAIL
from homing.model.clock import SystemClock
from homing.model.errors import Error, FilesAway, NoFiles
from homing.model.mcp_servers import McpServer
from homing.model.model_setting import ModelSetting
from homing.model.push import SECRET_NAME
from homing.operations.kept_channels import with_kept
from homing.operations.models import server_model, setting_for
from homing.sandbox.errors import NO_PYTHON, NoSandbox
from homing.sandbox.share import open_share
from homing.settings import SECRET, Settings
from homing.store import Store, Tx, files, maintenance, mcp_servers, people, push, schema
from homing.store.maintenance import Worker
from homing.wiring import check_restate, describe, open_files, open_sandbox, read_push_key, try_named_channel

T = TypeVar("T")

_LEAST_FREE = 200_000_000
_LITTLE_FREE = 1_000_000_000
# A summer and a winter offset that every current zone data has.
_PROBE, _SUMMER, _WINTER = "Europe/Berlin", datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
_APART = timedelta(seconds=2)
_ALIVE = timedelta(seconds=60)
_ANSWERS_WITHIN = 5.0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at. `wrong` needs somebody; `note` is worth knowing."""

    what: str
    state: Literal["ok", "note", "wrong"]
    said: str
    fix: str | None = None


def ok(what: str, said: str) -> Finding:
    return Finding(what=what, state="ok", said=said)


def noted(what: str, said: str, fix: str | None = None) -> Finding:
    return Finding(what=what, state="note", said=said, fix=fix)


def wrong(what: str, said: str, fix: str) -> Finding:
    return Finding(what=what, state="wrong", said=said, fix=fix)


def look_at_clock(built_after: datetime) -> Finding:
    """A clock that is far behind fires nothing; one that nobody sets drifts."""
    now = datetime.now(UTC)
    if now < built_after:
        fix = "Set the clock, and let NTP keep it."
        return wrong("Clock", f"It says {now:%Y-%m-%d %H:%M} UTC, which is before this program was made.", fix)
    kept = _is_kept()
    said = f"{now:%Y-%m-%d %H:%M:%S} UTC"
    if kept is False:
        return noted("Clock", f"{said}, not synchronised", "Switch on NTP, for example: timedatectl set-ntp true")
    return ok("Clock", said if kept is None else f"{said}, synchronised")


def look_at_sandbox(settings: Settings) -> Finding:
    """Try the sandbox; only the programs that agents run need it."""
    try:
        found = asyncio.run(open_sandbox(settings))
    except NoSandbox as refused:
        said = f"programs cannot run here ({refused.error})" if refused.error else "programs cannot run here"
        return noted("Sandbox", said, refused.detail)
    if (share := _share_refusal(settings)) is not None:
        return noted("Sandbox", "workspaces are off here", share)
    said = f"bubblewrap {found.version_text} works"
    if not found.has_all_flags:
        return noted("Sandbox", f"{said}, but cannot limit /tmp and /dev/shm", "Install bubblewrap 0.8 or newer.")
    return ok("Sandbox", said) if found.python else noted("Sandbox", f"{said}, without network", NO_PYTHON)


def look_at_files(settings: Settings) -> Finding:
    """Say where files of conversations are kept, and try it."""
    where = settings.files_url or str(settings.share / "files")
    if (file := sqlite_file(settings)) is not None and not file.exists():
        return ok("Files", f"will be kept in {where}")
    store = Store(settings.database_url, SystemClock())

    async def look() -> None:
        await (await open_files(settings, store)).check()

    try:
        version, newest = schema.current(store)
        if version != newest:
            return noted("Files", f"will be looked at in {where} once the database is up to date")
        asyncio.run(look())
    except NoFiles as refused:
        return noted("Files", "cannot be kept here", refused.detail)
    except FilesAway as away:
        return wrong("Files", f"cannot be kept in {where} now", str(away))
    except Error:
        return noted("Files", f"are kept in {where}; the database does not say more")
    finally:
        store.engine.dispose()
    return ok("Files", f"are kept in {where}, and that works")


def _share_refusal(settings: Settings) -> str | None:
    """Say why this machine's folder is not the one of the database's workspaces. Looking makes neither."""
    if (file := sqlite_file(settings)) is not None and not file.exists():
        return None
    store = Store(settings.database_url, SystemClock())
    try:
        version, newest = schema.current(store)
        known = store.write_now(maintenance.share_id) if version == newest else None
        if known is not None:
            open_share(settings.share, known)
    except NoSandbox as refused:
        return refused.detail
    except Error:
        # The database's own line says what is wrong with it.
        return None
    finally:
        store.engine.dispose()
    return None


def look_at_restate(settings: Settings) -> list[Finding]:
    """Check Restate, if it drives the lanes."""
    if settings.engine != "restate":
        return []
    what = "Restate"
    try:
        check_restate(settings)
    except Error as error:
        return [wrong(what, "cannot be used here", str(error))]
    import httpx2

    from homing.engine.restate_rings import OBJECT

    start = "Start it (docs/howto/restate.md), or set HOMING_ENGINE=own and restart the workers: nothing is lost."
    with httpx2.Client(timeout=_ANSWERS_WITHIN, trust_env=False) as client:
        for setting, url in (
            ("HOMING_RESTATE_URL", f"{settings.restate_url}/restate/health"),
            ("HOMING_RESTATE_ADMIN_URL", f"{settings.restate_admin}/health"),
        ):
            try:
                answer = client.get(url)
            except httpx2.HTTPError as error:
                said = f"{url} does not answer ({str(error) or type(error).__name__}): turns wait."
                return [wrong(what, said, f"{start} If it runs elsewhere, correct {setting}.")]
            if answer.is_error:
                said = f"{url} answers {answer.status_code}, which Restate does not: turns wait."
                return [wrong(what, said, f"Correct {setting}.")]
        service = client.get(f"{settings.restate_admin}/services/{OBJECT}")
        if service.is_error:
            return [
                wrong(what, "does not know any worker of Homing: turns wait.", "Start one with HOMING_ENGINE=restate.")
            ]
        place = client.get(f"{settings.restate_admin}/deployments/{service.json()['deployment_id']}").json().get("uri")
    if str(place).rstrip("/") != settings.restate_workers:
        fix = "One Restate serves one Homing. Give all workers the same HOMING_RESTATE_WORKERS_URL, and restart them."
        return [wrong(what, f"calls the workers at {place}, not at {settings.restate_workers}.", fix)]
    return [ok(what, f"{settings.restate_url} answers, and calls the workers at {place}")]


def _is_kept() -> bool | None:
    tool = shutil.which("timedatectl")
    if tool is None:
        return None
    command = [tool, "show", "--property=NTPSynchronized", "--value"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=3, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {"yes": True, "no": False}.get(told.stdout.strip())


def look_at_zones(settings: Settings) -> Finding:
    """Without zone data a schedule cannot be read."""
    fix = "Install the Python package tzdata, or your system's."
    try:
        zone = ZoneInfo(_PROBE)
    except ZoneInfoNotFoundError:
        return wrong("Time zones", "There is no zone data on this machine.", fix)
    if _SUMMER.astimezone(zone).utcoffset() == _WINTER.astimezone(zone).utcoffset():
        return wrong("Time zones", f"The zone data knows no summer time in {_PROBE}.", fix)
    said = f"{settings.timezone}, {len(available_timezones())} zones known"
    if settings.timezone == "UTC":
        return noted("Time zones", said, "If that is not your zone, set HOMING_TIMEZONE, for example Europe/Berlin.")
    return ok("Time zones", said)


def look_at_disk(settings: Settings) -> Finding:
    """A full disk ends all promises."""
    home = settings.home
    there = next(path for path in (home, *home.parents) if path.exists())
    if not os.access(there, os.W_OK):
        fix = "Make it writable, or set HOMING_HOME to a folder that is."
        return wrong("Disk", f"{there} cannot be written to.", fix)
    free = shutil.disk_usage(there).free
    said = f"{free / 1e9:.1f} GB free at {home}"
    if free < _LEAST_FREE:
        return wrong("Disk", said, "Make room, or move HOMING_HOME to a larger disk.")
    if free < _LITTLE_FREE:
        return noted("Disk", said, "Make room before it is full.")
    if readable := [path for path in _secrets(settings) if _readable_by_others(path)]:
        names = " ".join(str(path) for path in readable)
        return wrong("Disk", f"Others can read {names}.", f"chmod 600 {names}")
    return ok("Disk", said)


def _secrets(settings: Settings) -> list[Path]:
    """Name what is for the owner only: token, settings (they may hold keys), the database, backups, secrets."""
    database = [] if (file := sqlite_file(settings)) is None else [file, *file.parent.glob(f"{file.name}-*")]
    found = [*sorted(settings.home.glob("homing-*.db")), *sorted(settings.home.glob("secrets/*"))]
    return [settings.token_file, settings.file, *database, *found]


def _readable_by_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & 0o077)
    except OSError:
        return False


def made_at(path: Path) -> datetime:
    """Tell when this program's files were put here; a day's grace for clocks of build machines."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC) - timedelta(days=1)


def look_at_store(settings: Settings) -> list[Finding]:
    """Look at the database; what needs it is left out when it does not answer."""
    if (file := sqlite_file(settings)) is not None and not file.exists():
        # Looking makes no file: a server may be running on the one that was there.
        return [noted("Database", f"SQLite, {file}: not there", "`homing up` makes it, or `homing db restore FILE`.")]
    store = Store(settings.database_url, SystemClock())
    try:
        return _look_into(store, settings)
    except Error as error:
        return [wrong("Database", str(error), "Start it, or correct HOMING_DATABASE_URL.")]
    finally:
        store.engine.dispose()


def _look_into(store: Store, settings: Settings) -> list[Finding]:
    name = "PostgreSQL" if store.postgres else f"SQLite, {store.url.database}"
    if not store.postgres and (damage := files.check(Path(store.url.database or ""))) is not None:
        return [wrong("Database", f"{name} is damaged: {damage}.", f"Stop Homing. {files.RESTORE}")]
    version, newest = schema.current(store)
    if version is None:
        return [noted("Database", f"{name}: empty", "`homing up` makes its tables.")]
    if version != newest:
        return [ok("Database", f"{name} answers"), _migrations(version, newest)]
    now, beats, unmarked, servers = store.write_now(
        lambda tx: (
            tx.now(),
            maintenance.workers(tx, _ALIVE),
            people.count_unmarked_admins(tx),
            mcp_servers.in_state(tx, "failing", "changed"),
        )
    )
    found = [_database(name, now, postgres=store.postgres), ok("Migrations", f"schema {version}, the newest")]
    if store.postgres and not _rings_pass(store):
        said = "do not arrive through this connection: processes poll every few seconds, so answers come later."
        fix = "Connect to PostgreSQL directly, or set the pooler to session pooling (PgBouncer: pool_mode = session)."
        found.append(noted("Notifications of the database", said, fix))
    tokens = [noted("Tokens", unmarked_words(unmarked), UNMARKED_FIX)] if unmarked else []
    return [*found, *tokens, _engine(beats, settings), *_notes(beats), *map(_server, servers)]


def _rings_pass(store: Store) -> bool:
    # The driver is an extra: a Homing on SQLite lives without it.
    from homing.store.postgres_bell import rings_pass

    return rings_pass(store.url)


def _server(server: McpServer) -> Finding:
    name, words = f"{server.name} of the agent {server.agent_id}", f"{server.name} --agent {server.agent_id}"
    if server.state == "failing":
        return wrong("MCP server", f"{name} does not start: {server.error}", f"homing mcp-servers test {words}")
    return noted("MCP server", f"{name} has new or changed tools, which are off.", f"homing mcp-servers accept {words}")


def _notes(beats: list[Worker]) -> list[Finding]:
    """What workers report: that they are too old for the database, or do not trust the clock."""
    fix = "Upgrade and restart it if it is too old; check the clock and its NTP if that leapt."
    return [wrong("Engine", f"{worker.name}: {worker.note}.", fix) for worker in beats if worker.note]


def _database(name: str, now: datetime, *, postgres: bool) -> Finding:
    apart = abs(datetime.now(UTC) - now)
    if postgres and apart > _APART:
        fix = "Let NTP keep both clocks: jobs fire by the database's."
        return wrong("Database", f"Its clock is {apart.total_seconds():.0f} s away from this machine's.", fix)
    return ok("Database", f"{name} answers and is whole")


def _migrations(version: str, newest: str) -> Finding:
    if version > newest:
        fix = "Install the newer Homing, or go back to a backup."
        return wrong("Migrations", f"schema {version} was made by a newer Homing; this one knows {newest}.", fix)
    return wrong("Migrations", f"schema {version}, the newest is {newest}.", "homing db upgrade")


def _engine(beats: list[Worker], settings: Settings) -> Finding:
    if not beats:
        return wrong("Engine", "No engine is running: nothing fires.", "homing up")
    if all(worker.note and not worker.schedules for worker in beats):
        # Rule 62; what the note of each says follows.
        said = "An engine runs, but it is too old for this database: nothing fires."
        return wrong("Engine", said, "Upgrade and restart it.")
    if not settings.scheduler_enabled or not any(worker.schedules for worker in beats):
        fix = "Set HOMING_SCHEDULER_ENABLED=on and start again."
        return wrong("Engine", "An engine runs, but its scheduler is switched off: nothing fires by itself.", fix)
    age = (datetime.now(UTC) - max(worker.beat_at for worker in beats)).total_seconds()
    return ok("Engine", f"{len(beats)} at work, last beat {max(0, age):.0f} s ago")


def look_at_model(settings: Settings) -> Finding:
    """A model that cannot be made answers nobody. It is made, not called: a call costs money."""
    models = Models()
    instance, chosen = describe(settings, models), _in_database(settings, maintenance.model_setting)
    model = server_model(instance, chosen)
    if model.offline:
        return noted("Model", f"offline. {model.why}")
    try:
        asyncio.run(_make_model(models, model.name, setting_for(instance, chosen, model.name)))
    except Error as error:
        return wrong("Model", f"{model.name}: {error}", "Set its key, or choose another one: homing model set")
    return ok("Model", f"{model.name}. {model.why}")


async def _make_model(models: Models, name: str, setting: ModelSetting | None) -> None:
    await models.get(name, setting)
    await models.close()


def look_at_channels(settings: Settings, served: list[str] | None) -> list[Finding]:
    """The terminal, the page and webhooks need nothing; mail needs its server. `served` is what a running Homing has:
    its environment counts, not that of this command.
    """
    settings = _in_database(settings, lambda tx: with_kept(tx, settings)) or settings
    found = [ok("Channels", "web, cli, api, webhook"), *_sign_in_to_channels(settings)]
    known = {"web", "cli", "api", "webhook", MAIL, *settings.channel_names}
    elsewhere = "set up in the running server; `homing channels list` shows its state"
    found += [ok(f"Channel {name}", elsewhere) for name in served or () if name not in known]
    if MAIL in settings.channel_names:
        return found
    has_mail = settings.smtp_url is not None if served is None else MAIL in served
    if not has_mail and settings.smtp_url is not None:
        said = "HOMING_SMTP_URL is set here, but the running server started without it, so it sends no mail."
        return [*found, wrong("Mail", said, "Start the server again with it, or write smtp_url into homing.toml.")]
    if not has_mail:
        return [*found, noted("Mail", "not set up", "To send mail, set HOMING_SMTP_URL, such as smtps://user:…@host")]
    if settings.smtp_url is None:
        return [*found, ok("Mail", "set up in the running server; its address is not known here")]
    at = urlsplit(settings.smtp_url)
    port = at.port or (465 if at.scheme == "smtps" else 587)
    try:
        socket.create_connection((at.hostname or "", port), timeout=_ANSWERS_WITHIN).close()
    except OSError as error:
        said = f"{at.hostname}:{port} does not answer ({error.strerror or error})."
        return [*found, wrong("Mail", said, "Check HOMING_SMTP_URL, and that this machine may reach it.")]
    return [*found, ok("Mail", f"{at.hostname}:{port} answers")]


def look_at_push(settings: Settings) -> Finding:
    """Browsers are bound to the key that they subscribed with: every server and engine needs that one."""
    what = "Notifications"
    same = f"Set {SECRET}{SECRET_NAME} to the same value for every server and engine of this database."
    try:
        key = read_push_key(settings.home)
    except Error as error:
        return wrong(what, str(error), "Give the key that was used until now, in base64url.")
    counts = _in_database(settings, push.count_by_key) or {}
    mine = counts.get(key.public, 0) if key is not None else 0
    others = sum(counts.values()) - mine
    if others:
        said = f"{others} of {sum(counts.values())} browsers subscribed with a key that is not on this machine"
        again = "If that key is lost, turn notifications off and on again in those browsers."
        return wrong(what, said, f"{same} {again}")
    if not counts:
        return ok(what, "no browser has them turned on")
    said = f"{mine} {'browser' if mine == 1 else 'browsers'}"
    if settings.database_url.startswith("postgresql") and SECRET + SECRET_NAME not in os.environ:
        return noted(what, f"{said}; the key is in this home only", f"If other machines use this database: {same}")
    return ok(what, said)


def _in_database(settings: Settings, look: Callable[[Tx], T]) -> T | None:
    """Look into the database if it is there and up to date; its own line says what is wrong with it."""
    if (file := sqlite_file(settings)) is not None and not file.exists():
        return None
    store = Store(settings.database_url, SystemClock())
    try:
        version, newest = schema.current(store)
        return store.write_now(look) if version == newest else None
    except Error:
        return None
    finally:
        store.engine.dispose()


def _sign_in_to_channels(settings: Settings) -> list[Finding]:
    """Sign in to each, as the server does."""
    found: list[Finding] = []
    for one in settings.channels:
        name = one.name
        fix = f"Check [channels.{name}] in homing.toml, or HOMING_CHANNEL_{name.upper()}_…, then start Homing again."
        if one.secret is not None:
            fix = f"Enter its fields again, without a restart: homing channels update {name}"
        try:
            tried = asyncio.run(try_named_channel(settings, name, None))
        except Error as error:
            found.append(wrong(f"Channel {name}", str(error), fix))
        else:
            found.append(ok(f"Channel {name}", tried.account))
    return found


def ask_server(settings: Settings) -> tuple[Finding, list[str] | None]:
    """Ask a running server once, as one that hangs takes its time: how it is, and where it can deliver if it says."""
    try:
        server = running_server(settings)
        if server is None:
            return noted("Server", "none of this home is running", "homing up"), None
        with closing(server):
            status = server.ask("get_status")
    except Problem as problem:
        return wrong("Server", spoken(problem), hint_of(problem) or "Start it again."), None
    channels, version = status.get("channels"), status["version"]
    if version != homing.__version__:
        fix = "Start the server again, so that both are the same."
        said = f"{server.url} is version {version}, this command {homing.__version__}."
        return wrong("Server", said, fix), channels
    return ok("Server", f"{server.url} answers"), channels
