"""A wheel that people install has the page in it, or is not built at all."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]
FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE")


def build(folder: Path, *, page: bool) -> subprocess.CompletedProcess[str]:
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("static", "__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    if page:
        static = folder / "src" / "homing" / "web" / "static"
        static.mkdir()
        (static / "index.html").write_text("<!doctype html>")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_a_wheel_without_its_page_is_not_built(tmp_path: Path) -> None:
    built = build(tmp_path / "bare", page=False)
    assert built.returncode != 0
    assert "static/index.html is missing" in built.stdout + built.stderr
    assert not list(tmp_path.glob("**/*.whl"))


def test_a_wheel_has_the_page(tmp_path: Path) -> None:
    built = build(tmp_path / "whole", page=True)
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("**/*.whl")
    assert "homing/web/static/index.html" in ZipFile(wheel).namelist()
