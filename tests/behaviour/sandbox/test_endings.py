"""However a run ends, nothing of it is left alive; its exit code and output are its result."""

import os
import secrets
import signal
import time
from contextlib import suppress

import pytest

from support.sandbox_driver import alive
from support.sandboxes import Driver, Who, drive

# A child that has left its session, its parent and its streams behind, and then the program itself.
LEAVES_A_CHILD = "(setsid sleep {mark} >/dev/null 2>&1 </dev/null &); touch started; {then}"


def _mark() -> str:
    """A number of seconds that no other process sleeps for."""
    return f"{3600 + secrets.randbelow(100_000)}.{secrets.randbelow(10**9):09}"


def _leaves_a_child(mark: str, then: str) -> list[str]:
    return ["sh", "-c", LEAVES_A_CHILD.format(mark=mark, then=then)]


def test_a_programs_exit_code_and_output_are_its_result(driver: Driver) -> None:
    answer = driver.ask("program", argv=["sh", "-c", "cat; echo wrong >&2; exit 3"], stdin="given")

    assert answer == {"ended": "exit", "code": 3, "out": "given", "err": "wrong\n"}


def test_a_program_that_reads_none_of_a_large_input_still_ends(driver: Driver) -> None:
    answer = driver.ask("program", argv=["true"], stdin="x" * 1_000_000)

    assert (answer["ended"], answer["code"]) == ("exit", 0)


def test_a_missing_program_is_a_result_with_its_own_words(driver: Driver) -> None:
    answer = driver.ask("program", argv=["no-such-program"])

    assert answer["code"] == 127
    assert "no-such-program" in answer["err"]
    assert "not found" in answer["err"]


def test_a_program_ended_by_a_signal_says_so_in_its_code(driver: Driver) -> None:
    assert driver.ask("program", argv=["sh", "-c", "kill -TERM $$"])["code"] == 128 + signal.SIGTERM


def test_output_that_does_not_end_is_cut_and_the_program_killed(driver: Driver) -> None:
    answer = driver.ask("program", argv=["yes"])

    assert answer["ended"] == "output"
    assert len(answer["out"]) == 64 << 10


def test_an_endless_loop_ends_at_its_time(driver: Driver) -> None:
    answer = driver.ask("program", argv=["sh", "-c", "while :; do :; done"], seconds=0.3)

    assert answer["ended"] == "timeout"


def test_nothing_is_alive_after_a_program_has_ended_by_itself(driver: Driver) -> None:
    mark = _mark()
    answer = driver.ask("survivors", argv=_leaves_a_child(mark, "true"), mark=mark)

    assert (answer["ended"], answer["alive"]) == ("exit", [])


def test_nothing_is_alive_after_a_timeout(driver: Driver) -> None:
    mark = _mark()
    answer = driver.ask("survivors", argv=_leaves_a_child(mark, f"sleep {mark}"), mark=mark, seconds=0.5)

    assert (answer["ended"], answer["alive"]) == ("timeout", [])


@pytest.mark.parametrize("seconds", [0.0005, 0.002, 0.004, 0.006, 0.01])
def test_nothing_is_alive_after_a_timeout_while_the_sandbox_is_still_being_made(driver: Driver, seconds: float) -> None:
    mark = _mark()
    answer = driver.ask("survivors", argv=_leaves_a_child(mark, f"sleep {mark}"), mark=mark, seconds=seconds)

    assert (answer["ended"], answer["alive"]) == ("timeout", [])


def test_nothing_is_alive_after_a_cancel(driver: Driver) -> None:
    mark = _mark()
    (driver.workspace / "started").unlink(missing_ok=True)

    assert driver.ask("cancel", argv=_leaves_a_child(mark, f"sleep {mark}"), mark=mark, file="started") == {"alive": []}


@pytest.mark.parametrize("after", [0, 0.002, 0.004, 0.008])
def test_nothing_is_alive_after_a_cancel_while_the_sandbox_is_still_being_made(driver: Driver, after: float) -> None:
    mark = _mark()

    assert driver.ask("cancel", argv=_leaves_a_child(mark, f"sleep {mark}"), mark=mark, after=after) == {"alive": []}


@pytest.mark.parametrize("after", [0, 0.002, 0.004, 0.006, 0.008, 0.012, 0.02])
def test_nothing_is_alive_after_a_second_cancel_right_behind_the_first(driver: Driver, after: float) -> None:
    mark = _mark()
    argv = _leaves_a_child(mark, f"sleep {mark}")

    for again in (1, 3):
        assert driver.ask("cancel", argv=argv, mark=mark, after=after, again=again) == {"alive": []}


