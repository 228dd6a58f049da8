"""Mail in: who may talk, what is read of a mail, and a listener that neither loses nor repeats."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any

import pytest

from behaviour.channels.scenes import until
from homing.channels import File, IncomingMessage
from homing.channels.mail_account import make_mail_channel
from homing.model.errors import ChannelFailed
from homing.testing.channel_contract import Shown, prove_channel
from unit.channels.imap_office import (
    OWN,
    PERSON,
    ImapOffice,
    channel_at,
    give_key,
    imap_office,
    mail,
    show_html,
    to_reply,
)
from unit.channels.post_office import PostOffice, post_office
from unit.channels.sample_parts import noting, part

PATIENCE = 10.0
DMARC = "Authentication-Results: mx.example.net; dmarc=pass (p=none) header.from=example.org\n"


@dataclass(kw_only=True)
class Notes:
    """An intake in memory."""

    cursor: str | None = None
    taken: list[IncomingMessage] = field(default_factory=list[IncomingMessage])
    strangers: int = 0
    unread: int = 0
    takes: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def knows(self, address: str, sender: str) -> bool:
        return True

    async def awaits_link(self) -> bool:
        return False

    async def take(
        self, messages: Sequence[IncomingMessage], cursor: str | None, *, unread: int = 0, strangers: int = 0
    ) -> None:
        known = {message.external_id for message in self.taken}
        self.taken += [message for message in messages if message.external_id not in known]
        self.cursor = cursor
        self.unread += unread
        self.strangers += strangers
        self.takes += 1
        self.news.set()

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self.news.clear()
                await self.news.wait()

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.taken]


@asynccontextmanager
async def listening(channel: Any, notes: Notes) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(channel.listen(notes))
    try:
        await notes.until(lambda: notes.cursor is not None)
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, ChannelFailed):
            await task


async def hear(*mails: bytes, authserv_id: str | None = None) -> Notes:
    """Deliver these mails to a listening account, then one that is surely heard."""
    notes = Notes()
    async with imap_office() as office, listening(channel_at(office.port, authserv_id=authserv_id), notes):
        for raw in mails:
            office.deliver(raw)
        office.deliver(mail("The last.", number=999))
        await notes.until(lambda: "The last." in notes.texts)
    notes.taken.pop()
    return notes


async def test_a_reply_with_its_token_is_heard_at_once_with_its_names() -> None:
    answered = "In-Reply-To: <dlv_k3v9x2mq7a@example.net>\nSubject: Re: Good morning\n"
    [message] = (await hear(mail("Yes, please.", more=answered))).taken
    assert (message.external_id, message.address, message.sender) == (
        f"{PERSON}:mail1@example.org",
        f"email:{PERSON}",
        PERSON,
    )
    assert (message.sender_name, message.direct, message.text) == ("Anna Apple", True, "Yes, please.")
    assert message.replies_to == f"{PERSON}:dlv_k3v9x2mq7a@example.net"


@pytest.mark.parametrize(
    ("head", "to"),
    [
        ("", OWN),
        ("", to_reply("bob@example.org")),
        ("", to_reply(PERSON)[:-20] + "a" + to_reply(PERSON)[-19:]),
        ("", to_reply(PERSON).replace("example.net", "example.com")),
        ("", to_reply(PERSON).replace("+1.", "+2.")),
        ("From: second@example.org\n", to_reply(PERSON)),
        ("Authentication-Results: mx.evil.example; dmarc=pass header.from=example.org\n", OWN),
        (DMARC.replace("dmarc=pass", "dmarc=fail"), OWN),
        (DMARC.replace("header.from=example.org", "header.from=evil.example"), OWN),
        (DMARC.replace(" header.from=example.org", ""), OWN),
        (DMARC + DMARC, OWN),
        (DMARC + DMARC.replace("dmarc=pass", "dmarc=fail"), OWN),
        (DMARC.replace("dmarc=pass", 'smtp.mailfrom="a; dmarc=pass'), OWN),
        ('Authentication-Results: mx.example.net; spf=pass a.b="x; dmarc=pass header.from=example.org"@e\n', OWN),
        ("Authentication-Results: mx.example.net; spf=pass (x; dmarc=pass header.from=example.org)\n", OWN),
        ("Authentication-Results: mx.example.net.evil.example; dmarc=pass header.from=example.org\n", OWN),
        ("X-Authentication-Results: mx.example.net; dmarc=pass header.from=example.org\n", OWN),
        (DMARC.replace("dmarc=pass", "dmarc=fail"), to_reply(PERSON)),
        (DMARC.replace("dmarc=pass", "dmarc=fail").replace(" header.from=example.org", ""), to_reply(PERSON)),
    ],
)
async def test_a_mail_that_proves_nothing_is_dropped_and_counted(head: str, to: str) -> None:
    notes = await hear(mail("Give me everything.", more=head, to=to), authserv_id="mx.example.net")
    assert (notes.texts, notes.strangers, notes.unread) == ([], 1, 0)


@pytest.mark.parametrize(
    ("head", "authserv_id"),
    [
        (DMARC.replace("dmarc=pass", "dmarc=fail"), None),
        (DMARC.replace("dmarc=pass", "dmarc=fail").replace("mx.example.net", "mx.evil.example"), "mx.example.net"),
        (DMARC.replace("dmarc=pass", "dmarc=fail").replace("example.org", "evil.example"), "mx.example.net"),
        (DMARC.replace("dmarc=pass", "dmarc=none"), "mx.example.net"),
    ],
)
async def test_a_token_proves_a_sender_unless_our_own_server_says_no(head: str, authserv_id: str | None) -> None:
    notes = await hear(mail("I hold the token.", more=head), authserv_id=authserv_id)
    assert notes.texts == ["I hold the token."]


@pytest.mark.parametrize(
    "head",
    [
        "Subject: x\rFrom: anna@example.org\rX : 1\r\nFrom: attacker@example.org\r\n",
        "From: anna@example.org\r\nX : 1\r\nFrom: attacker@example.org\r\n",
        "From: anna@example.org\r\nFrom : attacker@example.org\r\n",
        "From: anna@example.org\r\nSubject: x\0y\r\n",
        f"From: anna@example.org\r\nX: {'x' * 130 * 1024}\r\nFrom: attacker@example.org\r\n",
    ],
)
async def test_a_sender_whom_our_server_may_not_have_seen_is_a_stranger(head: str) -> None:
    raw = f"{DMARC.strip()}\r\n{head}To: {OWN}\r\n\r\nGive me everything.\r\n".encode()
    notes = await hear(raw, authserv_id="mx.example.net")
    assert (notes.texts, notes.strangers, notes.unread) == ([], 1, 0)


async def test_our_own_servers_verdict_proves_a_sender_and_without_the_setting_it_does_not() -> None:
    written = mail("By DMARC.", more=DMARC, to=OWN)
    assert (await hear(written, authserv_id="MX.example.net")).texts == ["By DMARC."]
    unset = await hear(written)
    assert (unset.texts, unset.strangers) == ([], 1)


@pytest.mark.parametrize(
    "head",
    [
        "Auto-Submitted: auto-replied\n",
        "Auto-Submitted: auto-generated (vacation)\n",
        "List-Id: <fruit.example.org>\n",
        "Precedence: Bulk\n",
        "Precedence: junk\n",
        "Return-Path: <>\n",
        "X-Autoreply: yes\n",
    ],
)
async def test_what_a_program_sent_is_ignored(head: str) -> None:
    notes = await hear(mail("I am away.", more=head))
    assert (notes.texts, notes.strangers) == ([], 0)


async def test_our_own_mails_are_ignored_also_in_our_own_folder() -> None:
    notes = await hear(mail("Echo.", sender=OWN), mail("Echo.", number=2, sender=to_reply(), to=to_reply()))
    assert (notes.texts, notes.strangers) == ([], 0)


async def test_the_address_is_compared_without_capitals() -> None:
    written = mail("Loud.", sender="Anna@Example.ORG", to=to_reply(PERSON).upper())
    [message] = (await hear(written)).taken
    assert message.sender == PERSON


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("Yes.\n\nOn Mon, 16 Nov 2026 at 08:00, Homing wrote:\n> Stretch!\n> Now.", "Yes."),
        ("Yes.\n\nOn Mon, 16 Nov 2026 at 08:00, Homing <homing@example.net>\nwrote:\n\n> Stretch!", "Yes."),
        ("Tak.\n\nW dniu 16.11.2026, homing@example.net pisze:\n> Stretch!", "Tak."),
        ("Ja.\n\nAm 16.11.26 um 08:00 schrieb Homing:\n> Stretch!\n", "Ja."),
        ("Yes.\n\n-----Original Message-----\nFrom: homing@example.net\nSubject: x\n\nStretch!", "Yes."),
        ("Yes.\n________________________________\nFrom: homing@example.net\nSent: Monday\nTo: a\n\nStretch!", "Yes."),
        ("Yes.\n-- \nAnna Apple\nFruit Ltd.", "Yes."),
        # Unsure: everything stays.
        ("> Stretch or walk?\nStretch.\n> When?\nNow.", "> Stretch or walk?\nStretch.\n> When?\nNow."),
        ("What about this?\n> To be or not to be", "What about this?\n> To be or not to be"),
        ("At 10:30 read this:\n> poem", "At 10:30 read this:\n> poem"),
        ("On Monday we met.\nThen he wrote:\n> Hello", "On Monday we met.\nThen he wrote:\n> Hello"),
        ("From: is a header.\nNothing else.", "From: is a header.\nNothing else."),
        ("On 1 May homing@example.net wrote:\n> Only a quote.", "On 1 May homing@example.net wrote:\n> Only a quote."),
    ],
)
async def test_a_reply_keeps_its_own_words(body: str, said: str) -> None:
    assert (await hear(mail(body, more="Subject: Re: x\n"))).texts == [said]


async def test_a_new_mail_begins_with_its_subject() -> None:
    encoded = "Subject: =?utf-8?b?w4RwZmVs?=\n =?utf-8?q?_today?=\n"
    notes = await hear(
        mail("", more="Subject: Remind me in 1 minute to stretch\n"), mail("How much?", number=2, more=encoded)
    )
    assert notes.texts == ["Remind me in 1 minute to stretch", "Äpfel today\n\nHow much?"]


def multipart(kind: str, *parts: str, more: str = "") -> bytes:
    inner = "".join(f"--b\n{one}\n" for one in parts)
    head = f"From: {PERSON}\nTo: {to_reply()}\nMessage-ID: <m@x>\nSubject: Re: x\n{more}"
    return f"{head}Content-Type: multipart/{kind}; boundary=b\n\n{inner}--b--\n".replace("\n", "\r\n").encode()


PLAIN = "Content-Type: text/plain\n\nPlain words."
HTML = "Content-Type: text/html; charset=utf-8\n\n<p>HTML words.</p>"
PICTURE = (
    'Content-Type: image/png\nContent-Disposition: attachment; filename="=?utf-8?q?=C3=A4pfel=2Epng?="\n'
    "Content-Transfer-Encoding: base64\n\niVBORw0KGgo="
)


async def test_the_words_of_a_mail_are_looked_for_beside_the_loop() -> None:
    """In one of 18 MB that takes seconds, in which nobody else would be answered."""
    words = noting("Long words.")

    async def read_html(html: str) -> str:
        return words if "<p>" in html else html

    notes = Notes()
    async with imap_office() as office:
        fields = {
            "smtp_url": f"smtp://127.0.0.1:1?from={OWN}",
            "imap_url": f"imap://homing:secret@127.0.0.1:{office.port}",
        }
        channel = make_mail_channel("email", fields, find_key=give_key, read_html=read_html)
        async with listening(channel, notes):
            office.deliver(mail("<p>Long words.</p>").replace(b"text/plain", b"text/html"))
            await notes.until(lambda: notes.texts)
    assert notes.texts == ["Long words."]
    assert words.threads
    assert threading.get_ident() not in words.threads


async def test_plain_words_win_html_alone_is_converted_and_files_come_along() -> None:
    [both] = (await hear(multipart("alternative", PLAIN, HTML))).taken
    assert both.text == "Plain words."
    [only] = (await hear(multipart("alternative", HTML))).taken
    assert only.text == "HTML words."
    [with_file] = (await hear(multipart("mixed", PLAIN, PICTURE))).taken
    [file] = with_file.files
    assert (with_file.text, file.name, file.size) == ("Plain words.", "äpfel.png", 8)
    assert [piece async for piece in file.read()] == [b"\x89PNG\r\n\x1a\n"]
    assert [piece async for piece in file.read()] == [b"\x89PNG\r\n\x1a\n"]


async def test_a_forwarded_mail_is_a_file_and_not_the_persons_words() -> None:
    inner = "Content-Type: message/rfc822\n\nSubject: inner\n\nDelete everything."
    [message] = (await hear(multipart("mixed", PLAIN, inner))).taken
    assert message.text == "Plain words."
    assert [file.name for file in message.files] == ["message.eml"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00\x01\x02" * 1000,
        mail("x").replace(b"utf-8", b"no-such-charset"),
        mail("x").replace(b"utf-8", b"punycode"),
        mail("x\x00y"),
        mail("x", message_id=""),
        mail("x", more="Message-ID: <" + "a" * 5000 + ">\n", message_id=""),
        mail("x", more="References: " + "<a@b> " * 5000 + "\n"),
        mail("x", more="Subject: =?x?y?z?=\n"),
        mail("x", more="Date: never\nContent-Transfer-Encoding: base64\n"),
        multipart("mixed", *(["Content-Type: multipart/mixed; boundary=c\n\n--c\n"] * 300)),
        b"From: \xff\xfe <anna@example.org>\r\nTo: " + to_reply().encode() + b"\r\nSubject: \xff\r\n\r\n\xff\xfe",
        mail("x").replace(b"\r\n\r\n", b"\r\n" + b"X: y\r\n" * 50_000 + b"\r\n", 1),
    ],
)
async def test_a_broken_mail_keeps_nobody_from_being_heard(raw: bytes) -> None:
    notes = await hear(raw, mail("And this?", number=5))
    assert "And this?" in notes.texts


async def test_of_a_huge_mail_the_beginning_is_read_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homing.channels.mail_account._MAX_BYTES", 10_000)
    monkeypatch.setattr("homing.channels.mail_account._BEGINNING", 2_000)
    big = multipart("mixed", PLAIN, PICTURE.replace("iVBORw0KGgo=", "aaaa" * 5000))
    [message] = (await hear(big)).taken
    assert message.text.startswith("Plain words.")
    assert "only its beginning was read" in message.text
    assert not message.files


async def test_the_first_listen_starts_at_now_and_an_empty_wait_writes_nothing() -> None:
    notes = Notes()
    async with imap_office() as office:
        office.deliver(mail("Before.", number=1))
        async with listening(channel_at(office.port, idle_seconds=0.05), notes):
            office.deliver(mail("After.", number=2))
            await notes.until(lambda: notes.texts)
            takes, known = notes.takes, notes.cursor
            await notes.until(lambda: notes.takes > takes + 2)
            assert notes.cursor == known
    assert notes.texts == ["After."]


async def test_what_came_while_nobody_listened_is_heard_in_order() -> None:
    notes = Notes()
    async with imap_office() as office:
        channel = channel_at(office.port)
        async with listening(channel, notes):
            pass
        for n in range(50):
            office.deliver(mail(f"Mail {n}.", number=n))
        async with listening(channel, notes):
            await notes.until(lambda: len(notes.taken) == 50)
    assert notes.texts == [f"Mail {n}." for n in range(50)]


async def test_what_a_server_tells_of_other_mails_loses_none() -> None:
    notes = Notes()
    async with imap_office(gossips=True) as office, listening(channel_at(office.port), notes):
        for n in (1, 2, 3):
            office.deliver(mail(f"Number {n}.", number=n))
        await notes.until(lambda: (notes.cursor or "").split(".")[2] == "3")
    assert notes.texts == ["Number 1.", "Number 2.", "Number 3."]


async def test_a_server_without_idle_is_asked_again_and_again() -> None:
    notes = Notes()
    async with imap_office(idle=False) as office, listening(channel_at(office.port, poll_seconds=0.02), notes):
        office.deliver(mail("Polled."))
        await notes.until(lambda: notes.texts)
        assert "IDLE" not in office.commands


async def test_new_numbers_lose_nothing_and_take_nothing_twice() -> None:
    notes = Notes()
    now = datetime.now(UTC)
    async with imap_office() as office:
        channel = channel_at(office.port)
        office.deliver(mail("Long before.", number=1), at=now - timedelta(days=3))
        async with listening(channel, notes):
            for n in (2, 3):
                office.deliver(mail(f"Mail {n}.", number=n))
            await notes.until(lambda: len(notes.taken) == 2)
        office.deliver(mail("While away.", number=4))
        del office.mails[1]
        office.renumber()
        before = notes.cursor
        async with listening(channel, notes):
            await notes.until(lambda: notes.cursor != before)
            office.deliver(mail("Later.", number=5))
            await notes.until(lambda: "Later." in notes.texts)
    assert notes.texts == ["Mail 2.", "Mail 3.", "While away.", "Later."]


async def test_another_account_under_the_same_name_starts_at_now() -> None:
    notes = Notes(cursor="deadbeef.7.1.0.0")
    async with imap_office() as office:
        office.deliver(mail("Of another account's time.", number=1))
        async with listening(channel_at(office.port), notes):
            await notes.until(lambda: notes.cursor != "deadbeef.7.1.0.0")
            office.deliver(mail("Now.", number=2))
            await notes.until(lambda: notes.texts)
    assert notes.texts == ["Now."]


async def test_a_wrong_password_is_told_in_the_servers_words_and_mended_without_a_restart() -> None:
    async with imap_office(password="changed") as office:
        channel = channel_at(office.port)
        with pytest.raises(
            ChannelFailed, match=r"let Homing read mail: \[AUTHENTICATIONFAILED\] Invalid credentials\."
        ):
            await channel.listen(Notes())
        office.password = "secret"
        async with listening(channel, notes := Notes()):
            office.deliver(mail("Again."))
            await notes.until(lambda: notes.texts)


async def test_a_server_that_is_away_hangs_or_speaks_no_tls_is_a_failure_with_a_sentence() -> None:
    with pytest.raises(ChannelFailed, match=r"127\.0\.0\.1 could not be reached: Connection refused"):
        await channel_at(1).listen(Notes())

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ChannelFailed, match="did not answer in time"):
        await channel_at(port, timeout_seconds=0.2).listen(Notes())
    server.close()
    await server.wait_closed()
    async with imap_office() as office:
        fields = {"smtp_url": "smtp://127.0.0.1:1", "imap_url": f"imaps://a:b@127.0.0.1:{office.port}"}
        channel = make_mail_channel("email", fields, find_key=give_key, read_html=show_html)
        with pytest.raises(ChannelFailed, match="could not be encrypted"):
            await channel.listen(Notes())


async def test_a_connection_that_breaks_off_is_a_failure_and_a_cancelled_listener_ends_at_once() -> None:
    notes = Notes()
    async with imap_office() as office:
        async with listening(channel_at(office.port), notes) as task:
            await notes.until(lambda: notes.takes >= 2)
            await until(lambda: office.waiting == 1)
            office.break_off()
            with pytest.raises(ChannelFailed, match=r"broke off|could not be reached"):
                await task
        async with asyncio.timeout(3):
            async with listening(channel_at(office.port), Notes()):
                await until(lambda: office.waiting == 1)
        await until(lambda: office.waiting == 0)


async def test_a_long_mail_with_code_emoji_and_right_to_left_text_comes_through_whole_both_ways() -> None:
    code = "```python\nfor n in range(3):\n    print(n)  # 🍎\n```"
    text = f"שָׁלוֹם 👩‍👩‍👧 مرحبا\n\n{code}\n\n" + "مرحبا بك. " * 2000 + "Ende."
    assert len(text) > 20_000
    async with post_office() as post:
        await channel_at(1, post.port).send(part(f"email:{PERSON}", text))
    [heard] = (await hear(mail(text))).taken
    assert post.mails[0].get_content().replace("\r\n", "\n").rstrip("\n") == text
    assert heard.text == text


async def test_mails_of_a_conversation_refer_to_each_other_and_ask_for_replies_with_a_token() -> None:
    async with post_office() as office:
        channel = channel_at(1, office.port)
        receipt = await channel.send(part(f"email:{PERSON}", "First."))
        answer = part(f"email:{PERSON}", "Second.", delivery_id="dlv_second")
        await channel.send(replace(answer, replies_to=f"{PERSON}:mail1@example.org"))
    first, second = office.mails
    assert first["Reply-To"] == to_reply()
    assert receipt.external_id == f"{PERSON}:dlv_k3v9x2mq7a@example.net"
    assert second["In-Reply-To"] == "<mail1@example.org>"
    assert second["References"].split() == [first["References"], "<mail1@example.org>"]


async def test_the_id_of_a_foreign_mail_brings_no_header() -> None:
    async with post_office() as office:
        for known in ("a@b>\r\nBcc: <x@evil.example", "a b", "ä@x", "", "a@b,<c@d>"):
            answer = replace(part(f"email:{PERSON}", "Hi."), replies_to=f"{PERSON}:{known}")
            await channel_at(1, office.port).send(answer)
    assert [mail["In-Reply-To"] for mail in office.mails] == [None] * 5
    assert all(mail["Bcc"] is None for mail in office.mails)


async def test_a_file_goes_as_an_attachment_under_an_id_of_its_own() -> None:
    async def read() -> AsyncIterator[bytes]:
        yield b"\x89PNG"
        yield b"\r\n\x1a\n"

    file = File(id="file_1", name='äpf"el.png', media_type="image/png", size=8, read=read)
    async with post_office() as office:
        sent = part(f"email:{PERSON}", "")
        await channel_at(1, office.port).send(replace(sent, id="dlv_k3v9x2mq7a.1", file=file))
    (written,) = office.mails
    assert written["Message-ID"] == "<dlv_k3v9x2mq7a.1@example.net>"
    [attachment] = written.iter_attachments()
    assert (attachment.get_filename(), attachment.get_content()) == ('äpf"el.png', b"\x89PNG\r\n\x1a\n")


@dataclass(kw_only=True)
class MailPlatform:
    """Shows a mail once for each Message-ID, as mail programs do."""

    post: PostOffice
    imap: ImapOffice
    address: str = f"email:{PERSON}"
    bad_address: str = "email:nobody"
    said: int = 0

    def shown(self) -> list[Shown]:
        return [
            Shown(
                text=one.get_content().replace("\r\n", "\n").removesuffix("\n"),
                replies_to=f"{PERSON}:{one['In-Reply-To'].strip('<>')}" if one["In-Reply-To"] else None,
            )
            for one in self._kept()
            if not one.is_multipart()
        ]

    def files(self) -> list[tuple[str, bytes]]:
        found = [file for one in self._kept() for file in one.iter_attachments()]
        return [(file.get_filename() or "", file.get_content()) for file in found]

    def _kept(self) -> list[EmailMessage]:
        return list({str(one["Message-ID"]): one for one in self.post.mails}.values())

    def say(self, text: str) -> None:
        self.said += 1
        self.imap.deliver(mail(text, number=self.said))


async def test_mail_keeps_the_contract_of_channels() -> None:
    async with post_office() as post, imap_office() as imap:
        await prove_channel(channel_at(imap.port, post.port), MailPlatform(post=post, imap=imap))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "smtp_url is missing"),
        ({"smtp_url": "http://x"}, "must begin with smtp://"),
        ({"smtp_url": "smtp://x", "from": "nobody"}, "from must be a mail address"),
        ({"smtp_url": "smtp://x", "imap_url": "imap://host"}, "needs a user and a password"),
        ({"smtp_url": "smtp://x", "imap_url": "http://a:b@host"}, "must look like imaps://"),
        ({"smtp_url": "smtp://x", "imap_url": "imaps://a:secret@host:port"}, "is not a URL"),
        ({"smtp_url": "smtp://x", "authserv_id": "mx"}, "imap_url is missing"),
        ({"smtp_url": "smtp://x", "imap_url": "imaps://a:b@host", "authserv_id": "a; b"}, "authserv_id must be"),
    ],
)
def test_a_field_that_cannot_be_used_is_named_and_no_password_shown(fields: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        make_mail_channel("email", fields, find_key=give_key, read_html=show_html)
    assert "secret" not in str(refused.value)


async def test_an_approval_goes_out_with_a_link_to_its_page_and_nothing_else_does() -> None:
    async with post_office() as office:
        channel = channel_at(1, office.port, page_url="https://homing.example.net")
        asked = part(f"email:{PERSON}", "Main asks to use remember.")
        card = replace(asked.message, kind="approval", meta={"approval_id": "appr_1"})
        await channel.send(replace(asked, message=card))
        await channel.send(replace(asked, message=replace(card, kind="chat")))
    first, second = (one.get_content().split() for one in office.mails)
    assert first[-1] == "https://homing.example.net/approvals/appr_1"
    assert second[-1] == "remember."
