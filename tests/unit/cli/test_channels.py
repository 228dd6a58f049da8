"""A channel that comes as a package appears on the command line, in the API and in doctor; nothing in src knows it."""

import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from homing.channels import Capabilities, Part, Receipt
from homing.channels.telegram import TelegramChannel
from homing.model.errors import ChannelFailed
from homing.testing import RecordingChannel, TelegramStub
from homing.testing.channel_contract import Shown, prove_channel
from support.commands import Homing

PACKAGE = Path(__file__).parents[2] / "support/pigeon"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install the package of the how-to as pip would: a module, and a record of its entry point."""
    site = tmp_path / "site"
    record = site / "pigeon_channel-1.0.dist-info"
    record.mkdir(parents=True)
    shutil.copy(PACKAGE / "pigeon_channel.py", site)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: pigeon-channel\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text("[homing.channels]\npigeon = pigeon_channel:KIND\n")
    monkeypatch.syspath_prepend(str(site))
    yield site
    sys.modules.pop("pigeon_channel", None)


@pytest.fixture
def loft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "loft"
    folder.mkdir()
    monkeypatch.setenv("HOMING_CHANNEL_PIGEON_FOLDER", str(folder))
    return folder


def test_a_package_appears_on_the_command_line_and_in_doctor(installed: Path, loft: Path, homing: Homing) -> None:
    [listed] = homing("channels", "list", "--json").objects
    assert (listed["name"], listed["kind"], listed["state"], listed["error"]) == ("pigeon", "pigeon", "off", None)
    assert listed["capabilities"]["resend"] == "deduplicated"
    assert "pigeon" in homing("channels", "list").out
    tried = homing("channels", "test", "pigeon", "pigeon:roof", "--json")
    assert (tried.code, tried.object["ok"], tried.object["account"]) == (0, True, "pigeons of loft")
    [arrived] = (loft / "roof" / "out").iterdir()
    assert "test message from Homing" in arrived.read_text()
    [finding] = [one for one in homing("doctor", "--json").objects if one["what"] == "Channel pigeon"]
    assert (finding["state"], finding["said"]) == ("ok", "pigeons of loft")


def test_what_does_not_work_is_said_in_the_platforms_words(installed: Path, loft: Path, homing: Homing) -> None:
    loft.rmdir()
    tried = homing("channels", "test", "pigeon")
    assert tried.code == 1
    assert f"pigeon does not work: There is no folder {loft}." in tried.out
    [finding] = [one for one in homing("doctor", "--json").objects if one["what"] == "Channel pigeon"]
    assert (finding["state"], finding["said"]) == ("wrong", f"There is no folder {loft}.")
    refused = homing("channels", "test", "pigeon", "raven:roof", "--json")
    assert "it begins with pigeon:" in refused.object["error"]
    assert homing("channels", "test", "raven").code == 2


def test_a_channel_whose_secret_is_missing_is_listed_as_failing(
    homing: Homing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOMING_CHANNEL_TELEGRAM_TOKEN", '{"secret": "BOT"}')
    [listed] = homing("channels", "list", "--json").objects
    assert listed["state"] == "failing"
    assert "there is no secret BOT" in listed["error"]


class Loft:
    """The double of the package's platform: its folder."""

    address, bad_address = "pigeon:roof", "pigeon:../roof"

    def __init__(self, folder: Path) -> None:
        self._in, self._out, self._count = folder / "roof" / "in", folder / "roof" / "out", 0
        self._in.mkdir(parents=True)

    def shown(self) -> Sequence[Shown]:
        files = sorted(self._out.glob("*"), key=lambda file: file.stat().st_mtime_ns) if self._out.is_dir() else []
        return [Shown(text=file.read_text("utf-8")) for file in files]

    def say(self, text: str) -> None:
        self._count += 1
        file = self._in / f"{self._count}.tmp"
        file.write_text(text, "utf-8")
        file.rename(file.with_suffix(".txt"))


async def test_the_package_passes_the_contract(installed: Path, loft: Path) -> None:
    from pigeon_channel import make  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    await prove_channel(make("pigeon", {"folder": str(loft)}), Loft(loft))  # pyright: ignore[reportUnknownArgumentType]


