import asyncio
import json
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from homing.channels import Part
from homing.channels.webhook import WebhookChannel
from homing.model.clock import SystemClock
from homing.model.errors import ChannelFailed
from homing.model.webhook_urls import new_signing_secret
from homing.testing import WebhookReceiver
from support.certificates import certify
from unit.channels.sample_parts import part, show

SECRET = new_signing_secret()
ADDRESS = "webhook:wh_abc"


def channel_to(url: str, **options: object) -> WebhookChannel:
    async def find(webhook_id: str) -> tuple[str, str] | None:
        return (url, SECRET) if webhook_id == "wh_abc" else None

    return WebhookChannel(find, show=show, clock=SystemClock(), **({"loopback": True} | options))  # type: ignore[arg-type]


async def failure(channel: WebhookChannel, what: Part | None = None) -> ChannelFailed:
    with pytest.raises(ChannelFailed) as caught:
        await channel.send(what or part(ADDRESS))
    return caught.value


async def test_a_message_arrives_as_a_signed_cloud_event() -> None:
    with WebhookReceiver() as receiver:
        receipt = await channel_to(receiver.url).send(part(ADDRESS, "Guten Morgen ☀", job_id="job_1"))
        (request,) = receiver.requests
    assert receipt.detail == {"status": 200}
    assert Webhook(SECRET).verify(request.text, dict(request.headers)) == {
        "specversion": "1.0",
        "type": "homing.message",
        "id": "dlv_k3v9x2mq7a",
        "source": "/api/sessions/web:fruit",
        "subject": "job_1",
        "time": "2026-11-16T08:00:00Z",
        "data": {"session_key": "web:fruit", "seq": 2, "text": "Guten Morgen ☀"},
    }
    assert request.headers["webhook-id"] == "dlv_k3v9x2mq7a"
    assert request.headers["content-type"] == "application/cloudevents+json; charset=utf-8"


async def test_only_what_a_job_said_has_a_subject() -> None:
    with WebhookReceiver() as receiver:
        await channel_to(receiver.url).send(part(ADDRESS))
        (request,) = receiver.requests
    assert "subject" not in json.loads(request.text)


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422, 301, 307])
async def test_a_refusal_is_final(status: int) -> None:
    with WebhookReceiver() as receiver:
        receiver.answer(status, headers={"location": f"{receiver.url}/elsewhere"})
        error = await failure(channel_to(receiver.url))
        assert len(receiver.requests) == 1
    assert error.permanent
    assert str(status) in error.detail


@pytest.mark.parametrize("how", [408, 425, 429, 500, 502, 503, "close"])
async def test_what_may_pass_is_worth_another_attempt(how: int) -> None:
    with WebhookReceiver() as receiver:
        receiver.answer(how)
        error = await failure(channel_to(receiver.url))
    assert not error.permanent


@pytest.mark.parametrize(
    ("retry_after", "low", "high"),
    [
        ("7", 7, 7),
        ("99999999999999999999", 3600, 3600),
        ("in five minutes", 200, 300),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("soon", None, None),
    ],
)
async def test_a_receiver_that_says_when_to_come_back_is_believed(
    retry_after: str, low: float | None, high: float | None
) -> None:
    if retry_after == "in five minutes":
        # Counted from now: collecting the suite may have been long ago.
        retry_after = format_datetime(datetime.now(UTC) + timedelta(seconds=300), usegmt=True)
    with WebhookReceiver() as receiver:
        receiver.answer(429, headers={"retry-after": retry_after})
        error = await failure(channel_to(receiver.url))
    if low is None or high is None:
        assert error.retry_after is None
    else:
        assert low <= (error.retry_after or 0) <= high


async def test_a_receiver_that_hangs_is_given_up() -> None:
    with WebhookReceiver() as receiver:
        receiver.answer("hang")
        error = await failure(channel_to(receiver.url, timeout_seconds=0.1))
    assert not error.permanent
    assert "within 0.1 seconds" in error.detail


async def test_a_receiver_that_is_not_there_is_worth_another_attempt() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = await failure(channel_to(f"http://127.0.0.1:{taken.getsockname()[1]}/"))
    assert not error.permanent


async def test_a_removed_webhook_gets_nothing_more() -> None:
    error = await failure(channel_to("http://127.0.0.1:1/"), part("webhook:wh_gone"))
    assert error.permanent


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://[::1]:{port}/",
        "http://0.0.0.0:{port}/",
        "http://0177.0.0.1:{port}/",
        "http://0x7f.1:{port}/",
        "http://2130706433:{port}/",
        "http://127.1:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://10.0.0.1/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]/",
        "http://224.0.0.1/",
        "http://user:secret@1.1.1.1/",
        "ftp://1.1.1.1/",
    ],
)
async def test_nothing_is_sent_to_the_inside(url: str) -> None:
    with WebhookReceiver() as receiver:
        port = receiver.url.split(":")[2].partition("/")[0]
        error = await failure(channel_to(url.format(port=port), loopback=False))
        assert receiver.requests == []
    assert error.permanent


def answer_dns(monkeypatch: pytest.MonkeyPatch, answers: Callable[[], list[str]]) -> None:
    """Stand in for the world's name service."""

    def getaddrinfo(host: str, port: int, *_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answers()]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize("loopback", [True, False])
@pytest.mark.parametrize("answer", [["127.0.0.1"], ["10.1.2.3"], ["1.1.1.1", "127.0.0.1"]])
async def test_a_name_that_leads_inside_is_refused_even_where_this_machine_is_allowed(
    monkeypatch: pytest.MonkeyPatch, answer: list[str], loopback: bool
) -> None:
    answer_dns(monkeypatch, lambda: answer)
    error = await failure(channel_to("http://receiver.example/hook", loopback=loopback))
    assert error.permanent


async def test_a_name_that_changes_its_mind_is_not_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    with WebhookReceiver() as receiver:
        port = receiver.url.split(":")[2].partition("/")[0]
        answers = iter([["127.0.0.1"], ["10.0.0.1"]])
        answer_dns(monkeypatch, lambda: next(answers))
        await channel_to(f"http://localhost:{port}/hook").send(part(ADDRESS))
        (request,) = receiver.requests
    assert request.headers["host"] == f"localhost:{port}"
    assert next(answers) == ["10.0.0.1"]


async def test_a_second_address_is_tried_where_the_first_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with WebhookReceiver() as receiver:
        port = receiver.url.split(":")[2].partition("/")[0]
        answer_dns(monkeypatch, lambda: ["127.9.9.9", "127.0.0.1"])
        receipt = await channel_to(f"http://localhost:{port}/hook").send(part(ADDRESS))
    assert receipt.detail == {"status": 200}


@pytest.mark.parametrize(("certified", "taken"), [("localhost", True), ("other.example", False)])
async def test_the_certificate_is_checked_against_the_name_though_the_address_is_pinned(
    tmp_path: Path, certified: str, taken: bool
) -> None:
    file = certify(tmp_path, certified)
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_side.load_cert_chain(file)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server_side)
    async with server:
        port = server.sockets[0].getsockname()[1]
        channel = channel_to(f"https://localhost:{port}/", tls=ssl.create_default_context(cafile=str(file)))
        if taken:
            assert (await channel.send(part(ADDRESS))).detail == {"status": 204}
        else:
            assert "could not be reached" in (await failure(channel)).detail
