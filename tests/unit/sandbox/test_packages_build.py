"""An environment is whole or not there: whatever fails or is killed, the old one stays as it is, byte by byte."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from homing.model.packages import PackageLock, PackageRequest
from homing.sandbox.environments import holding, name_of
from homing.sandbox.errors import NoSandbox
from homing.sandbox.package_errors import BuildFailed, IndexAway
from homing.sandbox.packages import Packages
from homing.sandbox.pip_packages import find_uv
from support.package_index import PackageIndex

NOW = datetime.now(UTC)
TESTS = Path(__file__).parents[2]
ROOT = TESTS.parent
# A uid that nothing here has.
OTHER_UID = 1899999999


def tree(folder: Path | None) -> dict[str, tuple[int, str]]:
    """Everything in a folder: its mode, and its content or where it leads."""
    assert folder is not None
    found: dict[str, tuple[int, str]] = {}
    for path in sorted(folder.rglob("*")):
        content = str(path.readlink()) if path.is_symlink() else ""
        if not content and path.is_file():
            content = sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, content)
    return found


def files(packages: Packages) -> set[str]:
    return {path.name for path in (packages.share.folder / "environments").iterdir()} - {".lock"}


def names(*digests: str) -> set[str]:
    return {name for digest in digests for name in (name_of(digest), f"{name_of(digest)}.lock")}


async def locked(packages: Packages, base: PackageLock | None = None, **names: Any) -> PackageLock:
    return (await packages.resolve(PackageRequest(**names), base, NOW)).lock


@pytest.fixture
async def old(packages: Packages, index: PackageIndex) -> PackageLock:
    """An environment that is there already."""
    index.add_wheel("alpha")
    lock = await locked(packages, pip=("alpha",))
    assert await packages.build(lock) == lock.digest
    return lock


@pytest.fixture
async def new(packages: Packages, index: PackageIndex, old: PackageLock) -> PackageLock:
    """A lock that builds on the old one, and is not built yet."""
    index.add_wheel("beta")
    return await locked(packages, old, pip=("beta",))


@pytest.fixture
async def mixed(packages: Packages, index: PackageIndex, old: PackageLock) -> PackageLock:
    """The same with packages of npm."""
    index.add_wheel("beta")
    index.add_npm("right")
    return await locked(packages, old, pip=("beta",), npm=("right",))


async def test_an_environment_is_named_by_its_lock_and_built_once(
    packages: Packages, index: PackageIndex, old: PackageLock
) -> None:
    index.asked.clear()

    assert await packages.build(old) == old.digest
    assert index.asked == []
    assert files(packages) == names(old.digest)
    found = packages.environment(old.digest)
    assert found == packages.share.folder / "environments" / name_of(old.digest)
    assert packages.environment(f"sha256:{'0' * 64}") is None


async def test_another_user_may_read_all_of_it_and_write_none(packages: Packages, old: PackageLock) -> None:
    modes = [mode for mode, _ in tree(packages.environment(old.digest)).values() if mode & 0o170000 != 0o120000]

    assert {mode & 0o444 for mode in modes} == {0o444}
    assert {mode & 0o022 for mode in modes} == {0}


@pytest.mark.parametrize("gone", ["beta", "right"])
async def test_a_package_removed_after_the_yes_fails_the_build(
    packages: Packages, index: PackageIndex, old: PackageLock, mixed: PackageLock, gone: str
) -> None:
    before = tree(packages.environment(old.digest))
    index.remove(gone)

    with pytest.raises(BuildFailed, match=gone) as failed:
        await packages.build(mixed)

    assert "127.0.0.1" not in failed.value.detail
    assert files(packages) == names(old.digest)
    assert tree(packages.environment(old.digest)) == before


async def test_a_package_yanked_after_the_yes_fails_with_the_indexs_words(
    packages: Packages, index: PackageIndex, old: PackageLock, new: PackageLock
) -> None:
    index.yank("beta", "it steals keys")

    with pytest.raises(BuildFailed, match=r"beta==1.0.*yanked.*it steals keys"):
        await packages.build(new)
    assert files(packages) == names(old.digest)


@pytest.mark.parametrize("changed", ["beta", "right"])
async def test_a_file_that_is_not_the_one_in_the_lock_is_not_installed(
    packages: Packages, index: PackageIndex, old: PackageLock, mixed: PackageLock, changed: str
) -> None:
    index.remove(changed)
    if changed == "beta":
        index.add_wheel("beta", files={"evil.py": "1"})
    else:
        index.add_npm("right", files={"evil.js": "1"})

    with pytest.raises(BuildFailed, match=r"(?i)hash|integrity"):
        await packages.build(mixed)
    assert files(packages) == names(old.digest)


@pytest.mark.parametrize("status", [500, 404])
async def test_an_index_that_is_away_fails_the_build(
    packages: Packages, index: PackageIndex, old: PackageLock, new: PackageLock, status: int
) -> None:
    index.status = status

    with pytest.raises(BuildFailed):
        await packages.build(new)
    assert files(packages) == names(old.digest)


async def test_packages_that_take_up_too_much_room_are_not_kept(packages: Packages, index: PackageIndex) -> None:
    index.add_wheel("large", files={"large.bin": bytes(3 << 20)})
    lock = await locked(packages, pip=("large",))

    with pytest.raises(BuildFailed, match="take up 3 MB, and an environment has at most 1 MB"):
        await replace(packages, max_bytes=1 << 20).build(lock)
    assert files(packages) == set()


async def test_a_package_that_fills_the_disk_is_stopped_while_it_is_unpacked(
    packages: Packages, index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Under one megabyte on the wire.
    index.add_wheel("bomb", files={"large.bin": bytes(300 << 20)})
    lock = await locked(packages, pip=("bomb",))
    monkeypatch.setattr("homing.sandbox.environments.MAX_ENVIRONMENT", 8 << 20)
    monkeypatch.setattr("homing.sandbox.host_program._LOOK_SECONDS", 0.001)

    with pytest.raises(BuildFailed, match="too much room"):
        await packages.build(lock)
    assert files(packages) == set()


async def test_a_build_that_takes_too_long_is_stopped(
    packages: Packages, index: PackageIndex, old: PackageLock, new: PackageLock
) -> None:
    index.open.clear()

    with pytest.raises(BuildFailed, match="took"):
        await packages.build(new, seconds=2)
    assert files(packages) == names(old.digest)
    assert running(packages) == []


async def test_a_cancelled_build_leaves_neither_files_nor_programs(
    packages: Packages, index: PackageIndex, old: PackageLock, new: PackageLock
) -> None:
    index.open.clear()
    building = asyncio.ensure_future(packages.build(new))
    await asyncio.to_thread(index.waiting.wait, 20)
    assert running(packages)
    building.cancel()

    with pytest.raises(asyncio.CancelledError):
        await building
    assert files(packages) == names(old.digest)
    assert running(packages) == []


async def test_two_builders_of_the_same_lock_make_one_environment(
    packages: Packages, index: PackageIndex, old: PackageLock, new: PackageLock
) -> None:
    index.open.clear()
    building = [asyncio.ensure_future(packages.build(new)) for _ in range(3)]
    await asyncio.to_thread(index.waiting.wait, 20)
    index.open.set()

    assert await asyncio.gather(*building) == [new.digest] * 3
    assert files(packages) == names(old.digest, new.digest)


def builder(packages: Packages, lock: PackageLock, step: int | str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "support.package_builder", packages.share.folder, json.dumps(lock.plain()), str(step)],
        env={**packages.host, "PATH": os.environ["PATH"], "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_a_build_killed_at_any_step_leaves_the_old_environment_and_nothing_half_made(
    packages: Packages, old: PackageLock, mixed: PackageLock
) -> None:
    whole = builder(packages, mixed, 0)
    steps = int(whole.communicate(timeout=60)[0].split()[-1])
    before, complete = tree(packages.environment(old.digest)), tree(packages.environment(mixed.digest))
    packages.sweep({old.digest}, grace_seconds=0)
    assert packages.environment(mixed.digest) is None

    early, late = [1, 2, 3, 4, 5, 6, 7, 9], range(steps // 2, steps, max(1, steps // 8))
    for step in (*early, *late, steps, "os.rename:1", "os.rename:2", "shutil.rmtree:1"):
        killed = builder(packages, mixed, step)
        killed.communicate(timeout=60)
        assert killed.returncode == -9
        assert tree(packages.environment(old.digest)) == before
        if packages.environment(mixed.digest) is not None:
            assert tree(packages.environment(mixed.digest)) == complete
        until_gone(packages)
        packages.sweep({old.digest}, grace_seconds=0)
        assert files(packages) == names(old.digest)

    assert await packages.build(mixed) == mixed.digest


async def test_a_build_killed_while_it_fetches_leaves_no_program_behind(
    packages: Packages, index: PackageIndex, old: PackageLock, new: PackageLock
) -> None:
    index.open.clear()
    building = builder(packages, new, 0)
    assert await asyncio.to_thread(index.waiting.wait, 20)
    # A live build is not swept.
    assert packages.sweep({old.digest}, grace_seconds=0) == []
    building.kill()
    building.communicate()

    until_gone(packages)
    assert len(packages.sweep({old.digest}, grace_seconds=0)) == 1
    assert files(packages) == names(old.digest)


async def test_nothing_of_a_package_runs_outside_the_sandbox(
    packages: Packages, index: PackageIndex, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    evil = f"import pathlib; pathlib.Path({str(marker)!r}).touch()\n"
    index.add_wheel("evil", files={"evil.pth": evil, "sitecustomize.py": evil, "usercustomize.py": evil})
    scripts = dict.fromkeys(("preinstall", "install", "postinstall", "prepare", "prepublish"), f"touch {marker}")
    index.add_npm("bad", scripts=scripts, files={"binding.gyp": "{}", ".npmrc": "ignore-scripts=false\n"})

    lock = await locked(packages, pip=("evil",), npm=("bad",))
    await packages.build(lock)
    index.add_wheel("more")
    second = await locked(packages, lock, pip=("more",))
    await packages.build(second)
    packages.sweep(set(), grace_seconds=3600)

    assert not marker.exists()
    found = packages.environment(second.digest)
    assert found is not None
    # The trap is live: anyone who starts this Python runs it.
    await asyncio.to_thread(subprocess.run, [found / "bin/python", "-c", ""], check=True)
    assert marker.exists()


async def test_a_wheel_cannot_bring_the_folder_or_the_settings_of_npm(packages: Packages, index: PackageIndex) -> None:
    index.add_npm("left")
    index.add_wheel("evil", files={"evil-1.0.data/data/node_modules/left/index.js": "1"})
    index.add_wheel("worse", files={"worse-1.0.data/data/.npmrc": "registry=http://127.0.0.1:1/\nomit-lockfile=1\n"})

    with pytest.raises(BuildFailed, match="brings a node_modules folder"):
        await packages.build(await locked(packages, pip=("evil",), npm=("left",)))
    assert await packages.build(await locked(packages, pip=("worse",), npm=("left",)))


async def test_a_lock_for_another_python_is_not_built(packages: Packages, old: PackageLock) -> None:
    with pytest.raises(BuildFailed, match=r"cpython-3\.99 on .*ask for them again") as failed:
        await packages.build(replace(old, python="cpython-3.99"))
    assert failed.value.permanent


async def test_an_environment_whose_python_has_gone_is_not_used(packages: Packages, old: PackageLock) -> None:
    found = packages.environment(old.digest)
    assert found is not None
    (found / "bin/python").unlink()
    (found / "bin/python").symlink_to("/usr/bin/python3.99")

    assert packages.environment(old.digest) is None


async def test_a_sweep_removes_what_nobody_keeps_or_holds_once_it_is_not_new(
    packages: Packages, index: PackageIndex, old: PackageLock, new: PackageLock
) -> None:
    await packages.build(new)

    assert packages.sweep(set()) == []
    assert packages.sweep({old.digest, new.digest}, grace_seconds=0) == []
    with holding(packages.environment(new.digest)):
        assert packages.sweep({old.digest}, grace_seconds=0) == []
    assert packages.sweep({old.digest}, grace_seconds=0) == [name_of(new.digest)]
    assert files(packages) == names(old.digest)


async def test_an_environment_that_was_removed_cannot_be_held(packages: Packages, old: PackageLock) -> None:
    found = packages.environment(old.digest)
    packages.sweep(set(), grace_seconds=0)

    with pytest.raises(NoSandbox, match="not on this machine any more"), holding(found):
        pass


async def test_no_key_of_ours_reaches_uv_or_npm(
    packages: Packages, index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add_wheel("alpha")
    index.add_npm("left")
    seen = tmp_path / "seen"
    for name in ("uv", "npm"):
        (tmp_path / name).write_text(f"#!/bin/sh\nenv >> {seen}\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr("uv.find_uv_bin", lambda: str(tmp_path / "uv"))
    monkeypatch.setattr("homing.sandbox.npm_packages.SEARCHED", f"{tmp_path}:/usr/bin")
    host = {**packages.host, "HOMING_SECRET_X": "sesame", "OPENAI_API_KEY": "sesame", "LD_PRELOAD": "sesame"}
    for request in (PackageRequest(pip=("alpha",)), PackageRequest(npm=("left",))):
        with pytest.raises(IndexAway):
            await replace(packages, host=host).resolve(request, None, NOW)

    assert "UV_DEFAULT_INDEX" in seen.read_text()
    assert "npm_config_registry" in seen.read_text()
    assert "sesame" not in seen.read_text()


def running(packages: Packages) -> list[str]:
    """Programs that work in this share's folder."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            inside = entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(packages.share.folder)
            if inside:
                found.append((entry / "cmdline").read_text())
    return found


