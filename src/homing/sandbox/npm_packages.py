"""JavaScript packages by npm: from registries only, each with its integrity hash, and no script of a package is run."""

import json
import platform
import re
import shutil
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from homing.model.errors import BadPackage
from homing.model.packages import LockedPackage, canonical, npm_parts
from homing.sandbox.bubblewrap import SEARCHED
from homing.sandbox.environments import BuildFolder
from homing.sandbox.errors import NoSandbox
from homing.sandbox.host_program import HostRan, run_host_program
from homing.sandbox.package_errors import NO_NPM, BuildFailed, IndexAway, words_of
from homing.sandbox.package_indexes import npm_environment

_NAME = "homing-environment"
_MAX_LOCK = 8 << 20
_CONFIG_SECONDS = 30.0
_MODULES = "node_modules/"
_PROVES = ("sha512-", "sha384-", "sha256-")
# What `npm ci` works by; addresses, licences and the like are left out.
_KEPT = frozenset(
    "name version integrity bin os cpu libc dev optional devOptional peer inBundle bundleDependencies dependencies"
    " optionalDependencies peerDependencies peerDependenciesMeta hasInstallScript".split()
)
_CODE = re.compile(r"^npm error code (\S+)", re.MULTILINE)
_PREFIX = re.compile(r"^npm (error|warn) ?(404|notarget|code|ERESOLVE)?\s*")
_ADVICE = re.compile(
    r"Log files|complete log|Note that you can|tarball, folder|In most cases|doesn't exist\.$|npm warn"
)
_OUR_DATE = re.compile(r" with a date before .*?(?=\.$|$)")
_ANSWERED = {"E404", "ETARGET", "ENOVERSIONS", "ERESOLVE", "EINVALIDPACKAGENAME", "EINVALIDTAGNAME", "EBADPLATFORM"}
_ADDRESSED = {"EALLOWGIT", "EALLOWREMOTE", "EALLOWFILE", "EALLOWDIRECTORY", "EUNSUPPORTEDPROTOCOL"}


@dataclass(frozen=True, kw_only=True)
class NpmLock:
    text: str
    packages: tuple[LockedPackage, ...]


@dataclass(frozen=True, kw_only=True)
class Npm:
    """npm of this host."""

    program: str
    host: Mapping[str, str]

    async def lock(
        self, wanted: Sequence[str], asked: set[str], old: str, build: BuildFolder, seconds: float, now: datetime
    ) -> NpmLock:
        """Find a version of everything that is wanted; what an old lock has stays where it can."""
        folder, known = build.folder / "npm-lookup", _versions(old)
        folder.mkdir()
        (folder / "package.json").write_text(canonical(_package(wanted)), "ascii")
        if old:
            (folder / "package-lock.json").write_text(old, "ascii")
        ran = await self._run(
            ["install", "--package-lock-only", *await self._before(now, folder, build)], folder, build, seconds
        )
        if not ran.well:
            raise _not_found(ran, folder)
        file = folder / "package-lock.json"
        if file.stat().st_size > _MAX_LOCK:
            raise _bad("These packages need too many others.")
        entries: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))["packages"]
        kept = {place: _kept(place, entry) for place, entry in entries.items()}
        text = canonical({"name": _NAME, "lockfileVersion": 3, "requires": True, "packages": kept})
        stories = _stories(build.folder / "npm-cache")
        return NpmLock(text=text, packages=tuple(_shown(kept, known, asked, stories)))

    async def install(self, wanted: Sequence[str], lock: str, build: BuildFolder, seconds: float) -> None:
        """Install a lock into an environment that has no npm packages yet."""
        # Not in the environment itself: a wheel may have put settings for npm there.
        folder = build.folder / "npm-install"
        folder.mkdir()
        (folder / "package.json").write_text(canonical(_package(wanted)), "ascii")
        (folder / "package-lock.json").write_text(lock, "ascii")
        ran = await self._run(["ci"], folder, build, seconds)
        if ran.ended == "timeout":
            raise BuildFailed("Installing the packages took too long.")
        if ran.ended == "full":
            raise BuildFailed("The packages take up too much room.", permanent=True)
        if not ran.well:
            raise BuildFailed(f"npm: {_words(ran.printed, build.folder)}")
        if (build.environment / "node_modules").exists():
            raise BuildFailed("A Python package brings a node_modules folder of its own.", permanent=True)
        if (folder / "node_modules").is_dir():
            (folder / "node_modules").rename(build.environment / "node_modules")

    async def _before(self, now: datetime, folder: Path, build: BuildFolder) -> list[str]:
        """With a date npm asks for all about a package, which has the times; one that the host has set stays."""
        ran = await self._run(["config", "get", "before", "min-release-age"], folder, build, _CONFIG_SECONDS)
        if ran.printed.count("=null") < 2:
            return []
        return ["--before", now.astimezone(UTC).isoformat().replace("+00:00", "Z")]

    async def _run(self, words: Sequence[str], folder: Path, build: BuildFolder, seconds: float) -> HostRan:
        return await run_host_program(
            [self.program, *words, "--ignore-scripts"],
            folder=folder,
            env=npm_environment(self.host, build.folder / "npm-cache"),
            seconds=seconds,
            is_full=build.is_full,
        )


