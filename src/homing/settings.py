"""Every setting, typed, validated once, all faults reported together.

From `HOMING_*` in the environment, else `homing.toml` in home (same names, lower case, no prefix), else the default.
Standard library only: each light command pays for this import (docs/adr/0012).
"""

import contextlib
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import time
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from homing.model.channel_info import MAIL
from homing.model.clock import one_name
from homing.model.errors import FieldError, Invalid
from homing.model.hours import USUAL_HOURS, NamedHours, read_hours
from homing.model.ids import is_new_id

PREFIX = "HOMING_"
FILE = "homing.toml"
# Switches of our own test runs, no settings of the product.
# Values that are named elsewhere: `read_secret`.
SECRET = "HOMING_SECRET_"  # noqa: S105 - the beginning of a name
CHANNEL = "HOMING_CHANNEL_"
FOR_TESTS = ("HOMING_CI", "HOMING_TEST_", "HOMING_DEBUG")

_HTTP = ("http", "https")

CHANNEL_FIELDS: Mapping[str, Mapping[str, bool]] = {
    "telegram": {"token": True, "base_url": False},
    "matrix": {"base_url": True, "token": True},
    "slack": {"app_token": True, "bot_token": True, "base_url": False},
    "discord": {"token": True, "base_url": False},
    "apprise": {"url": True},
    MAIL: {"imap_url": False, "smtp_url": False, "from": False, "authserv_id": False},
}
"""The kinds of channels that come with Homing, and their fields; True: needed. Packages bring their own."""
PLAIN_FIELDS = frozenset({"base_url", "from", "authserv_id"})
"""Fields that a form may show as they are typed; all others may hold secrets."""
# Where a variable's name could be cut at several places, the longest of these is its field.
_KNOWN_FIELDS = ("kind", *{name: None for known in CHANNEL_FIELDS.values() for name in known})
_CHANNEL_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
# What addresses and session keys begin with already.
_TAKEN = frozenset(
    {"web", "cli", "api", "webhook", MAIL, "push", "unified", "cron", "hook", "agent", "session", "host", "file"}
)

ChannelValue: TypeAlias = str | Mapping[str, str]
"""A text, or {"secret": NAME}."""


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a text that is not empty")
    return value.strip()


def _flag(value: object) -> bool:
    word = str(value).strip().lower()
    if word in {"on", "true", "yes", "1"}:
        return True
    if word in {"off", "false", "no", "0"}:
        return False
    raise ValueError("must be on or off")


