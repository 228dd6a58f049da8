"""A process that uses the sandbox as the user it runs as: requests come in as JSON lines, answers go out likewise.

Started by `support.sandboxes`, for another uid with the system's python3 and a copy of the few files that it needs.
"""

import asyncio
import ctypes
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from homing.model.errors import Refused
from homing.sandbox import running
from homing.sandbox.bubblewrap import Bubblewrap, find_bubblewrap
from homing.sandbox.errors import NoSandbox
from homing.sandbox.hosts import read_hosts
from homing.sandbox.running import Ran, open_program, run
from homing.sandbox.share import make_share_id, open_share
from homing.sandbox.shown_files import ShownFiles
from homing.sandbox.trial import try_sandbox
from homing.sandbox.workspaces import make_workspace

Json = dict[str, Any]
LIBC = ctypes.CDLL(None, use_errno=True)


class Changed(Bubblewrap):
    """Our argument list with words replaced by others, or by none."""

    changes: Sequence[tuple[Sequence[str], Sequence[str]]] = ()

    def wrap(self, argv: Sequence[str], **given: Any) -> list[str]:
        words = super().wrap(argv, **given)
        for old, new in self.changes:
            # A star is any word: numbers of descriptors differ.
            at = next(i for i in range(len(words)) if all(map(alike, old, words[i:])))
            words[at : at + len(old)] = new
        return words


def alike(pattern: str, word: str) -> bool:
    return pattern in ("*", word)


async def pieces(content: bytes) -> AsyncIterator[bytes]:
    yield content


