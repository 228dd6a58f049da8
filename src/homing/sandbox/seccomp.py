"""The system call filter of the sandbox, as the BPF program that `bwrap --seccomp` reads.

Namespaces hide what is outside; this closes what has no namespace (the kernel keyring) and what would open a new one.
A call made under another architecture's numbers kills the program: the numbers below would not mean what they say.
"""

import errno
import platform
import struct

from homing.sandbox.errors import NoSandbox

# By name: the number on x86_64, and on aarch64. Calls since Linux 5.1 have the same number on both.
_FORBIDDEN = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
}
# Allowed without CLONE_NEWUSER in their flags, which are the first argument.
_CLONE, _UNSHARE = (56, 220), (272, 97)
_NEW_USER = 0x10000000
# Allowed for these families, its first argument: AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others reach beyond a network
# namespace (AF_VSOCK leads to the hypervisor) or into rarely used parts of the kernel.
_SOCKET, _FAMILIES = (41, 198), (1, 2, 10, 16)
# Its flags lie in memory, where no filter sees them. Said to be missing, so that the C library uses clone.
_CLONE3 = 435
# AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64.
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
# The second set of numbers that x86_64 accepts, for 32-bit pointers.
_X32 = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_KILL, _ALLOW, _ERROR = 0x80000000, 0x7FFF0000, 0x00050000


def make_filter(machine: str | None = None) -> bytes:
    """Assemble the filter for a machine, this one by default."""
    machine = machine or platform.machine()
    if machine not in _MACHINES:
        raise NoSandbox(f"Programs run on x86_64 and aarch64 machines only, and this one is {machine}.")
    which, architecture = _MACHINES[machine]
    refuse = _do(_RETURN, _ERROR | errno.EPERM)
    program = [
        _do(_LOAD, _ARCHITECTURE),
        _do(_EQUAL, architecture, yes=1),
        _do(_RETURN, _KILL),
        _do(_LOAD, _NUMBER),
        _do(_AT_LEAST, _X32, no=1),
        _do(_RETURN, _KILL),
        _do(_EQUAL, _CLONE3, no=1),
        _do(_RETURN, _ERROR | errno.ENOSYS),
    ]
    for numbers in _FORBIDDEN.values():
        program += [_do(_EQUAL, numbers[which], no=1), refuse]
    program += [
        _do(_EQUAL, _SOCKET[which], no=len(_FAMILIES) + 3),
        _do(_LOAD, _FIRST_ARGUMENT),
        *(_do(_EQUAL, family, yes=len(_FAMILIES) - i) for i, family in enumerate(_FAMILIES)),
        _do(_RETURN, _ERROR | errno.EAFNOSUPPORT),
        _do(_RETURN, _ALLOW),
        _do(_EQUAL, _CLONE[which], yes=2),
        _do(_EQUAL, _UNSHARE[which], yes=1),
        _do(_RETURN, _ALLOW),
        _do(_LOAD, _FIRST_ARGUMENT),
        _do(_ANY_BIT, _NEW_USER, no=1),
        refuse,
        _do(_RETURN, _ALLOW),
    ]
    return b"".join(program)


def _do(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Encode one instruction; `yes` and `no` are how many to skip after a comparison."""
    return struct.pack("=HBBI", code, yes, no, value)
