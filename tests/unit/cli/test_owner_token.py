"""The owner's token of a home: one, replaced when it changes, refused for good once it was revoked."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import sqlalchemy as sa
import uvicorn

from homing.cli.home import home_lock
from homing.cli.instance import open_instance, rotate_owner
from homing.cli.process import own_server
from homing.client.problems import Problem
from homing.settings import load
from homing.store import people
from homing.store import tables as t
from support.commands import Homing


def status(url: str, token: str, path: str = "/api/me") -> int:
    try:
        with urlopen(Request(url + path, headers={"Authorization": f"Bearer {token}"})) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


def post(url: str, path: str, token: str, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urlopen(Request(url + path, json.dumps(body).encode(), headers)) as answer:
        return json.loads(answer.read())


def in_file(home: Path) -> str:
    return (home / "token").read_text().strip()


def start_once() -> None:
    with own_server(load()):
        pass


@pytest.mark.parametrize("source", ["environment", "file"])
def test_a_changed_token_of_the_owner_ends_the_old_one(
    home: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    def give(token: str) -> None:
        if source == "environment":
            monkeypatch.setenv("HOMING_TOKEN", token)
        else:
            (home / "token").write_text(token)

    give("hom_old_old_old_old_old_old")
    with own_server(load()) as url:
        child = post(url, "/api/tokens", "hom_old_old_old_old_old_old", {})["token"]
    give("hom_new_new_new_new_new_new")
    with own_server(load()) as url:
        assert status(url, "hom_old_old_old_old_old_old") == status(url, child) == 401
        assert status(url, "hom_new_new_new_new_new_new") == 200


def test_a_deleted_token_file_ends_the_old_token(home: Path) -> None:
    start_once()
    old = in_file(home)
    (home / "token").unlink()
    with own_server(load()) as url:
        assert status(url, old) == 401
        assert status(url, in_file(home)) == 200


def test_a_token_of_an_older_homing_goes_on_and_becomes_the_owners(homing: Homing, home: Path) -> None:
    (home / "token").write_text("hom_first\n")
    instance = open_instance(load())
    give: dict[str, Any] = {"user_id": "default", "role": "admin", "kind": "token", "expires_at": None}
    for secret in ("hom_first", "hom_of_another_home"):
        instance.store.write_now(lambda tx, secret=secret: people.add_token(tx, secret=secret, **give))
    instance.store.engine.dispose()
    with own_server(load()) as url:
        assert status(url, "hom_first") == status(url, "hom_of_another_home") == 200
        listed = homing("tokens", "list", "--json").objects
        assert sorted(token["owner"] for token in listed) == [False, True]


def test_admin_tokens_that_an_older_homing_left_are_named_by_doctor_until_they_are_revoked(
    homing: Homing, home: Path
) -> None:
    (home / "token").write_text("hom_of_today\n")
    instance = open_instance(load())
    give: dict[str, Any] = {"user_id": "default", "role": "admin", "kind": "token", "expires_at": None}
    left = instance.store.write_now(lambda tx: people.add_token(tx, secret="hom_of_an_earlier_start", **give))
    instance.store.engine.dispose()
    with own_server(load()):
        [found] = [finding for finding in homing("doctor", "--json").objects if finding["what"] == "Tokens"]
        assert found["state"] == "note"
        assert "1 admin token without a name" in found["said"]
        assert "homing tokens revoke" in found["fix"]
        assert homing("tokens", "revoke", left.id).code == 0
        assert "Tokens" not in [finding["what"] for finding in homing("doctor", "--json").objects]


def test_a_revoked_token_of_the_owner_stays_refused_and_says_what_to_do(homing: Homing, home: Path) -> None:
    with own_server(load()) as url:
        [token] = homing("tokens", "list", "--json").objects
        asked = homing("tokens", "revoke", token["id"])
        assert (asked.code, "homing tokens rotate" in asked.err) == (2, True)
        assert status(url, in_file(home)) == 200
        assert homing("tokens", "revoke", token["id"], "--yes").code == 0
        assert status(url, in_file(home)) == 401
        said = homing("open", "--no-open")
        assert (said.code, "homing tokens rotate" in said.err) == (1, True)
    with own_server(load()) as url:
        assert status(url, in_file(home)) == 401
    said = homing("cron", "list")
    assert (said.code, "homing tokens rotate" in said.err) == (1, True)
    assert homing("tokens", "rotate").code == 0
    with own_server(load()) as url:
        assert status(url, in_file(home)) == 200
        assert homing("open", "--no-open").code == 0


def test_a_start_that_fails_after_the_database_was_opened_closes_it(home: Path) -> None:
    (home / "token").mkdir()
    with pytest.raises((OSError, Problem)), own_server(load()):
        pass
    # SQLite takes its log away with the last connection.
    assert not (home / "homing.db-wal").exists()


def test_a_web_server_that_breaks_ends_what_runs_beside_it_and_says_why(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def break_off(_: uvicorn.Server) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(uvicorn.Server, "main_loop", break_off)
    with pytest.raises(ZeroDivisionError, match="a bug"), own_server(load()):
        pass


@pytest.mark.parametrize("running", [True, False])
def test_rotating_replaces_the_token_and_ends_the_old_with_what_came_from_it(
    homing: Homing, home: Path, running: bool
) -> None:
    with own_server(load()) as url:
        old = in_file(home)
        child = post(url, "/api/tokens", old, {"user": "anna"})["token"]
        before = homing("tokens", "rotate", "--json") if running else None
        assert status(url, old) == (401 if running else 200)
        assert status(url, in_file(home)) == 200
    rotated = (before or homing("tokens", "rotate", "--json")).object
    assert rotated["ended"] == 2
    assert old != in_file(home)
    assert (home / "token").stat().st_mode & 0o777 == 0o600
    assert in_file(home) not in json.dumps(rotated)
    with own_server(load()) as url:
        assert status(url, old) == status(url, child) == 401
        assert status(url, in_file(home)) == 200


def test_a_rotation_waits_for_another_one_of_the_same_home(home: Path) -> None:
    start_once()
    instance = open_instance(load())
    with ThreadPoolExecutor(1) as other:
        with home_lock(load()):
            rotating = other.submit(rotate_owner, instance)
            with pytest.raises(TimeoutError):
                rotating.result(timeout=0.3)
            (home / "token").write_text("hom_of_the_first_rotation\n")
        token, _ = rotating.result(timeout=30)
    known = instance.store.write_now(lambda tx: people.look_up_secret(tx, in_file(home)))
    instance.store.engine.dispose()
    assert known == token


def test_a_rotation_that_was_killed_half_way_is_finished_by_the_next_start(home: Path) -> None:
    start_once()
    old = in_file(home)
    (home / "token").write_text("hom_fresh_from_a_rotation\n")
    with own_server(load()) as url:
        assert (status(url, old), status(url, "hom_fresh_from_a_rotation")) == (401, 200)


def test_a_rotation_says_in_words_what_ended(homing: Homing) -> None:
    start_once()
    assert "Nothing else was signed in with the old one." in homing("tokens", "rotate").out
    homing("tokens", "create")
    assert "The old one ended, and 1 made from it" in homing("tokens", "rotate").out


def test_a_token_from_the_environment_is_not_rotated(
    homing: Homing, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOMING_TOKEN", "hom_from_the_environment")
    said = homing("tokens", "rotate")
    assert (said.code, f"HOMING_TOKEN is set, and this command replaces the token in {home / 'token'}" in said.err) == (
        2,
        True,
    )


def test_commands_without_a_server_make_no_token(homing: Homing, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMING_TOKEN", "hom_meant_for_another_server")
    assert homing("cron", "add", "in 1 hour", "x").code == 0
    instance = open_instance(load())
    try:
        assert instance.store.write_now(lambda tx: tx.rows(sa.select(t.token.c.id))) == []
    finally:
        instance.store.engine.dispose()
    assert not (home / "token").exists()


def test_tokens_have_names_and_an_admin_lists_everybodys(homing: Homing, server: str) -> None:
    made = homing("tokens", "create", "--user", "anna", "--name", "phone", "--json").object
    assert made["name"] == "phone"
    assert "phone" not in homing("tokens", "list").out
    assert "phone" in homing("tokens", "list", "--user", "anna").out
    assert "phone" in homing("tokens", "list", "--all").out
    assert homing("tokens", "create", "--approve", "--json").object["approve"]
