"""The system call filter, run on a small BPF machine: the same decisions for both architectures."""

import errno
import struct

import pytest

from homing.sandbox.seccomp import make_filter

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS = {
    # name: number on x86_64, number on aarch64
    "read": (0, 63),
    "openat": (257, 56),
    "execve": (59, 221),
    "clone": (56, 220),
    "unshare": (272, 97),
    "add_key": (248, 217),
    "keyctl": (250, 219),
    "request_key": (249, 218),
    "ptrace": (101, 117),
    "mount": (165, 40),
    "bpf": (321, 280),
    "kexec_load": (246, 104),
    "perf_event_open": (298, 241),
    "setns": (308, 268),
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "getpid": (39, 172),
    "setuid": (105, 146),
    "socket": (41, 198),
}
ALLOWED, KILLED = "allowed", "killed"
NEW_USER = 0x10000000


def decide(program: bytes, number: int, architecture: int, argument: int = 0) -> str:
    """Run a filter as the kernel does."""
    data = struct.pack("<IIQQQQQQQ", number, architecture, 0, argument, 0, 0, 0, 0, 0)
    steps = list(struct.iter_unpack("=HBBI", program))
    at = value = 0
    while True:
        code, yes, no, k = steps[at]
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, k)
        elif code == 0x06:
            break
        else:
            held = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
            at += yes if held else no
    action = k & 0xFFFF0000
    if action == 0x00050000:
        return errno.errorcode[k & 0xFFFF]
    return {0x7FFF0000: ALLOWED, 0x80000000: KILLED}[action]


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize(
    ("call", "argument", "decision"),
    [
        ("read", 0, ALLOWED),
        ("openat", 0, ALLOWED),
        ("execve", 0, ALLOWED),
        ("getpid", 0, ALLOWED),
        ("setuid", 0, ALLOWED),
        ("clone", 17, ALLOWED),
        ("clone", NEW_USER | 17, "EPERM"),
        ("unshare", 0x20000, ALLOWED),
        ("unshare", NEW_USER, "EPERM"),
        ("clone3", 0, "ENOSYS"),
        ("socket", 1, ALLOWED),
        ("socket", 2, ALLOWED),
        ("socket", 10, ALLOWED),
        ("socket", 16, ALLOWED),
        ("socket", 0, "EAFNOSUPPORT"),
        ("socket", 17, "EAFNOSUPPORT"),
        ("socket", 38, "EAFNOSUPPORT"),
        ("socket", 40, "EAFNOSUPPORT"),
        ("add_key", 0, "EPERM"),
        ("keyctl", 0, "EPERM"),
        ("request_key", 0, "EPERM"),
        ("ptrace", 0, "EPERM"),
        ("mount", 0, "EPERM"),
        ("bpf", 0, "EPERM"),
        ("kexec_load", 0, "EPERM"),
        ("perf_event_open", 0, "EPERM"),
        ("setns", 0, "EPERM"),
        ("io_uring_setup", 0, "EPERM"),
    ],
)
def test_a_call_is_decided_by_its_number_and_flags(machine: str, call: str, argument: int, decision: str) -> None:
    number = CALLS[call][list(ARCHITECTURES).index(machine)]

    assert decide(make_filter(machine), number, ARCHITECTURES[machine], argument) == decision


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_a_call_under_another_architectures_numbers_kills_the_program(machine: str) -> None:
    program = make_filter(machine)
    other = next(value for name, value in ARCHITECTURES.items() if name != machine)

    assert decide(program, CALLS["read"][0], other) == KILLED
    assert decide(program, CALLS["read"][0], 0x40000003) == KILLED  # i386
    assert decide(program, 0x40000000 | 39, ARCHITECTURES[machine]) == KILLED  # x32


def test_a_filter_is_small_enough_for_the_kernel() -> None:
    assert len(make_filter("x86_64")) // 8 < 4096
