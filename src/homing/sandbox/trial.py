"""Try the sandbox for real: once on a program that must run, once on one that must not get out.

There is no fallback: the `Bubblewrap` that this gives has been tried, and without one nothing runs.
"""

import asyncio
import tempfile
from pathlib import Path

from homing.sandbox.bubblewrap import SEARCHED, Bubblewrap, find_bubblewrap
from homing.sandbox.errors import NoSandbox, explain
from homing.sandbox.running import run
from homing.sandbox.workspaces import make_workspace

_SECONDS = 20.0
# Prints what it succeeded in; the last line says that it came that far.
_ESCAPES = """
exec 2>/dev/null
cat "$1" >/dev/null && echo read a file outside
echo x >"$1" && echo wrote to a file outside
grep -v lo: /proc/net/dev | grep -q : && echo saw a network
grep -q '^Seccomp:.2' /proc/self/status || echo ran without a system call filter
unshare --user true && echo made a user namespace
echo done
"""


async def try_sandbox(searched: str = SEARCHED) -> Bubblewrap:
    """Give a sandbox that works on this machine, or refuse with the sentence that helps."""
    try:
        bubblewrap = await asyncio.to_thread(find_bubblewrap, searched)
        await _try(bubblewrap)
    except OSError as error:
        raise NoSandbox(f"The sandbox cannot be tried here: {error}.") from error
    return bubblewrap


async def _try(bubblewrap: Bubblewrap) -> None:
    with tempfile.TemporaryDirectory(prefix="homing-sandbox-", ignore_cleanup_errors=True) as name:
        workspace, outside = _prepare(Path(name))
        plain = await run(bubblewrap, ["true"], workspace=workspace, seconds=_SECONDS)
        if (plain.ended, plain.code) != ("exit", 0):
            raise explain(plain.err.decode(errors="replace") or f"a program ended by {plain.ended}, {plain.code}")
        probe = ["sh", "-c", _ESCAPES, "sh", str(outside)]
        probed = await run(bubblewrap, probe, workspace=workspace, seconds=_SECONDS)
    escaped = probed.out.decode(errors="replace").split("\n")
    if escaped != ["done", ""]:
        raise NoSandbox(f"The sandbox does not hold on this machine, so nothing runs in it: a program {escaped[0]}.")


def _prepare(folder: Path) -> tuple[Path, Path]:
    """Make a workspace, and a file beside it that anybody could read and write who saw it."""
    folder.chmod(0o755)
    outside = folder / "outside"
    outside.write_text("x")
    outside.chmod(0o666)
    workspace = folder / "workspace"
    make_workspace(workspace)
    return workspace, outside
