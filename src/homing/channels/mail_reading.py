"""What a mail says. Pure: bytes in; who wrote it, what it answers, its own words and its files out.

Mail is hostile, or just odd: wrong charsets, broken MIME and forged headers are all usual. Parsed in Python's older,
lenient way; whatever cannot be read raises one of `UNREADABLE`.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesFeedParser
from time import monotonic
from typing import Any, Literal

from homing.channels.mail_proof import fails_dmarc, has_our_token, is_own_address, passes_dmarc, spell_mailbox
from homing.model.encodings import known_encoding
from homing.model.webhook_urls import is_mailbox

UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, MessageError)
MAX_HTML = 500_000
MAX_HEAD = 128 * 1024
_DEEPEST = 20
_MOST_PARTS = 200
# Beyond these a mail was built to be slow: nobody reads it.
_MOST_BUILT = 1_000
_MOST_SECONDS = 30.0
_LONGEST_CONTENT_HEADER = 8_000
_PIECE = 16_000
# A longer text is kept as it is.
_LONGEST_JUDGED = 500_000
_MOST_LINES_JUDGED = 20_000
_LONGEST_SUBJECT = 300
# Of a From; and of what is decoded, which costs the square of its length.
_LONGEST_SENDER = 1_000
_LONGEST_ENCODED = 2_000

_MAILBOX_AND_NAME = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*"|[^"<>@,;:\\]*)\s*<([^<>\s]+)>|([^<>\s]+))\s*')
_BETWEEN_MAILBOXES = re.compile(r"[\s<>,;:\"()\[\]]+")
_FROM_LINE = re.compile(rb"^from[ \t]*:", re.IGNORECASE | re.MULTILINE)
_NEVER_IN_HEADS = re.compile(rb"\r(?!\n)|\0")
_ID = re.compile(r"<([^<>\s]{1,200})>")
_OURS = re.compile(r"dlv_[a-z0-9]{1,40}(?:\.[0-9]{1,9})?")
_AUTOMATIC = {"bulk", "list", "junk", "auto_reply"}
_AGAIN = re.compile(r"\s*(?:re|aw|antw|sv|vs|rv|ref|r)\s*(?:\[\d+\])?:", re.IGNORECASE)

# "On Mon, 16 Nov 2026 at 08:00, Homing wrote:" with a number in it: people who quote something else write other words.
_WROTE = re.compile(
    r"[ \t]*(?:On\b(?=.*\d).{5,200}\bwrote|Am\b(?=.*\d).{5,200}\bschrieb\b.{0,120}|Le\b(?=.*\d).{5,200}\ba écrit"
    r"|El\b(?=.*\d).{5,200}\bescribió|Il\b(?=.*\d).{5,200}\bha scritto"
    r"|Op\b(?=.*\d).{5,200}\bschreef\b.{0,120}) ?:[ \t]*",
    re.IGNORECASE,
)
_ORIGINAL = re.compile(
    r"[ \t]*-{2,}[ \t]*(?:Original Message|Ursprüngliche Nachricht|Message d'origine)[ \t]*-{2,}[ \t]*"
)
_OUTLOOK = re.compile(r"[ \t]*\*{0,2}(?:From|Von|De|Da|Van)\*{0,2}[ \t]?:\*{0,2} ")
_OUTLOOK_MORE = re.compile(r"[ \t]*\*{0,2}(?:Sent|Date|Gesendet|Datum|Envoyé|Enviado|Inviato|Verzonden)\*{0,2}[ \t]?:")
_LONGEST_SIGNATURE = 12


@dataclass(frozen=True, kw_only=True)
class MailAccount:
    """As whom we read mail, and what we trust."""

    channel: str
    own: str
    key: bytes
    authserv_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class MailHead:
    """What the headers of a mail say, and what we make of it."""

    verdict: Literal["person", "stranger", "automatic"]
    """person: the address is surely the sender's; whether they may talk is not known here."""
    sender: str = ""
    sender_name: str = ""
    message_id: str = ""
    replies_to: str | None = None
    """The id of our mail that it answers."""
    subject: str = ""
    """Empty in replies."""


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """One file of a mail."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class MailBody:
    """The words of a mail, plain if it has plain ones, and its files."""

    plain: str
    html: str
    files: Sequence[Attachment]


def read_head(raw: bytes, account: MailAccount) -> MailHead:
    """Judge a mail by its headers: nothing else is fetched of what strangers and programs send."""
    if _may_hide_a_sender(raw):
        return MailHead(verdict="stranger")
    head = message_from_bytes(raw)
    if _is_automatic(head):
        return MailHead(verdict="automatic")
    sender, name = _sender(head)
    if sender is None:
        return MailHead(verdict="stranger")
    if is_own_address(sender, account.own):
        return MailHead(verdict="automatic")
    if not _is_proven(head, sender, account):
        return MailHead(verdict="stranger")
    ids = _ID.findall(_one(head, "Message-ID"))
    answered = _answered(head, account.own)
    subject = _decoded(_one(head, "Subject"))[:_LONGEST_SUBJECT]
    return MailHead(
        verdict="person",
        sender=sender,
        sender_name=name or sender,
        message_id=ids[0] if ids else f"{hashlib.sha256(raw).hexdigest()[:32]}@unnamed",
        replies_to=answered,
        subject="" if answered or _AGAIN.match(subject) else subject,
    )


def read_body(raw: bytes) -> MailBody:
    """Take a mail apart, or raise one of UNREADABLE: soon also for one that was built to be slow."""
    until = monotonic() + _MOST_SECONDS
    plain: list[str] = []
    html: list[str] = []
    files: list[Attachment] = []
    for part in _leaves(_parsed(raw, until)):
        _check_time(until)
        kind = part.get_content_type()
        name = _decoded(part.get_filename() or "")
        if kind.startswith("message/"):
            inner = part.get_payload()
            content = inner[0].as_bytes() if isinstance(inner, list) and isinstance(inner[0], Message) else b""
            files.append(Attachment(name=name or "message.eml", media_type=kind, content=content))
            continue
        content = part.get_payload(decode=True)
        content = content if isinstance(content, bytes) else b""
        if part.get_content_disposition() == "attachment" or name or not kind.startswith("text/"):
            files.append(Attachment(name=name, media_type=kind, content=content))
        else:
            (html if kind == "text/html" else plain).append(_decode(content, part))
    return MailBody(plain="\n".join(plain).strip(), html="\n".join(html)[:MAX_HTML], files=files)


def own_words(text: str, own: str) -> str:
    """Leave out our mail, quoted at the end of a reply, and the signature; keep everything when unsure.

    An answer between quoted lines needs them to be understood, and who quotes something else means it: only a quote at
    the very end goes, below a line that says that we wrote it.
    """
    text = text.replace("\r\n", "\n")
    if len(text) > _LONGEST_JUDGED or text.count("\n") > _MOST_LINES_JUDGED:
        return text.strip()
    lines = text.split("\n")
    said = "\n".join(_without_signature(_without_quote(lines, own))).strip()
    return said or text.strip()


def _may_hide_a_sender(raw: bytes) -> bool:
    """Say whether our server may have judged another From than we would read: not every server ends lines and headers
    where Python does, and nobody knows what was cut off.
    """
    if len(raw) >= MAX_HEAD or _NEVER_IN_HEADS.search(raw):
        return True
    return len(_FROM_LINE.findall(raw)) != 1


def _is_automatic(head: Message) -> bool:
    """Say whether a program wrote it: an answer to it could go on forever."""
    submitted = _one(head, "Auto-Submitted").partition(";")[0].partition("(")[0].strip().lower()
    if submitted not in ("", "no") or _one(head, "Precedence").strip().lower() in _AUTOMATIC:
        return True
    if "Return-Path" in head and _one(head, "Return-Path").strip() in ("", "<>"):
        return True
    if head.get_content_type() == "multipart/report":
        return True
    return any(name in head for name in ("List-Id", "X-Autoreply", "X-Autorespond", "X-Auto-Reply"))


def _sender(head: Message) -> tuple[str | None, str]:
    """Read the one address of the one From; None where there is more, less, or something else."""
    given = head.get_all("From") or []
    # Runs of blanks in one line would be tried in every way.
    line = " ".join(_unfolded(given[0]).split()) if len(given) == 1 else ""
    found = _MAILBOX_AND_NAME.fullmatch(line) if 0 < len(line) <= _LONGEST_SENDER else None
    if found is None:
        return None, ""
    address = spell_mailbox(found[2] or found[3])
    # In an address of a channel a slash begins a thread.
    if not is_mailbox(address) or "/" in address:
        return None, ""
    name = re.sub(r"\\(.)", r"\1", (found[1] or "").strip().strip('"'))
    return address, _decoded(name)


def _is_proven(head: Message, sender: str, account: MailAccount) -> bool:
    to = [_unfolded(one) for name in ("To", "Cc", "Delivered-To", "X-Original-To") for one in head.get_all(name) or []]
    mailboxes = [found for line in to for found in _mailboxes_in(line)]
    has_token = has_our_token(mailboxes, own=account.own, key=account.key, channel=account.channel, person=sender)
    if account.authserv_id is None:
        return has_token
    results = [_unfolded(one) for one in head.get_all("Authentication-Results") or []]
    server, domain = account.authserv_id, sender.rpartition("@")[2]
    if has_token:
        # Anyone who was forwarded our mail has its token as well.
        return not fails_dmarc(results, authserv_id=server, domain=domain)
    return passes_dmarc(results, authserv_id=server, domain=domain)


def _answered(head: Message, own: str) -> str | None:
    """Find our own mail that it answers: the one it names, else the last one of the thread."""
    domain = spell_mailbox(own.rpartition("@")[2])
    for name in ("In-Reply-To", "References"):
        for one in reversed(_ID.findall(_one(head, name))):
            local, _, where = one.rpartition("@")
            if spell_mailbox(where) == domain and _OURS.fullmatch(local):
                return f"{local}@{where}"
    return None


class _BoundedPart(Message):
    """A part whose headers take no long time to read."""

    _headers_size = 0

    def set_raw(self, name: str, value: Any) -> None:
        """Take in one header; the parser calls this."""
        self._headers_size += len(name) + len(value)
        most = _LONGEST_CONTENT_HEADER if name.lower().startswith("content-") else MAX_HEAD
        if len(value) > most or self._headers_size > MAX_HEAD:
            raise MessageError("the headers of a part are too long")
        super().set_raw(name, value)


def _parsed(raw: bytes, until: float) -> Message:
    built = 0

    def build(**given: Any) -> _BoundedPart:
        nonlocal built
        built += 1
        if built > _MOST_BUILT:
            raise MessageError("the mail has too many parts")
        return _BoundedPart(**given)

    parser = BytesFeedParser(build)
    for start in range(0, len(raw), _PIECE):
        # Each line is compared with every part that it is in.
        parser.feed(raw[start : start + _PIECE])
        _check_time(until)
    return parser.close()


def _check_time(until: float) -> None:
    if monotonic() > until:
        raise MessageError("the mail takes too long to read")


def _leaves(part: Message, depth: int = 0) -> Iterator[Message]:
    """Give the parts that hold something. A mail within the mail is a file: its words are not the sender's."""
    count = 0
    if part.get_content_maintype() != "multipart" or not isinstance(part.get_payload(), list):
        yield part
        return
    if depth >= _DEEPEST:
        return
    for inner in part.get_payload():
        for leaf in _leaves(inner, depth + 1):  # type: ignore[arg-type]
            count += 1
            if count > _MOST_PARTS:
                return
            yield leaf


