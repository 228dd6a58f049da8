import json
import logging
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from homing.channels import Part
from homing.channels.push import MAX_BODY, PushChannel, Target
from homing.channels.vapid import VapidKey, new_key, read_key
from homing.model.errors import ChannelFailed
from homing.model.push import PushDevice
from homing.testing import FakeClock
from support.push import KEY, SERVICE, Browser, PushService, claims_of, to_bytes
from unit.channels.sample_parts import SENT_AT, message, part

ADDRESS = "push:push_abc"
NOW = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)


def device_of(browser: Browser, key: VapidKey = KEY) -> PushDevice:
    return PushDevice(
        id="push_abc", user_id="default", name="phone", endpoint=browser.endpoint, p256dh=browser.p256dh,
        auth=browser.auth, public_key=key.public, created_at=SENT_AT, last_at=None,
    )  # fmt: skip


def channel_to(
    browser: Browser, service: PushService, *, title: str | None = "Fruit", key: VapidKey = KEY
) -> PushChannel:
    async def find(what: Part) -> Target | None:
        return Target(device=device_of(browser), title=title) if what.place == "push_abc" else None

    return PushChannel(
        find, key=lambda: key, subject="https://homing.example.org", clock=FakeClock(NOW), network=service.network
    )


async def failure(channel: PushChannel, what: Part | None = None) -> ChannelFailed:
    with pytest.raises(ChannelFailed) as caught:
        await channel.send(what or part(ADDRESS))
    assert SERVICE not in str(caught.value)
    return caught.value


