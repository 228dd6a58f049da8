"""Wheel and sdist carry the page, and what the wheel asks for is all that Homing needs."""

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from urllib.request import urlopen
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from e2e.page.house import PATIENCE, House, wait_until
from support.ports import free_port

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = "homing/web/static/index.html"


def build(source: Path, target: Path, *only: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target), *only]
    subprocess.run(command, cwd=source, capture_output=True, check=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheel and sdist, as `make package` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    return folder


def wheel_in(folder: Path) -> Path:
    [wheel] = folder.glob("homing-*-py3-none-any.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it asks for, and nothing else of what tests have. It needs no network."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    uv = [sys.executable, "-m", "uv"]
    subprocess.run(
        [*uv, "venv", "--offline", "--no-project", "--python", sys.executable, str(place)],
        capture_output=True,
        check=True,
    )
    install = [*uv, "pip", "install", "--offline", "--no-deps", "--python", str(place / "bin/python")]
    subprocess.run([*install, str(wheel_in(built))], capture_output=True, check=True)
    [site] = place.glob("lib/python*/site-packages")
    [homing] = [one for one in distributions(path=[str(site)]) if one.name == "homing"]
    for one in asked_for(homing):
        lend(one, site)
    return place


def asked_for(homing: Distribution) -> Iterator[Distribution]:
    """Give all that a wheel needs, directly or not, as it is installed here."""
    left = [(requirement, "") for requirement in homing.requires or ()]
    known: set[tuple[str, str]] = set()
    given: set[str] = set()
    while left:
        text, extra = left.pop()
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        found = distribution(requirement.name)
        for wanted in ("", *requirement.extras):
            if (found.name, wanted) not in known:
                known.add((found.name, wanted))
                left += [(one, wanted) for one in found.requires or ()]
        if found.name not in given:
            given.add(found.name)
            yield found


def lend(one: Distribution, site: Path) -> None:
    for file in one.files or ():
        if ".." in file.parts:
            continue
        place = site / file
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.symlink_to(Path(str(one.locate_file(file))).resolve())


def test_wheel_and_sdist_carry_the_page_and_the_sdist_makes_the_same_wheel(built: Path, tmp_path: Path) -> None:
    wheel = wheel_in(built)
    with ZipFile(wheel) as packed:
        names = set(packed.namelist())
        record = packed.read(next(name for name in names if name.endswith(".dist-info/RECORD")))
    assert PAGE in names
    assert any(re.fullmatch(r"homing/web/static/assets/.+\.js", name) for name in names)
    assert not [name for name in names if not name.startswith(("homing/", "homing-"))]
    [sdist] = built.glob("homing-*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    build(source, tmp_path / "again", "-t", "wheel")
    with ZipFile(wheel_in(tmp_path / "again")) as packed:
        again = packed.read(next(name for name in packed.namelist() if name.endswith(".dist-info/RECORD")))
    assert sorted(again.splitlines()) == sorted(record.splitlines())


def test_without_the_page_nothing_is_built(built: Path, tmp_path: Path) -> None:
    [sdist] = built.glob("homing-*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    (source / "src" / PAGE).unlink()
    with pytest.raises(subprocess.CalledProcessError) as refused:
        build(source, tmp_path / "again", "-t", "wheel")
    assert "build the page first (make page)" in refused.value.stderr.decode()


def test_the_installed_wheel_starts_fires_a_reminder_and_serves_the_page(installed: Path, tmp_path: Path) -> None:
    program = installed / "bin/homing"
    where = [str(installed / "bin/python"), "-c", "import homing; print(homing.__file__)"]
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    said = subprocess.run(where, cwd=tmp_path, env=alone, capture_output=True, text=True, check=True).stdout
    assert Path(said.strip()).is_relative_to(installed)
    with House(tmp_path, program=[str(program)]) as house:
        with urlopen(f"{house.url}/", timeout=PATIENCE) as response:
            page = response.read().decode()
        [script, *_] = re.findall(r'src="(/assets/[^"]+\.js)"', page)
        with urlopen(f"{house.url}{script}", timeout=PATIENCE) as response:
            assert response.status == 200
            assert "javascript" in response.headers["content-type"]
        key = house.session("web:packed", "Packed")
        house.post("/jobs", session_key=key, when="in 2 seconds", payload={"kind": "reminder", "message": "Stretch"})

        def shown() -> bool:
            return "Stretch" in [one["text"] for one in house.get(f"/sessions/{key}/messages")["items"]]

        wait_until(shown, "the reminder")
        assert "Stretch" in house.command("cron", "list")


def test_the_commands_of_the_service_page_start_and_stop_the_installed_wheel(installed: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs/howto/service.md").read_text()
    [unit] = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
    [container] = re.findall(r"```dockerfile\n(.*?)```", page, re.DOTALL)
    [started] = re.findall(r"^ExecStart=/opt/homing/bin/homing (.+)$", unit, re.MULTILINE)
    given = re.findall(r"^Environment=(.+)$", unit, re.MULTILINE)
    [command] = re.findall(r"^CMD (.+)$", container, re.MULTILINE)
    [name, *words] = json.loads(command)
    assert name == "homing"
    [said] = re.findall(r"^ENV (.+)$", container, re.MULTILINE)
    for number, (args, variables) in enumerate(((started.split(), given), (words, said.split()))):
        port, log = free_port(), tmp_path / f"{number}.log"
        settings = {name: value for name, _, value in (one.partition("=") for one in variables)}
        settings |= {"HOMING_HOME": str(tmp_path / str(number)), "HOMING_PORT": str(port), "HOMING_TOKEN": "ab" * 24}
        with log.open("wb") as file:
            process = subprocess.Popen(
                [str(installed / "bin/homing"), *args], env=os.environ | settings, stdout=file, stderr=file
            )

        def is_up(port: int = port, process: "subprocess.Popen[bytes]" = process, log: Path = log) -> bool:
            assert process.poll() is None, log.read_text()
            return _answers(f"http://127.0.0.1:{port}/readyz")

        try:
            wait_until(is_up, "an answer of the service")
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2) as response:
            return response.status == 200
    except OSError:
        return False
