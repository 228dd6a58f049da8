"""Jobs of other programs come in, ours go out; one bad record does not stop the others."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.commands import Homing

NANOBOT = {
    "version": 1,
    "jobs": [
        {
            "id": "a1b2c3d4",
            "name": "Morning news",
            "enabled": True,
            "schedule": {"kind": "cron", "atMs": None, "everyMs": None, "expr": "0 9 * * 1-5", "tz": "Asia/Shanghai"},
            "payload": {
                "kind": "agent_turn",
                "message": "Tell me the news",
                "deliver": True,
                "channel": "telegram",
                "to": "1234",
                "sessionKey": "telegram:1234",
            },
            "state": {"nextRunAtMs": 1770000000000, "runHistory": []},
            "createdAtMs": 1760000000000,
            "updatedAtMs": 1760000000000,
            "deleteAfterRun": False,
        },
        {
            "id": "unbound1",
            "name": "Water",
            "enabled": True,
            "schedule": {"kind": "every", "everyMs": 3600000},
            "payload": {
                "kind": "agent_turn", "message": "Drink", "deliver": True, "channel": "whatsapp", "to": "49170:5"
            },
            "state": {"nextRunAtMs": 1770000000000},
        },
        {
            "id": "old-field",
            "name": "Apples",
            "enabled": True,
            "schedule": {"kind": "every", "everyMs": 86400000},
            "payload": {"message": "每天提醒我吃苹果", "original_session_key": "feishu:ou_1", "lightweight": True},
        },
        {
            "id": "dream",
            "name": "dream",
            "enabled": True,
            "schedule": {"kind": "cron", "expr": "0 3 * * *"},
            "payload": {"kind": "system_event", "message": "dream"},
        },
        {"id": "broken", "name": "Bad", "schedule": {"kind": "cron", "expr": "no cron"}, "payload": {"message": "x"}},
        "not even an object",
    ],
}  # fmt: skip

OPENCLAW = {
    "version": 1,
    "jobs": [
        {
            "id": "0199c0de-aaaa-7bbb-8ccc-1234567890ab",
            "agentId": "main",
            "sessionKey": "agent:main:main",
            "name": "Standup",
            "description": "daily",
            "enabled": True,
            "createdAtMs": 1760000000000,
            "updatedAtMs": 1760000000000,
            "schedule": {"kind": "cron", "expr": "30 9 * * 1-5", "tz": "America/New_York", "staggerMs": 30000},
            "sessionTarget": "isolated",
            "wakeMode": "next-heartbeat",
            "payload": {
                "kind": "agentTurn", "message": "Prepare the standup", "model": "offline", "thinking": "low",
                "timeoutSeconds": 120,
            },
            "delivery": {"mode": "announce", "channel": "last"},
            "state": {},
        },
        {
            "id": "lonely",
            "name": "Lonely",
            "enabled": False,
            "schedule": {"kind": "every", "everyMs": 60000, "anchorMs": 1760000000000},
            "sessionTarget": "isolated",
            "wakeMode": "now",
            "payload": {"kind": "agentTurn", "message": "Look around"},
            "delivery": {"mode": "announce", "channel": "slack", "to": "C1"},
            "state": {},
        },
        {
            "id": "past",
            "name": "Past",
            "enabled": True,
            "schedule": {"kind": "at", "at": "2020-01-01T09:00:00Z"},
            "sessionTarget": "main",
            "wakeMode": "now",
            "payload": {"kind": "systemEvent", "text": "It is over"},
            "state": {},
        },
        {
            "id": "command",
            "name": "Command",
            "schedule": {"kind": "every", "everyMs": 60000},
            "sessionTarget": "isolated",
            "payload": {"kind": "command", "command": "ls"},
        },
    ],
}  # fmt: skip

EVA = {
    "jobs": [
        {
            "job_id": "1760000000000-1234",
            "name": "喝水",
            "enabled": True,
            "delete_after_run": False,
            "session": "main",
            "schedule": {"kind": "every", "every_ms": 1800000},
            "payload": {"message": "提醒我喝水"},
            "created_at": "2026-01-01T09:00:00",
            "run_count": 3,
            "next_run_ms": 1770000000000,
        }
    ]
}


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(content: object) -> str:
        path = tmp_path / "jobs.json"
        path.write_text(json.dumps(content), "utf-8")
        return str(path)

    return write


def test_a_dry_run_shows_what_would_come_in_and_changes_nothing(homing: Homing, written: Any) -> None:
    said = homing("import", written(NANOBOT))
    assert said.code == 1
    assert "3 would come in, 3 not. Nothing is changed yet: add --apply." in said.out
    assert homing("cron", "list", "--json").out == ""


def test_nanobots_jobs_come_in_as_they_say(homing: Homing, written: Any) -> None:
    entries = homing("import", written(NANOBOT), "--apply", "--json").objects
    assert [entry["taken"] for entry in entries] == [True, True, True, False, False, False]
    assert "system job of nanobot" in entries[3]["detail"]
    bound = homing("cron", "get", "a1b2c3d4", "--json").object
    assert (bound["session_key"], bound["kind"], bound["enabled"]) == ("telegram:1234", "user", False)
    assert bound["state"]["disabled_reason"] == "imported"
    assert bound["words"] == "Weekdays at 09:00 Asia/Shanghai"
    assert bound["origin"]["door"] == "import"
    unbound = homing("cron", "get", "unbound1", "--json").object
    assert (unbound["session_key"], unbound["kind"], unbound["enabled"]) == ("cron:unbound1", "legacy", True)
    session = homing("sessions", "get", "cron:unbound1", "--json").object
    assert session["addresses"] == ["whatsapp:49170:5"]


def test_a_job_of_the_old_field_is_bound_to_that_session(homing: Homing, written: Any) -> None:
    homing("import", written(NANOBOT), "--apply")
    job = homing("cron", "get", "old-field", "--json").object
    assert (job["session_key"], job["payload"]["kind"], job["enabled"]) == ("feishu:ou_1", "reminder", False)


def test_an_interval_keeps_its_phase(homing: Homing, written: Any) -> None:
    homing("import", written(NANOBOT), "--apply")
    job = homing("cron", "get", "unbound1", "--json").object
    assert job["schedule"]["anchor"].startswith("2026-02-02T03:40:00")


def test_openclaws_jobs_come_in_as_they_say(homing: Homing, written: Any) -> None:
    entries = homing("import", written(OPENCLAW), "--apply", "--json").objects
    assert [entry["taken"] for entry in entries] == [True, True, True, False]
    assert "staggerMs" in entries[0]["detail"]
    bound = homing("cron", "get", "0199c0de", "--json").object
    assert (bound["session_key"], bound["session"], bound["wake"]) == ("agent:main:main", "isolated", "next_heartbeat")
    assert bound["payload"]["timeout_seconds"] == 120
    lonely = homing("cron", "get", "lonely", "--json").object
    assert (lonely["kind"], lonely["enabled"], lonely["payload"]["context"]) == ("legacy", False, "none")
    assert homing("sessions", "get", "cron:lonely", "--json").object["addresses"] == ["slack:C1"]
    assert homing("cron", "get", "past", "--json").object["status"] == "done"


def test_evas_jobs_come_in_unbound(homing: Homing, written: Any) -> None:
    homing("import", written(EVA), "--apply")
    job = homing("cron", "get", "喝水", "--json").object
    assert (job["id"], job["kind"], job["session_key"]) == ("1760000000000-1234", "legacy", "cron:1760000000000-1234")
    assert homing("sessions", "get", job["session_key"], "--json").object["addresses"] == []


def test_a_schedule_kept_beside_the_other_fields_comes_in_too(homing: Homing, written: Any) -> None:
    flat = {"job_id": "flat", "name": "flat", "every_ms": 60_000, "payload": {"message": "tick"}}
    column = {"job_id": "column", "schedule_kind": "cron", "schedule_cron": "0 9 * * *", "schedule_tz": "Asia/Tokyo"}
    none = {"job_id": "none", "message": "never", "tz": "Asia/Tokyo"}
    said = homing("import", written({"jobs": [flat, column | {"message": "tea"}, none]}), "--json")
    assert [job["words"] for job in said.objects] == [
        "Every minute (Europe/Berlin)",
        "Every day at 09:00 Asia/Tokyo",
        None,
    ]
    assert said.objects[2]["detail"] == "It has no schedule."


def test_importing_twice_brings_nothing_in_twice(homing: Homing, written: Any) -> None:
    homing("import", written(EVA), "--apply")
    again = homing("import", written(EVA), "--apply", "--json").object
    assert (again["taken"], again["detail"]) == (False, "It is here already.")
    assert len(homing("cron", "list", "--json").objects) == 1


def test_what_was_exported_comes_back_elsewhere(
    homing: Homing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = homing(
        "cron", "add", "every weekday at 8", "Say good morning", "--id", "mine", "--isolated", "--quiet", "--json",
        "--max-runs", "9", "--no-continue", "--write-back", "summary", "--until", "2100-01-01", "--wake", "now",
    ).object  # fmt: skip
    file = tmp_path / "export.json"
    assert homing("export", str(file)).code == 0
    assert file.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("HOMING_HOME", str(tmp_path / "elsewhere"))
    assert homing("import", str(file), "--apply").code == 0
    back = homing("cron", "get", "mine", "--json").object
    same = set(added) - {
        "enabled",
        "status",
        "status_words",
        "next",
        "origin",
        "created_at",
        "updated_at",
        "state",
        "warnings",
    }
    assert {name: back[name] for name in same} == {name: added[name] for name in same}
    assert back["max_runs"] == 9
    assert (back["enabled"], back["state"]["disabled_reason"]) == (False, "imported")
    assert homing("cron", "enable", "mine", "--json").object["next"] == added["next"]


def test_an_export_can_hold_the_conversations(homing: Homing, server: str) -> None:
    homing("cron", "add", "every day at 9", "Say good morning", "--id", "mine")
    homing("cron", "run", "mine", "--watch")
    told = json.loads(homing("export", "--history").out)
    [session] = told["sessions"]
    assert [message["_cron_turn"] for message in session["messages"]] == [True, True]


@pytest.mark.parametrize("content", ['{"no": "jobs"}', "not json", '"text"'])
def test_a_file_that_is_no_jobs_file_is_refused(homing: Homing, tmp_path: Path, content: str) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(content)
    assert homing("import", str(path)).code == 2
    assert homing("import", str(tmp_path / "missing.json")).code == 2


def test_a_record_beyond_the_bounds_does_not_stop_the_others(homing: Homing, tmp_path: Path) -> None:
    wide = {"id": "wide", "name": "Wide", **{f"x{number}": 1 for number in range(300)}}
    deep: Any = []
    for _ in range(40):
        deep = [deep]
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps([wide, {"id": "deep", "name": "Deep", "payload": deep}, NANOBOT["jobs"][1]]))
    told = homing("import", str(file), "--json").objects
    assert [one["taken"] for one in told] == [False, False, True]
    assert "302 members" in told[0]["detail"]
    assert "nested too deeply" in told[1]["detail"]
    file.write_text("[" * 200_000)
    refused = homing("import", str(file))
    assert refused.code == 2
    assert "nested too deeply" in refused.err


def record(**given: Any) -> dict[str, Any]:
    """A record as OpenClaw's templates have it: without stamps."""
    job: dict[str, Any] = {
        "id": "plain",
        "name": "Plain",
        "agentId": "main",
        "sessionTarget": "isolated",
        "wakeMode": "now",
        "schedule": {"kind": "every", "everyMs": 3_600_000},
        "payload": {"kind": "agentTurn", "message": "Look"},
    }
    return job | given


