"""`homing cron …` on this home's database, with no server running."""

import pytest

from support.commands import Homing

NOTHING_FIRES = "No server is running: nothing fires until `homing up`."


def test_a_reminder_in_ten_minutes_is_added_as_the_documents_say_it(homing: Homing) -> None:
    said = homing("cron", "add", "--name", "Reminder", "--at", "10m", "--message", "Time to take a break!")
    assert said.code == 0
    assert said.out.startswith('Added "Reminder" (job_')
    assert "Europe/Berlin" in said.out
    assert "in 10 min" in said.out
    assert said.err.strip() == NOTHING_FIRES


def test_nine_o_clock_in_shanghai_is_added_as_the_documents_say_it(homing: Homing) -> None:
    said = homing("cron", "add", "--cron", "0 9 * * *", "--tz", "Asia/Shanghai", "--message", "Good morning", "--json")
    job = said.object
    assert job["schedule"] == {"kind": "cron", "cron": "0 9 * * *", "tz": "Asia/Shanghai"}
    assert job["words"] == "Every day at 09:00 Asia/Shanghai"
    assert len(job["next"]) == 3


def test_an_expression_may_count_every_second_week_only(homing: Homing) -> None:
    job = homing("cron", "add", "--cron", "0 8 * * MON", "--interval", "2", "-m", "Take out the bins", "--json").object
    assert job["words"] == "Every 2 weeks on Monday at 08:00 Europe/Berlin"
    assert (job["schedule"]["interval"], job["schedule"]["anchor"]) == (2, job["next"][0])
    refused = homing("cron", "add", "every day at 9", "x", "--interval", "2")
    assert (refused.code, "every 2 weeks on monday at 8" in refused.err) == (2, True)


def test_every_thirty_minutes_is_added_as_the_documents_say_it(homing: Homing) -> None:
    job = homing("cron", "add", "--every", "30m", "-m", "Look at the weather", "--json").object
    assert job["schedule"]["every_ms"] == 1_800_000
    assert job["session_key"] == "cli:main"
    assert job["origin"]["door"] == "cli"


def test_adding_answers_with_words_zone_and_the_next_three(homing: Homing) -> None:
    said = homing("cron", "add", "every weekday at 8", "Say good morning", "--tz", "Asia/Tokyo")
    assert "Weekdays at 08:00 Asia/Tokyo" in said.out
    assert said.out.count("08:00 Asia/Tokyo") == 4


def test_beside_a_schedule_flag_the_word_left_over_is_the_message(homing: Homing) -> None:
    job = homing("cron", "add", "--at", "10m", "Take a break", "--json").object
    assert job["payload"]["message"] == "Take a break"


def test_the_message_can_come_from_stdin(homing: Homing) -> None:
    job = homing("cron", "add", "in 1 hour", "-", "--json", stdin="Read this\nand that\n").object
    assert job["payload"]["message"] == "Read this\nand that"


