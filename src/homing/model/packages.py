"""Packages of an agent: which names may be asked for, and the lock that a person says yes to. Pure.

A lock is what is shown, stored and installed: every package with its hash, and no address of an index.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, cast

from homing.model.errors import BadPackage, FieldError

Manager = Literal["pip", "npm"]

MAX_NAMES = 20
MAX_WHOLE = 100
"""Names of all that an agent has."""
MAX_NAME = 120
YOUNG = timedelta(days=7)

_RELEASE = r"(?:\d+!)?\d+(?:\.\d+)*"
_VERSION = rf"{_RELEASE}(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?"
_CLAUSE = rf"(?:(?:==|!=)(?:{_RELEASE}\.\*|{_VERSION})|(?:>=|<=|<|~=){_VERSION})"
_WORD = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_PIP = re.compile(rf"({_WORD})(?:\[{_WORD}(?:,{_WORD})*\])?(?:{_CLAUSE}(?:,{_CLAUSE})*)?", re.ASCII)
_NPM_WORD = r"[a-z0-9][a-z0-9._~-]*"
_NPM_VERSION = r"\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?|\d+(?:\.\d+)?\.x"
_NPM = re.compile(rf"((?:@{_NPM_WORD}/)?{_NPM_WORD})(?:@((?:\^|~|>=|<=|<|=)?(?:{_NPM_VERSION})))?", re.ASCII)
# apt reads `name-` as "remove it".
_APT = re.compile(r"([a-z0-9](?:[a-z0-9+.-]*[a-z0-9+.])?)", re.ASCII)
# A name may look like a file, and uv and npm would then open one.
_FILES = re.compile(r"(?i)\.(whl|egg|zip|tar|tgz|tbz|txz|gz|bz2|xz|zst|lzma|deb)(\[|[=<>!~@]|$)")
_HOW = {
    "pip": "a name with at most extras and versions (== >= <= < ~= !=), such as requests or pandas[excel]>=2,<3",
    "npm": "a name with at most a version or range (^ ~ >= <= < = or .x), such as left-pad or @types/node@^22",
    "apt": "a name, such as jq",
}


@dataclass(frozen=True, kw_only=True)
class PackageRequest:
    """Names that somebody asks for. One that cannot be a plain package of the index is refused, all faults together."""

    pip: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    apt: tuple[str, ...] = ()
    whole: bool = False
    """These are all that the agent is to have, and the others go; else they are wanted beside what it has."""

    def __post_init__(self) -> None:
        given = {"pip": self.pip, "npm": self.npm, "apt": self.apt}
        number = sum(map(len, given.values()))
        least, most = (0, MAX_WHOLE) if self.whole else (1, MAX_NAMES)
        if not least <= number <= most:
            what = f"An agent has at most {most} packages" if self.whole else f"Ask for 1 to {most} packages at once"
            raise BadPackage(f"{what}; these are {number}.", field="pip", code="out_of_range")
        faults = [fault for field, names in given.items() for fault in _faults(field, names)]
        if faults:
            raise BadPackage(" ".join(fault.detail for fault in faults), errors=tuple(faults))

    def joined(self, later: "PackageRequest") -> "PackageRequest":
        """Give one request for what both ask for; a name in both is wanted as it was asked for later."""
        return PackageRequest(
            pip=_union(self.pip, later.pip, pip_name),
            npm=_union(self.npm, later.npm, npm_name),
            apt=_union(self.apt, later.apt),
        )

    def wanted_pip(self, base: "PackageLock | None") -> tuple[str, ...]:
        """Give what an environment with these names beside those of `base` has to have from pip."""
        return _union(base.pip if base and not self.whole else (), self.pip, pip_name)

    def wanted_npm(self, base: "PackageLock | None") -> tuple[str, ...]:
        """The same for npm."""
        return _union(base.npm if base and not self.whole else (), self.npm, npm_name)


@dataclass(frozen=True, kw_only=True)
class LockedPackage:
    """A package of a lock, as a person sees it. None is what the index does not tell."""

    manager: Manager
    name: str
    version: str
    bytes: int | None
    published_at: datetime | None
    new: bool
    """Not in the environment that the lock builds on, or there in another version."""
    asked: bool
    """Named in the request; the others are what these need."""

    def is_young(self, now: datetime) -> bool | None:
        """Say whether it was published within the last 7 days; None where its age is not known."""
        return None if self.published_at is None else now - self.published_at < YOUNG

    def plain(self) -> dict[str, object]:
        published = self.published_at and self.published_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return {**vars(self), "published_at": published}

    @classmethod
    def read(cls, plain: Mapping[str, object]) -> "LockedPackage":
        published = plain["published_at"]
        at = datetime.fromisoformat(published) if isinstance(published, str) else None
        return cls(**cast("dict[str, str]", {**plain, "published_at": at}))  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True, kw_only=True)
class PackageLock:
    """Exactly what an environment is built from."""

    pip: tuple[str, ...]
    """Wanted names, of this request and of those before it."""
    npm: tuple[str, ...]
    apt: tuple[str, ...]
    """Only shown: nothing here installs them."""
    pip_lock: str
    """A requirements file with a hash for each file; empty without packages."""
    npm_lock: str
    """A package-lock.json without addresses; empty without packages."""
    python: str
    platform: str
    base: str | None
    """Digest of the environment that it builds on."""

    @property
    def digest(self) -> str:
        """Name the environment: the same packages for the same Python and platform are one, no matter who asked."""
        built = {"pip": self.pip_lock, "npm": self.npm_lock, "python": self.python, "platform": self.platform}
        return f"sha256:{hashlib.sha256(canonical(built).encode()).hexdigest()}"

    @property
    def is_empty(self) -> bool:
        """Say whether there is nothing to build."""
        return not self.pip_lock and not self.npm_lock

    def plain(self) -> dict[str, object]:
        """Give it as JSON."""
        return {name: list(cast("tuple[str]", v)) if isinstance(v, tuple) else v for name, v in vars(self).items()}

    @classmethod
    def read(cls, plain: Mapping[str, object]) -> "PackageLock":
        """Read what `plain` gave."""
        given = {name: tuple(cast("list[str]", v)) if isinstance(v, list) else v for name, v in plain.items()}
        return cls(**cast("dict[str, str]", given))  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A lock, and what a person is shown of it."""

    lock: PackageLock
    packages: tuple[LockedPackage, ...]
    """In the order pip, npm, each by name."""

    @property
    def total_bytes(self) -> int | None:
        """Size of all that would be fetched; None where the index does not tell it of every package."""
        sizes = [package.bytes for package in self.packages]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def young(self, now: datetime) -> tuple[LockedPackage, ...]:
        """Give the new ones that were published within the last 7 days."""
        return tuple(package for package in self.packages if package.new and package.is_young(now))

    def of_unknown_age(self) -> tuple[LockedPackage, ...]:
        """Give the new ones whose age the index does not tell."""
        return tuple(package for package in self.packages if package.new and package.published_at is None)

    def plain(self) -> dict[str, object]:
        """Give it as JSON."""
        return {"lock": self.lock.plain(), "packages": [package.plain() for package in self.packages]}

    @classmethod
    def read(cls, plain: Mapping[str, object]) -> "Resolved":
        """Read what `plain` gave."""
        packages = cast("list[dict[str, object]]", plain["packages"])
        lock = PackageLock.read(cast("dict[str, object]", plain["lock"]))
        return cls(lock=lock, packages=tuple(map(LockedPackage.read, packages)))


