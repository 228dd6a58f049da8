"""Sandboxes of root and of an ordinary user: each in a process that runs as that user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

Who = Literal["root", "user"]

ROOT = Path(__file__).parents[2]
MARK = "what only the host knows"
# A uid that nothing here has.
_OTHER = "1899999999"
_NEEDED = ("__init__.py", "model/__init__.py", "model/errors.py", "model/addresses.py")


class Driver:
    """Asks the process of one user."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.workspace = Path(self.read()["workspace"])

    def ask(self, do: str, **asked: Any) -> Any:
        self.send(do, **asked)
        return self.read()

    def send(self, do: str, **asked: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"do": do, **asked}) + "\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the driver has ended"
        return json.loads(line)


def need_bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("need bubblewrap")


@contextmanager
def drive(who: Who) -> Iterator[Driver]:
    """Start a driver as root or as an ordinary user."""
    need_bubblewrap()
    if who == "root" and os.geteuid() != 0:
        pytest.skip("need root")
    with tempfile.TemporaryDirectory(prefix="homing-sandboxes-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        _copy(folder / "copy")
        scene = folder / "scene"
        scene.mkdir()
        # Some containers give root capabilities to hand on.
        python = ["setpriv", "--inh-caps", "+net_raw", sys.executable] if who == "root" else [sys.executable]
        if who == "user" and os.geteuid() == 0:
            os.chown(scene, int(_OTHER), int(_OTHER))
            python = ["setpriv", "--reuid", _OTHER, "--regid", _OTHER, "--clear-groups", "/usr/bin/python3"]
        process = subprocess.Popen(
            [*python, "-P", str(folder / "copy/support/sandbox_driver.py"), str(scene)],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder / "copy"), "SANDBOX_MARK": MARK},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield Driver(process)
        finally:
            assert process.stdin
            assert process.stdout
            process.stdin.close()
            process.stdout.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def ordinary_user() -> Iterator[tuple[Path, list[str], dict[str, str]]]:
    """Give the home of an ordinary user, a command that runs Python as them, and an environment with all of Homing."""
    need_bubblewrap()
    if os.geteuid() != 0:
        pytest.skip("need root")
    with tempfile.TemporaryDirectory(prefix="homing-user-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        packages = Path(pytest.__file__).parents[1]
        # Linked, not copied: there are hundreds of megabytes of it, and links need no rights above them.
        shutil.copytree(
            packages, folder / "packages", copy_function=_link, ignore=shutil.ignore_patterns("__pycache__")
        )
        shutil.copytree(ROOT / "src/homing", folder / "homing", ignore=shutil.ignore_patterns("__pycache__"))
        for path in (folder / "homing").rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        (folder / "home").mkdir()
        os.chown(folder / "home", int(_OTHER), int(_OTHER))
        as_user = ["setpriv", "--reuid", _OTHER, "--regid", _OTHER, "--clear-groups", "--inh-caps", "-all"]
        env = {"PYTHONPATH": f"{folder}:{folder / 'packages'}", "PYTHONDONTWRITEBYTECODE": "1"}
        yield folder / "home", [*as_user, _python_for_all(as_user)], env


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _python_for_all(as_user: list[str]) -> str:
    """Find a Python of our version that the user may run: ours may lie in root's home."""
    mine = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    for python in ("/usr/bin/python3", sys.executable):
        try:
            if subprocess.run([*as_user, python, "-c", mine], capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            continue
    pytest.skip(f"need a Python {sys.version_info.major}.{sys.version_info.minor} that everybody may run")


def _copy(folder: Path) -> None:
    """Copy what a driver needs, for everybody to read: another user cannot enter the checkout, nor its Python."""
    for name in _NEEDED:
        (folder / "homing" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "src/homing" / name, folder / "homing" / name)
    shutil.copytree(
        ROOT / "src/homing/sandbox", folder / "homing/sandbox", ignore=shutil.ignore_patterns("__pycache__")
    )
    (folder / "support").mkdir()
    for name in ("sandbox_driver.py", "escapes.py"):
        shutil.copy(ROOT / "tests/support" / name, folder / "support" / name)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
