import socket
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from email import message_from_bytes
from email.header import decode_header, make_header
from email.policy import default

import pytest

from homing.channels import File
from homing.channels.email import EmailChannel, compose, read_smtp_url
from homing.model.errors import ChannelFailed, Invalid
from unit.channels.post_office import PostOffice, post_office
from unit.channels.sample_parts import noting, part

ADDRESS = "email:person@example.org"


def channel_to(office: PostOffice, login: str = "") -> EmailChannel:
    return EmailChannel(read_smtp_url(f"smtp://{login}127.0.0.1:{office.port}?from=homing@example.net"))


async def test_a_message_arrives_as_a_plain_mail() -> None:
    async with post_office() as office:
        receipt = await channel_to(office).send(part(ADDRESS, "# Guten Morgen ☀\n\nEs ist neun Uhr."))
    (mail,) = office.mails
    assert office.recipients == ["RCPT TO:<person@example.org>"]
    assert (mail["From"], mail["To"], mail["Subject"]) == (
        "homing@example.net",
        "person@example.org",
        "Guten Morgen ☀",
    )
    assert (mail["Message-ID"], mail["Auto-Submitted"]) == ("<dlv_k3v9x2mq7a@example.net>", "auto-generated")
    assert mail.get_content_type() == "text/plain"
    assert mail.get_content().splitlines() == ["# Guten Morgen ☀", "", "Es ist neun Uhr."]
    assert receipt.detail == {"message_id": "<dlv_k3v9x2mq7a@example.net>", "answer": "2.0.0 queued as 4711"}


async def test_a_mail_with_a_file_is_written_beside_the_loop() -> None:
    """For one of 18 MB that takes most of a second, in which nobody else would be answered."""

    async def read() -> AsyncIterator[bytes]:
        yield b"x" * 100

    kind = noting("image/png")
    file = File(id="file_1", name="a.png", media_type=kind, size=100, read=read)
    async with post_office() as office:
        await channel_to(office).send(replace(part(ADDRESS), file=file))
    [attached] = office.mails[0].iter_attachments()
    assert (attached.get_content_type(), attached.get_content()) == ("image/png", b"x" * 100)
    assert kind.threads
    assert threading.get_ident() not in kind.threads


async def test_a_mail_sent_again_is_the_same_mail() -> None:
    async with post_office() as office:
        channel = channel_to(office)
        await channel.send(part(ADDRESS))
        await channel.send(part(ADDRESS))
    first, second = office.mails
    assert first.as_bytes() == second.as_bytes()


@pytest.mark.parametrize(
    ("command", "answer", "permanent"),
    [
        ("RCPT", "550 5.1.1 no such person", True),
        ("RCPT", "452 4.2.2 mailbox full", False),
        ("MAIL", "553 5.1.8 not you", True),
        ("MAIL", "451 4.7.1 come back later", False),
        (".", "554 5.7.1 looks like spam", True),
        (".", "451 4.3.0 not now", False),
        ("CONNECT", "554 go away", False),
        ("AUTH", "535 5.7.8 wrong password", False),
    ],
)
async def test_a_refused_mail_is_final_and_a_broken_channel_is_not(command: str, answer: str, permanent: bool) -> None:
    async with post_office({command: answer}) as office:
        with pytest.raises(ChannelFailed) as caught:
            await channel_to(office, "user:secret@").send(part(ADDRESS))
    assert caught.value.permanent is permanent
    assert answer[:3] in caught.value.detail
    assert "secret" not in caught.value.detail


async def test_a_mail_server_that_is_not_there_is_worth_another_attempt() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        channel = channel_to(PostOffice(port=taken.getsockname()[1]))
        with pytest.raises(ChannelFailed) as caught:
            await channel.send(part(ADDRESS))
    assert not caught.value.permanent


@pytest.mark.parametrize(
    "place",
    [
        "person",
        "person@",
        "@example.org",
        "a@example.org,b@example.org",
        "a@b@example.org",
        "person@example.org\r\nBcc: all@example.org",
        "person@example.org\n",
        "Person <person@example.org>",
        "person@[127.0.0.1]",
        "per son@example.org",
    ],
)
def test_what_is_not_one_plain_address_is_refused_for_good(place: str) -> None:
    with pytest.raises(ChannelFailed) as caught:
        compose(part(f"email:{place}"), "homing@example.net")
    assert caught.value.permanent


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("\n\n**Done.**\nMore", "Done."),
        ("Hello\r\nBcc: all@example.org", "Hello"),
        ("Hello\x0bBcc: all@example.org", "Hello"),
        ("a\x07b\x1fc", "abc"),
        ("", "A message from Homing"),
        ("word " * 40, "word " * 15 + "wo…"),
    ],
)
def test_the_subject_is_the_first_line_and_never_a_header_more(text: str, subject: str) -> None:
    mail = message_from_bytes(compose(part(ADDRESS, text), "homing@example.net"), policy=default)
    assert mail["Subject"] == subject
    assert mail["Bcc"] is None