def test_a_program_is_talked_to_line_by_line_and_killed_with_its_children_afterwards(driver: Driver) -> None:
    mark = _mark()
    answers = 'while read -r line; do echo "heard $line" >&2; echo "$GREETING $line"; done'
    argv = _leaves_a_child(mark, f"trap '' TERM HUP; {answers}; sleep {mark}")
    answer = driver.ask("talk", argv=argv, mark=mark, lines=["one", "two"], env={"GREETING": "hello"})

    assert answer == {"heard": ["hello one\n", "hello two\n"], "errors": "heard one\nheard two\n", "alive": []}


def test_a_program_that_has_ended_gives_those_who_talk_to_it_the_end_of_its_output(driver: Driver) -> None:
    argv = ["sh", "-c", "echo 'no API key' >&2; exit 3"]
    answer = driver.ask("talk", argv=argv, mark=_mark(), lines=["one"])

    assert answer == {"heard": [""], "errors": "no API key\n", "alive": []}


def test_a_program_that_cannot_begin_says_why_to_those_who_would_talk_to_it(driver: Driver) -> None:
    answer = driver.ask("talk", argv=["cat"], mark=_mark(), lines=[], changes=[(["--unshare-pid"], ["--no-such-flag"])])

    assert "no-such-flag" in answer["refused"]


@pytest.mark.parametrize("argv", [[], ["echo", "a\0b"], ["echo", "\ud800"]])
def test_a_command_that_cannot_be_given_to_a_program_is_refused(driver: Driver, argv: list[str]) -> None:
    assert driver.ask("program", argv=argv)["refused"].startswith("A command is at least one word")


def test_a_command_that_is_too_long_is_refused(driver: Driver) -> None:
    answer = driver.ask("program", argv=["echo", "x" * 200_000])

    assert answer == {"refused": "The command is too long; write it to a file and run that."}


def test_a_workspace_that_is_not_there_is_refused(driver: Driver) -> None:
    assert "No such file or directory" in driver.ask("program", argv=["true"], workspace="gone")["refused"]


def _until_started(driver: Driver) -> None:
    end = time.monotonic() + 60
    while not (driver.workspace / "started").exists() and time.monotonic() < end:
        time.sleep(0.005)


def _until_dead(mark: str, seconds: float = 60) -> list[str]:
    """Wait for the last process of a run; give those that outlive the wait."""
    end = time.monotonic() + seconds
    while (left := alive(mark)) and time.monotonic() < end:
        time.sleep(0.01)
    return left


def _kill(left: list[str]) -> None:
    for line in left:
        with suppress(ProcessLookupError):
            os.kill(int(line.split()[0]), signal.SIGKILL)


@pytest.mark.parametrize("who", ["root", "user"])
def test_nothing_is_alive_after_a_kill_9_of_the_process_that_ran_it(who: Who) -> None:
    mark = _mark()
    with drive(who) as driver:
        driver.send("program", argv=_leaves_a_child(mark, f"sleep {mark}"))
        _until_started(driver)
        assert alive(mark)
        driver.process.kill()
        driver.process.wait()
        assert _until_dead(mark) == []


@pytest.mark.parametrize("who", ["root", "user"])
def test_a_program_that_is_talked_to_and_ignores_sigterm_dies_with_a_kill_9_of_its_worker(who: Who) -> None:
    mark = _mark()
    with drive(who) as driver:
        driver.send("stay", argv=_leaves_a_child(mark, f"trap '' TERM HUP; sleep {mark}"))
        _until_started(driver)
        assert alive(mark)
        driver.process.kill()
        driver.process.wait()
        assert _until_dead(mark) == []


@pytest.mark.parametrize("after", [0, 0.0003, 0.001, 0.002, 0.004])
@pytest.mark.parametrize("who", ["root", "user"])
def test_the_program_never_begins_when_a_kill_9_comes_while_the_sandbox_is_still_being_made(
    who: Who, after: float
) -> None:
    mark = _mark()
    with drive(who) as driver:
        driver.send("die", argv=["sh", "-c", f"touch started; sleep {mark}"], after=after)
        driver.process.wait()
        # Within some microseconds of its start bubblewrap may be left waiting for itself, with nothing done (ADR 0033).
        left = _until_dead(mark, seconds=2)
        _kill(left)
        assert not (driver.workspace / "started").exists()
        assert [line for line in left if "/bwrap" not in line] == []


@pytest.mark.parametrize("who", ["root", "user"])
def test_without_die_with_parent_a_program_outlives_a_kill_9(who: Who) -> None:
    mark = _mark()
    with drive(who) as driver:
        driver.send("program", argv=["sh", "-c", f"touch started; sleep {mark}"], changes=[(["--die-with-parent"], [])])
        _until_started(driver)
        driver.process.kill()
        driver.process.wait()
        left = _until_dead(mark, seconds=0.3)
        _kill(left)
    assert left