def find_npm(host: Mapping[str, str]) -> Npm:
    """Find npm and the node that programs in the sandbox see, or refuse with the sentence that helps."""
    npm, node = (shutil.which(name, path=SEARCHED) for name in ("npm", "node"))
    if npm is None or node is None:
        raise NoSandbox(NO_NPM)
    return Npm(program=npm, host=host)


def _package(wanted: Sequence[str]) -> dict[str, object]:
    return {"name": _NAME, "version": "0.0.0", "private": True, "dependencies": dict(map(npm_parts, wanted))}


def _kept(place: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Take what installs a package, or refuse one that does not come from a registry with a hash."""
    kept = {field: value for field, value in entry.items() if field in _KEPT}
    if place == "":
        return kept
    name = place.rpartition(_MODULES)[2]
    # npm leaves the address out where it is the registry's own.
    if entry.get("link") or "resolved" in entry or not place.startswith(_MODULES):
        raise _bad(f"{name:.200} comes from an address or a folder and not from a registry, so it cannot be installed.")
    hashes = str(entry.get("integrity", "")).split()
    # Of several hashes npm checks the strongest.
    if not entry.get("inBundle") and not any(one.startswith(_PROVES) for one in hashes):
        which = "only a hash that proves nothing (SHA-1)" if hashes else "no hash"
        raise _bad(f"The registry gives {which} of {name:.200}, so it cannot be installed.")
    return kept


def _shown(
    entries: Mapping[str, Mapping[str, Any]],
    known: set[tuple[str, str]],
    asked: set[str],
    stories: Mapping[str, Mapping[str, Any]],
) -> Iterable[LockedPackage]:
    here = dict[tuple[str, str], str]()
    for place, entry in entries.items():
        if place and _fits(entry):
            # An alias has its own name in the entry.
            here[str(entry.get("name") or place.rpartition(_MODULES)[2]), str(entry["version"])] = place
    for (name, version), place in sorted(here.items()):
        story = stories.get(name, {})
        yield LockedPackage(
            manager="npm",
            name=name,
            version=version,
            bytes=_size(story, version),
            published_at=_time(story, version),
            new=(name, version) not in known,
            asked=name in asked and place == f"{_MODULES}{name}",
        )


def _versions(lock: str) -> set[tuple[str, str]]:
    entries: dict[str, dict[str, Any]] = json.loads(lock)["packages"] if lock else {}
    return {(e.get("name") or place.rpartition(_MODULES)[2], e["version"]) for place, e in entries.items() if place}


def _fits(entry: Mapping[str, Any]) -> bool:
    """Say whether a package is for this machine: others are in the lock too, and are not installed."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return all(
        here in allowed if any(not word.startswith("!") for word in allowed) else f"!{here}" not in allowed
        for field, here in (("os", "linux"), ("cpu", machine))
        if (allowed := entry.get(field, []))
    )


def _stories(cache: Path) -> dict[str, Mapping[str, Any]]:
    """Read what registries have said about packages from npm's cache: the lock has neither sizes nor times.

    Where a cache looks otherwise, nothing is known, and nothing else is lost.
    """
    stories: dict[str, Mapping[str, Any]] = {}
    for index in (cache / "_cacache" / "index-v5").glob("*/*/*"):
        for line in index.read_text("utf-8", errors="replace").splitlines():
            try:
                integrity = json.loads(line.partition("\t")[2])["integrity"]
                digest = _hex(integrity)
                content = cache / "_cacache/content-v2/sha512" / digest[:2] / digest[2:4] / digest[4:]
                with content.open("rb") as file:
                    story: Any = json.load(file) if file.read(1) == b"{" and not file.seek(0) else {}
                    stories[str(story["name"])] = story
            except (ValueError, KeyError, TypeError, OSError):
                continue
    return stories


def _hex(integrity: str) -> str:
    return b64decode(integrity.removeprefix("sha512-"), validate=True).hex()


def _size(story: Mapping[str, Any], version: str) -> int | None:
    try:
        size = story["versions"][version]["dist"]["unpackedSize"]
    except (KeyError, TypeError):
        return None
    return size if isinstance(size, int) else None


def _time(story: Mapping[str, Any], version: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(story["time"][version])
    except (KeyError, TypeError, ValueError):
        return None
    return at if at.tzinfo else None


def _not_found(ran: HostRan, folder: Path) -> BadPackage | IndexAway:
    code = found[1] if (found := _CODE.search(ran.printed)) else ""
    said = _words(ran.printed, folder)
    if ran.ended == "exit" and code in _ADDRESSED:
        return _bad("One of them needs a package that comes from an address and not from a registry.")
    if ran.ended == "exit" and code in _ANSWERED:
        return _bad(said)
    return IndexAway(said or f"npm ended by {ran.ended}, {ran.code}")


def _words(printed: str, folder: Path) -> str:
    """Take the lines that say what is wrong; npm adds its code to each, and advice that does not apply here."""
    lines = [line for line in printed.splitlines() if not _ADVICE.search(line)]
    return words_of("\n".join(_OUR_DATE.sub("", _PREFIX.sub("", line)) for line in lines), folder)


def _bad(said: str) -> BadPackage:
    return BadPackage(f"These packages cannot be installed from npm: {said}", field="npm", code="bad_package")
