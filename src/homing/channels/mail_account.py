"""A mail account in both directions: mail goes out by SMTP, and what people write back is read by IMAP (IDLE).

The cursor is the folder's UIDVALIDITY and the highest UID that was taken. Nothing is marked on the server. Where the
UIDVALIDITY has changed, mails of late are read again, and those that were taken before are known by their Message-ID.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog

from homing.channels import File, IncomingMessage, Intake, Part
from homing.channels.email import EmailChannel, MailServer, read_smtp_url
from homing.channels.imap_inbox import FoundMail, ImapInbox, ImapServer, read_imap_url
from homing.channels.mail_proof import reply_address
from homing.channels.mail_reading import UNREADABLE, Attachment, MailAccount, MailHead, own_words, read_body, read_head
from homing.model.clock import Clock, SystemClock
from homing.model.errors import Invalid
from homing.model.webhook_urls import is_mailbox

log = structlog.get_logger(__name__)

ReadHtml = Callable[[str], Awaitable[str]]
"""Turns hostile HTML into text, within bounds."""
FindKey = Callable[[], Awaitable[str]]
"""Gives the key of reply tokens."""

# A file of 25 MB in base64, with its mail.
_MAX_BYTES = 36_000_000
# Of a mail beyond that only the beginning is read: its words come first.
_BEGINNING = 512_000
_IDLE_SECONDS = 29.0
_POLL_SECONDS = 15.0
_MOST_AT_ONCE = 20
_BYTES_AT_ONCE = 8_000_000
_AGAIN = timedelta(days=1)
_SKEW = timedelta(minutes=5)
_CURSOR = re.compile(r"([0-9a-f]{8})\.([0-9]{1,20})\.([0-9]{1,20})\.([0-9]{1,12})\.([0-9]{1,12})")


@dataclass(frozen=True, kw_only=True)
class MailCursor:
    """How far an account was read."""

    account: str
    validity: int
    uid: int
    began: int
    """When it was first listened to, in seconds since 1970."""
    latest: int
    """When the newest mail that was read had come in."""

    def __str__(self) -> str:
        return f"{self.account}.{self.validity}.{self.uid}.{self.began}.{self.latest}"


def read_cursor(text: str | None, server: ImapServer) -> MailCursor | None:
    """Read a cursor; None for one of another account, whose numbers mean nothing here."""
    found = _CURSOR.fullmatch(text or "")
    if found is None or found[1] != _digest(server):
        return None
    validity, uid, began, latest = map(int, found.groups()[1:])
    return MailCursor(account=found[1], validity=validity, uid=uid, began=began, latest=latest)


@dataclass(kw_only=True)
class _Batch:
    """What is handed over together."""

    messages: list[IncomingMessage] = field(default_factory=list[IncomingMessage])
    strangers: int = 0
    unread: int = 0
    size: int = 0
    count: int = 0

    @property
    def full(self) -> bool:
        return self.count >= _MOST_AT_ONCE or self.size >= _BYTES_AT_ONCE


class MailChannel(EmailChannel):
    """One account. Addresses are `NAME:person@example.org`."""

    def __init__(
        self,
        *,
        name: str,
        smtp: MailServer,
        imap: ImapServer,
        authserv_id: str | None,
        find_key: FindKey,
        read_html: ReadHtml,
        page_url: str | None = None,
        clock: Clock | None = None,
        timeout_seconds: float = 10.0,
        idle_seconds: float = _IDLE_SECONDS,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        super().__init__(smtp, name=name, page_url=page_url, timeout_seconds=timeout_seconds)
        self._imap = imap
        self._authserv_id = authserv_id
        self._find_key = find_key
        self._read_html = read_html
        self._clock = clock or SystemClock()
        self._idle_seconds = idle_seconds
        self._poll_seconds = poll_seconds

    async def check(self) -> str:
        """Sign in to both servers, and name the address that mail comes from."""
        account = await super().check()
        await self._inbox().check()
        return account

    async def listen(self, intake: Intake) -> None:
        """Wait for mail and hand it over; nothing is told to the server."""
        account = MailAccount(
            channel=self.name,
            own=self._server.sender,
            key=(await self._find_key()).encode(),
            authserv_id=self._authserv_id,
        )
        inbox = self._inbox()
        try:
            await inbox.open()
            cursor = read_cursor(intake.cursor, self._imap)
            if cursor is None:
                cursor = await self._begin(intake, inbox)
            elif cursor.validity != inbox.validity:
                cursor = await self._begin_again(intake, inbox, account, cursor)
            while True:
                uids = await inbox.uids_after(cursor.uid)
                cursor = await self._take(intake, inbox, account, cursor, uids)
                # Clears what was reported as failing; a cursor that is known is not written again.
                await intake.take((), str(cursor))
                await inbox.wait(self._idle_seconds if inbox.can_idle else self._poll_seconds)
        finally:
            await inbox.hang_up()

    async def _reply_to(self, part: Part) -> str | None:
        if not part.message.session_id:
            return None
        key = (await self._find_key()).encode()
        return reply_address(self._server.sender, key, self.name, part.message.session_id, part.place)

    def _inbox(self) -> ImapInbox:
        return ImapInbox(self._imap, timeout_seconds=self._timeout_seconds)

    async def _begin(self, intake: Intake, inbox: ImapInbox) -> MailCursor:
        """The first listen starts at now: what came before is not for us."""
        now = int(self._clock.now().timestamp())
        account = _digest(self._imap)
        cursor = MailCursor(account=account, validity=inbox.validity, uid=inbox.newest, began=now, latest=now)
        await intake.take((), str(cursor))
        return cursor

    async def _begin_again(
        self, intake: Intake, inbox: ImapInbox, account: MailAccount, cursor: MailCursor
    ) -> MailCursor:
        """The server has given its mails other numbers: read recent ones again, since some of them may be new."""
        since = max(
            datetime.fromtimestamp(cursor.latest, UTC) - _AGAIN, datetime.fromtimestamp(cursor.began, UTC) - _SKEW
        )
        uids = [uid for uid in await inbox.uids_since(since) if uid <= inbox.newest]
        log.info("mail_renumbered", channel=self.name, mails=len(uids))
        renumbered = replace(cursor, validity=inbox.validity, uid=inbox.newest)
        return await self._take(intake, inbox, account, cursor, uids, since=since, finally_at=renumbered)

    async def _take(
        self,
        intake: Intake,
        inbox: ImapInbox,
        account: MailAccount,
        cursor: MailCursor,
        uids: Sequence[int],
        *,
        since: datetime | None = None,
        finally_at: MailCursor | None = None,
    ) -> MailCursor:
        """Hand over these mails, oldest first. With `finally_at` the cursor moves only at the end."""
        batch = _Batch()
        for uid in uids:
            mail = await inbox.head(uid)
            if mail is not None and (since is None or mail.at >= since):
                await self._read(intake, inbox, account, mail, batch)
            moved = int(mail.at.timestamp()) if mail is not None else 0
            cursor = replace(cursor, uid=uid if finally_at is None else cursor.uid, latest=max(cursor.latest, moved))
            if batch.full:
                await self._hand_over(intake, batch, cursor if finally_at is None else intake.cursor)
                batch = _Batch()
        if finally_at is not None:
            cursor = replace(finally_at, latest=cursor.latest)
        if uids or finally_at is not None:
            await self._hand_over(intake, batch, cursor)
        return cursor

    async def _hand_over(self, intake: Intake, batch: _Batch, cursor: object) -> None:
        text = str(cursor) if cursor is not None else None
        await intake.take(batch.messages, text, unread=batch.unread, strangers=batch.strangers)

    async def _read(
        self, intake: Intake, inbox: ImapInbox, account: MailAccount, mail: FoundMail, batch: _Batch
    ) -> None:
        """Read one mail into the batch; one that nobody can read is counted, and must not keep back what follows."""
        batch.count += 1
        try:
            head = read_head(mail.head, account)
            is_person = head.verdict == "person"
            known = is_person and await intake.knows(f"{self.name}:{head.sender}", head.sender)
            if head.verdict == "stranger" or (is_person and not known):
                batch.strangers += 1
            elif known:
                message = await self._message(inbox, account, mail, head)
                batch.messages += [message] if message is not None else []
                batch.size += mail.size
        except UNREADABLE as error:
            log.warning("mail_unreadable", channel=self.name, uid=mail.uid, error=type(error).__name__)
            batch.unread += 1

    async def _message(
        self, inbox: ImapInbox, account: MailAccount, mail: FoundMail, head: MailHead
    ) -> IncomingMessage | None:
        whole = mail.size <= _MAX_BYTES
        raw = await inbox.content(mail.uid, _MAX_BYTES if whole else _BEGINNING)
        if raw is None:
            return None
        body = await asyncio.to_thread(read_body, raw)
        text = body.plain or await self._read_html(body.html)
        # Beside the loop, like the reading: a long text takes seconds.
        words = await asyncio.to_thread(own_words, text, account.own)
        if head.subject and head.subject not in words:
            words = f"{head.subject}\n\n{words}".strip()
        if not whole:
            words += f"\n\n(This mail has {mail.size:,} bytes; only its beginning was read, and no files.)"
        return IncomingMessage(
            external_id=f"{head.sender}:{head.message_id}",
            address=f"{self.name}:{head.sender}",
            sender=head.sender,
            sender_name=head.sender_name,
            direct=True,
            addressed=True,
            text=words,
            at=mail.at,
            files=[_file(mail.uid, n, one) for n, one in enumerate(body.files)] if whole else (),
            replies_to=f"{head.sender}:{head.replies_to}" if head.replies_to else None,
        )


def make_mail_channel(
    name: str, fields: Mapping[str, str], *, find_key: FindKey, read_html: ReadHtml, page_url: str | None = None
) -> EmailChannel:
    """Make the channel of one account; without imap_url it only sends. ValueError says which field cannot be used."""
    if "smtp_url" not in fields:
        raise ValueError("smtp_url is missing, and HOMING_SMTP_URL is not set either")
    sender = fields.get("from")
    if sender is not None and not is_mailbox(sender):
        raise ValueError("from must be a mail address such as homing@example.org")
    try:
        smtp = read_smtp_url(fields["smtp_url"], setting=f"smtp_url of the channel {name}", sender=sender)
    except Invalid as error:
        raise ValueError(error.detail.rstrip(".")) from None
    if "imap_url" not in fields:
        if "authserv_id" in fields:
            raise ValueError("authserv_id is for reading mail, and imap_url is missing")
        return EmailChannel(smtp, name=name, page_url=page_url)
    authserv_id = fields.get("authserv_id")
    if authserv_id is not None and not re.fullmatch(r"[\w.-]{1,200}", authserv_id):
        raise ValueError("authserv_id must be the name with which your mail server begins Authentication-Results")
    imap = read_imap_url(fields["imap_url"])
    return MailChannel(
        name=name,
        smtp=smtp,
        imap=imap,
        authserv_id=authserv_id,
        find_key=find_key,
        read_html=read_html,
        page_url=page_url,
    )


def _digest(server: ImapServer) -> str:
    return hashlib.sha256(server.account.encode()).hexdigest()[:8]


def _file(uid: int, n: int, one: Attachment) -> File:
    async def read(content: bytes) -> AsyncIterator[bytes]:
        yield content

    return File(
        id=f"{uid}.{n}",
        name=one.name,
        media_type=one.media_type,
        size=len(one.content),
        read=partial(read, one.content),
    )
