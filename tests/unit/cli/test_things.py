"""Sessions, memories, hooks, webhooks, tokens, deliveries: listed, made, taken away."""

import sqlite3
import time
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from support.commands import Homing


def test_a_session_with_automations_is_not_deleted_unasked(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine", "--name", "fruit watch")
    said = homing("sessions", "delete", "main")
    assert said.code == 2
    assert "--delete-automations" in said.err
    told = homing("sessions", "delete", "main", "--json")
    assert told.problem["deleted"] is False
    assert told.problem["blocked_by_automations"] is True
    assert told.problem["automations"] == [{"id": "mine", "name": "fruit watch", "enabled": True}]


def test_a_session_goes_with_its_automations_when_that_is_said(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine")
    said = homing("sessions", "delete", "cli:main", "--delete-automations")
    assert said.out.strip() == "Deleted cli:main and its automations."
    assert homing("cron", "list", "--json").out == ""
    assert homing("sessions", "list", "--json").out == ""


def test_an_upkeep_that_never_was_cannot_be_undone(homing: Homing) -> None:
    refused = homing("memories", "undo", "drm_nobody")
    assert (refused.code, "There is no memory upkeep drm_nobody." in refused.err) == (2, True)


def test_memories_are_added_found_and_forgotten(homing: Homing) -> None:
    memory = homing("memories", "add", "I like apples", "--json").object
    homing("memories", "add", "我喜欢苹果")
    assert [one["text"] for one in homing("memories", "list", "--q", "苹果", "--json").objects] == ["我喜欢苹果"]
    assert "I like apples" in homing("memories", "list").out
    assert homing("memories", "remove", memory["id"][:8]).code == 0
    assert len(homing("memories", "list", "--json").objects) == 1


def test_an_empty_id_means_no_memory_not_even_the_only_one(homing: Homing) -> None:
    homing("memories", "add", "I like apples")
    assert homing("memories", "remove", "").code == 2
    assert len(homing("memories", "list", "--json").objects) == 1


def test_a_message_that_nobody_can_answer_yet_is_not_called_answered(homing: Homing) -> None:
    said = homing("send", "main", "hello")
    assert said.code == 0
    assert "It waits for an engine." in said.out
    assert "nothing fires until `homing up`" in said.err


def test_a_message_without_a_session_goes_to_the_default_one(homing: Homing, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Sent to cli:main" in homing("send", "hello").out
    monkeypatch.setenv("HOMING_SESSION", "cli:garden")
    assert "Sent to cli:garden" in homing("send", "-", stdin="hello").out
    said = homing("send", "main", "hello", "you")
    assert (said.code, "in quotes" in said.err) == (2, True)


def test_a_refused_address_names_commands_and_not_operations(homing: Homing) -> None:
    homing("send", "main", "hello")
    said = homing("sessions", "test", "main", "email:anna@example.org")
    assert said.code == 2
    assert "`homing grants list`" in said.err
    assert "`homing grants add`" in said.err


def test_a_hook_is_shown_once(homing: Homing) -> None:
    homing("cron", "add", "in 1 hour", "x")
    hook = homing("hooks", "add", "main", "--name", "ci", "--json").object
    assert "/api/hooks/" in hook["url"]
    [listed] = homing("hooks", "list", "main", "--json").objects
    assert (listed["id"], "url" in listed) == (hook["id"], False)
    assert homing("hooks", "remove", hook["id"], "-s", "main").code == 0
    assert "No hooks in cli:main" in homing("hooks", "list").out


def test_a_hooks_words_are_not_shown_as_yours(homing: Homing, server: str) -> None:
    homing("send", "main", "hello", "--wait")
    url = homing("hooks", "add", "main", "--name", "ci", "--json").object["url"]
    urlopen(Request(server + urlsplit(url).path, data=b"Build 42 is green", method="POST")).close()
    until = time.monotonic() + 60
    while "Build 42 is green" not in (shown := homing("sessions", "get", "main").out):
        assert time.monotonic() < until
    assert "Hook “ci”  " in shown


def test_a_hook_of_another_session_is_missed_in_the_session_that_is_named(homing: Homing) -> None:
    homing("send", "main", "hello")
    homing("send", "fruit", "hello")
    hook = homing("hooks", "add", "fruit", "--json").object
    said = homing("hooks", "remove", hook["id"])
    assert (said.code, f"There is no hook {hook['id']} in cli:main." in said.err) == (2, True)
    assert "--session SESSION" in said.err
    assert "cli:fruit" in homing("hooks", "list", "fruit").out
    assert homing("hooks", "remove", hook["id"], "--session", "fruit").code == 0


def test_a_refusal_of_an_unknown_id_names_those_that_there_are(homing: Homing) -> None:
    said = homing("webhooks", "remove", "wh_nowhere")
    assert (said.code, said.err) == (2, "There is no webhook wh_nowhere.\nThere are none.\n")
    made = [homing("webhooks", "add", f"https://example.com/{n}", "--json").object["id"] for n in range(14)]
    said = homing("webhooks", "remove", "wh_nowhere", *made)
    known = said.err.splitlines()[1]
    assert (said.code, known.endswith(" and 2 more.")) == (2, True)
    assert set(known.removeprefix("There are: ").removesuffix(" and 2 more.").split(", ")) < set(made)
    assert len(homing("webhooks", "list", "--json").objects) == 14, "nothing is removed before all are found"


def test_a_webhook_shows_its_secret_once(homing: Homing) -> None:
    made = homing("webhooks", "add", "https://example.com/in", "--json").object
    assert made["secret"].startswith("whsec_")
    [listed] = homing("webhooks", "list", "--json").objects
    assert "secret" not in listed
    assert homing("webhooks", "remove", made["address"]).code == 0
    assert homing("webhooks", "list", "--json").out == ""


def test_a_mail_address_is_granted_given_to_a_session_and_taken_back(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x")
    refused = homing("sessions", "update", "main", "--address", "email:anna@example.org")
    assert refused.code == 2
    assert "one that was granted" in refused.err
    grant = homing("grants", "add", "email:anna@example.org", "--json").object
    assert (
        "Note: Mail is not set up on this server: set HOMING_SMTP_URL." in homing("grants", "add", grant["address"]).out
    )
    assert [one["id"] for one in homing("grants", "list", "--json").objects] == [grant["id"]]
    updated = homing("sessions", "update", "main", "--address", grant["address"], "--title", "Mail")
    assert updated.out.startswith('"Mail" (cli:main)')
    assert homing("sessions", "get", "Mail", "--json").object["addresses"] == ["cli:main", grant["address"]]
    assert homing("sessions", "update", "main").code == 2
    assert homing("sessions", "update", "main", "--no-address", "cli:main", "--json").object["addresses"] == [
        grant["address"]
    ]
    assert homing("grants", "remove", grant["address"]).code == 0
    assert homing("sessions", "get", "main", "--json").object["addresses"] == []
    assert "No grants" in homing("grants", "list").out


def test_a_granted_host_is_listed_and_taken_back_by_its_name(homing: Homing) -> None:
    assert homing("grants", "add", "--host", "owls.example").code == 0
    assert "owls.example" in homing("grants", "list").out
    assert homing("grants", "remove", "owls.example").code == 0
    assert "No grants" in homing("grants", "list").out


def test_an_agent_is_let_write_to_another_and_into_a_conversation_and_it_is_taken_back(homing: Homing) -> None:
    homing("agents", "add", "Research")
    homing("send", "plans", "hello")
    said = homing("grants", "add", "--to-agent", "research")
    assert said.out.startswith("main may write to the agent research (grt_")
    said = homing("grants", "add", "--session", "plans", "--agent", "research")
    assert said.out.startswith("research may write to the conversation cli:plans (grt_")
    assert homing("grants", "add", "--to-agent", "nobody").code == 2
    listed = homing("grants", "list").out
    assert "agent research" in listed
    assert "conversation cli:plans" in listed
    removed = homing("grants", "remove", "research", "cli:plans").out
    assert "main no longer writes to agent research." in removed
    assert "No grants" in homing("grants", "list").out


def test_a_token_is_made_listed_and_revoked(homing: Homing) -> None:
    token = homing("tokens", "create", "--user", "anna", "--role", "user", "--expires", "30d", "--json").object
    assert token["token"].startswith("hom_")
    assert (token["user_id"], token["role"]) == ("anna", "user")
    assert token["expires_at"] is not None
    mine = homing("tokens", "create", "--json").object
    assert mine["id"] in homing("tokens", "list").out
    assert homing("tokens", "revoke", mine["id"], token["id"]).code == 0
    assert mine["id"] not in homing("tokens", "list").out


def test_there_are_no_deliveries_yet(homing: Homing) -> None:
    assert homing("deliveries", "list").out.strip() == "Nothing was sent to other channels."
    assert homing("deliveries", "retry", "dlv_none").code == 2


def test_a_listed_delivery_says_what_its_time_means(homing: Homing, home: Path) -> None:
    homing("send", "main", "hello")
    address = homing("webhooks", "add", "https://example.com/in", "--json").object["address"]
    sent, dead, _ = (homing("sessions", "test", "main", address, "--json").object["id"] for _ in range(3))
    with sqlite3.connect(home / "homing.db") as database:
        nine = "1900000000000000"
        database.execute(f"update delivery set next_attempt_at = {nine}")
        made = "next_attempt_at = null, state ="
        database.execute(f"update delivery set {made} 'sent', sent_at = {nine} where id = '{sent}'")
        database.execute(f"update delivery set {made} 'dead', error = 'It is closed.' where id = '{dead}'")
    database.close()
    waits, gone, done = homing("deliveries", "list").out.splitlines()[-3:]
    assert "next try Sun 17 Mar 2030 18:46:40" in waits
    assert "gave up" in gone
    assert "It is closed." in gone
    assert "sent Sun 17 Mar 2030 18:46:40" in done


@pytest.mark.parametrize(
    "words",
    [
        ("deliveries", "list", "--state", "dead"),
        ("cron", "list", "--q", "fruit"),
        ("cron", "list", "--disabled"),
        ("sessions", "list", "--channel", "web"),
        ("memories", "list", "--q", "fruit"),
    ],
)
def test_an_empty_list_says_when_only_the_filter_emptied_it(homing: Homing, words: tuple[str, ...]) -> None:
    homing("cron", "add", "in 1 hour", "x")
    homing("memories", "add", "I like pears")
    said = homing(*words).out.strip()
    assert said == f"Nothing matches the filter. To see all: homing {words[0]} list"


def test_a_title_names_a_session(homing: Homing) -> None:
    homing("cron", "add", "in 1 hour", "x", "-s", "web:abc")
    assert homing("sessions", "get", "nothing").code == 2
