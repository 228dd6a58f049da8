"""What models write, and what it is taken for."""

import json

import pytest

from homing.model.errors import Invalid
from homing.tools.reading import read

EVERY_SPELLING_OF_A_SCHEDULE = [
    ({"when": "in 10 minutes"}, {"when": "in 10 minutes"}),
    ({"schedule": "every weekday at 8"}, {"when": "every weekday at 8"}),
    ({"schedule": {"kind": "cron", "expr": "0 9 * * *"}}, {"schedule": {"kind": "cron", "expr": "0 9 * * *"}}),
    ({"schedule": '{"kind": "every", "everyMs": 60000}'}, {"schedule": {"kind": "every", "everyMs": 60000}}),
    ({"at": "2026-11-20T18:00"}, {"schedule": {"at": "2026-11-20T18:00"}}),
    ({"every": "30m"}, {"schedule": {"every": "30m"}}),
    ({"cron": "0 9 * * 1-5"}, {"schedule": {"cron": "0 9 * * 1-5"}}),
    ({"atMs": 1795000000000}, {"schedule": {"at_ms": 1795000000000}}),
    ({"everyMs": "60000", "anchorMs": 1}, {"schedule": {"every_ms": "60000", "anchor_ms": 1}}),
    ({"every_seconds": 90}, {"schedule": {"every_seconds": 90}}),
    ({"every_ms": 60000}, {"schedule": {"every_ms": 60000}}),
    ({"expr": "0 9 * * *", "timezone": "Asia/Tokyo"}, {"schedule": {"expr": "0 9 * * *", "tz": "Asia/Tokyo"}}),
    ({"cron_expr": "@daily"}, {"schedule": {"cron_expr": "@daily"}}),
    ({"kind": "cron", "cron": "@daily"}, {"schedule": {"kind": "cron", "cron": "@daily"}}),
    ({"when": "every day at 9", "tz": "Asia/Tokyo"}, {"when": "every day at 9", "timezone": "Asia/Tokyo"}),
    ({"processAfter": "2026-11-20T18:00"}, {"schedule": {"at": "2026-11-20T18:00"}}),
    ({"recurrence": "0 9 * * *"}, {"when": "0 9 * * *"}),
    (
        {"processAfter": "2026-11-20T18:00", "recurrence": "0 9 * * *"},
        {"when": "0 9 * * *", "starts_at": "2026-11-20T18:00"},
    ),
]


@pytest.mark.parametrize(("said", "meant"), EVERY_SPELLING_OF_A_SCHEDULE)
def test_every_spelling_of_a_schedule_is_understood(said, meant):
    asked = read({"action": "add", "message": "stretch", **said})
    assert asked.fields == {**meant, "payload": {"message": "stretch"}}


@pytest.mark.parametrize(("said", "meant"), EVERY_SPELLING_OF_A_SCHEDULE)
def test_the_job_may_come_as_an_object_or_as_json_in_a_string(said, meant):
    job = {**said, "payload": {"kind": "agentTurn", "message": "stretch"}}
    wanted = {**meant, "payload": {"kind": "agent_turn", "message": "stretch"}}
    assert read({"action": "add", "job": job}).fields == wanted
    assert read({"action": "add", "job": json.dumps(job)}).fields == wanted


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"sessionTarget": "isolated"}, {"session": "isolated"}),
        ({"session": "Main"}, {"session": "main"}),
        ({"isolated": True}, {"session": "isolated"}),
        ({"isolated": "true"}, {"session": "isolated"}),
        ({"wakeMode": "next-heartbeat"}, {"wake": "next_heartbeat"}),
        ({"wake": "nextHeartbeat"}, {"wake": "next_heartbeat"}),
        ({"deleteAfterRun": True}, {"delete_after_run": True}),
        ({"delete-after-run": "false"}, {"delete_after_run": False}),
        ({"dedupeKey": "fruit"}, {"dedupe_key": "fruit"}),
        ({"enabled": False}, {"enabled": False}),
        ({"quiet": "yes"}, {"quiet": True}),
        ({"until": "2026-12-31"}, {"ends_at": "2026-12-31"}),
        ({"ends_at": "2026-12-31"}, {"ends_at": "2026-12-31"}),
        ({"max_runs": "3"}, {"max_runs": 3}),
        ({"name": "fruit watch"}, {"name": "fruit watch"}),
        ({"catchUp": "skip"}, {"catch_up": "skip"}),
    ],
)
def test_every_spelling_of_a_field_is_understood(said, meant):
    asked = read({"when": "in 10 minutes", "message": "stretch", **said})
    assert asked.fields == {"when": "in 10 minutes", "payload": {"message": "stretch"}, **meant}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"message": "stretch", "reminder": True}, {"kind": "reminder", "message": "stretch"}),
        ({"text": "stretch", "lightweight": "true"}, {"kind": "reminder", "message": "stretch"}),
        ({"prompt": "stretch"}, {"message": "stretch"}),
        ({"payload": {"kind": "system-event", "text": "tea"}}, {"kind": "system_event", "message": "tea"}),
        ({"payload": '{"kind": "systemEvent", "text": "tea"}'}, {"kind": "system_event", "message": "tea"}),
        ({"payload": "tea"}, {"message": "tea"}),
        ({"kind": "agent-turn", "message": "tea"}, {"kind": "agent_turn", "message": "tea"}),
        (
            {"message": "tea", "thinkingLevel": "low", "timeoutSeconds": "90", "model": "small"},
            {"message": "tea", "thinking": "low", "timeout_seconds": 90, "model": "small"},
        ),
        ({"message": "tea", "context": "since-last"}, {"message": "tea", "context": "since_last"}),
    ],
)
def test_every_spelling_of_a_payload_is_understood(said, meant):
    assert read({"when": "in 10 minutes", **said}).fields == {"when": "in 10 minutes", "payload": meant}


