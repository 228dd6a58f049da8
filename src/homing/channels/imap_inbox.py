"""One folder of an IMAP account, read only: nothing is marked, moved or deleted there.

imap-tools blocks, so each call runs in a thread of its own; `hang_up` ends whatever waits there.
"""

import asyncio
import imaplib
import re
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

from imap_tools.errors import ImapToolsError, MailboxFolderSelectError, MailboxLoginError, UnexpectedCommandStatusError
from imap_tools.mailbox import BaseMailBox, MailBox, MailBoxStartTls, MailBoxUnencrypted

from homing.channels.mail_reading import MAX_HEAD
from homing.channels.mail_tls import why_not_encrypted
from homing.model.addresses import names_loopback
from homing.model.errors import ChannelFailed

T = TypeVar("T")

_UID = re.compile(rb"\bUID (\d+)", re.IGNORECASE)
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d+)", re.IGNORECASE)
_DATE = re.compile(rb'\bINTERNALDATE "([^"]+)"', re.IGNORECASE)
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


@dataclass(frozen=True, kw_only=True)
class ImapServer:
    """Where mail is read, and as whom."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    folder: str = "INBOX"
    use_tls: bool = True

    @property
    def account(self) -> str:
        """What a cursor belongs to."""
        return f"{self.user}/{self.folder}"


@dataclass(frozen=True, kw_only=True)
class FoundMail:
    """One mail in the folder, by its headers."""

    uid: int
    size: int
    at: datetime
    head: bytes


def read_imap_url(url: str) -> ImapServer:
    """Read `imaps://user:password@host/INBOX`; imap:// begins in the clear and then encrypts (STARTTLS).

    The URL itself is not shown in a refusal: it holds a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("imap_url is not a URL") from None
    if parts.scheme not in ("imap", "imaps") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("imap_url must look like imaps://user:password@host")
    if not parts.username or not parts.password:
        raise ValueError("imap_url needs a user and a password: imaps://user:password@host, with %40 for @ in the user")
    use_tls = parts.scheme == "imaps"
    return ImapServer(
        host=parts.hostname,
        port=port or (993 if use_tls else 143),
        user=unquote(parts.username),
        password=unquote(parts.password),
        folder=unquote(parts.path.strip("/")) or "INBOX",
        use_tls=use_tls,
    )