def test_an_interval_without_stamps_begins_with_its_first_whole_length(homing: Homing, written: Any) -> None:
    homing("import", written({"jobs": [record()]}), "--apply")
    job = homing("cron", "get", "plain", "--json").object
    first = datetime.fromisoformat(job["next"][0]) - datetime.fromisoformat(job["created_at"])
    assert timedelta(minutes=59) < first < timedelta(minutes=61)


def test_the_zone_of_a_whole_record_counts_unless_its_schedule_names_one(homing: Homing, written: Any) -> None:
    cron = {"kind": "cron", "expr": "30 8 * * *"}
    jobs = [
        record(id="whole", timezone="Asia/Shanghai", schedule=cron),
        record(id="own", timezone="Asia/Shanghai", schedule=cron | {"tz": "Asia/Tokyo"}),
        record(id="nowhere", timezone="Mars/One", schedule=cron),
    ]
    entries = {entry["name"]: entry for entry in homing("import", written({"jobs": jobs}), "--json").objects}
    assert entries["Plain"]["taken"] is False
    assert "Mars/One" in entries["Plain"]["detail"]
    told = [entry["words"] for entry in homing("import", written({"jobs": jobs[:2]}), "--json").objects]
    assert told == ["Every day at 08:30 Asia/Shanghai", "Every day at 08:30 Asia/Tokyo"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"payload": {"kind": "agentTurn", "message": "x", "toolsAllow": ["web"], "lightContext": True}},
         "Not kept: toolsAllow, lightContext."),
        ({"agentId": "research", "tags": ["a"]}, "Not kept: agentId, tags."),
        ({"delivery": {"mode": "announce", "channel": "discord", "to": "998877", "bestEffort": True}},
         "Not kept: delivery.bestEffort. There is no channel discord here, so nothing arrives at discord:998877"),
        ({"delivery": {"mode": "announce", "channel": "email", "to": "a@example.org"}},
         "Nothing arrives at email:a@example.org until HOMING_SMTP_URL is set."),
        ({"payload": {"kind": "agentTurn", "message": "Say NO_REPLY if all is well"}}, "Its message says NO_REPLY:"),
        ({"payload": {"kind": "agentTurn", "message": "x", "model": "nvidia/z-ai/glm4.7"}},
         "Its model is not kept, and offline is used: There is no model nvidia/z-ai/glm4.7."),
        ({"payload": {"kind": "agentTurn", "message": "x", "timeoutSeconds": 0}}, "Not kept: timeoutSeconds 0"),
    ],
)  # fmt: skip
def test_a_dry_run_says_what_is_not_kept(homing: Homing, written: Any, given: dict[str, Any], said: str) -> None:
    [entry] = homing("import", written({"jobs": [record(**given)]}), "--json").objects
    assert entry["taken"]
    assert said in entry["detail"]
    shown = " ".join(homing("import", written({"jobs": [record(**given)]})).out.split())
    assert said.partition(".")[0][:30] in shown