INJECTION = "=?utf-8?q?Bill=0D=0AReply-To:_a=40evil.io=0D=0AContent-Type:_text/html=0D=0A=0D=0A<b>hi</b>?="


@pytest.mark.parametrize(
    "text",
    [
        INJECTION,
        f"{INJECTION} and more",
        f"ü {INJECTION}",
        "=?utf-8?b?QmlsbA0KQmNjOiBhQGV2aWwuaW8=?=",
        "=?us-ascii?q?a=0Ab?= =?us-ascii?q?c?=",
        "= ?utf-8?q?x=0D=0ABcc:_a?=" + "=?",
        "x" * 60 + INJECTION,
    ],
)
async def test_an_encoded_word_in_an_answer_reaches_the_mail_server_as_text_and_never_as_headers(text: str) -> None:
    async with post_office() as office:
        await channel_to(office).send(part(ADDRESS, text))
    (raw,) = office.raw
    head, _, body = raw.partition(b"\r\n\r\n")
    names = [line.partition(b":")[0].decode() for line in head.split(b"\r\n") if not line.startswith(b" ")]
    assert names == ["From", "To", "Subject", "Date", "Message-ID", "References", "Auto-Submitted", "Content-Type",
                     "Content-Transfer-Encoding", "MIME-Version"]  # fmt: skip
    assert text.encode()[:20] not in head
    assert b"\r\n<b>" not in body
    # A reader that decodes it sees the same characters, and no line break.
    subject = str(make_header(decode_header(message_from_bytes(raw)["Subject"])))
    assert subject.startswith(text[:70].rstrip())
    assert "\n" not in subject


@pytest.mark.parametrize("text", ["Grüße", "☀" * 70, "e\u0301" * 60, "日本語 and English, and more of both, 日本語"])
def test_a_subject_of_any_language_comes_through_whole(text: str) -> None:
    raw = compose(part(ADDRESS, text), "homing@example.net")
    assert all(len(line) <= 78 for line in raw.split(b"\r\n"))
    wanted = text if len(text) <= 78 else text[:77].rstrip() + "…"
    assert str(make_header(decode_header(message_from_bytes(raw)["Subject"]))) == wanted


def test_an_address_that_a_reader_would_decode_is_refused_for_good() -> None:
    with pytest.raises(ChannelFailed) as caught:
        compose(part("email:=?utf-8?q?a=0D=0ABcc=3Ab?=@example.org"), "homing@example.net")
    assert caught.value.permanent


def test_the_setting_says_where_and_as_whom() -> None:
    server = read_smtp_url("smtp://me%40example.org:p%40ss@mail.example.org")
    assert (server.host, server.port, server.user, server.password) == (
        "mail.example.org",
        587,
        "me@example.org",
        "p@ss",
    )
    assert (server.sender, server.use_tls, server.start_tls) == ("me@example.org", False, True)
    assert "p@ss" not in repr(server)
    encrypted = read_smtp_url("smtps://me:pass@mail.example.org?from=homing@example.org")
    assert (encrypted.port, encrypted.sender, encrypted.use_tls, encrypted.start_tls) == (
        465,
        "homing@example.org",
        True,
        False,
    )
    plain = read_smtp_url("smtp://localhost:1025")
    assert (plain.port, plain.sender, plain.start_tls) == (1025, "homing@localhost", None)


@pytest.mark.parametrize(
    "url",
    ["smtp://", "http://mail.example.org", "smtp://h:nan", "smtp://h?from=nobody", "smtp://me:hush@h?form=a@b.org"],
)
def test_a_wrong_setting_says_what_is_wrong_without_showing_it(url: str) -> None:
    with pytest.raises(Invalid, match="HOMING_SMTP_URL") as caught:
        read_smtp_url(url)
    assert "hush" not in caught.value.detail
