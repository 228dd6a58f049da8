"""E-mail out: plain text, or one file, to `email:person@example.org`, through the mail server of a URL.

The Message-ID comes from the part's id, so that mail clients that compare ids show a mail sent twice once. All mails
of a conversation refer to one id that no mail has, so that they are shown together.
"""

import asyncio
import hashlib
import re
import socket
from base64 import b64encode
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from urllib.parse import parse_qs, unquote, urlsplit

import aiosmtplib

from homing.channels import Capabilities, Channel, Part, Receipt
from homing.channels.mail_proof import spell_mailbox
from homing.channels.mail_tls import untrusted_in, why_not_encrypted
from homing.model.addresses import names_loopback
from homing.model.channel_info import MAIL
from homing.model.errors import ChannelFailed, Invalid
from homing.model.webhook_urls import is_mailbox

_SUBJECT = 78
# A line with an encoded word is at most 76 characters long, the name of its header included.
_WORD_BYTES = 39
# In base64 that is 24 MB: most servers take 25.
MAX_FILE_BYTES = 18_000_000
_SETTING = "HOMING_SMTP_URL"
_PLAIN_ID = re.compile(r"[!-;=?-~]{1,200}")


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """Where mail is handed in, and as whom."""

    host: str
    port: int
    sender: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    use_tls: bool = False
    setting: str = _SETTING
    """Where somebody looks who wants to change it."""

    @property
    def start_tls(self) -> bool | None:
        """Never show a password in the clear, except to this machine; otherwise encrypt where the server can."""
        if self.use_tls:
            return False
        return True if self.user and not names_loopback(self.host) else None


def read_smtp_url(url: str, *, setting: str = _SETTING, sender: str | None = None) -> MailServer:
    """Read `smtp://user:password@host:587?from=homing@example.org`; smtps:// encrypts from the first byte."""

    def _wrong(what: str) -> Invalid:
        # The URL itself is not shown: it holds a password.
        return Invalid(f"{setting} {what}.", field=setting)

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _wrong("is not a URL") from None
    host, use_tls = parts.hostname, parts.scheme == "smtps"
    if parts.scheme not in ("smtp", "smtps") or not host:
        raise _wrong("must begin with smtp:// or smtps:// and name a host")
    user = unquote(parts.username) if parts.username else None
    given = parse_qs(parts.query)
    if unknown := sorted(set(given) - {"from"}):
        raise _wrong(f"has {', '.join(unknown)} behind the question mark, where only from= is known")
    sender = sender or (given["from"][0] if "from" in given else user if user and "@" in user else f"homing@{host}")
    if not is_mailbox(sender):
        raise _wrong("does not say from which address to send: add ?from=homing@example.org")
    return MailServer(
        host=host,
        port=port or (465 if use_tls else 587 if user else 25),
        sender=sender,
        user=user,
        password=unquote(parts.password) if parts.password else None,
        use_tls=use_tls,
        setting=setting,
    )


class EmailChannel(Channel):
    """Sends to `email:person@example.org`: one mail per part, which is all of a text, or a file."""

    capabilities = Capabilities(max_length=None, max_file_bytes=MAX_FILE_BYTES, resend="deduplicated", threads=True)

    def __init__(
        self, server: MailServer, *, name: str = MAIL, page_url: str | None = None, timeout_seconds: float = 10.0
    ) -> None:
        self.name = name
        self._page_url = page_url
        self._server = server
        self._timeout_seconds = timeout_seconds

    async def check(self) -> str:
        """Sign in to the mail server, and name the address that mail comes from."""
        server = self._server
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.user,
            password=server.password,
            use_tls=server.use_tls,
            start_tls=server.start_tls,
            timeout=self._timeout_seconds,
            local_hostname=socket.gethostname(),
        )
        try:
            async with client:
                await client.noop()
        except aiosmtplib.SMTPException as error:
            raise _failure(error, server.setting) from error
        except OSError as error:
            raise ChannelFailed("The mail server could not be reached.") from error
        return server.sender

    async def send(self, part: Part) -> Receipt:
        """Hand a mail to the mail server; from there on it is the server's."""
        server = self._server
        timeout = self._timeout_seconds
        attached = None
        if part.file is not None:
            attached = b"".join([piece async for piece in part.file.read()])
            timeout += 5 + part.file.size / 1_000_000
        part = replace(part, text=part.text + self._link(part))
        reply_to = await self._reply_to(part)
        # Beside the loop: a large file takes most of a second.
        mail = await asyncio.to_thread(compose, part, server.sender, reply_to=reply_to, attached=attached)
        ascii_only = (server.sender + part.place).isascii()
        try:
            _, answer = await aiosmtplib.send(
                mail,
                sender=server.sender,
                recipients=[part.place],
                mail_options=None if ascii_only else ["SMTPUTF8"],
                hostname=server.host,
                port=server.port,
                username=server.user,
                password=server.password,
                use_tls=server.use_tls,
                start_tls=server.start_tls,
                timeout=timeout,
                # Its own default asks the name service, and blocks the loop meanwhile.
                local_hostname=socket.gethostname(),
            )
        except aiosmtplib.SMTPException as error:
            raise _failure(error, server.setting) from error
        except OSError as error:
            raise ChannelFailed("The mail server could not be reached.") from error
        sent = message_id(part, server.sender)
        return Receipt(
            detail={"message_id": sent, "answer": answer[:200]},
            external_id=f"{spell_mailbox(part.place)}:{sent.strip('<>')}",
        )

    def _link(self, part: Part) -> str:
        """Name the page of an approval: it is never answered by mail."""
        asked = part.message.meta.get("approval_id") if part.message.kind == "approval" else None
        return f"\n\n{self._page_url}/approvals/{asked}" if asked and self._page_url and part.file is None else ""

    async def _reply_to(self, part: Part) -> str | None:
        """Say where a reply goes; None where nobody reads mail."""
        return None


