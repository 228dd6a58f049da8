"""Packages of agents: looked up into a lock, and built from one into a folder that programs read in the sandbox.

Nothing of a package runs here, outside the sandbox: wheels only, no install scripts, and nobody starts the Python of an
environment that has been filled.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from homing.model.packages import LockedPackage, PackageLock, PackageRequest, Resolved, npm_name, pip_name
from homing.sandbox.environments import (
    GRACE_SECONDS,
    MAX_ENVIRONMENT,
    BuildFolder,
    Environments,
    open_to_all,
    used_bytes,
)
from homing.sandbox.npm_packages import find_npm
from homing.sandbox.package_errors import BuildFailed
from homing.sandbox.pip_packages import about_python, find_python, find_uv
from homing.sandbox.running import outlast
from homing.sandbox.share import Share

RESOLVE_SECONDS = 120.0
BUILD_SECONDS = 900.0


@dataclass(frozen=True, kw_only=True)
class Packages:
    """The package environments of a share, with the uv, npm and index settings of this host."""

    share: Share
    host: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    """The environment variables that uv and npm are set up by; only those of theirs are passed on."""
    max_bytes: int = MAX_ENVIRONMENT

    @property
    def _environments(self) -> Environments:
        return Environments(folder=self.share.folder / "environments")

    async def resolve(self, request: PackageRequest, base: PackageLock | None, now: datetime) -> Resolved:
        """Find out what exactly would be installed for a request beside what `base` has; nothing is installed.

        `BadPackage` when it cannot be had in this way, `IndexAway` when the index could not be asked, `NoSandbox` where
        uv, node or npm is missing.
        """
        wanted_pip, wanted_npm = request.wanted_pip(base), request.wanted_npm(base)
        pip_text, npm_text, packages = "", "", list[LockedPackage]()
        async with self._building() as build:
            python, platform = await about_python(find_python(), build.folder)
            if wanted_pip:
                asked = set(map(pip_name, request.pip))
                old = base.pip_lock if base and (base.python, base.platform) == (python, platform) else ""
                pip = await find_uv(self.host).lock(wanted_pip, asked, old, build, RESOLVE_SECONDS)
                pip_text, packages = pip.text, [*packages, *pip.packages]
            if wanted_npm:
                asked = set(map(npm_name, request.npm))
                old = base.npm_lock if base else ""
                npm = await find_npm(self.host).lock(wanted_npm, asked, old, build, RESOLVE_SECONDS, now)
                npm_text, packages = npm.text, [*packages, *npm.packages]
        lock = PackageLock(
            pip=wanted_pip,
            npm=wanted_npm,
            apt=request.apt,
            pip_lock=pip_text,
            npm_lock=npm_text,
            python=python,
            platform=platform,
            base=base.digest if base else None,
        )
        return Resolved(lock=lock, packages=tuple(packages))

    async def build(self, lock: PackageLock, *, seconds: float = BUILD_SECONDS) -> str:
        """Build the environment of a lock if it is not here, and give its digest.

        `BuildFailed` with the index's words when it cannot be built: then nothing has changed. Killed at any point it
        leaves a folder without a digest, for `sweep`.
        """
        if await asyncio.to_thread(self._environments.refresh, lock.digest):
            return lock.digest
        try:
            async with asyncio.timeout(seconds), self._building() as build:
                await self._fill(lock, build, seconds)
                await _in_thread(self._keep, lock, build)
        except TimeoutError:
            raise BuildFailed(f"Installing the packages took longer than {seconds / 60:.0f} minutes.") from None
        return lock.digest

    def environment(self, digest: str) -> Path | None:
        """Give the folder of an environment if it is on this machine; programs are run with it."""
        return self._environments.find(digest)

    def sweep(self, keep: AbstractSet[str], *, grace_seconds: float = GRACE_SECONDS) -> list[str]:
        """Remove dead builds, and environments that are not in `keep`, in use, or built within the grace.

        Gives the names of the folders removed. Takes as long as the deletion: call it in a thread.
        """
        return self._environments.sweep(keep, grace_seconds=grace_seconds)

    async def _fill(self, lock: PackageLock, build: BuildFolder, seconds: float) -> None:
        here = await about_python(find_python(), build.folder)
        if here != (lock.python, lock.platform):
            made, found = f"{lock.python} on {lock.platform}", f"{here[0]} on {here[1]}"
            detail = f"The packages were looked up for {made}, and this machine has {found}: ask for them again."
            raise BuildFailed(detail, permanent=True)
        if lock.pip_lock:
            await find_uv(self.host).install(lock.pip_lock, build, seconds)
        if lock.npm_lock:
            await find_npm(self.host).install(lock.npm, lock.npm_lock, build, seconds)

    def _keep(self, lock: PackageLock, build: BuildFolder) -> None:
        size = used_bytes(build.environment)
        if size > self.max_bytes:
            have, may = size >> 20, self.max_bytes >> 20
            raise BuildFailed(
                f"The packages take up {have} MB, and an environment has at most {may} MB.", permanent=True
            )
        open_to_all(build.environment)
        self._environments.keep(build, lock.digest)

    @asynccontextmanager
    async def _building(self) -> AsyncGenerator[BuildFolder]:
        """Give a folder to build in, and remove it afterwards. A disk that is full or broken fails the build."""
        try:
            build = self._environments.start_build()
            try:
                yield build
            finally:
                await _in_thread(self._environments.discard, build)
        except OSError as error:
            raise BuildFailed(f"The packages cannot be written: {error.strerror}.") from error


async def _in_thread(work: Callable[..., None], *given: object) -> None:
    """Work in a thread to the end, even if we are cancelled meanwhile: what it works on is removed afterwards."""
    working = asyncio.ensure_future(asyncio.to_thread(work, *given))
    try:
        await asyncio.shield(working)
    finally:
        await outlast(working)
