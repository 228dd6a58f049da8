"""The processes of commands that run in sandboxes, as the machine sees them."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from torture.model import sleeper

_PROC = Path("/proc")


def sleeping(folder: Path) -> list[int]:
    """Find processes that commands of this campaign started: each sleeps for an hour, unless it is ended."""
    return list(_words(folder))


def lasting(folder: Path) -> list[int]:
    """Find those whose command goes on until it is ended: it sleeps as long as what it left in the background."""
    words, found = _words(folder), list[int]()
    for pid, line in words.items():
        with suppress(OSError, ValueError):
            if words.get(_parent(pid)) == line:
                found.append(pid)
    return found


def _words(folder: Path) -> dict[int, bytes]:
    name, found = sleeper(str(folder)).encode() + b"\0", dict[int, bytes]()
    for path in _PROC.glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if (line := path.read_bytes()).startswith(name):
                found[int(path.parent.name)] = line
    return found


def ancestor_of(pid: int, among: Collection[int]) -> int | None:
    """Find which of these processes a process descends from."""
    with suppress(OSError, ValueError):
        while pid > 1 and pid not in among:
            pid = _parent(pid)
    return pid if pid in among else None


def _parent(pid: int) -> int:
    # The second field, the name, may hold anything; the parent stands two behind its last bracket.
    return int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