def _whole(low: int, high: int | None = None) -> Callable[[object], int]:
    wanted = f"must be a whole number from {low} to {high}" if high else f"must be a whole number, {low} or more"

    def read(value: object) -> int:
        try:
            number = int(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None or number < low or (high is not None and number > high):
            raise ValueError(wanted)
        return number

    return read


def _seconds(value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ValueError("must be a number of seconds above 0")
    return number


def _dollars(value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ValueError("must be a number of dollars, 0 or more")
    return number


def _zone(value: object) -> str:
    name = _text(value)
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("must be an IANA time zone such as Europe/Berlin or UTC") from None
    return one_name(name)


def _url(*schemes: str) -> Callable[[object], str]:
    wanted = "must begin with " + " or ".join(f"{scheme}://" for scheme in schemes)

    def read(value: object) -> str:
        url = _text(value)
        if urlsplit(url).scheme not in schemes or "://" not in url:
            raise ValueError(wanted)
        return url.rstrip("/") if schemes == _HTTP else url

    return read


def _plain_url(value: object) -> str:
    url = _url(*_HTTP)(value)
    if "@" in urlsplit(url).netloc or not urlsplit(url).hostname:
        raise ValueError("must name a host, without a user name or password")
    return url


def _hours(value: object) -> tuple[time, time]:
    return read_hours(_text(value))


def _named_hours(value: object) -> NamedHours:
    """Read `morning=07:30, evening=19:00`; what is left out keeps its default."""
    wanted = f"must name times of day such as {USUAL_HOURS}"
    if isinstance(value, dict):
        value = ", ".join(f"{name}={at}" for name, at in value.items())  # pyright: ignore[reportUnknownVariableType]
    given: dict[str, time] = {}
    for term in _text(value).split(","):
        name, _, clock = (part.strip() for part in term.partition("="))
        try:
            at = time.fromisoformat(clock)
        except ValueError:
            raise ValueError(wanted) from None
        if name not in NamedHours.__dataclass_fields__ or at.tzinfo or at.second or at.microsecond:
            raise ValueError(wanted)
        given[name] = at
    return NamedHours(**given)


def _sandbox(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in ("auto", "off"):
        raise ValueError("must be auto or off")
    return word == "auto"


def _folder(value: object) -> Path:
    return Path(_text(value)).expanduser().absolute()


def _files_url(value: object) -> str:
    url = _text(value)
    at = urlsplit(url)
    folder = at.scheme == "file" and not at.netloc and at.path.startswith("/")
    bucket = at.scheme == "s3" and re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", at.netloc)
    if not (folder or bucket) or at.query or at.fragment:
        raise ValueError(
            "must name a folder by its whole path, such as file:///srv/homing/files, or a bucket: s3://bucket/prefix"
        )
    return url


def _engine(value: object) -> str:
    word = str(value).strip().lower()
    if word not in ("own", "restate"):
        raise ValueError("must be own or restate")
    return word


def _listen(value: object) -> str:
    text = _text(value)
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError("must be an address and a port such as 127.0.0.1:9080")
    return text


def _session_key(value: object) -> str:
    key = _text(value)
    channel, colon, chat = key.partition(":")
    if not (channel and colon and chat) or any(char in "/?#%" or not char.isprintable() or char == " " for char in key):
        raise ValueError("must be a session key such as cli:main, without spaces or / ? # %")
    return key


def _setting(
    read: Callable[[object], object], default: object, what: str, *, secret: bool = False, shown: str | None = None
) -> Any:
    """Declare a setting. docs/reference/settings.md shows `what`, and `shown` where the default does not speak."""
    return field(
        default=default, repr=not secret, metadata={"read": read, "what": what, "secret": secret, "shown": shown}
    )


@dataclass(frozen=True, kw_only=True)
class ChannelSettings:
    """One account of a chat platform. Its name stands before the colon of its addresses."""

    name: str
    kind: str
    fields: Mapping[str, ChannelValue] = field(repr=False)
    secret: str | None = None
    """For a channel that an admin added: the name of the secret that holds all its fields as JSON."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What this process was told. `timezone`, `database_url` and `share` are always filled in."""

    home: Path = field(metadata={"what": "the folder of the database, the token and `homing.toml`"})
    timezone: str = _setting(_zone, MISSING, "the time zone where a user or a job names none", shown="the machine's")
    database_url: str = _setting(
        _url("sqlite", "postgresql"),
        MISSING,
        "where the data is kept: `sqlite:///…` or `postgresql://…`",
        secret=True,
        shown="SQLite in home",
    )
    url: str | None = _setting(_url(*_HTTP), None, "the server that commands talk to", shown="the server of this home")
    token: str | None = _setting(
        _text,
        None,
        "the token that commands send; for a server the owner's (24 characters or more beyond 127.0.0.1)",
        secret=True,
        shown="the token file in home",
    )
    host: str = _setting(_text, "127.0.0.1", "the address the server listens on")
    port: int = _setting(_whole(0, 65535), 4664, "the port the server listens on")
    public_url: str | None = _setting(
        _url(*_HTTP),
        None,
        "its address behind a proxy; then `X-Forwarded-For` counts and `/metrics` needs an admin's token",
    )
    session: str = _setting(_session_key, "cli:main", "the session of commands that do not name one")
    model: str | None = _setting(
        _text,
        None,
        "the model, as Pydantic AI names it, such as `openai-chat:gpt-5`",
        shown="found by its API key, else `offline`",
    )
    unified_session: bool = _setting(
        _flag, False, "one history for all chats of a user; after you change it, agents do not see the earlier history"
    )
    scheduler_enabled: bool = _setting(_flag, True, "whether due jobs fire in this process")
    max_concurrent_runs: int = _setting(_whole(1), 8, "scheduled turns at once, per worker")
    slots: int = _setting(_whole(1), 32, "turns of people at once, per worker")
    turn_seconds: float = _setting(_seconds, 1800.0, "how long a turn may take")
    claim_seconds: float = _setting(_seconds, 10.0, "after how long another worker takes over the turn of a dead one")
    idle_retry_ms: int = _setting(_whole(10), 1000, "how often the sweeper looks while something waits")
    lookahead_days: int = _setting(_whole(1), 14, "warn if the next run is further away than this")
    max_jobs: int = _setting(_whole(1), 10_000, "jobs per user")
    min_interval_seconds: int = _setting(_whole(1), 1, "the shortest time between two runs of a job")
    delivery_attempts: int = _setting(_whole(1), 5, "attempts before a delivery is dead")
    budget_usd_per_day: float | None = _setting(
        _dollars,
        None,
        "what a user's automations and hooks may spend on models in a day, in dollars;"
        " the user's own messages are still answered",
        shown="no limit",
    )
    engine: str = _setting(
        _engine,
        "own",
        "what drives the turns of this worker: `own`, or `restate`, a Restate server (docs/howto/restate.md)",
    )
    restate_url: str = _setting(
        _plain_url, "http://127.0.0.1:8080", "where Restate takes calls; used with `HOMING_ENGINE=restate`"
    )
    restate_admin_url: str | None = _setting(
        _plain_url,
        None,
        "Restate's admin API; workers register there",
        shown="port 9070 of `HOMING_RESTATE_URL`'s host",
    )
    restate_listen: str = _setting(
        _listen,
        "127.0.0.1:9080",
        "where a worker listens for Restate; workers on one machine share it. Let only Restate reach it",
    )
    restate_workers_url: str | None = _setting(
        _plain_url,
        None,
        "how Restate reaches the workers: their load balancer, or the address they share",
        shown="`HOMING_RESTATE_LISTEN`",
    )
    keep_runs_days: int = _setting(_whole(1), 90, "how long run records are kept")
    heartbeat_minutes: int = _setting(
        _whole(0),
        0,
        "how often an agent looks around by itself, at its checklist and at events that wait for it; 0 is off",
    )
    active_hours: tuple[time, time] | None = _setting(
        _hours, None, "when the heartbeat is active, such as `08:00-22:00`", shown="always"
    )
    dream: bool = _setting(
        _flag,
        False,
        "whether memories are looked after at 03:30: facts kept from what each user wrote, doubles merged",
    )
    named_hours: NamedHours = _setting(_named_hours, USUAL_HOURS, 'what "tomorrow morning" or "tonight" means')  # noqa: RUF009 - frozen, as all of them are
    sandbox: bool = _setting(
        _sandbox,
        True,
        "`auto`: programs run if the sandbox works here; `off`: they never run",
        shown="auto",
    )
    share: Path = _setting(  # noqa: RUF009 - as all of them
        _folder,
        MISSING,
        "the folder of the agents' workspaces and of files; machines that share a database share it too",
        shown="`share` in home",
    )
    files_url: str | None = _setting(
        _files_url,
        None,
        "where files of conversations are kept: `file:///folder`, which machines that share a database share too, or"
        " `s3://bucket/prefix`",
        shown="`files` in the share",
    )
    max_files_mb: int = _setting(_whole(1), 10_240, "megabytes of files per user")
    search_url: str | None = _setting(
        _plain_url, None, "the SearXNG server that `search_web` asks; without it there is no `search_web`"
    )
    smtp_url: str | None = _setting(
        _url("smtp", "smtps"), None, "the mail server that deliveries by mail go through", secret=True
    )
    channels: tuple[ChannelSettings, ...] = field(
        default=(),
        metadata={
            "what": "accounts of chat platforms, also as `[channels.NAME]` in `homing.toml`; for example"
            " `HOMING_CHANNEL_TELEGRAM_TOKEN` makes a channel `telegram`",
            "variable": "HOMING_CHANNEL_NAME_FIELD",
            "shown": "–",
            "secret": True,
        },
    )

    @property
    def channel_names(self) -> tuple[str, ...]:
        return tuple(channel.name for channel in self.channels)

    @property
    def sends_mail(self) -> bool:
        """Whether messages can go to `email:` addresses."""
        return self.smtp_url is not None or MAIL in self.channel_names

    @property
    def mail_names(self) -> frozenset[str]:
        """The names before the colon of mail addresses: `email`, and those of further accounts."""
        return frozenset({MAIL, *(channel.name for channel in self.channels if channel.kind == MAIL)})

    @property
    def restate_admin(self) -> str:
        """The URL of Restate's admin API."""
        if self.restate_admin_url is not None:
            return self.restate_admin_url
        at = urlsplit(self.restate_url)
        host = f"[{at.hostname}]" if ":" in (at.hostname or "") else at.hostname
        return f"{at.scheme}://{host}:9070"

    @property
    def restate_workers(self) -> str:
        """How Restate reaches the workers."""
        return self.restate_workers_url or f"http://{self.restate_listen}"

    @property
    def file(self) -> Path:
        return self.home / FILE

    @property
    def token_file(self) -> Path:
        """Where the owner's token is kept when `token` is not set; mode 0600."""
        return self.home / "token"


_READERS: Mapping[str, Mapping[str, Any]] = {f.name: f.metadata for f in fields(Settings) if "read" in f.metadata}


def load(env: Mapping[str, str] | None = None) -> Settings:
    """Read and validate every setting; raise one Invalid that names each fault."""
    env = os.environ if env is None else env
    faults: list[FieldError] = []
    home = _home(env, faults)
    file = _in_file(home, faults)
    channels = _read_channels(file.pop("channels", {}), env, faults)
    values = _read(file, _key_in_file, faults)
    values |= _read(_in_environment(env), _variable, faults)
    if "timezone" not in values:
        values["timezone"] = _host_zone(env, faults)
    if faults:
        detail = "These settings cannot be used:\n" + "\n".join(f"- {fault.detail}" for fault in faults)
        raise Invalid(detail, errors=tuple(faults))
    values.setdefault("database_url", f"sqlite:///{home / 'homing.db'}")
    values.setdefault("share", home / "share")
    return Settings(home=home, channels=channels, **values)


def read_secret(home: Path, name: str, env: Mapping[str, str] | None = None) -> str | None:
    """Read a secret: from HOMING_SECRET_NAME, else from a file in `secrets` of home that nobody else can read."""
    env = os.environ if env is None else env
    if value := env.get(SECRET + name):
        return value
    try:
        file = os.open(home / "secrets" / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(file, encoding="utf-8") as opened:
        if os.fstat(file).st_mode & 0o077:
            raise Invalid(
                f"The file of the secret {name} can be read by others: chmod 600 it, then try again.",
                field="secrets",
                code="out_of_range",
            )
        return opened.read().rstrip("\n") or None


def write_secret(home: Path, name: str, value: str) -> None:
    """Write a secret into a new file of `secrets` in home for nobody else to read; whole, or not at all."""
    folder = home / "secrets"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(value.encode())
            opened.flush()
            os.fsync(file)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(held)
    finally:
        os.close(held)


def remove_old_secrets(home: Path, beginning: str, *, keep: Collection[str], before: float) -> None:
    """Remove the files of secrets that Homing named so itself and are older than this instant; those in use stay."""
    for path in (home / "secrets").glob(f"{beginning}_*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            # Others are people's own, such as channel_family.
            if is_new_id(path.name, beginning) and path.name not in keep and path.lstat().st_mtime < before:
                path.unlink()


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _key_in_file(name: str) -> str:
    return f"`{name}` in {FILE}"


def _home(env: Mapping[str, str], faults: list[FieldError]) -> Path:
    named = env.get("HOMING_HOME")
    if not named:
        from platformdirs import user_data_path  # noqa: PLC0415 - 30 ms that a set HOMING_HOME need not pay

        return user_data_path("homing", appauthor=False)
    home = Path(named).expanduser().absolute()
    if home.exists() and not home.is_dir():
        faults.append(_fault("home", f"HOMING_HOME must be a folder, and {home} is a file."))
    return home


def _in_environment(env: Mapping[str, str]) -> dict[str, object]:
    """Take what is set; an empty variable counts as absent, since that is how scripts leave one out."""
    ours = [name for name in env if name.startswith(PREFIX) and not name.startswith((*FOR_TESTS, SECRET, CHANNEL))]
    return {name.removeprefix(PREFIX).lower(): env[name] for name in ours if env[name] and name != "HOMING_HOME"}


def _in_file(home: Path, faults: list[FieldError]) -> dict[str, object]:
    try:
        given = tomllib.loads((home / FILE).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        faults.append(_fault(FILE, f"{home / FILE} cannot be read: {error}."))
        return {}
    if given.pop("home", None) is not None:
        faults.append(_fault("home", f"`home` cannot stand in {FILE}, which lies in it: set HOMING_HOME instead."))
    return given


def _read(given: Mapping[str, object], spelled: Callable[[str], str], faults: list[FieldError]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _READERS:
            faults.append(_unknown(name, spelled))
            continue
        try:
            values[name] = _READERS[name]["read"](value)
        except ValueError as error:
            shown = "" if _READERS[name]["secret"] else f", not {value!r}"
            faults.append(_fault(name, f"{spelled(name)} {error}{shown}."))
    return values


def _read_channels(given: object, env: Mapping[str, str], faults: list[FieldError]) -> tuple[ChannelSettings, ...]:
    """Read the channels of file and environment, which wins. A package's kind is checked where its channel is made."""
    tables: dict[str, dict[str, object]] = {}
    for name, table in cast("dict[str, object]", given if isinstance(given, dict) else {"channels": given}).items():
        if isinstance(table, dict):
            tables[name] = dict(cast("dict[str, object]", table))
        else:
            faults.append(_fault("channels", f"`channels` in {FILE} must be tables such as [channels.telegram]."))
    variables = {name.removeprefix(CHANNEL): env[name] for name in env if name.startswith(CHANNEL) and env[name]}
    for variable, value in variables.items():
        name, key = _name_and_field(variable, tables)
        tables.setdefault(name, {})[key] = _secret_or_text(value)
    return tuple(_channel(name, table, faults) for name, table in tables.items())


def _name_and_field(variable: str, tables: Mapping[str, object]) -> tuple[str, str]:
    """Cut TELEGRAM_BASE_URL into a channel's name and its field."""
    lower = variable.lower()
    named = [name for name in tables if lower.startswith(f"{name}_")]
    if named:
        name = max(named, key=len)
        return name, lower.removeprefix(f"{name}_")
    known = [key for key in _KNOWN_FIELDS if lower.endswith(f"_{key}")]
    if known:
        key = max(known, key=len)
        return lower.removesuffix(f"_{key}"), key
    name, _, key = lower.partition("_")
    return name, key


def _secret_or_text(value: str) -> object:
    if not value.lstrip().startswith("{"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _channel(name: str, table: Mapping[str, object], faults: list[FieldError]) -> ChannelSettings:
    place, kind = f"The channel {name}", str(table.get("kind") or name)
    if (detail := why_no_channel_name(name, kind)) is not None:
        faults.append(_fault("channels", detail))
    values: dict[str, ChannelValue] = {}
    for key, value in table.items():
        match value:
            case str(text) if text.strip() and key != "kind":
                values[key] = text.strip()
            case {"secret": str(secret)} if len(cast("dict[str, object]", value)) == 1:
                values[key] = {"secret": secret}
            case _ if key != "kind":
                # The value is not shown: it may be a secret.
                faults.append(_fault("channels", f'{place}: {key} must be a text, or {{"secret": "NAME"}}.'))
            case _:
                pass
    if (known := CHANNEL_FIELDS.get(kind)) is not None:
        faults += check_channel_fields(name, values, known)
    return ChannelSettings(name=name, kind=kind, fields=values)


def why_no_channel_name(name: str, kind: str) -> str | None:
    """Say why a channel cannot have this name; None when it can."""
    if _CHANNEL_NAME.fullmatch(name) and (name not in _TAKEN or name == kind == MAIL):
        return None
    taken = ", ".join(sorted(_TAKEN))
    return f"The channel {name} needs another name: small letters, digits and _, and none of {taken}."


def check_channel_fields(name: str, values: Mapping[str, object], known: Mapping[str, bool]) -> list[FieldError]:
    """Say which fields of a channel are unknown or missing."""
    place, all_ = f"The channel {name}", ", ".join(known) or "none"
    faults = [
        _fault("channels", f"{place} has no field {key}; its fields are {all_}.", code="unknown_field")
        for key in values
        if key not in known
    ]
    for key, needed in known.items():
        if needed and key not in values:
            spelled = f"{CHANNEL}{name.upper()}_{key.upper()}"
            faults.append(_fault("channels", f"{place} needs {key}: set {spelled}, or `{key}` in [channels.{name}]."))
    return faults


def _unknown(name: str, spelled: Callable[[str], str]) -> FieldError:
    near = get_close_matches(name, [*_READERS, "home"], n=1)
    hint = f"did you mean {spelled(near[0])}?" if near else "the README lists all of them."
    return _fault(name, f"{spelled(name)} is not a setting; {hint}", code="unknown_field")


def _fault(name: str, detail: str, *, code: str = "invalid") -> FieldError:
    return FieldError(field=name, code=code, detail=detail)


def _host_zone(env: Mapping[str, str], faults: list[FieldError]) -> str:
    """Say which zone this machine keeps: TZ, else where /etc/localtime points; one without either keeps UTC."""
    if named := env.get("TZ", "").removeprefix(":"):
        try:
            return _zone(named)
        except ValueError:
            detail = f"TZ is {named!r}, which is not an IANA time zone: set HOMING_TIMEZONE, such as Europe/Berlin."
            faults.append(_fault("timezone", detail))
    try:
        return _zone(os.path.realpath("/etc/localtime").rpartition("zoneinfo/")[2])
    except ValueError:
        return "UTC"