def names_gone(request: PackageRequest, base: PackageLock | None) -> tuple[str, ...]:
    """Name what an agent has and would not have any more."""
    if base is None:
        return ()
    pip, npm = set(map(pip_name, request.wanted_pip(base))), set(map(npm_name, request.wanted_npm(base)))
    gone_pip = (f"pip {name}" for name in base.pip if pip_name(name) not in pip)
    return (*gone_pip, *(f"npm {name}" for name in base.npm if npm_name(name) not in npm))


def canonical(value: object) -> str:
    """Spell JSON in the one way that digests are made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def pip_name(requirement: str) -> str:
    """Give the name of a requirement as indexes compare it."""
    found = _PIP.fullmatch(requirement)
    return re.sub(r"[-_.]+", "-", found[1] if found else requirement).lower()


def npm_parts(wanted: str) -> tuple[str, str]:
    """Give the name and the range that is wanted of it; without one, any release."""
    found = _NPM.fullmatch(wanted)
    if found is None:
        raise BadPackage(f"{wanted!a} is not an npm package.", field="npm", code="bad_package")
    return found[1], found[2] or "*"


def npm_name(wanted: str) -> str:
    return npm_parts(wanted)[0]


def npm_name_in(wanted: str) -> str:
    """Give the name of what somebody wrote; what is not a package is its own."""
    found = _NPM.fullmatch(wanted)
    return found[1] if found else wanted


def _union(old: Sequence[str], new: Sequence[str], name_of: Callable[[str], str] = str) -> tuple[str, ...]:
    """Add names to a list, in its order; one that is there already is wanted as it was asked for last."""
    return tuple({name_of(wanted): wanted for wanted in (*old, *new)}.values())


def _faults(field: str, names: Iterable[str]) -> Iterable[FieldError]:
    pattern = {"pip": _PIP, "npm": _NPM, "apt": _APT}[field]
    for name in names:
        if len(name) > MAX_NAME or not pattern.fullmatch(name) or _FILES.search(name) or name == "node_modules":
            shown = ascii(name[:MAX_NAME])
            detail = f"{shown} cannot be asked for from {field}: give {_HOW[field]}; no address, path, file or option."
            yield FieldError(field=field, code="bad_package", detail=detail)
