"""What a run was made on."""

import os
import platform
import sqlite3
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("homing", "SQLAlchemy", "psycopg", "APScheduler", "dbos", "croniter")


def load() -> float:
    """Tell how busy the machine was in the last minute."""
    return os.getloadavg()[0]


def machine(postgres: str, load_then: float, minutes: float, rounds: int) -> str:
    """Tell machine, versions and command, in one paragraph."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"Made by `make bench` on {datetime.now(UTC):%Y-%m-%d} in {minutes:.0f} minutes: {os.cpu_count()} cores"
        f" ({_processor()}), load {load_then:.1f} at the start; Python {platform.python_version()}, SQLite"
        f" {sqlite3.sqlite_version}, PostgreSQL {postgres}; {packages}. Medians of {rounds} rounds in turn where peers"
        " are compared; the others once."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
