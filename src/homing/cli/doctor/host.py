"""Looks at this machine: its clock, its zone data, its disk."""

import asyncio
import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from homing.cli.doctor.findings import Finding, noted, ok, wrong
from homing.cli.home import sqlite_file
from homing.sandbox.errors import NO_PYTHON, NoSandbox
from homing.settings import Settings
from homing.wiring import open_sandbox

_LEAST_FREE = 200_000_000
_LITTLE_FREE = 1_000_000_000
# A summer and a winter offset that every current zone data has.
_PROBE, _SUMMER, _WINTER = "Europe/Berlin", datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)


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
    said = f"bubblewrap {found.version_text} works"
    if not found.whole:
        return noted("Sandbox", f"{said}, but cannot limit /tmp and /dev/shm", "Install bubblewrap 0.8 or newer.")
    return ok("Sandbox", said) if found.python else noted("Sandbox", f"{said}, without network", NO_PYTHON)


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
    if settings.timezone in ("UTC", "Etc/UTC"):
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
    """Name what is for the owner only: token, settings (they may hold keys), the database, and backups in home."""
    database = [] if (file := sqlite_file(settings)) is None else [file, *file.parent.glob(f"{file.name}-*")]
    return [settings.token_file, settings.file, *database, *sorted(settings.home.glob("homing-*.db"))]


def _readable_by_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & 0o077)
    except OSError:
        return False


def made_at(path: Path) -> datetime:
    """Tell when this program's files were put here; a day's grace for clocks of build machines."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC) - timedelta(days=1)
