"""Mail in both directions against servers that nobody here wrote: pymap and Dovecot (IMAP), and aiosmtpd.

Verify one's address, write, get a reminder there and on the page, answer it, answer a question by its number, send a
picture and get a file.
"""

import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from imap_tools.mailbox import BaseMailBox, MailBoxUnencrypted

from behaviour.approvals.scenes import until
from behaviour.channels.test_telegram_scenario import pictures_in
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.dovecot import dovecot
from support.ports import free_port
from support.published_servers import installed
from support.sandboxes import need_bubblewrap
from support.whole import Whole, open_whole

PERSON, OWN = "anna@example.org", "homing@example.net"
KEY = f"email:{PERSON}"
PATIENCE = 40.0
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 100


class Post:
    """A person's mailbox behind aiosmtpd."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        assert isinstance(envelope.content, bytes)
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 2.0.0 taken"

    async def came(self, text: str) -> EmailMessage:
        """Wait for the mail that says so."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for one in self.mails:
                    body = one.get_body(("plain",))
                    if body is not None and text in body.get_content().replace("\r\n", "\n"):
                        return one
                await asyncio.sleep(0.02)

    def files(self) -> list[tuple[str | None, Any]]:
        """Give the files that came, by their names."""
        files = [one for mail in self.mails for one in mail.iter_attachments()]
        return [(file.get_filename(), file.get_payload(decode=True)) for file in files]


@contextmanager
def pymap() -> Iterator[tuple[int, Callable[[bytes], None]]]:
    place = installed()
    if place is None:
        if os.environ.get("HOMING_CI"):
            pytest.fail("pymap is not installed: run `make test-servers`.")
        pytest.skip("pymap is not installed: run `make test-servers`.")
    port = free_port()
    command = [place / "python/bin/pymap", "--host", "127.0.0.1", "--port", str(port), "--no-tls", "dict"]
    server = subprocess.Popen(
        [*command, "--demo-user", "homing", "--demo-password", "secret"], stderr=subprocess.DEVNULL
    )

    def sign_in() -> BaseMailBox:
        return MailBoxUnencrypted("127.0.0.1", port, timeout=5).login("homing", "secret")

    def append(raw: bytes) -> None:
        with sign_in() as box:
            box.append(raw)

    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                sign_in().logout()
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)
            else:
                break
        yield port, append
    finally:
        server.terminate()
        server.wait(10)


@contextmanager
def real_dovecot() -> Iterator[tuple[int, Callable[[bytes], None]]]:
    with dovecot() as server:
        yield server.imap, server.deliver


class Writer:
    """Writes into the account that Homing reads, as a mail server does that delivers a mail."""

    def __init__(self, deliver: Callable[[bytes], None]) -> None:
        self._deliver = deliver
        self._count = 0

    async def write(
        self,
        text: str,
        to: str,
        *,
        answers: EmailMessage | None = None,
        subject: str = "",
        picture: bytes | None = None,
    ) -> None:
        self._count += 1
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Message-ID"] = f"Anna <{PERSON}>", to, f"<anna{self._count}@example.org>"
        mail["Subject"] = subject
        if answers is not None:
            mail["In-Reply-To"] = answers["Message-ID"]
            text += f"\n\nOn Mon, 16 Nov 2026 at 08:00, <{OWN}> wrote:\n> " + answers.get_content().replace(
                "\n", "\n> "
            )
        mail.set_content(text)
        if picture is not None:
            mail.add_attachment(picture, maintype="image", subtype="png", filename="cat.png")
        await asyncio.to_thread(self._deliver, mail.as_bytes(policy=policy.SMTP))


@pytest.fixture
def post() -> Iterator[tuple[Post, int]]:
    kept = Post()
    controller = Controller(kept, hostname="127.0.0.1", port=free_port())
    controller.start()
    yield kept, int(controller.port)
    controller.stop()


@pytest.fixture(params=[pymap, real_dovecot], ids=["pymap", "dovecot"])
async def whole(
    request: pytest.FixtureRequest, tmp_path: Path, post: tuple[Post, int]
) -> AsyncIterator[tuple[Whole, Writer]]:
    with request.param() as (port, deliver):
        settings: dict[str, Any] = {
            "CHANNEL_EMAIL_IMAP_URL": f"imap://homing:secret@127.0.0.1:{port}",
            "CHANNEL_EMAIL_SMTP_URL": f"smtp://127.0.0.1:{post[1]}",
            "CHANNEL_EMAIL_FROM": OWN,
        }
        async with open_whole(f"sqlite:///{tmp_path / 'homing.db'}", tmp_path, **settings) as whole:
            yield whole, Writer(deliver)


