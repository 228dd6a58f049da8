"""Which home on which machine a process belongs to: it decides what may be sent to loopback (ADR 0024)."""

import hashlib
import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from homing.model.addresses import names_loopback

_KEPT_IN = "place"
_MACHINE = Path("/etc/machine-id")


def points_here(url: str) -> bool:
    """Say whether a URL names loopback literally."""
    return names_loopback(urlsplit(url).hostname or "")


def instance_id(home: Path) -> str | None:
    """Name a home on this machine, alike for each of its processes; None where nothing can be kept."""
    try:
        kept = _kept(home / _KEPT_IN)
    except OSError:
        return None
    try:
        machine = _MACHINE.read_text().strip()
    except OSError:
        machine = ""
    # Of both: a home may be copied or shared by machines, and machines may be copies of one image.
    return hashlib.sha256(f"{kept}:{machine}".encode()).hexdigest()[:32]


def _kept(path: Path) -> str:
    if not path.exists():
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        file = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.write(file, secrets.token_hex(16).encode())
        finally:
            os.close(file)
        try:
            # Whole or not at all, and the first one stays.
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text().strip()
