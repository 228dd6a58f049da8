"""Every platform that a channel comes with, as a stub on loopback: its fields, a wrong one, and as whom it works."""

import asyncio
import re
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from homing.testing import DiscordStub, SlackStub, TelegramStub
from homing.testing.loopback import Exchange, LoopbackServer
from support.matrix_stub import MatrixStub
from unit.channels.imap_office import OWN, imap_office
from unit.channels.post_office import PostOffice, post_office

T = TypeVar("T")
_CODE = re.compile(r"(\S+) is the code that links this address")


@dataclass(frozen=True, kw_only=True)
class Platform:
    """One kind of channel, and a stub that knows its fields."""

    kind: str
    fields: Mapping[str, str]
    wrong: tuple[str, str]
    """A field, and a value that is refused."""
    refusal: str
    """What is said then."""
    account: str
    revoke: Callable[[], None]
    """Lets the platform take its yes back."""
    revoked: str
    """What is said then."""
    code: Callable[[], str | None] = lambda: None
    """Gives the code in the newest mail."""


@contextmanager
def _loop() -> Generator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def _enter(held: ExitStack, loop: asyncio.AbstractEventLoop, opened: AbstractAsyncContextManager[T]) -> T:
    """Open a server of a loop that runs in another thread."""
    entered = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result(20)
    held.callback(lambda: asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop).result(20))
    return entered


def _code_in(post: PostOffice) -> str | None:
    if not post.mails:
        return None
    return found[1] if (found := _CODE.search(post.mails[-1].get_content())) else None


async def _take_all(exchange: Exchange) -> None:
    exchange.answer(200, b"{}")


@contextmanager
def open_platforms() -> Generator[dict[str, Platform]]:
    """Open them all."""
    with ExitStack() as held:
        telegram, slack = held.enter_context(TelegramStub()), held.enter_context(SlackStub())
        discord, matrix = held.enter_context(DiscordStub()), held.enter_context(MatrixStub())
        apprise = LoopbackServer(_take_all)
        apprise.start()
        held.callback(apprise.close)
        loop = held.enter_context(_loop())
        imap, post = _enter(held, loop, imap_office()), _enter(held, loop, post_office())

        def forget(stub: Any, **values: Any) -> Callable[[], None]:
            def change() -> None:
                for name, value in values.items():
                    setattr(stub, name, value)

            return change

        found = (
            Platform(
                kind="telegram",
                fields={"token": telegram.token, "base_url": telegram.url},
                wrong=("token", "4664:wrong"),
                refusal="Telegram does not accept the token",
                account="@homing_bot",
                revoke=forget(telegram, token="4664:another"),
                revoked="Telegram does not accept the token",
            ),
            Platform(
                kind="email",
                fields={
                    "smtp_url": f"smtp://127.0.0.1:{post.port}",
                    "imap_url": f"imap://homing:secret@127.0.0.1:{imap.port}",
                    "from": OWN,
                },
                wrong=("imap_url", f"imap://homing:wrong@127.0.0.1:{imap.port}"),
                refusal="The mail server does not let Homing read mail: [AUTHENTICATIONFAILED]",
                account=OWN,
                revoke=forget(post, answers={"CONNECT": "554 closed for today"}),
                revoked="554 closed for today",
                code=lambda: _code_in(post),
            ),
            Platform(
                kind="slack",
                fields={"bot_token": slack.bot_token, "app_token": slack.app_token, "base_url": slack.url},
                wrong=("bot_token", "xoxb-wrong"),
                refusal="Slack says: invalid_auth",
                account="@homing in Acme",
                revoke=forget(slack, bot_token="xoxb-another"),
                revoked="invalid_auth",
            ),
            Platform(
                kind="discord",
                fields={"token": discord.token, "base_url": discord.url},
                wrong=("token", "wrong"),
                refusal="Discord does not accept the token of discord",
                account="@homing",
                revoke=forget(discord, token="another"),
                revoked="Discord does not accept the token",
            ),
            Platform(
                kind="matrix",
                fields={"base_url": matrix.url, "token": matrix.token},
                wrong=("token", "syt_wrong"),
                refusal="The Matrix server does not accept the token of matrix",
                account="Homing (@homing:stub)",
                revoke=forget(matrix, token="syt_another"),
                revoked="does not accept the token of matrix",
            ),
            Platform(
                kind="apprise",
                fields={"url": apprise.url.replace("http://", "json://user:very-secret@")},
                wrong=("url", "nowhere://very-secret"),
                refusal="Apprise does not understand the url of apprise",
                account="JSON",
                revoke=lambda: None,
                revoked="",
            ),
        )
        yield {one.kind: one for one in found}