async def until_listening(whole: Whole, *, strangers: int = 0) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            [channel] = (await whole.ask("GET", "/channels"))["items"]
            heard = channel["strangers"]["count"] == strangers
            if channel["state"] == "listening" and channel["account"] and heard:
                return channel
            await asyncio.sleep(0.05)


async def on_page(whole: Whole, text: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            for message in (await whole.ask("GET", f"/sessions/{KEY}/messages?limit=100"))["items"]:
                if message["text"] == text:
                    return message
            await asyncio.sleep(0.02)


async def verify(homing: Whole, box: Post) -> str:
    """Prove that the address is Anna's own by the code that came there; give the address that she writes to."""
    await homing.ask("POST", "/channels/email/verify", {"address": PERSON}, code=202)
    code = (await box.came("links this address")).get_content().partition(" ")[0]
    contact = await homing.ask("POST", "/channels/email/verify", {"address": PERSON, "code": code})
    assert contact["address"] == KEY
    # Without DMARC she replies to the Reply-To address of our mail.
    return (await box.came("This address is linked"))["Reply-To"]


async def test_a_person_is_reminded_by_mail_answers_there_and_answers_a_question_by_its_number(
    whole: tuple[Whole, Writer], post: tuple[Post, int]
) -> None:
    homing, writer = whole
    box, _ = post
    channel = await until_listening(homing)
    assert channel["account"] == OWN

    to = await verify(homing, box)
    remind = tool_call("schedule_task", {"action": "add", "when": "in 1 minute", "message": "Stretch now."})
    homing.model.reply([remind])
    homing.model.reply("I will remind you.")
    await writer.write("", to, subject="remind me in 1 minute to stretch")
    answer = await box.came("I will remind you.")
    assert answer["In-Reply-To"] == "<anna1@example.org>"
    assert (await on_page(homing, "remind me in 1 minute to stretch"))["role"] == "user"

    # Its minute is over, as `run_job` says.
    [job] = (await homing.ask("GET", "/jobs"))["items"]
    homing.model.reply("Time to stretch!")
    await homing.ask("POST", f"/jobs/{job['id']}/run", code=202)
    reminder = await box.came("Time to stretch!")
    assert reminder["References"].split()[0] == answer["References"].split()[0], "one conversation, one thread"
    await on_page(homing, "Time to stretch!")

    # A reply there is a turn of the same conversation, without what it quotes.
    homing.model.reply([tool_call("ask_question", {"title": "Which fruit?", "options": ["Apple", "Pear"]})])
    homing.model.reply("I asked.")
    await writer.write("Done. And buy fruit.", reminder["Reply-To"], answers=reminder, subject="Re: Time to stretch!")
    assert (await on_page(homing, "Done. And buy fruit."))["role"] == "user"
    question = await box.came("1. Apple\n2. Pear")
    # Mails go in order, so the receipt of the question is written: from then on it can be answered (rule 56).
    await box.came("I asked.")

    # And a question is answered by its number.
    homing.model.reply("Pears it is.")
    await writer.write("2", question["Reply-To"], answers=question, subject="Re: Which fruit?")
    await box.came("Pears it is.")
    [asked] = (await homing.ask("GET", "/questions"))["items"]
    assert (asked["state"], asked["answer"]) == ("answered", "Pear")
    said = [message.text for message in wire_messages(homing.model.seen[-1]) if message.role == "user"]
    assert any("Done. And buy fruit." in text for text in said)

    # A stranger and somebody who writes under Anna's name get no byte.
    before = len(box.mails)
    await writer.write("I am Anna.", OWN, subject="forged")
    await until_listening(homing, strangers=1)
    assert len(box.mails) == before


async def test_a_picture_comes_by_mail_and_a_file_goes_out(whole: tuple[Whole, Writer], post: tuple[Post, int]) -> None:
    need_bubblewrap()
    homing, writer = whole
    box, _ = post
    await until_listening(homing)
    to = await verify(homing, box)

    homing.model.reply("A cat.")
    await writer.write("what is this?", to, picture=PNG)
    await box.came("A cat.")
    assert PNG in pictures_in(homing.model.seen[-1])
    [picture] = (await on_page(homing, "what is this?"))["files"]
    assert (picture["name"], picture["media_type"], picture["bytes"]) == ("cat.png", "image/png", len(PNG))

    homing.model.reply([tool_call("write_file", {"path": "prices.txt", "text": "pears 2.99"})])
    homing.model.reply([tool_call("send_file", {"path": "prices.txt"})])
    homing.model.reply("There they are.")
    await writer.write("send me the prices", to)
    await box.came("There they are.")

    async def carried() -> bool:
        return ("prices.txt", b"pears 2.99") in box.files()

    await until(carried, "the file arrives there")
