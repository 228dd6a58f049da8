"""Channels from settings: file, environment, secrets by name, and what is wrong with them, all at once."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from homing import wiring
from homing.channels.telegram import TelegramChannel
from homing.model.errors import Invalid
from homing.settings import CHANNEL_FIELDS, ChannelSettings, Settings, load

TOKEN = "4664:very-secret"


def given(home: Path, toml: str = "", **env: str) -> Settings:
    (home / "homing.toml").write_text(toml, "utf-8")
    return load({"HOMING_HOME": str(home), "TZ": "UTC", **env})


def refusal(home: Path, toml: str = "", **env: str) -> str:
    with pytest.raises(Invalid) as caught:
        wiring.open_channels(given(home, toml, **env))
    assert "very-secret" not in str(caught.value)
    return caught.value.detail


def test_one_variable_makes_a_channel(tmp_path: Path) -> None:
    settings = given(tmp_path, HOMING_CHANNEL_TELEGRAM_TOKEN=TOKEN)
    assert settings.channels == (ChannelSettings(name="telegram", kind="telegram", fields={"token": TOKEN}),)
    made = wiring.open_channels(settings)
    assert (type(made["telegram"]), made["telegram"].name) == (TelegramChannel, "telegram")
    assert "very-secret" not in repr(settings)


def test_two_bots_have_two_names_and_the_environment_wins(tmp_path: Path) -> None:
    toml = '[channels.telegram]\ntoken = "1:a"\n[channels.my_work]\nkind = "telegram"\ntoken = "2:b"\n'
    env = {"HOMING_CHANNEL_MY_WORK_BASE_URL": "http://127.0.0.1:1", "HOMING_CHANNEL_TELEGRAM_TOKEN": TOKEN}
    settings = given(tmp_path, toml, **env)
    assert {one.name: (one.kind, dict(one.fields)) for one in settings.channels} == {
        "telegram": ("telegram", {"token": TOKEN}),
        "my_work": ("telegram", {"token": "2:b", "base_url": "http://127.0.0.1:1"}),
    }
    assert settings.channel_names == ("telegram", "my_work")


def test_a_kind_in_the_environment_names_a_channel_of_another_name(tmp_path: Path) -> None:
    env = {"HOMING_CHANNEL_MY_BOT_KIND": "telegram", "HOMING_CHANNEL_MY_BOT_BASE_URL": "http://x"}
    settings = given(tmp_path, **env, HOMING_CHANNEL_MY_BOT_TOKEN=TOKEN)
    [one] = settings.channels
    assert (one.name, one.kind, set(one.fields)) == ("my_bot", "telegram", {"base_url", "token"})


def test_a_secret_is_read_by_its_name_from_the_environment_or_a_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = '[channels.telegram]\ntoken = {secret = "BOT"}\n'
    assert "there is no secret BOT. Set HOMING_SECRET_BOT" in refusal(tmp_path, toml)
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "BOT").write_text(TOKEN)
    (folder / "BOT").chmod(0o644)
    assert "can be read by others" in refusal(tmp_path, toml)
    (folder / "BOT").chmod(0o600)
    assert set(wiring.open_channels(given(tmp_path, toml))) == {"telegram"}
    (folder / "BOT").unlink()
    monkeypatch.setenv("HOMING_SECRET_BOT", TOKEN)
    env = given(tmp_path, HOMING_CHANNEL_TELEGRAM_TOKEN='{"secret": "BOT"}')
    assert set(wiring.open_channels(env)) == {"telegram"}


def test_everything_wrong_is_reported_together_with_the_other_settings(tmp_path: Path) -> None:
    toml = (
        f'[channels.telegram]\ntokn = "{TOKEN}"\n[channels.web]\nkind = "telegram"\ntoken = 7\n'
        '[channels.work]\nkind = "telegram"\ntoken = {secret = "A", more = "B"}\n'
    )
    told = refusal(tmp_path, toml, HOMING_PORT="x")
    for sentence in (
        "HOMING_PORT must be a whole number",
        "The channel telegram has no field tokn; its fields are token, base_url.",
        "The channel telegram needs token: set HOMING_CHANNEL_TELEGRAM_TOKEN, or `token` in [channels.telegram].",
        "The channel web needs another name",
        'The channel web: token must be a text, or {"secret": "NAME"}.',
        'The channel work: token must be a text, or {"secret": "NAME"}.',
    ):
        assert sentence in told
    assert "must be tables" in refusal(tmp_path, "channels = 3")
    assert "must look as BotFather gives it" in refusal(tmp_path, '[channels.telegram]\ntoken = "x"')


def test_an_unknown_kind_names_the_known_ones(tmp_path: Path) -> None:
    told = refusal(tmp_path, '[channels.pigeon]\nroof = "red"')
    known = " or ".join(sorted(CHANNEL_FIELDS))
    assert f"The channel pigeon: there is no kind pigeon. Set `kind` to {known}, or install" in told


def test_only_packages_that_the_settings_name_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load(entry: EntryPoint) -> object:
        loaded.append(entry.name)
        return object()

    found = [EntryPoint(name=name, value=f"{name}:KIND", group="homing.channels") for name in ("pigeon", "raven")]
    monkeypatch.setattr(wiring, "entry_points", lambda group, name=None: [e for e in found if name in (None, e.name)])
    monkeypatch.setattr(EntryPoint, "load", load)
    assert "pigeon:KIND is not a ChannelKind" in refusal(tmp_path, '[channels.pigeon]\nroof = "red"')
    assert loaded == ["pigeon"]
