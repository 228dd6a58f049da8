"""Browsers on the command line and in doctor, and the key of pushes: made once, for nobody else to read."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from homing.channels.vapid import new_key, read_key
from homing.cli.checks import look_at_push
from homing.model.errors import Conflict, Invalid
from homing.model.people import OWNER
from homing.settings import load
from homing.store import push
from homing.wiring import make_push_key, read_push_key, wire
from support.commands import Homing
from support.push import Browser


def add(home: Path, browser: Browser, public_key: str) -> str:
    ready = wire(load({"HOMING_HOME": str(home)}))
    try:
        return ready.store.write_now(
            lambda tx: push.add(
                tx, user_id=OWNER, name=browser.name, endpoint=browser.endpoint, p256dh=browser.p256dh,
                auth=browser.auth, public_key=public_key, token_id=None,
            )
        ).id  # fmt: skip
    finally:
        ready.store.engine.dispose()


def test_browsers_are_listed_and_removed_without_their_secrets(homing: Homing, home: Path) -> None:
    assert "No browsers." in homing("push", "list").out
    browser = Browser("Chrome on Android")
    device_id = add(home, browser, make_push_key(home).public)
    listed = homing("push", "list")
    assert "Chrome on Android" in listed.out
    assert "nothing yet" in listed.out
    whole = homing("push", "list", "--json")
    assert set(whole.object) == {"id", "name", "created_at", "last_at"}
    assert browser.endpoint not in listed.out + whole.out
    assert homing("push", "remove", "push_nobody").code == 2
    removed = homing("push", "remove", f"push:{device_id}")
    assert (removed.code, removed.out.strip()) == (0, f"Removed Chrome on Android ({device_id}).")
    assert homing("push", "list", "--json").out == ""


def test_the_key_is_made_once_for_nobody_else_to_read(home: Path) -> None:
    assert read_push_key(home) is None
    with ThreadPoolExecutor(8) as pool:
        made = {key.public for key in pool.map(lambda _: make_push_key(home), range(16))}
    assert len(made) == 1
    file = home / "secrets/VAPID"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["VAPID"]
    assert made == {read_key(file.read_text()).public}


def test_the_environments_key_comes_first_and_no_file_is_made(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = new_key()
    monkeypatch.setenv("HOMING_SECRET_VAPID", key)
    assert make_push_key(home).public == read_key(key).public
    assert not (home / "secrets").exists()
    monkeypatch.setenv("HOMING_SECRET_VAPID", "not a key")
    with pytest.raises(Invalid, match="HOMING_SECRET_VAPID cannot be used") as refused:
        make_push_key(home)
    assert "not a key" not in refused.value.detail


def test_a_home_that_cannot_be_written_says_what_to_do(home: Path) -> None:
    (home / "secrets").write_text("in the way")
    with pytest.raises(Conflict, match="HOMING_SECRET_VAPID"):
        make_push_key(home)


def test_doctor_names_browsers_whose_key_is_not_here(homing: Homing, home: Path) -> None:
    def found() -> dict[str, str]:
        [one] = [one for one in homing("doctor", "--json").objects if one["what"] == "Notifications"]
        return one

    assert (found()["state"], found()["said"]) == ("ok", "no browser has them turned on")
    assert not (home / "secrets").exists(), "a look makes no key"
    add(home, Browser("one"), make_push_key(home).public)
    assert (found()["state"], found()["said"]) == ("ok", "1 browser")
    add(home, Browser("two"), read_key(new_key()).public)
    wrong = found()
    assert (wrong["state"], wrong["said"][:20]) == ("wrong", "1 of 2 browsers subs")
    assert "HOMING_SECRET_VAPID" in wrong["fix"]
    (home / "secrets/VAPID").chmod(0o644)
    assert "chmod 600" in found()["said"]


def test_doctor_says_nothing_of_browsers_before_there_is_a_database(tmp_path: Path) -> None:
    assert look_at_push(load({"HOMING_HOME": str(tmp_path / "new")})).state == "ok"
    assert not (tmp_path / "new").exists()