def test_every_field_of_a_job_has_a_flag(homing: Homing) -> None:
    job = homing(
        *("cron", "add", "every day at 9", "Look", "--json", "--name", "all of it", "--description", "a note"),
        *("--tz", "Asia/Tokyo", "--until", "2030-01-01", "--starts-at", "2029-01-01T09:00", "--max-runs", "3"),
        *("--session", "cli:other", "--isolated", "--quiet", "--delete-after-run", "--model", "offline"),
        *("--thinking", "low", "--timeout-seconds", "60", "--context", "since_last", "--write-back", "summary"),
        *("--no-continue", "--wake", "next_heartbeat", "--may-schedule", "--catch-up", "skip"),
        *("--catch-up-window-seconds", "60", "--disabled", "--dedupe-key", "k", "--sender-id", "u1", "--id", "mine"),
        *("--script", "print('{\"wakeAgent\": false}')", "--script-language", "python"),
        *("--script-hosts", "example.org,*.example.com", "--script-seconds", "5"),
    ).object
    assert job["id"] == "mine"
    assert job["payload"] == {
        "kind": "agent_turn", "message": "Look", "model": "offline", "thinking": "low", "timeout_seconds": 60,
        "context": "since_last",
    }  # fmt: skip
    wanted = {
        "name": "all of it", "description": "a note", "enabled": False, "session_key": "cli:other",
        "session": "isolated", "write_back": "summary", "continue": False, "wake": "next_heartbeat",
        "catch_up": "skip", "catch_up_window_seconds": 60, "quiet": True, "delete_after_run": True, "dedupe_key": "k",
        "max_runs": 3, "may_schedule": True, "sender_id": "u1",
        "script": "print('{\"wakeAgent\": false}')", "script_language": "python",
        "script_hosts": ["example.org", "*.example.com"], "script_seconds": 5,
    }  # fmt: skip
    assert {name: job[name] for name in wanted} == wanted
    assert job["starts_at"].startswith("2029-01-01T09:00")
    assert job["ends_at"].startswith("2030-01-01")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("--at", "10m", "--every", "1h", "-m", "x"), "--at and --every are two schedules"),
        (("in 1 hour", "say it", "--cron", "0 9 * * *"), "two schedules"),
        (("in 1 hour", "say it", "-m", "another"), "given twice"),
        (("when pigs fly", "say it"), "when pigs fly"),
        (("in 1 hour",), "say what to do then, for example: homing cron add"),
        (("--name", "tea"), 'Say when, for example: homing cron add "in 10 minutes"'),
        (("--at", "2020-01-01T00:00", "-m", "x"), "in the past"),
        (("in 1 hour", "x", "--tz", "Mars/Base"), "Mars/Base"),
        (("in 1 hour", "x", "--max-runs", "many"), "--max-runs must be a number"),
        (("in 1 hour", "x", "--model", "nope/never"), "There is no model nope/never"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_a_sentence(homing: Homing, args: tuple[str, ...], sentence: str) -> None:
    said = homing("cron", "add", *args)
    assert said.code == 2
    assert sentence in said.err
    assert homing("cron", "list", "--json").out == ""


def test_a_job_is_found_by_the_beginning_of_its_id_and_by_its_name(homing: Homing) -> None:
    job = homing("cron", "add", "in 1 hour", "x", "--name", "Fruit watch", "--json").object
    for said in (
        job["id"],
        job["id"][:9],
        job["id"].removeprefix("job_")[:6],
        "fruit watch",
        "Fruit",
        job["id"] + ":17",
    ):
        assert homing("cron", "get", said, "--json").object["id"] == job["id"]


def test_a_job_is_found_by_any_word_of_its_name_as_the_readme_says(homing: Homing) -> None:
    said = "Look at the fruit prices and tell me what changed"
    job = homing("cron", "add", "every weekday at 8", said, "--json").object
    homing("cron", "add", "every weekday at 8", "Look at the vegetables", "--name", "fruitless search")
    for word in ("fruit", "Prices", "fruit prices", "prices fruit", "the fru"):
        assert homing("cron", "get", word, "--json").object["id"] == job["id"], word
    why = homing("cron", "why", "fruit")
    assert (why.code, why.err.strip()) == (0, NOTHING_FIRES)
    assert homing("cron", "why", "nothing").code == 2
    homing("cron", "add", "every day at 9", "x", "--name", "eat fruit")
    both = homing("cron", "why", "fruit")
    assert both.code == 2
    assert "Look at the fruit prices" in both.err
    assert "eat fruit" in both.err
    assert "fruitless" not in both.err


def test_a_conversation_is_found_by_any_word_of_its_title(homing: Homing) -> None:
    homing("cron", "add", "in 1 hour", "x", "-s", "cli:garden")
    homing("sessions", "update", "cli:garden", "--title", "Fruit and vegetables")
    assert homing("sessions", "get", "vegetables", "--json").object["key"] == "cli:garden"
    homing("cron", "add", "in 1 hour", "x", "-s", "cli:shop")
    homing("sessions", "update", "cli:shop", "--title", "Fruit shop")
    both = homing("sessions", "get", "fruit")
    assert both.code == 2
    assert "cli:garden  Fruit and vegetables" in both.err
    homing("cron", "add", "in 1 hour", "x", "-s", "cli:fruit")
    assert homing("sessions", "get", "fruit", "--json").object["key"] == "cli:fruit"
    assert homing("sessions", "get", "fruit shop", "--json").object["key"] == "cli:shop"


def test_a_name_alone_says_what_to_do(homing: Homing) -> None:
    job = homing("cron", "add", "in 1 hour", "--name", "Water the plants", "--json").object
    assert (job["name"], job["payload"]["message"]) == ("Water the plants", "Water the plants")


def test_an_ambiguous_beginning_lists_what_it_could_mean(homing: Homing) -> None:
    ids = [homing("cron", "add", "in 1 hour", "x", "--id", f"fruit-{n}", "--json").object["id"] for n in range(2)]
    said = homing("cron", "remove", "fruit")
    assert said.code == 2
    assert all(job_id in said.err for job_id in ids)
    assert len(homing("cron", "list", "--json").objects) == 2


def test_an_unknown_job_is_refused(homing: Homing) -> None:
    said = homing("cron", "get", "nothing", "--json")
    assert (said.code, said.problem["code"], said.problem["status"]) == (2, "not_found", 404)


def test_an_empty_id_means_no_job_not_even_the_only_one(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine")
    said = homing("cron", "remove", "")
    assert (said.code, said.err) == (2, "Say which automation: its id is empty.\n")
    assert len(homing("cron", "list", "--json").objects) == 1


def test_verbs_take_several_jobs_and_go_on_after_one_that_fails(homing: Homing) -> None:
    for n in range(2):
        homing("cron", "add", "every day at 9", "x", "--id", f"job-{n}")
    said = homing("cron", "disable", "job-0", "gone", "job-1", "--reason", "holiday", "--json")
    assert said.code == 2
    assert [(job["id"], job["state"]["disabled_reason"]) for job in said.objects] == [
        ("job-0", "holiday"),
        ("job-1", "holiday"),
    ]
    assert said.problem["code"] == "not_found"


def test_a_pause_can_end_by_itself(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine")
    job = homing("cron", "pause", "mine", "--until", "2030-01-01T09:00", "--json").object
    assert job["status"] == "paused"
    assert job["state"]["disabled_until"].startswith("2030-01-01T09:00")
    assert homing("cron", "resume", "mine", "--json").object["status"] == "active"


def test_a_pause_that_ends_says_when_at_once_and_in_the_list(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine")
    said = homing("cron", "disable", "mine", "--until", "2030-01-01T09:00")
    assert "it is paused until Tue 1 Jan 2030 09:00 Europe/Berlin." in said.out
    assert "paused until Tue 1 Jan 2030 09:00" in homing("cron", "list").out


def test_bounds_are_told_as_they_were_understood(homing: Homing) -> None:
    said = homing("cron", "add", "every day at 9", "x", "--until", "2100-01-01", "--max-runs", "5")
    assert "Every day at 09:00 Europe/Berlin, until Fri 1 Jan 2100 23:59:59 Europe/Berlin, at most 5 runs\n" in said.out


def test_an_update_changes_what_is_given_and_an_empty_value_clears(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine", "--description", "old", "--max-runs", "3")
    job = homing("cron", "update", "mine", "--description", "", "--max-runs", "none", "--name", "new", "--json").object
    assert (job["description"], job["max_runs"], job["name"]) == (None, None, "new")
    assert job["words"] == "Every day at 09:00 Europe/Berlin"
    assert homing("cron", "update", "mine", "--every", "2h", "--json").object["schedule"]["every_ms"] == 7_200_000
    assert homing("cron", "update", "mine").code == 2


def test_an_update_for_an_older_revision_is_refused(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine")
    said = homing("cron", "update", "mine", "--name", "new", "--revision", "7", "--json")
    assert (said.code, said.problem["code"]) == (2, "stale_revision")


def test_a_removed_job_comes_back_by_undo_without_naming_its_revision(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine")
    removed = homing("cron", "rm", "mine")
    assert "homing cron undo mine" in removed.out
    assert homing("cron", "list", "--json").out == ""
    assert homing("cron", "undo", "mine", "--json").object["removed_at"] is None
    assert len(homing("cron", "ls", "--json").objects) == 1


def test_a_removed_job_comes_back_by_its_name(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "-n", "fruit")
    homing("cron", "add", "every day at 9", "x", "-n", "fruit watch")
    homing("cron", "rm", "fruit")
    said = homing("cron", "undo", "fruit", "--json")
    # Not the last change of the living one, whose name only begins so.
    assert (said.code, said.object["name"], said.object["removed_at"]) == (0, "fruit", None)


def test_undo_asks_which_of_two_of_one_name_is_meant(homing: Homing) -> None:
    for _ in range(2):
        homing("cron", "add", "every day at 9", "x", "-n", "fruit")
        homing("cron", "rm", "fruit")
    said = homing("cron", "undo", "fruit")
    assert (said.code, "fruit fits 2" in said.err, said.err.count("(removed)")) == (2, True, 2)
    assert "There is no automation plum." in homing("cron", "undo", "plum").err


def test_a_skip_leaves_out_the_next_time_and_undo_takes_it_back(homing: Homing) -> None:
    before = homing("cron", "add", "every day at 9", "x", "--id", "mine", "--json").object["next"]
    assert homing("cron", "skip", "mine", "--json").object["next"][0] == before[1]
    assert homing("cron", "undo", "mine", "--json").object["next"][0] == before[0]


def test_lists_can_be_narrowed(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "apples", "--id", "a", "--name", "apples")
    homing("cron", "add", "every day at 9", "pears", "--id", "b", "--name", "pears", "--disabled")
    homing("cron", "add", "every day at 9", "plums", "--id", "c", "--name", "plums", "--session", "other")

    def ids(*args: str) -> set[str]:
        return {job["id"] for job in homing("cron", "list", "--json", *args).objects}

    assert ids() == {"a", "b", "c"}
    assert ids("--enabled") == {"a", "c"}
    assert ids("--disabled") == {"b"}
    assert ids("--q", "pear") == {"b"}
    assert ids("--session", "cli:other") == {"c"}
    assert len(ids("--limit", "2")) == 2


def test_the_list_fits_into_eighty_columns_with_the_zone_beside_each_time(
    homing: Homing, monkeypatch: pytest.MonkeyPatch
) -> None:
    homing("cron", "add", "every weekday at 8:15", "x", "--name", "A name that goes on and on for very long indeed")
    monkeypatch.setattr("homing.cli.output.PIPED_WIDTH", 80)
    said = homing("cron", "list")
    assert max(map(len, said.out.splitlines())) <= 80
    assert "Europe/Berlin, in " in said.out
    assert "\x1b" not in said.out


def test_the_list_shows_a_zone_once_a_job(homing: Homing) -> None:
    homing("cron", "add", "every 2h", "x")
    assert homing("cron", "list").out.count("Europe/Berlin") == 1


def test_a_preview_keeps_nothing(homing: Homing) -> None:
    said = homing(
        "cron", "preview", "every weekday at 8", "--tz", "Asia/Tokyo", "--count", "2", "--after", "2030-01-01"
    )
    assert said.code == 0
    assert said.out.splitlines()[0] == "Weekdays at 08:00 Asia/Tokyo"
    assert said.out.count("08:00 Asia/Tokyo") == 3
    assert homing("cron", "list", "--json").out == ""


def test_why_tells_in_plain_words(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine")
    for words in ("why", "runs"):
        named, said = homing("cron", words, "mine").out.splitlines()[:2]
        assert named == "x  mine"
        assert "It has not run yet." in said


def test_a_run_without_a_server_waits_and_cannot_be_watched(homing: Homing) -> None:
    homing("cron", "add", "every day at 9", "x", "--id", "mine")
    watched = homing("cron", "run", "mine", "--watch")
    assert (watched.code, "needs a running server" in watched.err) == (1, True)
    run = homing("cron", "run", "mine", "--json").object
    assert (run["state"], run["trigger"]) == ("queued", "manual")
    again = homing("cron", "run", "mine", "--json")
    assert (again.code, again.problem["code"]) == (2, "already_running")


def test_status_says_that_nothing_fires(homing: Homing) -> None:
    said = homing("cron", "status")
    assert "not running" in said.out
    assert NOTHING_FIRES in said.err


def test_the_server_the_runs_and_the_explanation_give_the_same_words_for_a_reason(homing: Homing) -> None:
    homing("cron", "add", "--cron", "0 9 * * *", "--name", "mine", "-m", "hello")
    assert homing("cron", "skip", "mine").code == 0
    told = homing("cron", "runs", "mine", "--json").object
    assert (told["state_words"], told["reason_words"]) == ("skipped", "somebody asked for that")
    assert f"skipped: {told['reason_words']}" in " ".join(homing("cron", "runs", "mine").out.split())
    assert f"because {told['reason_words']}" in " ".join(homing("cron", "why", "mine").out.split())


def test_a_script_can_be_tried_and_come_from_stdin(homing: Homing) -> None:
    script = 'print(\'{"wakeAgent": true, "state": 1}\')'
    tried = homing("cron", "try-script", "-", "--language", "python", stdin=script)
    assert (tried.code, tried.out.splitlines()[-1]) == (0, "The agent would be woken, and its state would be kept.")
    broken = homing("cron", "try-script", "-", "--language", "python", stdin="1/0")
    assert broken.code == 1
    assert "ZeroDivisionError" in broken.out
    job = homing(
        "cron", "add", "in 1 hour", "x", "--script", "-", "--script-language", "python", "--json", stdin=script
    )
    assert job.object["script"] == script
    assert homing("cron", "add", "in 1 hour", "-", "--script", "-", stdin="x").code == 2
    refused = homing("cron", "update", job.object["id"], "--script", "1/0")
    assert refused.code == 2
    assert "The test run of the script failed." in refused.err