class ImapInbox:
    """A connection to the folder; made by `open`, ended by `hang_up`."""

    def __init__(self, server: ImapServer, *, timeout_seconds: float) -> None:
        self._server = server
        self._timeout_seconds = timeout_seconds
        self._box: BaseMailBox | None = None
        self._gone = threading.Event()
        self._working = threading.Lock()
        self.validity = 0
        self.newest = 0
        """The highest id that the folder had when it was opened."""
        self.can_idle = False

    async def open(self) -> None:
        """Sign in and open the folder; ChannelFailed has the server's own sentence."""
        await self._run(self._open)

    async def check(self) -> None:
        """Sign in and out again."""
        try:
            await self.open()
        finally:
            await self.hang_up()

    async def uids_after(self, uid: int) -> list[int]:
        """List the mails behind this one, oldest first."""
        return await self._run(lambda: self._search(f"UID {uid + 1}:*", above=uid))

    async def uids_since(self, instant: datetime) -> list[int]:
        """List the mails of a day and later, oldest first. A server counts days in its own zone: one more."""
        day = instant.astimezone(UTC).date() - timedelta(days=1)
        return await self._run(lambda: self._search(f"SINCE {day.day}-{_MONTHS[day.month - 1]}-{day.year}", above=0))

    async def head(self, uid: int) -> FoundMail | None:
        """Read the headers of a mail; None if it is gone."""
        return await self._run(lambda: self._head(uid))

    async def content(self, uid: int, most: int) -> bytes | None:
        """Read the first bytes of a mail, usually all; None if it is gone."""
        return await self._run(lambda: self._fetch(uid, f"(BODY.PEEK[]<0.{most}>)")[1])

    async def wait(self, seconds: float) -> None:
        """Wait until something changes in the folder, at most so long."""
        await self._run(lambda: self._wait(seconds))

    async def hang_up(self) -> None:
        """End the connection, also while a thread waits on it."""
        self._gone.set()
        box = self._box
        if box is None:
            return
        with suppress(OSError):
            # Not SSLSocket's own, which takes the encryption away under a thread that reads.
            socket.socket.shutdown(box.client.sock, socket.SHUT_RDWR)
        await asyncio.shield(_in_thread(self._close))

    async def _run(self, work: Callable[[], T]) -> T:
        def alone() -> T:
            with self._working:
                return work()

        try:
            return await _in_thread(alone)
        except MailboxLoginError as error:
            raise ChannelFailed(f"The mail server does not let Homing read mail: {_said(error)}.") from None
        except MailboxFolderSelectError as error:
            raise ChannelFailed(f"The mail server does not open {self._server.folder}: {_said(error)}.") from None
        except UnexpectedCommandStatusError as error:
            raise ChannelFailed(f"The mail server refused to show mail: {_said(error)}.") from None
        except ssl.SSLError as error:
            why = why_not_encrypted(error, "imap_url")
            raise ChannelFailed(f"The connection to {self._server.host} could not be encrypted: {why}") from None
        except (imaplib.IMAP4.error, ImapToolsError) as error:
            raise ChannelFailed(f"The mail server broke off: {_short(str(error))}.") from None
        except TimeoutError:
            raise ChannelFailed(f"{self._server.host} did not answer in time.") from None
        except OSError as error:
            why = _short(error.strerror or str(error))
            raise ChannelFailed(f"{self._server.host} could not be reached: {why}.") from None

    def _open(self) -> None:
        server = self._server
        box = _connect(server, self._timeout_seconds)
        self._box = box
        if self._gone.is_set():
            self._shut(box)
            return
        if (server.user + server.password).isascii():
            box.login(server.user, server.password, initial_folder=None)
        else:
            box.login_utf8(server.user, server.password, initial_folder=None)
        cast("Any", box.folder).set(server.folder, readonly=True)
        _, capabilities = box.client.capability()
        self.can_idle = b"IDLE" in bytes(capabilities[0] or b"").upper().split()
        self.validity = _number(box.client, "UIDVALIDITY") or 0
        following = _number(box.client, "UIDNEXT")
        self.newest = following - 1 if following else max(self._search("ALL", above=0), default=0)

    def _search(self, wanted: str, *, above: int) -> list[int]:
        box = self._opened()
        while True:
            box.client.response("EXISTS")
            # Asked without a charset, which some servers refuse. `9:*` names the last mail even if it is the eighth.
            found = [int(uid) for uid in box.uids(wanted, charset=None)]
            # What came meanwhile was told with the answer, and would not be told again while we wait.
            if box.client.response("EXISTS")[1] in ([None], None):
                return sorted(uid for uid in found if uid > above)

    def _head(self, uid: int) -> FoundMail | None:
        said, head = self._fetch(uid, f"(UID RFC822.SIZE INTERNALDATE BODY.PEEK[HEADER]<0.{MAX_HEAD}>)")
        size, date = _SIZE.search(said), _DATE.search(said)
        if head is None or uid not in map(int, _UID.findall(said)):
            return None
        return FoundMail(uid=uid, size=int(size[1]) if size else len(head), at=_instant(date), head=head)

    def _fetch(self, uid: int, wanted: str) -> tuple[bytes, bytes | None]:
        """Give the answer's own words and its literal. Servers may also tell of other mails at this moment."""
        status, data = self._opened().client.uid("FETCH", str(uid), wanted)
        if status != "OK":
            raise UnexpectedCommandStatusError((status, data), "OK")
        pieces = cast("Sequence[tuple[bytes, bytes] | bytes | None]", data)
        said = b" ".join(piece[0] if isinstance(piece, tuple) else piece for piece in pieces if piece)
        literals = [piece[1] for piece in pieces if isinstance(piece, tuple)]
        return said, literals[0] if literals else None

    def _wait(self, seconds: float) -> None:
        box = self._opened()
        if not self.can_idle:
            self._gone.wait(seconds)
            return
        box.idle.start()
        if not _has_line(box.client):
            box.idle.poll(timeout=seconds)
        box.idle.stop()

    def _opened(self) -> BaseMailBox:
        if self._box is None or self._gone.is_set():
            raise ConnectionAbortedError("the connection was ended here")
        return self._box

    def _close(self) -> None:
        with self._working:
            if self._box is not None:
                self._shut(self._box)

    @staticmethod
    def _shut(box: BaseMailBox) -> None:
        with suppress(OSError, imaplib.IMAP4.error):
            box.client.shutdown()


def _connect(server: ImapServer, seconds: float) -> BaseMailBox:
    if server.use_tls:
        return MailBox(server.host, server.port, timeout=seconds, ssl_context=ssl.create_default_context())
    if names_loopback(server.host):
        return MailBoxUnencrypted(server.host, server.port, timeout=seconds)
    return MailBoxStartTls(server.host, server.port, timeout=seconds, ssl_context=ssl.create_default_context())


def _has_line(client: imaplib.IMAP4) -> bool:
    """Say whether a line was read from the socket already: nobody who waits for the socket hears of it."""
    if getattr(client, "_readbuf", None):
        return True
    file = cast("Any", vars(client).get("_file") or vars(client).get("file"))
    usual = client.sock.gettimeout()
    client.sock.settimeout(0)
    try:
        return bool(file.peek(1))
    except OSError:
        return False
    finally:
        client.sock.settimeout(usual)


def _number(client: imaplib.IMAP4, name: str) -> int | None:
    _, data = client.response(name)
    value = data[0] if data else None
    return int(value) if value is not None and bytes(value).isdigit() else None


def _instant(found: "re.Match[bytes] | None") -> datetime:
    try:
        return datetime.strptime(found[1].decode("ascii").strip(), "%d-%b-%Y %H:%M:%S %z") if found else _LONG_AGO
    except ValueError:
        return _LONG_AGO


_LONG_AGO = datetime(1970, 1, 2, tzinfo=UTC)


def _said(error: UnexpectedCommandStatusError) -> str:
    data: Any = cast("Any", error).command_result[1]
    first: Any = data[0] if type(data) in (list, tuple) and data else data
    return _short(first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first))


def _short(text: str) -> str:
    return " ".join(text.split())[:300].rstrip(".") or "no reason was given"


async def _in_thread(work: Callable[[], T]) -> T:
    """Run in a thread of its own that nobody waits for at the end of the process: it may wait for mail for long."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def tell(finish: Callable[[], None]) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if ended.done() else finish())

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            said = error
            tell(lambda: ended.set_exception(said))
        else:
            tell(lambda: ended.set_result(result))

    threading.Thread(target=run, name="imap", daemon=True).start()
    return await ended
