"""Mail against Dovecot, the IMAP server that most people have: IDLE, UIDVALIDITY, encryption."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from homing.channels import IncomingMessage
from homing.channels.email import read_smtp_url
from homing.channels.imap_inbox import ImapInbox, read_imap_url
from homing.channels.mail_account import MailChannel
from homing.model.errors import ChannelFailed
from support.certificates import Authority, certify
from support.dovecot import PASSWORD, USER, Dovecot, dovecot
from unit.channels.imap_office import OWN, PERSON, give_key, mail, show_html

PATIENCE = 30.0
# STARTTLS is for other machines; to 127.0.0.1 nothing is encrypted. This leads to this machine, and does not say so.
OTHER_MACHINE = "0.0.0.0"


class Intake:
    """Takes everything, in memory."""

    def __init__(self, cursor: str | None = None) -> None:
        self.cursor = cursor
        self.taken: list[IncomingMessage] = []
        self._news = asyncio.Event()

    async def knows(self, address: str, sender: str) -> bool:
        return True

    async def awaits_link(self) -> bool:
        return False

    async def take(
        self, messages: Sequence[IncomingMessage], cursor: str | None, *, unread: int = 0, strangers: int = 0
    ) -> None:
        assert (unread, strangers) == (0, 0)
        self.taken += messages
        self.cursor = cursor
        self._news.set()

    async def until(self, enough: Callable[["Intake"], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not enough(self):
                self._news.clear()
                await self._news.wait()


@pytest.fixture
def server() -> Iterator[Dovecot]:
    with dovecot() as found:
        yield found


def channel_to(url: str) -> MailChannel:
    """A channel that hears of a mail only because it is told: its wait is longer than a test."""
    return MailChannel(
        name="email",
        smtp=read_smtp_url(f"smtp://127.0.0.1:1?from={OWN}"),
        imap=read_imap_url(url),
        authserv_id=None,
        find_key=give_key,
        read_html=show_html,
        idle_seconds=600,
        poll_seconds=600,
    )


@asynccontextmanager
async def listening(url: str, intake: Intake) -> AsyncIterator[None]:
    task = asyncio.create_task(channel_to(url).listen(intake))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_mail_is_heard_the_moment_it_comes_and_nothing_is_marked(server: Dovecot) -> None:
    await asyncio.to_thread(server.deliver, mail("Before it began.", number=1))
    intake = Intake()
    async with listening(server.url, intake):
        await intake.until(lambda it: it.cursor is not None)
        await asyncio.to_thread(server.deliver, mail("One.", number=2))
        await intake.until(lambda it: len(it.taken) == 1)
        # The second comes while it waits in IDLE again.
        await asyncio.to_thread(server.deliver, mail("Two.", number=3, more="In-Reply-To: <dlv_1@example.net>\n"))
        await intake.until(lambda it: len(it.taken) == 2)
    one, two = intake.taken
    assert [one.text, two.text] == ["One.", "Two."], "and nothing of what was there before"
    assert (one.external_id, one.sender) == (f"{PERSON}:mail2@example.org", PERSON)
    assert two.replies_to == f"{PERSON}:dlv_1@example.net"
    with server.box() as box:
        assert not any("\\Seen" in found.flags for found in box.fetch(mark_seen=False))


async def test_what_comes_while_nobody_listens_is_heard_later_and_once(server: Dovecot) -> None:
    first = Intake()
    async with listening(server.url, first):
        await first.until(lambda it: it.cursor is not None)
    for n in range(3):
        await asyncio.to_thread(server.deliver, mail(f"Mail {n}.", number=n))
    second = Intake(first.cursor)
    async with listening(server.url, second):
        await second.until(lambda it: len(it.taken) == 3)
    third = Intake(second.cursor)
    async with listening(server.url, third):
        await asyncio.to_thread(server.deliver, mail("The last.", number=9))
        await third.until(lambda it: bool(it.taken))
    assert [one.text for one in second.taken + third.taken] == ["Mail 0.", "Mail 1.", "Mail 2.", "The last."]


async def test_a_mail_that_is_deleted_there_stays_here_and_one_deleted_unheard_is_not_missed(server: Dovecot) -> None:
    first = Intake()
    async with listening(server.url, first):
        await first.until(lambda it: it.cursor is not None)
        await asyncio.to_thread(server.deliver, mail("One.", number=1))
        await first.until(lambda it: len(it.taken) == 1)
        await asyncio.to_thread(server.empty)
        await asyncio.to_thread(server.deliver, mail("Two.", number=2))
        await first.until(lambda it: len(it.taken) == 2)
    await asyncio.to_thread(server.deliver, mail("Never heard.", number=3))
    await asyncio.to_thread(server.empty)
    second = Intake(first.cursor)
    async with listening(server.url, second):
        await asyncio.to_thread(server.deliver, mail("Three.", number=4))
        await second.until(lambda it: bool(it.taken))
    assert [one.text for one in first.taken + second.taken] == ["One.", "Two.", "Three."]


async def test_after_another_uidvalidity_recent_mails_come_again_under_the_same_ids(server: Dovecot) -> None:
    first = Intake()
    async with listening(server.url, first):
        await first.until(lambda it: it.cursor is not None)
        await asyncio.to_thread(server.deliver, mail("Taken before.", number=1))
        await first.until(lambda it: len(it.taken) == 1)
    await asyncio.to_thread(server.deliver, mail("Not heard yet.", number=2))
    await asyncio.to_thread(server.renumber, 4711)
    second = Intake(first.cursor)
    async with listening(server.url, second):
        await second.until(lambda it: len(it.taken) == 2)
        await asyncio.to_thread(server.deliver, mail("Later.", number=3))
        await second.until(lambda it: len(it.taken) == 3)
    assert [one.text for one in second.taken] == ["Taken before.", "Not heard yet.", "Later."]
    assert second.taken[0].external_id == first.taken[0].external_id, "the receiver knows it by this"
    assert ".4711." in (second.cursor or "")


@pytest.mark.parametrize("scheme", ["imaps", "starttls"])
async def test_an_encrypted_account_is_heard(scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority.found(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with dovecot(certificate=authority.certify("localhost", OTHER_MACHINE)) as server:
        intake = Intake()
        async with listening(_url(server, scheme), intake):
            await intake.until(lambda it: it.cursor is not None)
            await asyncio.to_thread(server.deliver, mail("Over TLS.", number=1))
            await intake.until(lambda it: bool(it.taken))
        assert intake.taken[0].text == "Over TLS."
        assert ", TLS, " in logins(server)[-1], "Dovecot says so, too"


@pytest.mark.parametrize("scheme", ["imaps", "starttls"])
@pytest.mark.parametrize("wrong", ["unknown", "name"])
async def test_a_wrong_certificate_is_refused_with_a_sentence_that_helps_and_no_password_is_sent(
    scheme: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority.found(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    host = "localhost" if scheme == "imaps" else OTHER_MACHINE
    certificate = certify(tmp_path, host) if wrong == "unknown" else authority.certify("mail.example.org")
    with dovecot(certificate=certificate) as server:
        with pytest.raises(ChannelFailed) as refused:
            await ImapInbox(read_imap_url(_url(server, scheme)), timeout_seconds=10).check()
        said = refused.value.detail
        assert said.startswith(f"The connection to {host} could not be encrypted: ")
        assert ("SSL_CERT_FILE" if wrong == "unknown" else "the name that its certificate has") in said
        assert PASSWORD not in said
        assert not any(", TLS, " in line for line in logins(server))


def logins(server: Dovecot) -> list[str]:
    return [line for line in (server.folder / "log").read_text().splitlines() if "Login: user=" in line]


def _url(server: Dovecot, scheme: str) -> str:
    if scheme == "imaps":
        return f"imaps://{USER}:{PASSWORD}@localhost:{server.imaps}"
    return f"imap://{USER}:{PASSWORD}@{OTHER_MACHINE}:{server.imap}"
