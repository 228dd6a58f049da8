"""Runs inside the sandbox, on the system's python3: tries what a program must not be able to, and what it must.

Prints one JSON object: per attempt `yes` or `no`, and a reason. All loads are bounded.
"""

import ctypes
import errno
import json
import os
import platform
import resource
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

SCENE = json.loads(sys.argv[1]) if __name__ == "__main__" else {}
LIBC = ctypes.CDLL(None, use_errno=True)
ADD_KEY, PTRACE, CLONE = (248, 101, 56) if platform.machine() == "x86_64" else (217, 117, 220)
NEW_USER, SIGCHLD = 0x10000000, 17


def read(path):
    with Path(path).open("rb") as file:
        return "yes" if file.read(10) else "no: empty"


def write(path):
    Path(path).write_bytes(b"x")
    return "yes"


def call(result):
    return "yes" if result >= 0 else f"no: {errno.errorcode[ctypes.get_errno()]}"


def hello(family, where, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as end:
        end.settimeout(2)
        end.connect(where)
        end.send(b"hello")
        return "yes" if end.recv(5) == b"HELLO" else "no: another answered"


def opened(family):
    socket.socket(family, socket.SOCK_STREAM if family == 40 else socket.SOCK_RAW).close()
    return "yes"


def seen(file, mark):
    pids = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    for pid in pids:
        with suppress(OSError):
            if mark.encode() in Path(f"/proc/{pid}/{file}").read_bytes():
                return f"yes: process {pid}"
    return f"no: {len(pids)} processes seen"


def status(pid, *names):
    """Say no when every one of these sets is empty."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    full = {name: lines[name].strip() for name in names if int(lines[name].strip() or "0", 16)}
    return f"yes: {full}" if full else "no"


def fork(most):
    children = []
    try:
        while len(children) < most:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
        return f"yes: {most}"
    except OSError as error:
        return f"no: {len(children)}, {error.strerror}"
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def allocate(megabytes):
    held = []
    try:
        while len(held) < megabytes // 32:
            held.append(bytearray(32 << 20))
        return f"yes: {megabytes}"
    except MemoryError:
        return f"no: {32 * len(held)} MB"


def reserve(path, megabytes):
    with Path(path).open("wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, megabytes << 20)
        finally:
            Path(path).unlink()
    return "yes"


def open_many(most):
    held = []
    try:
        while len(held) < most:
            held.append(os.dup(0))
        return f"yes: {most}"
    finally:
        for fd in held:
            os.close(fd)


def room(path, megabytes):
    space = os.statvfs(path)
    total = space.f_blocks * space.f_frsize
    return "no" if total <= megabytes << 20 else f"yes: {total} bytes"


def in_child(attempt):
    """Try in a child what could hurt this process."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = attempt()
        except OSError as error:
            said = f"no: {error.strerror}"
        os.write(writes, said.encode())
        os._exit(0)
    os.close(writes)
    os.waitpid(child, 0)
    with os.fdopen(reads) as answer:
        return answer.read() or "no: killed"


def signal_group():
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.kill(0, signal.SIGUSR1)
    # Had it reached bubblewrap outside, this process would be dead before it had slept.
    signal.sigtimedwait([signal.SIGUSR2], 0.2)
    return "no"


def clone_user():
    child = LIBC.syscall(CLONE, NEW_USER | SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return call(child)


def same(value, other):
    return "yes" if value == other else f"no: {value}"


def gain():
    return "no" if "NoNewPrivs:\t1" in Path("/proc/self/status").read_text() else "yes"


def spared():
    return "no" if Path("/proc/self/oom_score_adj").read_text().strip() == "1000" else "yes"


def own_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as end:
        end.close()
    return "yes"


ESCAPES = {
    "signal a process of the host": lambda: (os.kill(SCENE["victim"], 0), "yes")[1],
    "signal bubblewrap by its group": signal_group,
    "see processes of the host": lambda: seen("cmdline", SCENE["victim_mark"][::-1]),
    "read a key or the database": lambda: read(SCENE["secret"]),
    "read /etc/shadow": lambda: read("/etc/shadow"),
    "read /etc/passwd": lambda: read("/etc/passwd"),
    "write outside the workspace": lambda: write(SCENE["outside"] + "/escaped"),
    "write where it may only read": lambda: write(SCENE["reads"] + "/escaped"),
    "write to the system": lambda: write("/usr/local/escaped"),
    "write to the root folder": lambda: write("/escaped"),
    "write to /dev": lambda: write("/dev/escaped"),
    "reach loopback by TCP": lambda: hello(socket.AF_INET, ("127.0.0.1", SCENE["tcp"])),
    "reach loopback by UDP": lambda: hello(socket.AF_INET, ("127.0.0.1", SCENE["udp"]), socket.SOCK_DGRAM),
    "reach a unix socket by its path": lambda: hello(socket.AF_UNIX, SCENE["socket"]),
    "reach an abstract unix socket": lambda: hello(socket.AF_UNIX, SCENE["abstract"].replace("@", "\0")),
    # Not part of a network namespace: it leads to the machine that runs this virtual one.
    "open a socket to the hypervisor": lambda: opened(40),
    "open a socket of another family": lambda: opened(44),
    "read the host's environment": lambda: seen("environ", SCENE["mark"]),
    "use shared memory of the host": lambda: call(LIBC.shmget(SCENE["shared"], 1, 0)),
    "learn the host's name": lambda: same(socket.gethostname(), SCENE["hostname"]),
    "share the host's cgroup namespace": lambda: same(str(Path("/proc/self/ns/cgroup").readlink()), SCENE["cgroup"]),
    "have capabilities": lambda: status("self", "CapEff", "CapPrm", "CapAmb"),
    "inherit capabilities": lambda: status("self", "CapInh"),
    "gain capabilities": lambda: status("self", "CapBnd"),
    "stand under a powerful first process": lambda: status(1, "CapEff", "CapPrm", "CapAmb"),
    "be in a group of the host": lambda: "no" if not set(os.getgroups()) - {65534} else f"yes: {os.getgroups()}",
    "run as a group of the host": lambda: "no" if os.getgid() >= 65534 else f"yes: {os.getgid()}",
    "run as a user of the host": lambda: "no" if os.getuid() >= 65534 else f"yes: {os.getuid()}",
    "gain rights by a setuid program": gain,
    "open a terminal": lambda: read("/dev/tty"),
    "fork 200 processes": lambda: fork(200),
    "allocate 1 GB": lambda: allocate(1024),
    "write a file of 300 MB": lambda: reserve("large", 300),
    "open 600 files": lambda: open_many(600),
    "leave a core file": lambda: "yes" if resource.getrlimit(resource.RLIMIT_CORE)[1] else "no",
    "fill memory through /dev/shm": lambda: room("/dev/shm", 64),
    "fill memory through /tmp": lambda: room("/tmp", 256),
    "make a user namespace by unshare": lambda: in_child(lambda: call(LIBC.unshare(NEW_USER))),
    "make a user namespace by clone": clone_user,
    "use the kernel keyring": lambda: call(LIBC.syscall(ADD_KEY, b"user", b"homing", b"x", 1, -4)),
    "trace a process": lambda: in_child(lambda: call(LIBC.syscall(PTRACE, 0, 0, 0, 0))),
    "outlive others when memory ends": spared,
}

WORKS = {
    "write to the workspace": lambda: write("written"),
    "write to /tmp": lambda: write("/tmp/written"),
    "write to /dev/shm": lambda: write("/dev/shm/written"),
    "read what it may read": lambda: read(SCENE["reads"] + "/given"),
    "use /dev/null": lambda: write("/dev/null"),
    "start other programs": lambda: "yes" if subprocess.run(["/bin/true"], check=False).returncode == 0 else "no",
    "start in the workspace": lambda: same(str(Path.cwd()), "/workspace"),
    "use its own loopback": own_loopback,
    "list its network interfaces": lambda: "yes" if socket.if_nameindex() == [(1, "lo")] else "no",
}


def tried(attempt):
    try:
        return attempt()
    except OSError as error:
        return f"no: {error.strerror}"


if __name__ == "__main__":
    asked = sys.argv[2:] or [*ESCAPES, *WORKS]
    print(json.dumps({name: tried({**ESCAPES, **WORKS}[name]) for name in asked}))