def until_gone(packages: Packages) -> None:
    end = time.monotonic() + 10
    while running(packages):
        assert time.monotonic() < end, running(packages)
        time.sleep(0.01)


async def test_a_process_that_writes_for_its_user_only_builds_what_another_uid_can_read(
    packages: Packages, index: PackageIndex
) -> None:
    index.add_wheel("beta")
    lock = await locked(packages, pip=("beta",))
    before = os.umask(0o077)  # as `homing up` has it
    try:
        await packages.build(lock)
    finally:
        os.umask(before)
    built = packages.environment(lock.digest)
    assert built is not None
    closed = [path for path in (built, *built.rglob("*")) if not path.is_symlink() and not path.stat().st_mode & 0o004]
    assert closed == []


async def test_an_ordinary_user_builds_an_environment(packages: Packages, index: PackageIndex) -> None:
    index.add_wheel("beta")
    lock = await locked(packages, pip=("beta",))
    uv = find_uv(packages.host).program
    with tempfile.TemporaryDirectory(prefix="homing-build-") as name:
        folder = Path(name)
        os.chmod(folder, 0o755)  # noqa: PTH101 - in an async function
        # What another user can read: the rooms that build, the builder, and uv.
        for room in ("model", "sandbox"):
            shutil.copytree(ROOT / "src/homing" / room, folder / "homing" / room)
        shutil.copy(ROOT / "src/homing/__init__.py", folder / "homing")
        shutil.copytree(ROOT / "tests/support", folder / "support")
        shutil.copy(uv, folder / "uv")
        share = folder / "share"
        share.mkdir()
        command = [sys.executable]
        if os.geteuid() == 0:
            os.chown(share, OTHER_UID, OTHER_UID)
            command = ["setpriv", f"--reuid={OTHER_UID}", f"--regid={OTHER_UID}", "--clear-groups", "/usr/bin/python3"]
        ran = await asyncio.to_thread(
            subprocess.run,
            [*command, "-m", "support.package_builder", str(share), json.dumps(lock.plain()), "never"],
            env={**index.host, "PATH": f"{folder}:/usr/bin:/bin"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        built = share / "environments" / name_of(lock.digest)
        assert built.stat().st_uid == (OTHER_UID if os.geteuid() == 0 else os.geteuid())
        assert list(built.glob("lib/python3*/site-packages/beta.py"))
