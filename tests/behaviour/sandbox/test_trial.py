"""The sandbox is tried before it is used; where it does not work, a sentence that helps and bubblewrap's own words."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from homing.sandbox import bubblewrap
from homing.sandbox.bubblewrap import SEARCHED, find_bubblewrap, forwarding
from homing.sandbox.errors import NoSandbox
from homing.sandbox.seccomp import make_filter
from support.sandboxes import Driver

PutBwrap = Callable[[str], str]

OLD = """
for word; do case "$word" in --size|--disable-userns) echo "bwrap: Unknown option $word" >&2; exit 1;; esac; done
[ "$1" = --version ] && echo "bubblewrap 0.6.1" && exit
exec /usr/bin/bwrap "$@"
"""
SAYS = """
[ "$1" = --version ] && echo "bubblewrap 0.8.0" && exit
echo "bwrap: {said}" >&2; exit 1
"""
# Runs what it is given with all of /tmp inside.
LEAKS = """
exec /usr/bin/python3 -I -c '
import os, sys
words = sys.argv[1:]
if "--" in words:
    words[words.index("--bind"):words.index("--bind")] = ["--bind", "/tmp", "/tmp"]
os.execv("/usr/bin/bwrap", ["bwrap", *words])' "$@"
"""


@pytest.fixture
def put_bwrap(driver: Driver) -> Iterator[PutBwrap]:
    """Put another bwrap before the system's; gives the folders to search."""
    made: list[Path] = []

    def put(script: str) -> str:
        folder = driver.workspace.parents[1] / "bin"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        made.append(folder / "bwrap")
        made[0].write_text(f"#!/bin/sh\n{script}")
        made[0].chmod(0o755)
        return f"{folder}:{SEARCHED}"

    yield put
    for file in made:
        file.unlink()


def test_a_machine_with_bubblewrap_gives_a_sandbox_that_was_tried(driver: Driver) -> None:
    assert driver.ask("trial")["has_all_flags"] is True


def test_an_older_bubblewrap_is_used_without_the_flags_it_lacks(driver: Driver, put_bwrap: PutBwrap) -> None:
    assert driver.ask("trial", searched=put_bwrap(OLD)) == {"version": [0, 6, 1], "has_all_flags": False}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("setting up uid map: Permission denied", "profile bwrap-userns-restrict"),
        ("loopback: Failed RTM_NEWADDR: Operation not permitted", "profile bwrap-userns-restrict"),
        ("Can't mount proc on /newroot/proc: Operation not permitted", "--security-opt systempaths=unconfined"),
        ("Creating new namespace failed: Operation not permitted", "--security-opt seccomp=unconfined"),
        ("prlimit: failed to set the NPROC resource limit: Operation not permitted", "ulimit -H"),
        ("something else", "Bubblewrap cannot make a sandbox here: bwrap: something else"),
    ],
)
def test_what_bubblewrap_says_becomes_the_sentence_that_helps(
    driver: Driver, put_bwrap: PutBwrap, said: str, told: str
) -> None:
    answer = driver.ask("trial", searched=put_bwrap(SAYS.format(said=said)))

    assert told in answer["refused"]
    assert answer["error"] == f"bwrap: {said}"


def test_a_bubblewrap_that_does_not_confine_is_not_used(driver: Driver, put_bwrap: PutBwrap) -> None:
    answer = driver.ask("trial", searched=put_bwrap(LEAKS))

    assert answer["refused"] == (
        "The sandbox does not hold on this machine, so nothing runs in it: a program read a file outside."
    )


def test_a_bubblewrap_that_this_machine_cannot_execute_is_refused(driver: Driver, put_bwrap: PutBwrap) -> None:
    searched = put_bwrap("")
    Path(searched.partition(":")[0], "bwrap").write_bytes(b"\x7fELF of another machine")

    assert "Exec format error" in driver.ask("trial", searched=searched)["refused"]


def test_a_bubblewrap_that_never_answers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "_ANSWER_SECONDS", 0.1)
    (tmp_path / "bwrap").write_text("#!/bin/sh\nexec /bin/sleep 60")
    (tmp_path / "bwrap").chmod(0o755)

    with pytest.raises(NoSandbox, match="does not answer"):
        find_bubblewrap(f"{tmp_path}:{SEARCHED}")


def test_a_machine_without_bubblewrap_is_told_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(NoSandbox, match="sudo apt install bubblewrap") as caught:
        find_bubblewrap(str(tmp_path))
    assert (caught.value.status, caught.value.code) == (409, "no_sandbox")
    (tmp_path / "bwrap").write_text("#!/bin/sh")
    (tmp_path / "bwrap").chmod(0o755)
    with pytest.raises(NoSandbox, match="sudo apt install util-linux"):
        find_bubblewrap(str(tmp_path))


@pytest.mark.parametrize(("platform", "told"), [("darwin", "does not work on macOS yet"), ("win32", "WSL")])
def test_another_system_is_refused(monkeypatch: pytest.MonkeyPatch, platform: str, told: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)

    with pytest.raises(NoSandbox, match=told):
        find_bubblewrap()


def test_a_machine_that_has_no_filter_is_refused() -> None:
    with pytest.raises(NoSandbox, match="this one is riscv64"):
        make_filter("riscv64")


def test_without_a_python_inside_only_the_network_is_refused() -> None:
    with pytest.raises(NoSandbox, match="only with a python3 in /usr/bin"):
        forwarding(None, ["true"])
