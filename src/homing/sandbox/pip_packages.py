"""Python packages by uv: wheels only, so that nothing of a package runs while it is looked up or installed.

uv starts the interpreter of the environment that it is pointed at, and an interpreter runs what `.pth` files in it say.
So it is only ever pointed at one that is empty: each environment is filled once, and never looked into again.
"""

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from homing.model.errors import BadPackage
from homing.model.packages import LockedPackage, pip_name
from homing.sandbox.bubblewrap import SEARCHED
from homing.sandbox.environments import BuildFolder
from homing.sandbox.errors import NoSandbox
from homing.sandbox.host_program import HostRan, run_host_program
from homing.sandbox.package_errors import NO_PYTHON, NO_UV, BuildFailed, IndexAway, words_of
from homing.sandbox.package_indexes import uv_environment

_MAX_LOCK = 8 << 20
_LINE = re.compile(r"^([a-z0-9][a-z0-9-]*)==(\S+)", re.MULTILINE)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_YANKED = re.compile(r"^warning: (.* yanked .*)$", re.MULTILINE)
# What uv says when the index has answered, and the answer does not do.
_UNSOLVABLE = re.compile(
    r"No solution found|not found in the package registry|Couldn't parse requirement|no usable wheels"
)
_ABOUT = """
import json, platform, sys, sysconfig
libc = "musl" if "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or "") else "gnu"
print(json.dumps([f"{sys.implementation.name}-{sys.version_info[0]}.{sys.version_info[1]}",
    f"{sys.platform}-{platform.machine()}-{libc}"]))
"""


@dataclass(frozen=True, kw_only=True)
class PipLock:
    text: str
    packages: tuple[LockedPackage, ...]


@dataclass(frozen=True, kw_only=True)
class Uv:
    """uv of this host, for the Python that programs in the sandbox have."""

    program: str
    python: str
    host: Mapping[str, str]

    async def lock(
        self, wanted: Sequence[str], asked: set[str], old: str, build: BuildFolder, seconds: float
    ) -> PipLock:
        """Find a version of everything that is wanted, near to those of an old lock."""
        folder, known = _empty_folder(build.folder / "lookup"), locked_versions(old)
        # By a file: a name on a command line could be read as an option or a path.
        (folder / "requirements.in").write_text("".join(f"{name}\n" for name in wanted), "ascii")
        if known:
            (folder / "pylock.toml").write_text(_preferences(known), "ascii")
        ran = await self._run(
            ["pip", "compile", "requirements.in", "--output-file", "pylock.toml", "--format", "pylock.toml"],
            ["--only-binary", ":all:", "--no-header", "--python", self.python],
            folder=folder,
            build=build,
            seconds=seconds,
        )
        if not ran.well:
            said = words_of(ran.printed, folder)
            if ran.ended == "exit" and _UNSOLVABLE.search(ran.printed):
                raise BadPackage(
                    f"These packages cannot be installed from pip: {said}", field="pip", code="bad_package"
                )
            raise IndexAway(said or f"uv ended by {ran.ended}, {ran.code}")
        if yanked := _YANKED.search(ran.printed):
            said = words_of(yanked[1], folder)
            raise BadPackage(f"{said}. Ask for another version.", field="pip", code="bad_package")
        return _read_pylock(folder / "pylock.toml", known, asked)

    async def install(self, lock: str, build: BuildFolder, seconds: float) -> None:
        """Make an environment and fill it, once."""
        folder = _empty_folder(build.folder / "install")
        (folder / "requirements.txt").write_text(lock, "ascii")
        made = await self._run(
            ["venv", "--relocatable", "--no-project", "--allow-existing", "--python", self.python],
            [str(build.environment)],
            folder=folder,
            build=build,
            seconds=seconds,
        )
        if not made.well:
            raise BuildFailed(f"The environment could not be made: {words_of(made.printed, build.folder)}")
        ran = await self._run(
            ["pip", "sync", "requirements.txt", "--require-hashes", "--only-binary", ":all:", "--no-compile-bytecode"],
            ["--python", str(build.environment / "bin" / "python")],
            folder=folder,
            build=build,
            seconds=seconds,
        )
        yanked = _YANKED.search(ran.printed)
        if not ran.well or yanked:
            raise _not_installed(ran, yanked[1] if yanked else ran.printed, build.folder)

    async def _run(
        self, words: Sequence[str], more: Sequence[str], *, folder: Path, build: BuildFolder, seconds: float
    ) -> HostRan:
        return await run_host_program(
            [self.program, *words, *more],
            folder=folder,
            env=uv_environment(self.host, build.folder / "uv-cache"),
            seconds=seconds,
            is_full=build.is_full,
        )