def _decode(content: bytes, part: Message) -> str:
    known = known_encoding(str(part.get_content_charset("utf-8")))
    for name in (known, "utf-8"):
        try:
            if name is not None:
                return content.decode(name)
        except UnicodeDecodeError:
            continue
    return content.decode(known or "cp1252", "replace")


def _one(head: Message, name: str) -> str:
    return _unfolded(head.get(name, ""))


def _unfolded(value: object) -> str:
    return re.sub(r"[\r\n]+[ \t]*", " ", str(value))


def _decoded(text: str) -> str:
    """Read encoded words (RFC 2047), as one line. Of what is far too long, the beginning."""
    text = text[:_LONGEST_ENCODED]
    pieces: list[str] = []
    try:
        for piece, charset in decode_header(text):
            known = known_encoding(charset or "ascii") or "utf-8"
            pieces.append(piece.decode(known, "replace") if isinstance(piece, bytes) else piece)
    except (ValueError, MessageError):
        pieces = [text]
    return " ".join("".join(char if char.isprintable() else " " for char in "".join(pieces)).split())


def _without_quote(lines: list[str], own: str) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    start = end
    while start and (lines[start - 1].lstrip().startswith(">") or not lines[start - 1].strip()):
        start -= 1
    if start < end:
        # In one line, or cut into two or three.
        for height in range(1, min(start, 3) + 1):
            if _says_who_wrote("\n".join(lines[start - height : start]), own):
                return lines[: start - height]
        return lines
    for n, line in enumerate(lines):
        following = lines[n + 1 : n + 4]
        if _ORIGINAL.fullmatch(line) or (
            _OUTLOOK.match(line) and _names(line, own) and any(map(_OUTLOOK_MORE.match, following))
        ):
            ruled = n and re.fullmatch(r"[ \t]*(?:_{10,}|-{3,}|\* \* \*)[ \t]*", lines[n - 1])
            return lines[: n - 1 if ruled else n]
    return lines


def _says_who_wrote(text: str, own: str) -> bool:
    text = text.strip()
    if not text or not text.split("\n")[0].strip() or not text.endswith((":", "\uff1a")):
        return False
    return _names(text, own) or _WROTE.fullmatch(text) is not None


def _names(text: str, own: str) -> bool:
    return any(is_own_address(one, own) for one in _mailboxes_in(text))


def _mailboxes_in(text: str) -> list[str]:
    return [word for word in _BETWEEN_MAILBOXES.split(text) if "@" in word]


def _without_signature(lines: list[str]) -> list[str]:
    for n in range(len(lines) - 1, -1, -1):
        if lines[n].rstrip("\r") in ("-- ", "--") and len(lines) - n <= _LONGEST_SIGNATURE:
            return lines[:n]
    return lines
