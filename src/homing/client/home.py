"""How a command finds the running server of its home, and the token that it sends.

`server.json` is true while it is locked: a killed server's lock dies with it, so a stale address is never believed,
and a token never sent to another process that took the port afterwards.
"""

import fcntl
import json
from contextlib import suppress

from homing.settings import Settings

ANNOUNCED = "server.json"


def known_token(settings: Settings) -> str | None:
    """Tell the token that commands send: the setting's, else the one in home."""
    if settings.token:
        return settings.token
    with suppress(FileNotFoundError, NotADirectoryError):
        return settings.token_file.read_text("utf-8").strip() or None
    return None


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


def server_url(settings: Settings) -> str | None:
    """Tell which server commands ask: HOMING_URL's, else this home's if one is running."""
    return settings.url or announced_url(settings)


def _is_locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(handle, fcntl.LOCK_UN)
    return False
