"""The files by which processes find each other."""

import json
from pathlib import Path

import pytest

from homing.cli.home import announced, only_engine, owner_token
from homing.cli.problems import Problem
from homing.client.home import announced_url, known_token
from homing.settings import Settings, load


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load({"HOMING_HOME": str(tmp_path / "home"), "TZ": "UTC"})


def test_the_first_token_is_made_once_and_only_its_owner_can_read_it(settings: Settings) -> None:
    assert known_token(settings) is None
    token = owner_token(settings)
    assert token.startswith("hom_")
    assert settings.token_file.stat().st_mode & 0o777 == 0o600
    assert owner_token(settings) == known_token(settings) == token


def test_a_set_token_wins_over_the_file(settings: Settings) -> None:
    owner_token(settings)
    told = load({"HOMING_HOME": str(settings.home), "HOMING_TOKEN": "mine", "TZ": "UTC"})
    assert owner_token(told) == known_token(told) == "mine"


def test_a_server_is_found_for_as_long_as_it_runs(settings: Settings) -> None:
    settings.home.mkdir()
    with announced(settings, "http://127.0.0.1:1"):
        assert announced_url(settings) == "http://127.0.0.1:1"
        assert (settings.home / "server.json").stat().st_mode & 0o777 == 0o600
    assert announced_url(settings) is None


def test_what_a_killed_server_left_behind_is_not_believed(settings: Settings) -> None:
    settings.home.mkdir()
    (settings.home / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:1", "pid": 1}))
    assert announced_url(settings) is None


def test_a_second_engine_on_one_database_is_refused(tmp_path: Path) -> None:
    database = tmp_path / "homing.db"
    with (
        only_engine(database, tmp_path),
        pytest.raises(Problem, match="already runs"),
        only_engine(database, tmp_path),
    ):
        pass
    with only_engine(database, tmp_path):
        pass
