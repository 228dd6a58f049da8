"""Our argument list for bubblewrap. Each flag has a row in tests/behaviour/sandbox that fails without it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from homing.sandbox.errors import NO_BUBBLEWRAP, NO_PYTHON, NO_UTIL_LINUX, OTHER_SYSTEM, WINDOWS, NoSandbox

WORKSPACE = "/workspace"
FILES = "/files"
"""Files of the conversation, to read."""
EMPTY = "/tmp"  # noqa: S108 - inside, where each sandbox has its own
PROXY = "/run/proxy"
SEARCHED = "/usr/bin:/bin:/usr/local/bin"
# As root each workspace has a uid of its own from here: beyond what systems give to people, services and containers.
UIDS = range(1_900_000_000, 1_900_100_000)
_NOBODY = "65534"
_ANSWER_SECONDS = 10.0
# The first version that can forbid further user namespaces and limit a tmpfs.
_ALL_FLAGS = (0, 8)
# Seen read-only at their own paths, as far as they exist. /etc is not: it holds secrets and names.
SYSTEM = [
    Path("/usr"),
    Path("/bin"),
    Path("/sbin"),
    Path("/lib"),
    Path("/lib32"),
    Path("/lib64"),
    Path("/nix/store"),
    Path("/etc/alternatives"),
    Path("/etc/ld.so.cache"),
    Path("/etc/localtime"),
    Path("/etc/pki/ca-trust/extracted"),
    Path("/etc/ssl/certs"),
    Path("/etc/ssl/openssl.cnf"),
]
_TEMPORARY = {"/dev/shm": 64 << 20, "/tmp": 256 << 20}  # noqa: S108 - inside
_SCRATCH = 64 << 20
# `data` is what a process can write to: reservations, which interpreters make freely, are not counted.
_LIMITS = ("--nproc=128", f"--data={512 << 20}", f"--fsize={256 << 20}", "--nofile=512", "--core=0")
# Runs last before the program, when everything is in place that ends it with us. It reports so, which fails if we have
# been killed by now, and waits for our word: at the end of its input, or without it, the program never begins. When
# memory runs out, the kernel takes the program and not us.
_START = """
cd "$1" && shift && echo 1000 >/proc/self/oom_score_adj && echo && IFS= read -r go && eval "$go" && exec "$@"
"""


@dataclass(frozen=True, kw_only=True)
class Bubblewrap:
    """The programs of this machine that make a sandbox."""

    bwrap: str
    prlimit: str
    setpriv: str
    python: str | None
    shell: str
    version: tuple[int, ...]

    @property
    def version_text(self) -> str:
        return ".".join(map(str, self.version))

    @property
    def has_all_flags(self) -> bool:
        """Say whether it has every flag that we use."""
        return self.version >= _ALL_FLAGS

    def wrap(
        self,
        argv: Sequence[str],
        *,
        workspace: Path,
        shows_workspace: bool = True,
        scratch: bool = False,
        cwd: str = WORKSPACE,
        reads: Sequence[Path] = (),
        files: Mapping[str, Path] | None = None,
        proxy: Path | None = None,
        filter_fd: int,
        info_fd: int,
    ) -> list[str]:
        """Give the command that runs a program with `workspace` to write to, and `reads` and `files` to read.

        A workspace that is not shown is only where the uid comes from. With `scratch` an empty one stands in its place
        that ends with the program.
        """
        root = os.geteuid() == 0
        uid = str(_uid_of(workspace)) if root else _NOBODY
        wrapped = [self.bwrap, "--die-with-parent", "--new-session"]
        wrapped += ["--seccomp", str(filter_fd), "--info-fd", str(info_fd)]
        wrapped += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
        wrapped += ["--hostname", "sandbox"]
        if not root:
            wrapped += ["--unshare-user", "--uid", uid, "--gid", uid]
            wrapped += ["--disable-userns"] if self.has_all_flags else []
        wrapped += ["--proc", "/proc", "--dev", "/dev"]
        for place, size in (_TEMPORARY | ({WORKSPACE: _SCRATCH} if scratch else {})).items():
            wrapped += ["--size", str(size)] if self.has_all_flags else []
            wrapped += ["--perms", "1777", "--tmpfs", place]
        for path in (*filter(Path.exists, SYSTEM), *reads):
            as_link = path in SYSTEM and path.is_symlink()
            shown = ["--symlink", str(path.readlink())] if as_link else ["--ro-bind", str(path)]
            wrapped += [*_parents(path), *shown, str(path)]
        for name, folder in (files or {}).items():
            wrapped += ["--dir", FILES, "--ro-bind", str(folder), f"{FILES}/{name}"]
        wrapped += ["--bind", str(workspace), WORKSPACE] if shows_workspace and not scratch else []
        if proxy is not None:
            wrapped += [*_parents(Path(PROXY)), "--bind", str(proxy), PROXY]
        wrapped += ["--remount-ro", "/dev", "--remount-ro", "/", "--"]
        if root:
            # No limit on processes holds for root, not in a user namespace either: another uid runs inside.
            wrapped += [self.setpriv, "--reuid", uid, "--regid", uid, "--clear-groups"]
            wrapped += ["--bounding-set", "-all", "--inh-caps", "-all"]
        return [*wrapped, self.prlimit, *_LIMITS, "--", "/bin/sh", "-c", _START, "sh", cwd, *argv]


def find_bubblewrap(searched: str = SEARCHED) -> Bubblewrap:
    """Find what a sandbox is made with; refuse with the sentence that helps where it is missing."""
    if sys.platform == "win32":
        raise NoSandbox(WINDOWS)
    if sys.platform != "linux":
        raise NoSandbox(OTHER_SYSTEM.format(system={"darwin": "macOS"}.get(sys.platform, sys.platform)))
    bwrap, prlimit, setpriv, python, bash = (
        shutil.which(name, path=searched) for name in ("bwrap", "prlimit", "setpriv", "python3", "bash")
    )
    if bwrap is None:
        raise NoSandbox(NO_BUBBLEWRAP)
    if prlimit is None or setpriv is None:
        raise NoSandbox(NO_UTIL_LINUX)
    version = tuple(int(part) for part in re.findall(r"\d+", _version_line(bwrap)))
    return Bubblewrap(
        bwrap=bwrap, prlimit=prlimit, setpriv=setpriv, python=python, shell=bash or "/bin/sh", version=version
    )


def _version_line(bwrap: str) -> str:
    try:
        return subprocess.run(  # noqa: S603
            [bwrap, "--version"], capture_output=True, text=True, check=False, env={}, timeout=_ANSWER_SECONDS
        ).stdout
    except subprocess.TimeoutExpired:
        raise NoSandbox(f"{bwrap} --version does not answer: install bubblewrap again.") from None


def forwarding(python: str | None, argv: Sequence[str]) -> list[str]:
    """Give the command that runs a program with the proxy as its way to the network."""
    if python is None:
        raise NoSandbox(NO_PYTHON)
    script = Path(__file__).with_name("forward.py").read_text("utf-8")
    return [python, "-I", "-S", "-c", script, PROXY, *argv]


def _uid_of(workspace: Path) -> int:
    """The workspace's owner is who runs inside: the folder itself is the record of its uid."""
    try:
        uid = workspace.stat().st_uid
    except OSError as error:
        raise NoSandbox(f"The workspace {workspace} cannot be used: {error.strerror}.") from error
    if uid not in UIDS:
        raise NoSandbox(f"The folder {workspace} was not made as a workspace: it belongs to uid {uid}.")
    return uid


def _parents(path: Path) -> list[str]:
    """Make the folders above a path open to every uid; bubblewrap would make them 0700."""
    return [word for parent in reversed(path.parents[:-1]) for word in ("--dir", str(parent))]