class Chat:
    """The double of Telegram."""

    address, bad_address = "telegram:7", "telegram:ada"

    def __init__(self, stub: TelegramStub) -> None:
        self._stub = stub
        stub.write("hello")

    def shown(self) -> Sequence[Shown]:
        return [self._shown(sent) for sent in self._stub.sent if "text" in sent]

    def files(self) -> Sequence[tuple[str, bytes]]:
        sent = [one["document"] for one in self._stub.sent if "document" in one]
        return [(one["file_name"], self._stub.files[one["file_id"]]) for one in sent]

    def reads(self, external_id: str) -> Shown:
        return next(
            self._shown(one)
            for one in self._stub.sent
            if external_id.endswith(f":{one['chat']['id']}:{one['message_id']}")
        )

    def _shown(self, sent: dict[str, Any]) -> Shown:
        rows = sent.get("reply_markup", {}).get("inline_keyboard", ())
        return Shown(text=sent["text"], options=[button["text"] for row in rows for button in row])

    def say(self, text: str) -> None:
        self._stub.write(text)


async def test_telegram_passes_the_contract() -> None:
    with TelegramStub() as stub:
        channel = TelegramChannel(name="telegram", token=stub.token, base_url=stub.url)
        await prove_channel(channel, Chat(stub))


class Wall:
    """What a recording channel shows."""

    address, bad_address = "recording:a", "recording:b"

    def __init__(self, channel: RecordingChannel) -> None:
        self._channel = channel

    def shown(self) -> Sequence[Shown]:
        return [Shown(text=part.text) for part in self._channel.sent if part.file is None]

    def say(self, text: str) -> None:
        raise AssertionError("it only sends")

    def files(self) -> Sequence[tuple[str, bytes]]:
        return [(part.file.name, self._channel.carried[part.id]) for part in self._channel.sent if part.file]

    def reads(self, external_id: str) -> Shown:
        return Shown(text=self._channel.sent[int(external_id.partition(":")[2]) - 1].text)


class Liar(RecordingChannel):
    """Refuses what its kit expects to be refused, cuts files and only says that it edits."""

    async def send(self, part: Part) -> Receipt:
        if part.address == Wall.bad_address:
            raise ChannelFailed("Nobody.", permanent=True)
        if part.file is not None and part.file.size > 10:
            part = replace(part, file=replace(part.file, read=_nothing))
        return await super().send(part)


async def _nothing() -> AsyncIterator[bytes]:
    yield b""


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        (Capabilities(max_length=100, resend="deduplicated"), "a part sent twice was shown 2 times"),
        (Capabilities(max_length=100, buttons=3), "it claims 3 buttons"),
        (Capabilities(max_length=100), "an address that cannot exist must raise ChannelFailed"),
    ],
)
async def test_a_claim_that_does_not_hold_is_found(claim: Capabilities, sentence: str) -> None:
    channel = RecordingChannel(capabilities=claim)
    with pytest.raises(AssertionError, match=sentence):
        await prove_channel(channel, Wall(channel))


@pytest.mark.parametrize(
    ("most", "sentence"),
    [(1000, "it claims files of up to 1,000 bytes"), (0, "it can edit, but the message reads as before")],
)
async def test_files_that_do_not_fit_and_edits_that_nobody_sees_are_found(most: int, sentence: str) -> None:
    channel = Liar(capabilities=Capabilities(max_length=100, max_file_bytes=most))
    with pytest.raises(AssertionError, match=sentence):
        await prove_channel(channel, Wall(channel))


def test_the_how_to_shows_this_package() -> None:
    shown = (Path(__file__).parents[3] / "docs/howto/channels.md").read_text("utf-8")
    assert (PACKAGE / "pigeon_channel.py").read_text("utf-8") in shown


def test_what_is_missing_to_verify_an_address_is_said_with_a_command_that_works(
    homing: Homing, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "No mail account is set up here" in homing("channels", "verify").err
    monkeypatch.setenv("HOMING_CHANNEL_WORK_KIND", "email")
    monkeypatch.setenv("HOMING_CHANNEL_WORK_SMTP_URL", "smtp://127.0.0.1:1")
    bare, address = homing("channels", "verify"), homing("channels", "verify", "anna@example.org")
    assert (bare.code, address.code) == (2, 2)
    assert bare.err.endswith("For example: homing channels verify work you@example.org\n")
    assert address.err.endswith("For example: homing channels verify work anna@example.org\n")


def test_an_unknown_browser_names_the_list_of_yours(homing: Homing) -> None:
    gone = homing("push", "remove", "push_x")
    assert gone.err == "There is no browser push_x.\nThere are none.\n"
