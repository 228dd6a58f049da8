"""Settings: where they come from, and that every fault is told at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from homing.model.errors import Invalid
from homing.settings import Settings, load


def settings_of(home: Path, toml: str = "", **env: str) -> Settings:
    (home / "homing.toml").write_text(toml, "utf-8")
    return load({"HOMING_HOME": str(home), **env})


def faults_of(home: Path, toml: str = "", **env: str) -> str:
    with pytest.raises(Invalid) as refused:
        settings_of(home, toml, **env)
    return refused.value.detail


def test_an_empty_environment_gives_the_defaults_of_the_contract(tmp_path: Path) -> None:
    settings = load({"HOMING_HOME": str(tmp_path), "TZ": "Asia/Shanghai"})

    assert settings == Settings(
        home=tmp_path,
        timezone="Asia/Shanghai",
        database_url=f"sqlite:///{tmp_path}/homing.db",
        url=None,
        token=None,
        host="127.0.0.1",
        port=4664,
        public_url=None,
        session="cli:main",
        model=None,
        unified_session=False,
        scheduler_enabled=True,
        max_concurrent_runs=8,
        slots=32,
        turn_seconds=1800,
        claim_seconds=10,
        idle_retry_ms=1000,
        lookahead_days=14,
        max_jobs=10_000,
        min_interval_seconds=1,
        delivery_attempts=5,
        keep_runs_days=90,
        share=tmp_path / "share",
        smtp_url=None,
    )
    assert settings.token_file == tmp_path / "token"


def test_the_file_in_home_is_read_and_the_environment_wins_over_it(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        'port = 5000\nslots = 4\nunified_session = true\nclaim_seconds = 2.5\ntimezone = "Europe/Berlin"\n',
        HOMING_PORT="6000",
        HOMING_SCHEDULER_ENABLED="off",
    )

    assert (settings.port, settings.slots, settings.claim_seconds) == (6000, 4, 2.5)
    assert (settings.unified_session, settings.scheduler_enabled) == (True, False)
    assert settings.timezone == "Europe/Berlin"


def test_an_empty_variable_counts_as_absent(tmp_path: Path) -> None:
    assert settings_of(tmp_path, 'model = "openai-chat:gpt-5"', HOMING_MODEL="").model == "openai-chat:gpt-5"


def test_without_a_named_home_the_user_data_folder_is_home() -> None:
    assert load({}).home.name == "homing"


def test_a_link_keeps_no_slash_at_its_end(tmp_path: Path) -> None:
    assert settings_of(tmp_path, HOMING_PUBLIC_URL="https://homing.example/").public_url == "https://homing.example"


def test_every_fault_is_told_in_one_message_with_the_name_of_its_setting(tmp_path: Path) -> None:
    told = faults_of(
        tmp_path,
        'slots = 0\nunified_session = "perhaps"\nhome = "elsewhere"\nprot = 80\n',
        HOMING_PORT="many",
        HOMING_TIMEZONE="Europe/Atlantis",
        HOMING_CLAIM_SECONDS="-1",
        HOMING_URL="localhost:4664",
        HOMING_SESSION="main",
        HOMING_MAX_CONCURENT_RUNS="3",
        HOMING_XYZZY="1",
    )

    assert told.splitlines() == [
        "These settings cannot be used:",
        "- `home` cannot stand in homing.toml, which lies in it: set HOMING_HOME instead.",
        "- `slots` in homing.toml must be a whole number, 1 or more, not 0.",
        "- `unified_session` in homing.toml must be on or off, not 'perhaps'.",
        "- `prot` in homing.toml is not a setting; did you mean `port` in homing.toml?",
        "- HOMING_PORT must be a whole number from 0 to 65535, not 'many'.",
        "- HOMING_TIMEZONE must be an IANA time zone such as Europe/Berlin or UTC, not 'Europe/Atlantis'.",
        "- HOMING_CLAIM_SECONDS must be a number of seconds above 0, not '-1'.",
        "- HOMING_URL must begin with http:// or https://, not 'localhost:4664'.",
        "- HOMING_SESSION must be a session key such as cli:main, without spaces or / ? # %, not 'main'.",
        "- HOMING_MAX_CONCURENT_RUNS is not a setting; did you mean HOMING_MAX_CONCURRENT_RUNS?",
        "- HOMING_XYZZY is not a setting; the README lists all of them.",
    ]


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("port = true", "`port` in homing.toml must be a whole number from 0 to 65535, not True."),
        ("port = 65536", "`port` in homing.toml must be a whole number from 0 to 65535, not 65536."),
        ("slots = 1.5", "`slots` in homing.toml must be a whole number, 1 or more, not 1.5."),
        ("turn_seconds = nan", "`turn_seconds` in homing.toml must be a number of seconds above 0, not nan."),
        ("claim_seconds = true", "`claim_seconds` in homing.toml must be a number of seconds above 0, not True."),
        ("host = 1", "`host` in homing.toml must be a text that is not empty, not 1."),
        ('timezone = ""', "`timezone` in homing.toml must be a text that is not empty, not ''."),
        ("sandbox = 'on'", "`sandbox` in homing.toml must be auto or off, not 'on'."),
        ("[model]", "`model` in homing.toml must be a text that is not empty, not {}."),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(tmp_path: Path, toml: str, told: str) -> None:
    assert told in faults_of(tmp_path, toml)


@pytest.mark.parametrize("hours", ["08:00Z-22:00Z", "08:00-08:00", "08:00", "8-22"])
def test_active_hours_are_two_different_times_on_the_users_own_clock(tmp_path: Path, hours: str) -> None:
    told = faults_of(tmp_path, HOMING_ACTIVE_HOURS=hours)
    assert "HOMING_ACTIVE_HOURS must be two different times of day without a zone, such as 08:00-22:00" in told


@pytest.mark.parametrize(("toml", "runs"), [("", True), ("sandbox = 'auto'", True), ("sandbox = 'off'", False)])
def test_the_sandbox_is_used_where_it_works_unless_it_is_switched_off(tmp_path: Path, toml: str, runs: bool) -> None:
    assert settings_of(tmp_path, toml).sandbox is runs


def test_a_secret_is_told_neither_in_a_fault_nor_when_printed(tmp_path: Path) -> None:
    told = faults_of(tmp_path, HOMING_DATABASE_URL="mysql://me:hunter2@db", HOMING_SMTP_URL="hunter2")
    settings = settings_of(tmp_path, HOMING_DATABASE_URL="postgresql://me:hunter2@db/x", HOMING_TOKEN="hunter2")

    assert "HOMING_DATABASE_URL must begin with sqlite:// or postgresql://." in told
    assert "hunter2" not in told + repr(settings)


def test_a_file_that_is_no_toml_is_told_with_its_place(tmp_path: Path) -> None:
    told = faults_of(tmp_path, "port = = 1", HOMING_SLOTS="0")

    assert f"{tmp_path / 'homing.toml'} cannot be read" in told
    assert "line 1" in told
    assert "HOMING_SLOTS" in told


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()

    with pytest.raises(Invalid, match="HOMING_HOME must be a folder"):
        load({"HOMING_HOME": str(tmp_path / "taken")})


def test_a_host_zone_we_do_not_know_is_never_utc_in_silence(tmp_path: Path) -> None:
    assert "set HOMING_TIMEZONE" in faults_of(tmp_path, TZ="CET-1CEST")
    assert settings_of(tmp_path, TZ="CET-1CEST", HOMING_TIMEZONE="Europe/Berlin").timezone == "Europe/Berlin"


def test_the_switches_of_our_tests_are_no_unknown_settings(tmp_path: Path) -> None:
    assert settings_of(tmp_path, HOMING_CI="1", HOMING_TEST_SEED="7").port == 4664


def test_reading_the_settings_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, homing.settings; homing.settings.load(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"HOMING_HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )

    heavy = {"pydantic", "pydantic_settings", "sqlalchemy", "fastapi", "typer", "asyncio"}
    assert heavy.isdisjoint(done.stdout.split())


def test_named_hours_may_be_set_one_by_one_as_text_or_table(tmp_path: Path) -> None:
    told = settings_of(tmp_path, HOMING_NAMED_HOURS="morning=06:30, night=22:00").named_hours
    assert str(told) == "morning=06:30, afternoon=15:00, evening=18:00, night=22:00"
    assert settings_of(tmp_path, '[named_hours]\nmorning = "06:30"\nnight = "22:00"\n').named_hours == told


@pytest.mark.parametrize("hours", ["morning", "morning=25:00", "dawn=05:00", "morning=06:00:30", "morning=06:00+01:00"])
def test_named_hours_that_cannot_be_read_are_refused_with_the_default(tmp_path: Path, hours: str) -> None:
    told = faults_of(tmp_path, HOMING_NAMED_HOURS=hours)
    assert "such as morning=08:00, afternoon=15:00, evening=18:00, night=21:00" in told
