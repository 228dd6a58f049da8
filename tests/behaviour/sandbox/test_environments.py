"""Programs with an agent's packages, as root and as an ordinary user: found, read-only, and run nowhere else."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from homing.model.packages import PackageRequest
from homing.sandbox.bubblewrap import find_bubblewrap
from homing.sandbox.commands import find_command
from homing.sandbox.packages import Packages
from homing.sandbox.running import open_program, run
from homing.sandbox.share import Share
from support.package_index import PackageIndex, serve_packages
from support.sandboxes import Driver, need_bubblewrap

LEFT = "#!/usr/bin/env node\nconsole.log('left runs with', require('right'))\n"


@pytest.fixture(scope="module")
def index() -> Iterator[PackageIndex]:
    with serve_packages() as index:
        yield index


@pytest.fixture
async def packages(index: PackageIndex, tmp_path: Path) -> AsyncIterator[Packages]:
    need_bubblewrap()
    index.add_wheel("alpha", scripts=("alpha = alpha:main",), files={"secret.txt": "x"})
    outside = str(tmp_path / "outside")
    evil = f"import os; os.path.isdir('/workspace') or open({outside!r}, 'w'); os.environ['PTH'] = 'ran'\n"
    index.add_wheel("evil", files={"evil.pth": evil})
    index.add_npm("left", bin={"left": "cli.js"}, dependencies={"right": "1.0.0"}, files={"cli.js": LEFT})
    index.add_npm("right")
    yield Packages(share=Share(folder=tmp_path / "share"), host=index.host)
    assert not (tmp_path / "outside").exists()


async def build(packages: Packages) -> Path:
    request = PackageRequest(pip=("alpha", "evil"), npm=("left",))
    resolved = await packages.resolve(request, None, datetime.now(UTC))
    found = packages.environment(await packages.build(resolved.lock))
    assert found is not None
    return found


@pytest.fixture
async def environment(packages: Packages, driver: Driver) -> str:
    """The environment in a folder of the driver's user, as if they had built it."""
    built = await build(packages)
    mine = driver.workspace.parents[1] / "environments" / built.name
    shutil.rmtree(mine, ignore_errors=True)
    shutil.copytree(built, mine, symlinks=True)
    shutil.copy2(built.with_name(f"{built.name}.lock"), mine.with_name(f"{built.name}.lock"))
    owner = driver.workspace.parents[1].stat()
    for path in (mine.parent, mine.with_name(f"{built.name}.lock"), mine, *mine.rglob("*")):
        os.lchown(path, owner.st_uid, owner.st_gid)
    return str(mine)


async def test_programs_find_their_packages_and_cannot_change_them(driver: Driver, environment: str) -> None:
    def ask(command: str) -> dict[str, object]:
        return driver.ask("program", argv=["/bin/sh", "-c", command], environment=environment)

    assert (ask("alpha"))["out"] == "alpha 1.0 runs\n"
    assert (ask("left"))["out"] == "left runs with right 1.0.0\n"
    assert (ask("node -e 'console.log(require(\"right\"))'"))["out"] == "right 1.0.0\n"
    imported = ask("python3 -c 'import alpha, os, sys; print(alpha.version, os.environ[\"PTH\"], sys.prefix)'")
    assert imported["out"] == f"1.0 ran {environment}\n"
    assert ask("python3 -m venv --help >/dev/null && command -v python3")["out"] == f"{environment}/bin/python3\n"
    library = f"{environment}/lib/python*/site-packages"
    for change in (
        f"touch {environment}/x",
        f"cp /dev/null $(echo {library}/alpha.py)",
        f"rm {environment}/bin/alpha",
        f"chmod 777 {environment}",
    ):
        assert "Read-only file system" in str(ask(change)["err"]), change
    assert "No such file" in str(ask(f"ls {environment}/.. | grep lock; cat {environment}.lock")["err"])


async def test_a_program_without_packages_does_not_see_them(driver: Driver, environment: str) -> None:
    assert driver.ask("program", argv=["/bin/sh", "-c", "alpha"])["code"] == 127
    assert driver.ask("program", argv=["ls", environment])["code"] == 2


async def test_an_environment_that_is_missing_is_refused(driver: Driver) -> None:
    told = driver.ask("program", argv=["true"], environment="/nonexistent")

    assert "not on this machine any more" in told["refused"]


async def test_an_environment_in_use_is_not_swept(packages: Packages) -> None:
    environment = await build(packages)
    workspace = packages.share.workspace("main", "ana").folder

    async with open_program(find_bubblewrap(), ["cat"], workspace=workspace, environment=environment):
        assert packages.sweep(set(), grace_seconds=0) == []
    assert packages.sweep(set(), grace_seconds=0) == [environment.name]


async def test_a_server_of_the_environment_is_found_by_its_name(packages: Packages) -> None:
    environment = await build(packages)
    workspace = packages.share.workspace("main", "ana").folder
    command = find_command("alpha", private=[packages.share.folder], environment=environment)

    ran = await run(
        find_bubblewrap(),
        [str(command.path)],
        workspace=workspace,
        reads=command.reads,
        environment=command.environment,
        env={"PATH": command.search_path},
    )

    assert (ran.code, ran.out) == (0, b"alpha 1.0 runs\n")
    assert find_command("sh", private=[], environment=environment).path == Path("/usr/bin/sh")