def compose(part: Part, sender: str, *, reply_to: str | None = None, attached: bytes | None = None) -> bytes:
    """Write a part as a plain-text mail, or as one with a file.

    The headers are encoded here and not by Python's `email`, which on some versions that we run on writes a line break
    that it found inside an encoded word as one, and so lets a text bring headers of its own (CVE-2024-6923).
    """
    for mailbox in (sender, part.place):
        if not is_mailbox(mailbox):
            raise ChannelFailed(f"{mailbox!r} is not a mail address such as person@example.org.", permanent=True)
    headers = {
        "From": sender,
        "To": part.place,
        **({"Reply-To": reply_to} if reply_to else {}),
        "Subject": encode_words(_subject(part.text or part.message.text)),
        "Date": format_datetime(part.created_at),
        "Message-ID": message_id(part, sender),
        **_thread(part, sender),
        # So that no out-of-office reply is sent back to a program.
        "Auto-Submitted": "auto-generated",
    }
    content = EmailMessage(policy=SMTP)
    content.set_content(part.text, cte="quoted-printable")
    if part.file is not None and attached is not None:
        kind, _, subtype = part.file.media_type.partition("/")
        content.add_attachment(attached, maintype=kind, subtype=subtype or "octet-stream", filename=part.file.name)
    mail = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode() + content.as_bytes()
    _check(mail, [*headers, *content.keys()])
    return mail


def message_id(part: Part, sender: str) -> str:
    """Name a mail by its part; the first by its delivery, as it always was."""
    known = part.delivery_id if part.id == f"{part.delivery_id}.0" else part.id
    return f"<{known}@{sender.rpartition('@')[2]}>"


def _thread(part: Part, sender: str) -> dict[str, str]:
    """Name the mail that this one answers, and the id that all mails of the conversation have in common."""
    conversation = hashlib.sha256(f"{part.message.session_id}:{part.session_key}".encode()).hexdigest()[:20]
    known = [f"<conversation-{conversation}@{sender.rpartition('@')[2]}>"] if part.session_key else []
    answered = (part.replies_to or "").partition(":")[2]
    if not _PLAIN_ID.fullmatch(answered):
        return {"References": known[0]} if known else {}
    return {"In-Reply-To": f"<{answered}>", "References": "\r\n ".join([*known, f"<{answered}>"])}


def encode_words(text: str) -> str:
    """Encode a header's text (RFC 2047). Plain words stay as they are; what a reader would decode does not."""
    if text.isascii() and text.isprintable() and "=?" not in text:
        return text
    words, word = list[bytes](), b""
    for char in text:
        if len(word + char.encode()) > _WORD_BYTES:
            words.append(word)
            word = b""
        word += char.encode()
    return "\r\n ".join(f"=?utf-8?b?{b64encode(one).decode()}?=" for one in [*words, word])


def _check(mail: bytes, names: list[str]) -> None:
    """Look at the bytes that are sent: exactly our headers, each once, and one end of them."""
    head, _, _ = mail.partition(b"\r\n\r\n")
    lines = re.sub(rb"\r\n[ \t]", b" ", head).split(b"\r\n")
    found = [line.partition(b":")[0].decode("utf-8", "replace") for line in lines]
    if found != names or any(b"\r" in line or b"\n" in line for line in lines):
        raise ChannelFailed("Its headers could not be written safely, so it was not sent.", permanent=True)


def _subject(text: str) -> str:
    """Take the first line that says something, without its marks of Markdown."""
    lines = ("".join(c for c in line if c.isprintable()).strip(" #*_>`-") for line in text.splitlines())
    first = next((line for line in lines if line), "A message from Homing")
    return first if len(first) <= _SUBJECT else first[: _SUBJECT - 1].rstrip() + "…"


def _failure(error: aiosmtplib.SMTPException, setting: str) -> ChannelFailed:
    if (untrusted := untrusted_in(error)) is not None:
        why = why_not_encrypted(untrusted, setting)
        return ChannelFailed(f"The connection to the mail server could not be encrypted: {why}")
    match error:
        case aiosmtplib.SMTPAuthenticationError() | aiosmtplib.SMTPConnectResponseError() | aiosmtplib.SMTPHeloError():
            # A broken channel, not a refused message: somebody may put it right before the last attempt.
            return ChannelFailed(f"The mail server does not let Homing in: {_said(error)}. Check {setting}.")
        case aiosmtplib.SMTPRecipientsRefused() if error.recipients:
            return _failure(error.recipients[0], setting)
        case aiosmtplib.SMTPResponseException():
            return ChannelFailed(f"The mail server refused it: {_said(error)}.", permanent=500 <= error.code < 600)
        case aiosmtplib.SMTPNotSupported():
            return ChannelFailed(
                f"The mail server cannot send this: {error.message[:200].rstrip('.')}.", permanent=True
            )
        case aiosmtplib.SMTPConnectTimeoutError():
            return ChannelFailed("The mail server did not answer in time.")
        case aiosmtplib.SMTPTimeoutError():
            return ChannelFailed("The mail server did not answer in time.", unsure=True)
        case aiosmtplib.SMTPServerDisconnected():
            detail = f"The mail server could not be used: {error.message[:200].rstrip('.')}."
            return ChannelFailed(detail, unsure=True)
        case _:
            return ChannelFailed(f"The mail server could not be used: {error.message[:200].rstrip('.')}.")


def _said(error: aiosmtplib.SMTPResponseException) -> str:
    words = " ".join(error.message.split())
    return f"{error.code} {words[:200]}".strip().rstrip(".")
