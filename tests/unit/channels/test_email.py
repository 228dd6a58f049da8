import socket

import pytest

from homing.channels.email import EmailChannel, compose, read_smtp_url
from homing.model.errors import ChannelFailed, Invalid
from unit.channels.letters import letter
from unit.channels.post_office import PostOffice, post_office

ADDRESS = "email:person@example.org"


def channel_to(office: PostOffice, login: str = "") -> EmailChannel:
    return EmailChannel(read_smtp_url(f"smtp://{login}127.0.0.1:{office.port}?from=homing@example.net"))


async def test_a_message_arrives_as_a_plain_mail() -> None:
    async with post_office() as office:
        receipt = await channel_to(office).send(letter(ADDRESS, "# Guten Morgen ☀\n\nEs ist neun Uhr."))
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


async def test_a_mail_sent_again_is_the_same_mail() -> None:
    async with post_office() as office:
        channel = channel_to(office)
        await channel.send(letter(ADDRESS))
        await channel.send(letter(ADDRESS))
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
async def test_a_refused_letter_is_final_and_a_broken_channel_is_not(
    command: str, answer: str, permanent: bool
) -> None:
    async with post_office({command: answer}) as office:
        with pytest.raises(ChannelFailed) as caught:
            await channel_to(office, "user:secret@").send(letter(ADDRESS))
    assert caught.value.permanent is permanent
    assert answer[:3] in caught.value.detail
    assert "secret" not in caught.value.detail


async def test_a_mail_server_that_is_not_there_is_worth_another_attempt() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        channel = channel_to(PostOffice(port=taken.getsockname()[1]))
        with pytest.raises(ChannelFailed) as caught:
            await channel.send(letter(ADDRESS))
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
        compose(letter(f"email:{place}"), "homing@example.net")
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
    mail = compose(letter(ADDRESS, text), "homing@example.net")
    assert mail["Subject"] == subject
    assert mail["Bcc"] is None


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