def test_a_record_that_is_kept_whole_says_nothing_more(homing: Homing, written: Any) -> None:
    [entry] = homing("import", written({"jobs": [record()]}), "--json").objects
    assert entry["detail"] is None


def test_a_preview_runs_no_script_and_says_that_it_will_be_tried(homing: Homing, written: Any) -> None:
    job = {"id": "job_broken", "name": "broken", "payload": {"message": "Look."}, "session_key": "web:chat"}
    job |= {"schedule": {"kind": "every", "everyMs": 3_600_000}, "script_language": "python", "script": "print(1 / 0)"}
    file = written({"format": "homing-jobs", "version": 1, "jobs": [job]})
    [entry] = homing("import", file, "--json").objects
    assert (entry["taken"], entry["applied"]) == (True, False)
    assert entry["detail"] == "Its script is run once when you apply this, and it is left out if that fails."


def test_a_script_that_does_not_run_is_refused_at_the_import_and_stops_no_other_record(
    homing: Homing, written: Any
) -> None:
    def job(name: str, **more: Any) -> dict[str, Any]:
        plain = {"id": f"job_{name}", "name": name, "payload": {"message": "Look."}, "session_key": "web:chat"}
        return {**plain, "schedule": {"kind": "every", "everyMs": 3_600_000}, "script_language": "python", **more}

    works = "import json\nprint(json.dumps({'wakeAgent': False}))"
    jobs = [job("broken", script="print(1 / 0)"), job("silent", script="x = 1"), job("good", script=works)]
    file = written({"format": "homing-jobs", "version": 1, "jobs": jobs})
    said = homing("import", file, "--json", "--apply")
    found = [json.loads(line) for line in said.out.splitlines()]
    assert (said.code, [one["taken"] for one in found]) == (1, [False, False, True]), said.out
    assert found[0]["detail"].startswith("The test run of the script failed. The script ended with exit code 1.")
    assert "ZeroDivisionError" in found[0]["detail"]
    assert "printed nothing" in found[1]["detail"]
    assert found[2]["detail"] is None
    kept = [json.loads(line) for line in homing("cron", "list", "--json").out.splitlines()]
    assert [one["name"] for one in kept] == ["good"]