def test_the_browser_of_these_tests_reads_the_example_of_rfc_8291() -> None:
    number = int.from_bytes(to_bytes("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
    browser = Browser(private=ec.derive_private_key(number, ec.SECP256R1()), auth="BTBZMqHH6r4Tts7J_aSIgg")
    body = (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
        "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    assert browser.read(to_bytes(body)) == b"When I grow up, I want to be a watermelon"


async def test_a_notification_is_encrypted_for_its_browser_and_signed() -> None:
    browser, service = Browser(), PushService()
    receipt = await channel_to(browser, service).send(part(ADDRESS, "Guten Morgen ☀\n\nEs ist acht."))
    [pushed] = service.pushed
    assert receipt.detail == {"status": 201}
    assert pushed.shown(browser) == {
        "title": "Fruit",
        "body": "Guten Morgen ☀ Es ist acht.",
        "url": "/chat/web:fruit?at=2",
        "tag": "dlv_k3v9x2mq7a.0",
    }
    assert pushed.headers["content-encoding"] == "aes128gcm"
    assert (pushed.headers["ttl"], pushed.headers["urgency"]) == ("86400", "normal")
    assert claims_of(pushed) == {
        "aud": SERVICE,
        "sub": "https://homing.example.org",
        "exp": int(NOW.timestamp()) + 12 * 3600,
    }
    assert pushed.headers["host"] == "push.example.net"


async def test_no_log_shows_an_endpoint_whatever_level_a_program_sets(caplog: pytest.LogCaptureFixture) -> None:
    browser, service = Browser("a secret ä"), PushService()
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx2")
    await channel_to(browser, service).send(part(ADDRESS))
    assert f"{SERVICE}/…" in caplog.text
    assert "secret" not in caplog.text
    with caplog.at_level(logging.INFO):
        logging.getLogger("httpx2").info("GET https://example.org/shown")
    assert "https://example.org/shown" in caplog.text, "only pushes are hidden"


async def test_a_repeat_has_the_same_tag_and_topic_and_another_part_has_others() -> None:
    browser, service = Browser(), PushService()
    channel = channel_to(browser, service)
    for delivery_id in ("dlv_one", "dlv_one", "dlv_two"):
        await channel.send(part(ADDRESS, delivery_id=delivery_id))
    topics = [pushed.headers["topic"] for pushed in service.pushed]
    assert topics[0] == topics[1] != topics[2]
    assert all(len(topic) <= 32 and topic.replace("-", "").replace("_", "").isalnum() for topic in topics)
    assert [pushed.shown(browser)["tag"] for pushed in service.pushed] == ["dlv_one.0", "dlv_one.0", "dlv_two.0"]
    assert service.pushed[0].body != service.pushed[1].body, "no body is encrypted with the same salt and key twice"


async def test_what_a_job_says_is_titled_by_it_and_a_reminder_is_urgent() -> None:
    browser, service = Browser(), PushService()
    told = part(ADDRESS)
    about = replace(message("Stretch."), kind="reminder", meta={"cron_job_name": "Stretching"})
    await channel_to(browser, service).send(replace(told, message=about))
    [pushed] = service.pushed
    assert pushed.shown(browser)["title"] == "Stretching"
    assert pushed.headers["urgency"] == "high"


@pytest.mark.parametrize("letter", ["a", "☀", "𝄞", "שׁ"])
async def test_a_long_message_is_one_short_notification(letter: str) -> None:
    browser, service = Browser(), PushService()
    await channel_to(browser, service, title=letter * 5000).send(part(ADDRESS, letter * 20_000))
    [pushed] = service.pushed
    shown = pushed.shown(browser)
    assert len(pushed.body) <= MAX_BODY
    assert (len(shown["body"]), len(shown["title"])) == (240, 100)
    assert shown["body"].endswith("…")


async def test_a_conversation_without_a_title_is_homing() -> None:
    browser, service = Browser(), PushService()
    await channel_to(browser, service, title=None).send(part(ADDRESS))
    assert service.pushed[0].shown(browser)["title"] == "Homing"


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_is_gone_is_never_tried_again(status: int) -> None:
    failed = await failure(channel_to(Browser(), PushService(answers=[status])))
    assert (failed.permanent, failed.blocked, failed.unsure) == (True, True, False)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_busy_push_service_is_tried_again(status: int) -> None:
    failed = await failure(channel_to(Browser(), PushService(answers=[status])))
    assert (failed.permanent, failed.blocked, failed.limited) == (False, False, False)


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 413])
async def test_a_refusal_is_final_and_leads_nowhere_else(status: int) -> None:
    service = PushService(answers=[status])
    failed = await failure(channel_to(Browser(), service))
    assert (failed.permanent, failed.blocked) == (True, False)
    assert str(status) in failed.detail
    assert len(service.pushed) == 1


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "192.168.0.1"])
async def test_a_name_that_leads_inside_is_refused_before_anything_is_sent(address: str) -> None:
    service = PushService(address=address)
    failed = await failure(channel_to(Browser(), service))
    assert failed.permanent
    assert service.pushed == []


async def test_a_browser_of_another_key_is_left_to_the_engine_that_has_it() -> None:
    service = PushService()
    failed = await failure(channel_to(Browser(), service, key=read_key(new_key())))
    assert not failed.permanent
    assert "HOMING_SECRET_VAPID" in failed.detail
    assert service.pushed == []


async def test_a_removed_browser_is_gone() -> None:
    failed = await failure(channel_to(Browser(), PushService()), part("push:push_other"))
    assert (failed.permanent, failed.blocked) == (True, True)


def test_a_key_is_read_as_it_was_made_and_nothing_else_is_a_key() -> None:
    made = new_key()
    assert read_key(f"{made}\n").public == read_key(made).public
    for wrong in ("", "abc", made[:-2], "Ü" * 43, "A" * 43, "_" * 43, json.dumps({"key": made})):
        with pytest.raises(ValueError, match=r"P-256|base64url|private"):
            read_key(wrong)


def test_no_device_shows_its_secrets_when_it_is_printed() -> None:
    browser = Browser()
    shown = repr(device_of(browser))
    assert browser.endpoint not in shown
    assert browser.auth not in shown
    assert browser.p256dh not in shown
