"""E-mail out: plain text to `email:person@example.org`, through the mail server that HOMING_SMTP_URL names.

The Message-ID comes from the delivery's id, so that mail clients that compare ids show a mail sent twice once.
"""

import re
import socket
from base64 import b64encode
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from urllib.parse import parse_qs, unquote, urlsplit

import aiosmtplib

from homing.channels import Letter, Receipt
from homing.model.addresses import names_loopback
from homing.model.errors import ChannelFailed, Invalid
from homing.model.webhook_urls import is_mailbox

_SUBJECT = 78
# A line with an encoded word is at most 76 characters long, the name of its header included.
_WORD_BYTES = 39


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """Where mail is handed in, and as whom."""

    host: str
    port: int
    sender: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    use_tls: bool = False

    @property
    def start_tls(self) -> bool | None:
        """Never show a password in the clear, except to this machine; otherwise encrypt where the server can."""
        if self.use_tls:
            return False
        return True if self.user and not names_loopback(self.host) else None


def read_smtp_url(url: str) -> MailServer:
    """Read `smtp://user:password@host:587?from=homing@example.org`; smtps:// encrypts from the first byte."""
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
    sender = given["from"][0] if "from" in given else user if user and "@" in user else f"homing@{host}"
    if not is_mailbox(sender):
        raise _wrong("does not say from which address to send: add ?from=homing@example.org")
    return MailServer(
        host=host,
        port=port or (465 if use_tls else 587 if user else 25),
        sender=sender,
        user=user,
        password=unquote(parts.password) if parts.password else None,
        use_tls=use_tls,
    )


class EmailChannel:
    """Sends to `email:person@example.org`."""

    name = "email"

    def __init__(self, server: MailServer, *, timeout_seconds: float = 10.0) -> None:
        self._server = server
        self._timeout_seconds = timeout_seconds

    async def send(self, letter: Letter) -> Receipt:
        """Hand a letter to the mail server; from there on it is the server's."""
        server = self._server
        mail = compose(letter, server.sender)
        ascii_only = (server.sender + letter.place).isascii()
        try:
            _, answer = await aiosmtplib.send(
                mail,
                sender=server.sender,
                recipients=[letter.place],
                mail_options=None if ascii_only else ["SMTPUTF8"],
                hostname=server.host,
                port=server.port,
                username=server.user,
                password=server.password,
                use_tls=server.use_tls,
                start_tls=server.start_tls,
                timeout=self._timeout_seconds,
                # Its own default asks the name service, and blocks the loop meanwhile.
                local_hostname=socket.gethostname(),
            )
        except aiosmtplib.SMTPException as error:
            raise _failure(error) from error
        except OSError as error:
            raise ChannelFailed("The mail server could not be reached.") from error
        return Receipt(detail={"message_id": message_id(letter, server.sender), "answer": answer[:200]})


def compose(letter: Letter, sender: str) -> bytes:
    """Write a letter as a plain-text mail.

    The headers are encoded here and not by Python's `email`, which on some versions that we run on writes a line break
    that it found inside an encoded word as one, and so lets a text bring headers of its own (CVE-2024-6923).
    """
    for mailbox in (sender, letter.place):
        if not is_mailbox(mailbox):
            raise ChannelFailed(f"{mailbox!r} is not a mail address such as person@example.org.", permanent=True)
    headers = {
        "From": sender,
        "To": letter.place,
        "Subject": encode_words(_subject(letter.text)),
        "Date": format_datetime(letter.created_at),
        "Message-ID": message_id(letter, sender),
        # So that no out-of-office reply is sent back to a program.
        "Auto-Submitted": "auto-generated",
    }
    content = EmailMessage(policy=SMTP)
    content.set_content(letter.text, cte="quoted-printable")
    mail = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode() + content.as_bytes()
    _check(mail, [*headers, *content.keys()])
    return mail


def message_id(letter: Letter, sender: str) -> str:
    return f"<{letter.delivery_id}@{sender.rpartition('@')[2]}>"


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


def _failure(error: aiosmtplib.SMTPException) -> ChannelFailed:
    match error:
        case aiosmtplib.SMTPAuthenticationError() | aiosmtplib.SMTPConnectResponseError() | aiosmtplib.SMTPHeloError():
            # A broken channel, not a refused letter: somebody may put it right before the last attempt.
            return ChannelFailed(f"The mail server does not let Homing in: {_said(error)}. Check HOMING_SMTP_URL.")
        case aiosmtplib.SMTPRecipientsRefused() if error.recipients:
            return _failure(error.recipients[0])
        case aiosmtplib.SMTPResponseException():
            return ChannelFailed(f"The mail server refused it: {_said(error)}.", permanent=500 <= error.code < 600)
        case aiosmtplib.SMTPNotSupported():
            return ChannelFailed(
                f"The mail server cannot send this: {error.message[:200].rstrip('.')}.", permanent=True
            )
        case aiosmtplib.SMTPTimeoutError():
            return ChannelFailed("The mail server did not answer in time.")
        case _:
            return ChannelFailed(f"The mail server could not be used: {error.message[:200].rstrip('.')}.")


def _said(error: aiosmtplib.SMTPResponseException) -> str:
    words = " ".join(error.message.split())
    return f"{error.code} {words[:200]}".strip().rstrip(".")


def _wrong(what: str) -> Invalid:
    # The URL itself is not shown: it holds a password.
    return Invalid(f"HOMING_SMTP_URL {what}.", field="HOMING_SMTP_URL")
