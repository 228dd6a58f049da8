"""What a program in the sandbox cannot do, as root and as an ordinary user, and that each flag is needed for it."""

from dataclasses import dataclass

import pytest

from support.escapes import ESCAPES, WORKS
from support.sandboxes import MARK, Driver


@pytest.fixture(scope="module")
def tried(driver: Driver) -> dict[str, str]:
    """What came of every attempt."""
    answer = driver.ask("attempts")
    assert answer.get("code") == 0, answer
    return answer["said"]


@pytest.mark.parametrize("attempt", ESCAPES)
def test_a_program_in_the_sandbox_cannot(tried: dict[str, str], attempt: str) -> None:
    assert tried[attempt].startswith("no")


@pytest.mark.parametrize("attempt", WORKS)
def test_a_program_in_the_sandbox_can(tried: dict[str, str], attempt: str) -> None:
    assert tried[attempt].startswith("yes")


@dataclass(frozen=True, kw_only=True)
class Change:
    """Words taken out of our argument list, or replaced by others, and the attempt that then ends otherwise.

    Without an attempt nothing begins at all.
    """

    old: tuple[str, ...]
    attempt: str | None = None
    new: tuple[str, ...] = ()
    who: tuple[str, ...] = ("root", "user")
    also: tuple[tuple[str, ...], ...] = ()


ROOT, USER = ("root",), ("user",)
CHANGES = (
    Change(old=("--new-session",), attempt="signal bubblewrap by its group", who=USER),
    Change(old=("--seccomp", "*"), attempt="use the kernel keyring"),
    Change(old=("--seccomp", "*"), attempt="trace a process"),
    Change(old=("--seccomp", "*"), attempt="make a user namespace by unshare", who=ROOT),
    Change(old=("--info-fd", "*")),
    Change(old=("--unshare-pid",), attempt="see processes of the host"),
    Change(old=("--unshare-pid",), attempt="signal a process of the host", who=USER),
    Change(old=("--unshare-net",), attempt="reach loopback by TCP"),
    Change(old=("--unshare-net",), attempt="reach loopback by UDP"),
    Change(old=("--unshare-net",), attempt="reach an abstract unix socket"),
    Change(old=("--unshare-ipc",), attempt="use shared memory of the host"),
    Change(old=("--unshare-uts",)),
    Change(old=("--hostname", "sandbox"), attempt="learn the host's name"),
    Change(old=("--unshare-cgroup-try",), attempt="share the host's cgroup namespace"),
    Change(old=("--unshare-user",), who=USER),
    Change(old=("--uid", "65534"), new=("--uid", "1000"), attempt="run as a user of the host", who=USER),
    Change(old=("--gid", "65534"), new=("--gid", "1000"), attempt="run as a group of the host", who=USER),
    # The filter is a second wall before this one.
    Change(old=("--disable-userns",), attempt="make a user namespace by unshare", who=USER, also=(("--seccomp", "*"),)),
    Change(old=("--proc", "/proc")),
    Change(old=("--dev", "/dev")),
    Change(old=("--size", str(64 << 20)), attempt="fill memory through /dev/shm"),
    Change(old=("--size", str(256 << 20)), attempt="fill memory through /tmp"),
    Change(old=("--perms", "1777", "--tmpfs", "/tmp"), new=("--tmpfs", "/tmp"), attempt="write to /tmp", who=ROOT),
    Change(old=("--size", "*", "--perms", "1777", "--tmpfs", "/tmp"), attempt="write to /tmp"),
    Change(old=("--symlink", "usr/bin", "/bin")),
    Change(old=("--ro-bind", "/usr", "/usr")),
    Change(old=("--dir", "READS/.."), attempt="read what it may read", who=ROOT),
    Change(
        old=("--ro-bind", "READS", "READS"), new=("--bind", "READS", "READS"), attempt="write where it may only read"
    ),
    Change(
        old=("--bind", "WORKSPACE", "/workspace"),
        new=("--ro-bind", "WORKSPACE", "/workspace"),
        attempt="write to the workspace",
    ),
    Change(old=("--remount-ro", "/dev"), attempt="write to /dev", who=USER),
    Change(old=("--remount-ro", "/"), attempt="write to the root folder", who=USER),
    Change(old=("--reuid", "UID"), who=ROOT),
    Change(old=("--regid", "UID"), attempt="run as a group of the host", who=ROOT),
    Change(old=("--clear-groups",), who=ROOT),
    Change(old=("--bounding-set", "-all"), attempt="gain capabilities", who=ROOT),
    Change(old=("--inh-caps", "-all"), attempt="inherit capabilities", who=ROOT),
    Change(old=("--nproc=128",), attempt="fork 200 processes"),
    Change(old=(f"--data={512 << 20}",), attempt="allocate 1 GB"),
    Change(old=(f"--fsize={256 << 20}",), attempt="write a file of 300 MB"),
    Change(old=("--nofile=512",), attempt="open 600 files"),
    Change(old=("--core=0",), attempt="leave a core file"),
)
# Has a test of its own: tests/behaviour/sandbox/test_endings.py.
ELSEWHERE = {"--die-with-parent"}


