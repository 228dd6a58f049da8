from datetime import UTC, datetime

import pytest

from homing.model.errors import Invalid
from homing.model.push import check_auth, check_endpoint, check_public_point, is_quiet
from support.push import Browser, to_bytes, to_text

GOOD = "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABn"


def test_an_endpoint_of_a_push_service_is_kept_as_it_is() -> None:
    assert check_endpoint(GOOD) == GOOD


@pytest.mark.parametrize(
    "url",
    [
        "http://push.example.net/x",
        "ftp://push.example.net/x",
        "https:///x",
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://LOCALHOST./x",
        "https://[::1]/x",
        "https://10.0.0.7/x",
        "https://192.168.1.1/x",
        "https://169.254.169.254/latest",
        "https://[::ffff:10.0.0.7]/x",
        "https://anna:secret@push.example.net/x",
        "https://push.example.net:port/x",
        "https://push.example.net/a b",
        "https://push.example.net\\@evil.example/",
        "https://push.example.net/\n",
        "https://püsh.example.net/x",
        "https://[::1/x",
    ],
)
def test_other_endpoints_are_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_endpoint(url)
    assert refused.value.errors[0].field == "endpoint"
    assert url not in refused.value.detail


def test_keys_of_a_subscription_are_read_with_and_without_padding() -> None:
    browser = Browser()
    assert check_public_point(browser.p256dh + "=") == browser.p256dh
    assert check_auth(browser.auth + "==") == browser.auth


def test_a_public_key_that_is_no_point_of_the_curve_is_refused() -> None:
    good = to_bytes(Browser().p256dh)
    off_curve = good[:-1] + bytes([good[-1] ^ 1])
    compressed = b"\x02" + good[1:33]
    zero, beyond = b"\x04" + bytes(64), b"\x04" + b"\xff" * 64
    for wrong in (off_curve, compressed, b"\x05" + good[1:], good + b"\0", good[:-1], zero, beyond, b""):
        with pytest.raises(Invalid, match="p256dh"):
            check_public_point(to_text(wrong))
    for text in ("not base64!", "Ü", "A"):
        with pytest.raises(Invalid, match="p256dh"):
            check_public_point(text)


def test_a_secret_of_another_length_is_refused() -> None:
    for wrong in (bytes(15), bytes(17), b""):
        with pytest.raises(Invalid, match="auth"):
            check_auth(to_text(wrong))


@pytest.mark.parametrize(
    ("hour", "quiet"), [(20, False), (21, True), (22, True), (23, True), (5, True), (6, False), (12, False)]
)
def test_quiet_hours_go_past_midnight_on_the_clock_of_the_zone(hour: int, quiet: bool) -> None:
    # In November Berlin is an hour ahead.
    assert is_quiet("22:00-07:00", datetime(2026, 11, 16, hour, 0, tzinfo=UTC), "Europe/Berlin") is quiet


def test_without_quiet_hours_no_hour_is_quiet() -> None:
    assert not is_quiet(None, datetime(2026, 11, 16, 3, 0, tzinfo=UTC), "Europe/Berlin")
