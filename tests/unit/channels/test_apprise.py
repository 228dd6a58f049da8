"""Apprise against a receiver on loopback: one address, a receipt that names the service, each failure tried again."""

import builtins
import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any, Self

import pytest

from homing.channels.apprise import AppriseChannel, make
from homing.model.errors import ChannelFailed
from homing.testing.channel_contract import Shown, prove_channel
from homing.testing.loopback import Exchange, LoopbackServer
from unit.channels.notes import failure
from unit.channels.sample_parts import part

pytest.importorskip("apprise", reason="the extra apprise is not installed")
# Apprise's own, on import.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


class Receiver:
    """What a service of Apprise's kind `json` posts to, with a double for the contract kit."""

    address, bad_address = "family:all", "family:http://127.0.0.1"

    def __init__(self) -> None:
        self.status = 200
        self.taken: list[str] = []
        self._server = LoopbackServer(self._serve)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        return self._server.url.replace("http://", "json://user:very-secret@") + "/inbox"

    async def _serve(self, exchange: Exchange) -> None:
        if self.status == 200:
            self.taken.append(json.loads(exchange.request.body)["message"])
        exchange.answer(self.status, b"{}")

    def shown(self) -> Sequence[Shown]:
        return [Shown(text=text) for text in self.taken]

    def say(self, text: str) -> None:
        raise AssertionError("nobody can answer there")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as made:
        yield made


async def test_it_keeps_the_contract_of_channels(receiver: Receiver) -> None:
    await prove_channel(make("family", {"url": receiver.url}), receiver)


async def test_a_message_arrives_and_its_receipt_names_the_service_only(receiver: Receiver) -> None:
    receipt = await make("family", {"url": receiver.url}).send(part("family:all", "**It** is <nine> & more. 🍎"))
    assert receiver.taken == ["**It** is <nine> & more. 🍎"]
    assert (receipt.detail, receipt.external_id) == ({"service": "JSON"}, None)


@pytest.mark.parametrize("status", [404, 429, 500])
async def test_every_failure_is_tried_again_and_shows_no_url(
    receiver: Receiver, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    receiver.status = status
    error = await failure(make("family", {"url": receiver.url}), part("family:all"))
    assert (error.permanent, error.limited, error.unsure) == (False, False, True)
    assert error.detail == "JSON did not accept the message. Apprise does not say why."
    assert "very-secret" not in caplog.text
    receiver.status = 200
    await make("family", {"url": receiver.url}).send(part("family:all"))
    assert receiver.taken == ["Good morning."]


async def test_no_address_names_another_place(receiver: Receiver) -> None:
    error = await failure(make("family", {"url": receiver.url}), part("family:json://127.0.0.1/other"))
    assert (error.permanent, receiver.taken) == (True, [])


async def test_a_url_that_apprise_does_not_know_says_so_without_showing_it() -> None:
    with pytest.raises(ValueError, match="url must be an Apprise URL") as refused:
        make("family", {"url": "very-secret"})
    assert "very-secret" not in str(refused.value)
    with pytest.raises(ChannelFailed, match="does not understand the url of family") as failed:
        await make("family", {"url": "nothing://very-secret"}).check()
    assert "very-secret" not in failed.value.detail


async def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without(name: str, *given: Any, **more: Any) -> Any:
        if name == "apprise":
            raise ImportError(name)
        return load(name, *given, **more)

    channel = AppriseChannel(name="family", url="json://localhost")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ChannelFailed, match=r"needs Apprise, which is not installed here. Install homing\[apprise\]"):
        await channel.check()