def test_a_text_beside_a_message_is_the_time():
    asked = read({"message": "stretch", "text": "every 2 hours"})
    assert asked.fields == {"when": "every 2 hours", "payload": {"message": "stretch"}}


def test_an_empty_text_is_as_good_as_absent():
    asked = read({"action": "", "when": "10m", "message": "tea", "tz": "", "until": " ", "job_id": "", "schedule": {}})
    assert asked.action == "add"
    assert asked.job is None
    assert asked.fields == {"when": "10m", "payload": {"message": "tea"}}


def test_missing_enabled_means_enabled_and_explicit_nulls_on_create_are_ignored():
    asked = read({"when": "10m", "message": "tea", "enabled": None, "until": None, "model": None, "name": None})
    assert asked.fields == {"when": "10m", "payload": {"message": "tea"}}


def test_explicit_nulls_on_update_clear_the_field():
    asked = read({"action": "update", "job_id": "tea", "until": None, "model": None, "dedupe_key": None})
    assert asked.fields == {"ends_at": None, "dedupe_key": None, "payload": {"model": None}}


def test_nulls_on_update_clear_nothing_that_a_job_cannot_be_without():
    nulls = dict.fromkeys(["when", "message", "name", "schedule", "tz", "reminder", "isolated", "quiet"])
    asked = read({"action": "update", "job_id": "tea", "description": "hot", **nulls})
    assert asked.fields == {"description": "hot"}


def test_an_update_of_one_payload_field_leaves_the_others_alone():
    asked = read({"action": "update", "jobId": "tea", "timeoutSeconds": 60})
    assert asked.fields == {"payload": {"timeout_seconds": 60}}


def test_a_reminder_can_be_made_a_turn_again():
    asked = read({"action": "update", "job_id": "tea", "reminder": False, "isolated": False})
    assert asked.fields == {"payload": {"kind": "agent_turn"}, "session": "main"}


def test_an_update_takes_known_fields_only_and_says_what_it_left_out():
    job = {"state": {"last_status": "ok"}, "created_at": "2020", "colour": "red", "name": "tea"}
    asked = read({"action": "update", "taskId": "job_x", "job": job})
    assert asked.fields == {"name": "tea"}
    assert asked.unused == ("state", "created_at", "colour")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("create", "add"),
        ("delete", "remove"),
        ("cancel", "remove"),
        ("pause", "disable"),
        ("resume", "enable"),
        ("status", "status"),
        ("undo", "undo"),
        ("list_tasks", "list"),
        ("cancelJob", "remove"),
        ("LIST", "list"),
        ("logs", "get"),
    ],
)
def test_actions_have_other_names(said, meant):
    asked = read({"action": said, "job_id": "tea", "when": "10m", "message": "tea"})
    assert asked.action == meant


def test_who_and_where_are_ignored_and_said():
    said = {"session_key": "web:other", "userId": "eve", "deliver": True, "channel": "slack", "to": "C1", "target": "x"}
    asked = read({"when": "10m", "message": "tea", "session": "web:other", **said})
    assert asked.fields == {"when": "10m", "payload": {"message": "tea"}}
    assert asked.ignored == ("session", "session_key", "userId", "deliver", "channel", "to", "target")
    assert asked.unused == ()


