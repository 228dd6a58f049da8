"""`homing cron try`: what an automation would do now, said on the terminal, and nothing of it kept."""

from collections.abc import Iterator

import pytest

from homing.testing import StubModelServer, fault, tool_call
from support.commands import Homing

KEY = "sk-test-0123456789abcdefghij"
ADD = {"action": "add", "when": "in 1 hour", "message": "look again"}


@pytest.fixture
def stub(homing: Homing, server: str) -> Iterator[StubModelServer]:
    """A running Homing whose model is this stub, and an automation called fruit."""
    with StubModelServer() as stub:
        stub.key = KEY
        chosen = homing(
            "model", "set", "openai-chat:stub-small", "--base-url", stub.openai_url, "--key", stdin=f"{KEY}\n"
        )
        assert chosen.code == 0, chosen.err
        added = homing("cron", "add", "every day at 9", "Look at the fruit prices", "--name", "fruit")
        assert added.code == 0, added.err
        yield stub


def kept(homing: Homing) -> list[object]:
    """Give what a trial must leave alone: all but what was spent."""
    job, session = homing("cron", "get", "fruit", "--json"), homing("sessions", "get", "cli:main", "--json")
    runs = homing("cron", "runs", "fruit", "--json")
    assert (job.code, session.code, runs.code) == (0, 0, 0)
    return [{**job.object, "usage": None}, session.object, runs.objects]


def test_an_automation_is_tried_and_nothing_is_written_into_its_conversation(
    homing: Homing, stub: StubModelServer
) -> None:
    before = kept(homing)
    stub.when("Look at the fruit prices", tool_call("schedule_task", ADD), "Pears are **cheap**.")
    tried = homing("cron", "try", "fru")
    assert (tried.code, tried.err) == (0, "")
    head, *rest = tried.out.splitlines()
    assert head.startswith("Test of fruit: took ")
    assert head.endswith("nothing was written into its conversation.")
    assert [line.strip() for line in rest if line.strip()] == [
        "Pears are cheap.",
        'Would have called schedule_task {"action": "add", "when": "in 1 hour", "message": "look again"}',
    ]
    assert kept(homing) == before


def test_other_words_are_tried_instead_and_json_is_one_object(homing: Homing, stub: StubModelServer) -> None:
    stub.when("Look for plums", "There are none.")
    tried = homing("cron", "try", "fruit", "-m", "Look for plums", "--json").object
    assert (tried["state"], tried["answer"]) == ("closed", "There are none.")
    assert (tried["turn"]["outcome"], tried["turn"]["would_have_called"]) == ("answered", [])
    assert "Look at the fruit prices" in homing("cron", "get", "fruit").out


def test_a_trial_that_fails_says_why_and_ends_with_1(homing: Homing, stub: StubModelServer) -> None:
    stub.when("Look at the fruit prices", fault(401))
    tried = homing("cron", "try", "fruit")
    assert tried.code == 1
    assert tried.out.startswith("Test of fruit: took ")
    assert "key" in tried.out


def test_a_reminder_is_shown_without_a_model(homing: Homing, server: str) -> None:
    homing("cron", "add", "every day at 9", "Stretch", "--name", "stretch", "--reminder")
    tried = homing("cron", "try", "stretch")
    assert (tried.code, tried.out.split("\n", 1)[0]) == (
        0,
        "Test of stretch: nothing was written into its conversation.",
    )
    assert "Stretch" in tried.out.split("\n", 1)[1]


def test_without_a_running_server_it_says_how_to_start_one(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "Look", "--name", "fruit")
    alone = homing("cron", "try", "fruit")
    assert (alone.code, "cron try needs a running server" in alone.err, "homing up" in alone.err) == (1, True, True)
