"""Runs the scripts of gates: bash in the sandbox with an empty workspace, Python in Monty. A script only looks."""

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from homing.channels.pinned import Network, host_and_port
from homing.model.errors import ToolFailed
from homing.model.scripts import Script, ScriptEnd
from homing.sandbox.bubblewrap import Bubblewrap
from homing.sandbox.hosts import read_hosts
from homing.sandbox.monty import Fetch, Monty
from homing.sandbox.running import Ran, run
from homing.sandbox.workspaces import make_workspace
from homing.tools.fetching import fetch, read_url

# Written by the program itself into its own /tmp: the workspace is empty, and the first line may name an interpreter.
_START = """
printf %s "$1" >/tmp/script && chmod 700 /tmp/script || exit 126
case $1 in '#!'*) exec /tmp/script ;; *) exec "$2" /tmp/script ;; esac
"""


class Scripts:
    """What this process runs scripts with."""

    def __init__(self, find_sandbox: Callable[[], Awaitable[Bubblewrap]], *, network: Network | None = None) -> None:
        """`find_sandbox` refuses with the sentence that helps where programs cannot run."""
        self._find_sandbox = find_sandbox
        self._network = network
        self._monty = Monty()

    async def run(self, script: Script, given: Mapping[str, Any]) -> ScriptEnd:
        """Run a script to its end, its time or the limit of its output."""
        if script.language == "python":
            return await self._monty.run(script, given, self._fetch_for(script))
        return await self._run_bash(script, json.dumps(given).encode() + b"\n")

    async def close(self) -> None:
        await self._monty.close()

    def _fetch_for(self, script: Script) -> Fetch:
        hosts = read_hosts(script.hosts)

        async def get(url: str) -> str:
            try:
                page = await fetch(
                    read_url(url),
                    hosts=hosts,
                    may_go=lambda to: hosts.check_name(*host_and_port(to)),
                    network=self._network,
                )
            except ToolFailed as failed:
                raise ConnectionError(failed.detail) from failed
            if page.status >= 400:
                raise ConnectionError(f"{url} answered with status {page.status}.")
            return page.body.decode("utf-8", "replace")

        return get

    async def _run_bash(self, script: Script, stdin: bytes) -> ScriptEnd:
        bubblewrap = await self._find_sandbox()
        with tempfile.TemporaryDirectory(prefix="homing-script-", ignore_cleanup_errors=True) as name:
            workspace = Path(name) / "workspace"
            await asyncio.to_thread(make_workspace, workspace)
            ran = await run(
                bubblewrap,
                ["/bin/sh", "-c", _START, "sh", script.text, bubblewrap.shell],
                workspace=workspace,
                scratch=True,
                hosts=read_hosts(script.hosts) if script.hosts else None,
                stdin=stdin,
                seconds=script.seconds,
            )
        return _ended(ran)


def _ended(ran: Ran) -> ScriptEnd:
    ended = "timeout" if ran.ended == "cancelled" else ran.ended
    return ScriptEnd(
        ended=ended, code=ran.code, out=ran.out.decode(errors="replace"), err=ran.err.decode(errors="replace")
    )