def _named(change: Change | str) -> str:
    if isinstance(change, str):
        return change
    return " ".join(change.old) + (f", {change.attempt}" if change.attempt else "")


@pytest.mark.parametrize(
    ("driver", "change"),
    [(who, change) for who in ("root", "user") for change in CHANGES if who in change.who],
    ids=_named,
    indirect=["driver"],
)
def test_each_flag_and_limit_is_needed(driver: Driver, change: Change) -> None:
    reads, uid = driver.workspace.parents[1] / "reads", driver.workspace.stat().st_uid
    spelled = {"WORKSPACE": str(driver.workspace), "READS": str(reads), "READS/..": str(reads.parent), "UID": str(uid)}

    def spell(words: tuple[str, ...]) -> list[str]:
        return [spelled.get(word, word) for word in words]

    changes = [(spell(change.old), spell(change.new)), *((spell(words), []) for words in change.also)]
    names = [change.attempt] if change.attempt else ["use /dev/null"]
    answer = driver.ask("attempts", names=names, changes=changes)

    if change.attempt is None:
        assert "said" not in answer
    else:
        usual = "no" if change.attempt in ESCAPES else "yes"
        assert not answer["said"].get(change.attempt, "died").startswith(usual)


def test_no_flag_is_left_untried(driver: Driver) -> None:
    words = driver.ask("words")["words"]
    flags = {word for word in words if word.startswith("--") and word != "--"}

    assert flags - ELSEWHERE <= {word for change in CHANGES for word in change.old}


@pytest.mark.parametrize("driver", ["user"], indirect=True)
@pytest.mark.parametrize("without", [["--seccomp", "*"], ["--disable-userns"]])
def test_the_filter_alone_and_the_flag_alone_both_prevent_user_namespaces(driver: Driver, without: list[str]) -> None:
    attempt = "make a user namespace by unshare"
    answer = driver.ask("attempts", names=[attempt], changes=[(without, [])])

    assert answer["said"][attempt].startswith("no")


def test_bubblewraps_own_environment_is_clean_because_the_program_can_read_it(driver: Driver) -> None:
    answer = driver.ask("attempts", names=["read the host's environment"], leak=True)

    assert answer["said"]["read the host's environment"].startswith("yes")


def test_what_a_caller_adds_to_the_environment_reaches_the_program_and_no_command_line(driver: Driver) -> None:
    shell = "echo $TOKEN; cat /proc/*/cmdline /proc/1/environ | tr '\\0' '\\n' | grep -c hunter[2]"
    answer = driver.ask("program", argv=["sh", "-c", shell], env={"TOKEN": "it's hunter2; $(id)"})

    assert answer["out"] == "it's hunter2; $(id)\n0\n"


def test_the_programs_environment_holds_nothing_of_the_hosts(driver: Driver) -> None:
    answer = driver.ask("program", argv=["env"])

    assert {line.partition("=")[0] for line in answer["out"].splitlines()} <= {
        *("PATH", "HOME", "TMPDIR", "LANG", "PWD", "OLDPWD", "_", "SHLVL")
    }
    assert MARK not in answer["out"]