def test_what_a_verb_has_no_use_for_is_said():
    asked = read({"action": "enable", "job_id": "tea", "when": "every day at 9", "at": "10m"})
    assert asked.unused == ("when", "at")


def test_a_pause_may_have_an_end_and_a_reason():
    asked = read({"action": "pause", "job_id": "tea", "until": "tomorrow at 9", "reason": "holidays"})
    assert (asked.until, asked.reason, asked.unused) == ("tomorrow at 9", "holidays", ())


@pytest.mark.parametrize("said", [{"all": True}, {"all": "true"}, {"job_id": "all"}])
def test_a_list_may_be_asked_for_all(said):
    assert read({"action": "list", **said, "limit": "5", "force": True}).everywhere


@pytest.mark.parametrize(
    ("said", "field", "code", "words"),
    [
        ({"at": "10m", "cron": "@daily"}, "when", "schedule_twice", "at and cron are 2 schedules"),
        ({"when": "10m", "everyMs": 5}, "when", "schedule_twice", "when and every_ms"),
        ({"when": "10m", "schedule": "@daily"}, "when", "schedule_twice", "when and schedule"),
        ({"schedule": {"cron": "@daily"}, "every": "2h"}, "when", "schedule_twice", "schedule and every"),
        ({"when": "10m", "recurrence": "@daily"}, "when", "schedule_twice", "recurrence"),
        (
            {"schedule": {"cron": "@daily", "tz": "Asia/Tokyo"}, "tz": "Europe/Berlin"},
            "tz",
            "schedule_twice",
            "Asia/Tokyo and Europe/Berlin",
        ),
        ({"when": "10m", "anchor": "tomorrow"}, "anchor", "unknown_field", "belongs to"),
        ({"when": "10m", "script_language": "ruby"}, "script_language", "out_of_range", "one of bash, python"),
        ({"when": "10m", "script_hosts": 3}, "script_hosts", "wrong_type", "a list of texts"),
        ({"when": "10m", "reminder": "maybe"}, "reminder", "wrong_type", '"maybe", but must be true or false'),
        ({"when": "10m", "sessionTarget": "elsewhere"}, "sessionTarget", "out_of_range", "main, isolated"),
        ({"when": "10m", "session": "main", "isolated": True}, "isolated", "wrong_type", "session is main"),
        ({"when": "10m", "wake": "later"}, "wake", "out_of_range", "next_heartbeat"),
        ({"when": "10m", "kind": "email"}, "kind", "out_of_range", "agent_turn, reminder, system_event"),
        ({"when": "10m", "kind": "systemEvent", "reminder": True}, "reminder", "wrong_type", "system_event"),
        ({"when": "10m", "text": "coffee"}, "text", "wrong_type", "two messages"),
        ({"when": "10m", "mesage": "coffee"}, "mesage", "unknown_field", "Did you mean message?"),
        ({"when": "10m", "untill": "friday"}, "untill", "unknown_field", "Did you mean until?"),
        ({"when": "10m", "max_runs": "few"}, "max_runs", "wrong_type", "a number"),
        ({"when": "10m", "max_runs": 1.5}, "max_runs", "wrong_type", "a whole number"),
        ({"when": {"at": "10m"}}, "when", "wrong_type", "must be text"),
        ({"schedule": 3600}, "schedule", "wrong_type", "3600"),
        ({"when": "10m", "job": '{"name": '}, "job", "wrong_type", "cannot be read"),
        ({"when": "10m", "job": {"when": "20m"}}, "when", "schedule_twice", '"10m" and "20m"'),
        ({"at": "10m", "job": {"at": "20m"}}, "at", "schedule_twice", '"10m" and "20m"'),
        ({"action": "explode", "when": "10m"}, "action", "out_of_range", '"explode". Actions: add, list'),
        ({"action": 7, "when": "10m"}, "action", "out_of_range", "Actions: add, list"),
    ],
)
def test_what_cannot_be_meant_is_refused(said, field, code, words):
    with pytest.raises(Invalid) as refused:
        read({"message": "tea", **said})
    assert [(error.field, error.code) for error in refused.value.errors] == [(field, code)]
    assert words in refused.value.detail


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        ({}, "when and message are missing."),
        ({"when": "10m"}, "message is missing."),
        ({"message": "tea"}, "when is missing."),
        ({"action": "update", "job_id": "tea"}, "Nothing to change was given."),
    ],
)
def test_what_is_missing_is_named(said, detail):
    with pytest.raises(Invalid) as refused:
        read(said)
    assert refused.value.detail == detail
    assert refused.value.field_code == "missing"
