"""What a shell is told to complete: names of automations, conversations and agents, from any word of them."""

import pytest

from homing.cli.completion import agents, jobs, sessions
from homing.cli.main import run
from homing.client.home import known_token
from homing.client.remote import Client
from homing.settings import load
from support.commands import Homing


@pytest.fixture
def named(homing: Homing, server: str) -> None:
    homing("cron", "add", "every monday at 9", "Take it out.", "-n", "take out the trash")
    for _ in range(2):
        homing("cron", "add", "every monday at 9", "twice", "-n", "water")
    homing("agents", "add", "Research")


@pytest.mark.usefixtures("named")
def test_names_are_completed_from_any_word(homing: Homing) -> None:
    assert jobs("ta") == [("take-out-the-trash", "Mondays at 09:00 Europe/Berlin")]
    assert [name for name, _ in jobs("tra")] == ["trash"]
    assert [name for name, _ in sessions("ma")] == ["main"]
    assert agents("re") == [("research", "Research")]
    assert [name for name, _ in agents("")] == ["main", "research"]
    assert jobs("nothing") == []
    # What is completed is what commands understand.
    for completed in ("take-out-the-trash", "trash"):
        assert "Take it out." in homing("cron", "get", completed).out


@pytest.mark.usefixtures("named")
def test_names_that_are_not_unique_are_completed_by_id() -> None:
    assert [name.startswith("job_") for name, _ in jobs("job_")] == [True, True]
    assert jobs("wat") == []


@pytest.mark.parametrize("shell", ["complete_bash", "complete_zsh", "complete_fish"])
@pytest.mark.usefixtures("named")
def test_each_shell_gets_them_through_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    monkeypatch.setenv("_HOMING_COMPLETE", shell)
    monkeypatch.setenv("COMP_WORDS", "homing cron why ta")
    monkeypatch.setenv("COMP_CWORD", "3")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "homing cron why ta")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        run([])
    assert "take-out-the-trash" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["complete_bash", "complete_zsh", "complete_fish"])
def test_no_name_can_make_a_shell_do_anything(
    server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    evil = r"fruit \$(touch x) \`touch y\` ' \" ; touch z"
    with Client(server, known_token(load())) as client:
        client.ask("add_session", key="cli:fruit", title=evil)
        client.ask("add_session", key=r"cli:fruit\$(touch)", title="Fruit")
    monkeypatch.setenv("_HOMING_COMPLETE", shell)
    monkeypatch.setenv("COMP_WORDS", "homing sessions get fru")
    monkeypatch.setenv("COMP_CWORD", "3")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "homing sessions get fru")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        run([])
    shown = capsys.readouterr().out
    assert "fruit" in shown
    assert not set("\\$`;") & set(shown), shown


@pytest.mark.usefixtures("home")
def test_without_a_server_or_with_a_wrong_one_nothing_is_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert jobs("") == []
    monkeypatch.setenv("HOMING_URL", "http://127.0.0.1:9")
    assert sessions("") == []
    assert capsys.readouterr() == ("", "")
