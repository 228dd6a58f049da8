"""Where a program given by an administrator lies, and what of this machine the sandbox must show for it to run.

Only what belongs to it is shown: a virtual environment with the interpreter and library of the Python that it was made
from, a `node_modules` folder, or the file alone. Never a folder that is or holds a home, or all of its `.local`.
"""

import os
import pwd
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from homing.model.errors import Invalid
from homing.sandbox.bubblewrap import SEARCHED, SYSTEM
from homing.sandbox.environments import search_path

_LINKS = 8


@dataclass(frozen=True, kw_only=True)
class Command:
    """A program by its own path, and the folders that it needs beside the system."""

    path: Path
    reads: tuple[Path, ...]
    environment: Path | None = None
    """The agent's packages, which it may be one of."""
    system_first: bool = False
    """A program of a package does not stand in for one of the system's."""

    @property
    def search_path(self) -> str:
        """The PATH inside: what lies beside the program comes first, as in an activated environment."""
        last = SEARCHED
        if self.environment is not None:
            last = search_path(self.environment, system_first=self.system_first)
        return last if not self.reads else f"{self.path.parent}:{last}"


def find_command(
    name: str, *, private: Sequence[Path], environment: Path | None = None, system_first: bool = False
) -> Command:
    """Find a program, first among the agent's packages and then on this machine (with `system_first` the other way
    round), or refuse with the sentence that helps. Nothing around `private` is shown but the environment itself.
    """
    if environment is not None and "/" not in name:
        found = shutil.which(name, path=search_path(environment, system_first=system_first))
        if found is not None and Path(found).is_relative_to(environment):
            return Command(path=Path(found), reads=(), environment=environment, system_first=system_first)
    found = shutil.which(name, path=SEARCHED)
    if found is None:
        where = f": name it by its whole path, or install it into one of {SEARCHED.replace(':', ', ')}"
        raise _invalid(f"There is no program {name:.200} on this machine{'' if '/' in name else where}.")
    path = Path(found)
    if not path.is_absolute():
        raise _invalid(f"{name:.200} is not a whole path, nor a name in {SEARCHED.replace(':', ', ')}.")
    reads = tuple(dict.fromkeys(_reads(path)))
    homes = _homes() if reads else []
    for shown in reads:
        if any(_overlap(shown, kept) for kept in private) or any(_holds(shown, home) for home in homes):
            raise _invalid(
                f"{name:.200} is in Homing's or a user's private folder: the sandbox would have to show {shown}."
                " Install it into a folder of its own."
            )
    return Command(path=path, reads=reads, environment=environment, system_first=system_first)


def _reads(path: Path) -> Iterable[Path]:
    """Follow the links of a program, and say what each of its places needs."""
    for _ in range(_LINKS):
        if not _in_system(path):
            yield from _around(path)
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))


def _around(path: Path) -> Iterable[Path]:
    if "node_modules" in path.parts:
        yield Path(*path.parts[: path.parts.index("node_modules") + 1])
        return
    environment = next((parent for parent in path.parents if (parent / "pyvenv.cfg").is_file()), None)
    if environment is None:
        yield path
        return
    yield environment
    for python in (environment / "bin" / "python").resolve(), (environment / "bin" / "python3").resolve():
        # PREFIX/bin/python3.11: the Python that the environment was made from, with its library.
        if python.is_file() and not _in_system(python) and python.parent.name == "bin":
            yield from _base_python(environment, python.parent.parent)


def _base_python(environment: Path, prefix: Path) -> Iterable[Path]:
    """Of a Python, show what an environment needs: its prefix may be /opt, or somebody's ~/.local."""
    yield from sorted(prefix.glob("bin/python*"))
    for library in sorted(environment.glob("lib/python*")):
        if (prefix / "lib" / library.name).is_dir():
            yield prefix / "lib" / library.name
    yield from sorted(found for found in prefix.glob("lib/*.so*") if found.is_file())


def _in_system(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in SYSTEM)


def _overlap(shown: Path, kept: Path) -> bool:
    shown, kept = shown.resolve(), kept.resolve()
    return shown.is_relative_to(kept) or kept.is_relative_to(shown)


def _homes() -> list[Path]:
    entries = [Path(entry.pw_dir) for entry in pwd.getpwall()]
    known = {Path.home(), Path("/root"), *Path("/home").glob("*"), *filter(Path.is_absolute, entries)}
    return [home.resolve() for home in known]


def _holds(shown: Path, home: Path) -> bool:
    """Say whether a home, or the whole of its `.local`, would be seen."""
    return (home / ".local").is_relative_to(shown.resolve())


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, field="command", code="out_of_range")