class Scene:
    """What a program inside must not find: secrets, servers, processes, all open to everybody but for the sandbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspaces" / "one"
        make_workspace(self.workspace)
        for name in ("outside", "reads"):
            (folder / name).mkdir()
            (folder / name).chmod(0o777)
        (folder / "reads" / "given").write_text("given")
        (folder / "secret").write_text("a key")
        copies = ShownFiles(folder=folder / "shown")
        for name in ("file_a", "file_b"):
            asyncio.run(copies.add(name, "notes.txt", pieces(name.encode())))
        nonce = secrets.token_hex(8)
        self._servers = [
            socket.create_server(("127.0.0.1", 0)),
            self._bound(socket.AF_UNIX, str(folder / "socket")),
            self._bound(socket.AF_UNIX, f"\0{folder}"),
        ]
        (folder / "socket").chmod(0o777)
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", 0))
        for server in self._servers:
            threading.Thread(target=self._greet, args=(server,), daemon=True).start()
        threading.Thread(target=self._echo, daemon=True).start()
        # Dies with this process; its sleep ends by itself.
        self.victim = subprocess.Popen(["/bin/sh", "-c", f"read line; : {nonce}"], stdin=subprocess.PIPE)
        self._key = secrets.randbelow(1 << 30)
        self._shared = LIBC.shmget(self._key, 4096, 0o1666)
        self.facts: Json = {
            "victim": self.victim.pid,
            "victim_mark": nonce[::-1],  # the scene is on command lines too
            "secret": str(folder / "secret"),
            "outside": str(folder / "outside"),
            "reads": str(folder / "reads"),
            "tcp": self._servers[0].getsockname()[1],
            "udp": self._udp.getsockname()[1],
            "socket": str(folder / "socket"),
            "abstract": f"@{folder}",
            "mark": os.environ["SANDBOX_MARK"],
            "shared": self._key,
            "hostname": socket.gethostname(),
            "cgroup": str(Path("/proc/self/ns/cgroup").readlink()),
        }

    def close(self) -> None:
        LIBC.shmctl(self._shared, 0, None)
        self.victim.kill()
        self.victim.wait()

    def _bound(self, family: int, where: str) -> socket.socket:
        server = socket.socket(family)
        server.bind(where)
        server.listen()
        return server

    def _greet(self, server: socket.socket) -> None:
        while True:
            end, _ = server.accept()
            with end:
                end.sendall(end.recv(5).upper())

    def _echo(self) -> None:
        while True:
            data, where = self._udp.recvfrom(100)
            self._udp.sendto(data.upper(), where)


def main() -> None:
    scene = Scene(Path(sys.argv[1]))
    script = Path(__file__).with_name("escapes.py").read_text()
    found = find_bubblewrap()
    changed = Changed(**{field.name: getattr(found, field.name) for field in fields(found)})

    async def answer(asked: Json) -> Json:
        Changed.changes = asked.get("changes", ())
        plain = running.ENVIRONMENT
        if asked.get("leak"):
            running.ENVIRONMENT = plain | {"SANDBOX_MARK": scene.facts["mark"]}
        try:
            return await do[asked["do"]](asked)
        except NoSandbox as refused:
            return {"refused": refused.detail, "error": refused.error}
        except Refused as refused:
            return {"refused": refused.detail}
        except Exception as error:  # noqa: BLE001 - the test shows it
            return {"broke": repr(error)}
        finally:
            running.ENVIRONMENT = plain

    async def attempts(asked: Json) -> Json:
        argv = ["/usr/bin/python3", "-I", "-c", script, json.dumps(scene.facts), *asked.get("names", [])]
        ran = await run(changed, argv, workspace=scene.workspace, reads=[scene.folder / "reads"], seconds=30)
        return shown(ran) | {"said": json.loads(ran.out) if ran.code == 0 else {}}

    async def program(asked: Json) -> Json:
        hosts = read_hosts(asked["hosts"]) if "hosts" in asked else None
        given = {name: asked[name] for name in ("env", "seconds") if name in asked}
        stdin = asked.get("stdin", "").encode()
        workspace = scene.workspace.with_name(asked.get("workspace", scene.workspace.name))
        if "environment" in asked:
            given["environment"] = Path(asked["environment"])
        if "files" in asked:
            given["files"] = {name: scene.folder / "shown" / name for name in asked["files"]}
        return shown(await run(changed, asked["argv"], workspace=workspace, hosts=hosts, stdin=stdin, **given))

    async def cancel(asked: Json) -> Json:
        """Cancel a program once it has made a file, or after some time."""
        task = asyncio.ensure_future(run(changed, asked["argv"], workspace=scene.workspace))
        if "after" in asked:
            await asyncio.sleep(asked["after"])
        else:
            await asyncio.to_thread(until_made, scene.workspace / asked["file"])
        task.cancel()
        for _ in range(asked.get("again", 0)):
            await asyncio.sleep(0)
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return {"alive": alive(asked["mark"])}

    async def die(asked: Json) -> Json:
        """Kill this process some time after bubblewrap was started."""
        start = subprocess.Popen.__init__

        def start_and_die(*words: Any, **given: Any) -> None:
            start(*words, **given)
            end = time.perf_counter() + asked["after"]
            while time.perf_counter() < end:
                pass
            os.kill(os.getpid(), signal.SIGKILL)

        subprocess.Popen.__init__ = start_and_die
        await run(changed, asked["argv"], workspace=scene.workspace)
        return {}

    async def survivors(asked: Json) -> Json:
        ran = await run(changed, asked["argv"], workspace=scene.workspace, seconds=asked.get("seconds", 30.0))
        return {"alive": alive(asked["mark"]), **shown(ran)}

    async def talk(asked: Json) -> Json:
        """Say lines to a program and hear one line for each; then leave it."""
        heard: list[str] = []
        env = asked.get("env", {})
        async with open_program(changed, asked["argv"], workspace=scene.workspace, env=env) as pipes:
            for line in asked["lines"]:
                pipes.stdin.write(f"{line}\n".encode())
                await pipes.stdin.drain()
                heard.append((await pipes.stdout.readline()).decode())
        return {"heard": heard, "errors": pipes.errors.decode(), "alive": alive(asked["mark"])}

    async def stay(asked: Json) -> Json:
        """Leave a program running until this process is killed."""
        async with open_program(changed, asked["argv"], workspace=scene.workspace):
            await asyncio.sleep(60)
        return {}

    async def shared(asked: Json) -> Json:
        """Write a file, let a program work on it and look for its neighbour, and read it back."""
        folder = scene.folder / "share"
        share = open_share(folder, make_share_id(folder))
        mine, other = share.workspace("main", "ana"), share.workspace("main", "ben")
        mine.write_file("notes.txt", "written outside\n")
        other.write_file("secret.txt", "of another user")
        script = f"cat notes.txt; echo written inside >> notes.txt; ls -A; ls {other.folder} /workspaces; true"
        ran = await run(changed, ["sh", "-c", script], workspace=mine.folder)
        return shown(ran) | {
            "read": mine.read_file("notes.txt").text,
            "listed": [entry.name for entry in mine.list_files()],
            "owners": len({path.stat().st_uid for path in (mine.folder, *mine.folder.iterdir())}),
        }

    async def trial(asked: Json) -> Json:
        found = await try_sandbox(**({"searched": asked["searched"]} if "searched" in asked else {}))
        return {"version": list(found.version), "has_all_flags": found.has_all_flags}

    async def words(asked: Json) -> Json:
        return {"words": found.wrap(["true"], workspace=scene.workspace, reads=[scene.folder], filter_fd=3, info_fd=4)}

    do = {f.__name__: f for f in (attempts, program, cancel, die, survivors, talk, stay, shared, trial, words)}
    print(json.dumps({"workspace": str(scene.workspace)}), flush=True)
    for line in sys.stdin:
        print(json.dumps(asyncio.run(answer(json.loads(line)))), flush=True)
    scene.close()


def until_made(file: Path) -> None:
    end = time.monotonic() + 60
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.002)


def alive(mark: str) -> list[str]:
    """Find the processes, of whatever namespace, that have a mark in their command line."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (text := (entry / "cmdline").read_bytes()):
                found.append(f"{entry.name} {text[:60]!r}")
    return found


def shown(ran: Ran) -> Json:
    return {
        "ended": ran.ended,
        "code": ran.code,
        "out": ran.out.decode(errors="replace"),
        "err": ran.err.decode(errors="replace"),
    }


if __name__ == "__main__":
    main()
