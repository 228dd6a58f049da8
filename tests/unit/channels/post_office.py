"""A mail server on loopback that keeps every mail and refuses as it was told."""

import asyncio
import email
import email.policy
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage


@dataclass(kw_only=True)
class PostOffice:
    """`answers` gives another answer than the usual one to a command, such as RCPT or a single dot."""

    answers: Mapping[str, str] = field(default_factory=dict[str, str])
    port: int = 0
    recipients: list[str] = field(default_factory=list[str])
    mails: list[EmailMessage] = field(default_factory=list[EmailMessage])
    raw: list[bytes] = field(default_factory=list[bytes])
    came: asyncio.Event = field(default_factory=asyncio.Event)
    """Rung by each mail."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(self._answer("CONNECT", "220 post office"))
            while line := (await reader.readline()).decode().strip():
                command = line.partition(" ")[0].upper()
                match command:
                    case "EHLO":
                        writer.write(self._answer(command, "250-post office\r\n250-AUTH PLAIN\r\n250 8BITMIME"))
                    case "AUTH":
                        writer.write(self._answer(command, "235 welcome"))
                    case "RCPT":
                        self.recipients.append(line)
                        writer.write(self._answer(command, "250 fine"))
                    case "DATA":
                        writer.write(b"354 go on\r\n")
                        text = await reader.readuntil(b"\r\n.\r\n")
                        self.raw.append(text[:-5])
                        self.mails.append(email.message_from_bytes(text[:-5], policy=email.policy.default))
                        self.came.set()
                        writer.write(self._answer(".", "250 2.0.0 queued as 4711"))
                    case "QUIT":
                        writer.write(b"221 bye\r\n")
                        break
                    case _:
                        writer.write(self._answer(command, "250 fine"))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, command: str, usual: str) -> bytes:
        return f"{self.answers.get(command, usual)}\r\n".encode()


@asynccontextmanager
async def post_office(answers: Mapping[str, str] | None = None) -> AsyncIterator[PostOffice]:
    office = PostOffice(answers=answers or {})
    # As much as a mail with the largest file.
    server = await asyncio.start_server(office.serve, "127.0.0.1", 0, limit=1 << 25)
    async with server:
        office.port = server.sockets[0].getsockname()[1]
        yield office
