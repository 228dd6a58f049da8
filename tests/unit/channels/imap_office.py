"""A mail server on loopback that is read by IMAP: strict about what it is asked, with every refusal it was told."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from homing.channels.email import read_smtp_url
from homing.channels.imap_inbox import read_imap_url
from homing.channels.mail_account import MailChannel
from homing.channels.mail_proof import reply_address

OWN = "homing@example.net"
PERSON = "anna@example.org"
KEY = "the key of a test"
SESSION = 1


@dataclass(kw_only=True)
class Stored:
    uid: int
    at: datetime
    raw: bytes


@dataclass(kw_only=True)
class ImapOffice:
    """One folder of one account."""

    idle: bool = True
    password: str = "secret"
    validity: int = 7
    mails: list[Stored] = field(default_factory=list[Stored])
    port: int = 0
    logins: int = 0
    commands: list[str] = field(default_factory=list[str])
    gossips: bool = False
    """Tells of the flags of other mails before it answers, as servers may."""
    waiting: int = 0
    """How many wait for mail at this moment."""
    _next: int = 1
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _told: dict[asyncio.StreamWriter, int] = field(default_factory=dict[asyncio.StreamWriter, int])
    _open: list[asyncio.StreamWriter] = field(default_factory=list[asyncio.StreamWriter])

    def deliver(self, raw: bytes, *, at: datetime | None = None) -> int:
        uid, self._next = self._next, self._next + 1
        self.mails.append(Stored(uid=uid, at=at or datetime.now(UTC), raw=raw))
        self._ring()
        return uid

    def renumber(self) -> None:
        """Give every mail another number, as a server does that was rebuilt."""
        self.validity += 1
        for n, mail in enumerate(self.mails, 1):
            mail.uid = n
        self._next = len(self.mails) + 1
        self.break_off()

    def break_off(self) -> None:
        for writer in self._open:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.append(writer)
        try:
            writer.write(b"* OK here\r\n")
            while line := (await reader.readline()).decode():
                tag, _, rest = line.strip().partition(" ")
                self.commands.append(re.sub(r"^(LOGIN).*", r"\1", rest))
                await self._answer(tag, rest, reader, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.remove(writer)
            writer.close()

    async def _answer(self, tag: str, rest: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def say(text: str) -> None:
            writer.write(f"{text}\r\n".encode())

        command = rest.upper()
        if command == "CAPABILITY":
            say(f"* CAPABILITY IMAP4rev1{' IDLE' if self.idle else ''}")
        elif command.startswith("LOGIN"):
            self.logins += 1
            if f'"{self.password}"' not in rest:
                say(f"{tag} NO [AUTHENTICATIONFAILED] Invalid credentials")
                return
        elif command.startswith("EXAMINE"):
            self._tell(writer)
            say(f"* OK [UIDVALIDITY {self.validity}] x")
            say(f"* OK [UIDNEXT {self._next}] x")
        elif found := re.fullmatch(r"UID SEARCH UID (\d+):\*", command):
            least = int(found[1])
            uids = [mail.uid for mail in self.mails if mail.uid >= least] or [mail.uid for mail in self.mails[-1:]]
            say(f"* SEARCH {' '.join(map(str, uids))}".rstrip())
        elif found := re.fullmatch(r"UID SEARCH SINCE (\d+-\w+-\d+)", command):
            day = datetime.strptime(found[1].title() + " +0000", "%d-%b-%Y %z").date()
            say(f"* SEARCH {' '.join(str(mail.uid) for mail in self.mails if mail.at.date() >= day)}".rstrip())
        elif found := re.fullmatch(r"UID FETCH (\d+) \((.*)\)", command):
            self._fetch(int(found[1]), found[2], writer)
        elif command == "IDLE" and self.idle:
            await self._idle(reader, writer)
        else:
            say(f"{tag} BAD {rest!r} is not known here")
            return
        say(f"{tag} OK done")

    def _fetch(self, uid: int, wanted: str, writer: asyncio.StreamWriter) -> None:
        for n, mail in enumerate(self.mails, 1):
            if self.gossips and mail.uid != uid:
                writer.write(f"* {n} FETCH (UID {mail.uid} FLAGS (\\Seen))\r\n".encode())
        for n, mail in enumerate(self.mails, 1):
            if mail.uid == uid:
                part = re.search(r"BODY\.PEEK\[(HEADER)?\]<0\.(\d+)>", wanted)
                assert part, wanted
                head = mail.raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
                given = (head if part[1] else mail.raw)[: int(part[2])]
                at = mail.at.strftime("%d-%b-%Y %H:%M:%S +0000")
                said = f'* {n} FETCH (RFC822.SIZE {len(mail.raw)} INTERNALDATE "{at}" BODY[]<0> {{{len(given)}}}\r\n'
                # Some servers tell the number at the end.
                writer.write(said.encode() + given + f" UID {uid})\r\n".encode())

    async def _idle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"+ idling\r\n")
        self.waiting += 1
        done = asyncio.ensure_future(reader.readline())
        try:
            while not done.done():
                if len(self.mails) != self._told[writer]:
                    self._tell(writer)
                news = asyncio.ensure_future(self._news.wait())
                await asyncio.wait([done, news], return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
        finally:
            self.waiting -= 1
        if not done.result():
            raise ConnectionError
        assert done.result() == b"DONE\r\n"

    def _tell(self, writer: asyncio.StreamWriter) -> None:
        """Say how many mails there are; a server says it again when that has changed since."""
        self._told[writer] = len(self.mails)
        writer.write(f"* {len(self.mails)} EXISTS\r\n".encode())

    def _ring(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


@asynccontextmanager
async def imap_office(**more: object) -> AsyncIterator[ImapOffice]:
    office = ImapOffice(**more)  # type: ignore[arg-type]
    server = await asyncio.start_server(office.serve, "127.0.0.1", 0)
    async with server:
        office.port = server.sockets[0].getsockname()[1]
        yield office
        office.break_off()


async def give_key() -> str:
    return KEY


async def show_html(html: str) -> str:
    """Stand for the converter, which has tests of its own."""
    return re.sub(r"<[^>]+>", "", html).strip()


def channel_at(
    imap_port: int,
    smtp_port: int = 1,
    *,
    name: str = "email",
    authserv_id: str | None = None,
    password: str = "secret",
    **more: object,
) -> MailChannel:
    return MailChannel(
        name=name,
        smtp=read_smtp_url(f"smtp://127.0.0.1:{smtp_port}?from={OWN}"),
        imap=read_imap_url(f"imap://homing:{password}@127.0.0.1:{imap_port}"),
        authserv_id=authserv_id,
        find_key=give_key,
        read_html=show_html,
        **more,  # type: ignore[arg-type]
    )


def to_reply(person: str = PERSON, session_id: int = SESSION, name: str = "email") -> str:
    """Give the address that our mails to a person ask replies to."""
    return reply_address(OWN, KEY.encode(), name, session_id, person)


def mail(
    text: str = "Hello.",
    *,
    number: int = 1,
    sender: str = PERSON,
    to: str | None = None,
    more: str = "",
    message_id: str | None = None,
) -> bytes:
    """Write a mail as a person's program does; to the right address unless another is given."""
    known = f"Message-ID: <{message_id or f'mail{number}@example.org'}>\n" if message_id != "" else ""
    head = f"From: Anna Apple <{sender}>\nTo: {to or to_reply(sender)}\n{known}{more}"
    return f"{head}Content-Type: text/plain; charset=utf-8\n\n{text}\n".replace("\n", "\r\n").encode()
