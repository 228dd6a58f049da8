"""The house's own rules: the import floors break on what they forbid, and the wheel carries all it needs."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the house to break things in, with the project's own rules."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src/homing", tmp_path / "homing", ignore=shutil.ignore_patterns("static", "__pycache__"))
    return tmp_path


def lint(instance: Path) -> subprocess.CompletedProcess[str]:
    # Run in the copy: the current folder comes first in the path, before the installed package.
    linter = Path(sys.executable).with_name("lint-imports")
    command = [linter, "--config", "pyproject.toml", "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=instance, capture_output=True, text=True, check=False)


def write(instance: Path, path: str, text: str) -> None:
    file = instance / "homing" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    (file.parent / "__init__.py").touch()
    file.write_text(text, "utf-8")


def test_the_house_as_it_stands_keeps_its_rules(copy: Path) -> None:
    done = lint(copy)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("web/stray.py", "from sqlalchemy.dialects import sqlite", "homing.web.stray -> sqlalchemy"),
        ("cli/stray.py", "import sqlite3", "homing.cli.stray -> sqlite3"),
        ("stray_room.py", "import psycopg", "homing.stray_room -> psycopg"),
        ("operations/stray.py", "import alembic.command", "homing.operations.stray -> alembic"),
        ("engine/stray.py", "from pydantic_ai import Agent", "homing.engine.stray -> pydantic_ai"),
        ("wiring_stray/__init__.py", "", "homing.wiring_stray"),
        ("utils.py", "", "homing.utils"),
        ("model/stray.py", "import homing.settings", "homing.model.stray -> homing.settings"),
        ("engine/stray.py", "import homing.tools.stray", "homing.engine.stray -> homing.tools.stray"),
        ("operations/stray.py", "import homing.agent.stray", "homing.operations.stray -> homing.agent.stray"),
        ("operations/stray.py", "import homing.channels.stray", "homing.operations.stray -> homing.channels.stray"),
        ("engine/lane.py", "import homing.engine.runner", "homing.engine.lane -> homing.engine.runner"),
    ],
)
def test_the_build_breaks_on_an_import_that_goes_up_or_a_room_nobody_declared(
    copy: Path, path: str, text: str, told: str
) -> None:
    for room in ("tools", "agent", "channels"):
        write(copy, f"{room}/stray.py", "")
    write(copy, "engine/runner.py", "")
    write(copy, path, text)

    done = lint(copy)

    assert done.returncode != 0
    assert told in done.stdout + done.stderr


def test_every_folder_of_the_house_is_seen_by_the_linter() -> None:
    # A folder without __init__.py can be imported all the same, but the linter walks past it.
    folders = {file.parent for file in (ROOT / "src/homing").rglob("*.py")}

    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_the_store_may_speak_sql_and_the_mind_may_know_pydantic_ai(copy: Path) -> None:
    write(copy, "store/more.py", "import sqlalchemy, alembic.command, psycopg, sqlite3")
    write(copy, "agent/more.py", "import pydantic_ai.models")
    write(copy, "tools/more.py", "import pydantic_ai")

    done = lint(copy)

    assert done.returncode == 0, done.stdout + done.stderr


def checkout(folder: Path) -> None:
    """Copy what a wheel is built from, as git has it: without the page."""
    for name in ("pyproject.toml", "hatch_build.py", ".gitignore", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("static", "__pycache__"))


def test_the_wheel_carries_the_page_that_git_ignores(tmp_path: Path) -> None:
    checkout(tmp_path)
    page = tmp_path / "src/homing/web/static/assets/page.js"
    page.parent.mkdir(parents=True)
    page.touch()
    (page.parents[1] / "index.html").touch()

    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=tmp_path, check=True)

    (wheel,) = (tmp_path / "dist").glob("homing-*.whl")
    carried = zipfile.ZipFile(wheel).namelist()
    assert {"homing/web/static/assets/page.js", "homing/settings.py", "homing/py.typed"} <= set(carried)
    assert not [name for name in carried if name.startswith("tests")]


def test_a_wheel_without_its_page_is_not_built(tmp_path: Path) -> None:
    checkout(tmp_path)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    built = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode != 0
    assert "static/index.html is missing" in built.stderr
    assert not list(tmp_path.glob("dist/*.whl"))


def test_every_proof_named_in_the_requirements_exists() -> None:
    rows = re.findall(
        r"^\| ([A-Z]?\d+) \|.*\| (.+) \|$", (ROOT / "docs/requirements.md").read_text("utf-8"), re.MULTILINE
    )

    assert len(rows) > 200
    for requirement, proof in rows:
        named = re.findall(r"`(tests/\S+)::(\w+)`", proof)
        assert named or proof == "open", f"{requirement} names neither a test nor `open`: {proof}"
        for path, test in named:
            assert f"def {test}(" in (ROOT / path).read_text("utf-8"), f"{requirement} names {path}::{test}"