def find_uv(host: Mapping[str, str]) -> Uv:
    """Find uv and the Python of the sandbox; refuse with the sentence that helps where one is missing."""
    program = _uv_program(host)
    if program is None:
        raise NoSandbox(NO_UV)
    return Uv(program=program, python=find_python(), host=host)


def find_python() -> str:
    """Give the Python that programs in the sandbox see; the one that runs Homing may be in somebody's home."""
    python = shutil.which("python3", path=SEARCHED)
    if python is None:
        raise NoSandbox(NO_PYTHON)
    return python


async def about_python(python: str, folder: Path) -> tuple[str, str]:
    """Say which Python it is and for which platform it takes wheels."""
    ran = await run_host_program([python, "-I", "-S", "-c", _ABOUT], folder=folder, env={}, seconds=30)
    if not ran.well:
        raise NoSandbox(NO_PYTHON)
    version, platform = json.loads(ran.printed)
    return version, platform


def locked_versions(lock: str) -> dict[str, str]:
    return dict(_LINE.findall(lock))


def _uv_program(host: Mapping[str, str]) -> str | None:
    try:
        from uv import find_uv_bin  # noqa: PLC0415 - an extra

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        beside = str(Path(sys.executable).parent)
        return shutil.which("uv", path=f"{beside}:{host.get('PATH') or ''}:{SEARCHED}")


def _empty_folder(folder: Path) -> Path:
    folder.mkdir()
    # Else uv would look for one, or for a pyproject.toml, in the folders above.
    (folder / "uv.toml").touch()
    return folder


def _preferences(known: Mapping[str, str]) -> str:
    """Spell an old lock as the output file that uv finds and stays near to."""
    packages = "".join(
        f"[[packages]]\nname = {json.dumps(name)}\nversion = {json.dumps(version)}\n" for name, version in known.items()
    )
    return f'lock-version = "1.0"\ncreated-by = "homing"\n{packages}'


def _read_pylock(file: Path, known: Mapping[str, str], asked: set[str]) -> PipLock:
    if file.stat().st_size > _MAX_LOCK:
        raise BadPackage("These packages need too many others.", field="pip", code="bad_package")
    found = sorted(tomllib.loads(file.read_text("utf-8")).get("packages", []), key=lambda entry: entry["name"])
    lines, packages = list[str](), list[LockedPackage]()
    for entry in found:
        name, version, wheels = pip_name(entry["name"]), str(entry.get("version", "")), entry.get("wheels", [])
        hashes = sorted({wheel.get("hashes", {}).get("sha256", "") for wheel in wheels})
        if not version or not hashes or not all(map(_SHA256.fullmatch, hashes)):
            detail = f"The index gives no wheel of {name} with a sha256 hash, so it cannot be installed."
            raise BadPackage(detail, field="pip", code="bad_package")
        lines.append(" \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{digest}" for digest in hashes)]))
        packages.append(
            LockedPackage(
                manager="pip",
                name=name,
                version=version,
                bytes=max(sizes) if (sizes := _known(wheels, "size", int)) else None,
                published_at=max(times) if (times := _known(wheels, "upload-time", datetime)) else None,
                new=known.get(name) != version,
                asked=name in asked,
            )
        )
    return PipLock(text="".join(f"{line}\n" for line in lines), packages=tuple(packages))


def _known(wheels: Iterable[Mapping[str, Any]], field: str, kind: type) -> list[Any]:
    found = (wheel.get(field) for wheel in wheels)
    return [value for value in found if isinstance(value, kind) and getattr(value, "tzinfo", True)]


def _not_installed(ran: HostRan, said: str, folder: Path) -> BuildFailed:
    if ran.ended == "timeout":
        return BuildFailed("Installing the packages took too long.")
    if ran.ended == "full":
        return BuildFailed("The packages take up too much room.", permanent=True)
    return BuildFailed(f"pip: {words_of(said, folder)}")
