import base64
from ipaddress import ip_address

import pytest

from homing.model.addresses import refused_because
from homing.model.errors import Invalid
from homing.model.webhook_urls import MAX_URL, check_url, loopback_allowed, new_signing_secret

INSIDE = [
    ("127.0.0.1", "this machine"),
    ("127.8.8.8", "this machine"),
    ("::1", "this machine"),
    ("::ffff:127.0.0.1", "this machine"),
    ("64:ff9b::7f00:1", "this machine"),
    ("2002:7f00:1::", "a private network"),
    ("10.0.0.1", "a private network"),
    ("172.16.9.9", "a private network"),
    ("192.168.1.1", "a private network"),
    ("100.64.0.1", "a private network"),
    ("100.100.100.200", "a machine's own surroundings"),
    ("192.0.0.192", "a machine's own surroundings"),
    ("192.88.99.1", "a private network"),
    ("64:ff9b:1::a00:1", "a private network"),
    ("2001:0:53aa:64c:0:1:f5ff:fffe", "a private network"),
    ("::7f00:1", "a private network"),
    ("198.18.0.1", "a private network"),
    ("240.0.0.1", "a private network"),
    ("255.255.255.255", "a private network"),
    ("0.0.0.0", "a private network"),
    ("::", "a private network"),
    ("fd00:ec2::254", "a machine's own surroundings"),
    ("fec0::1", "a private network"),
    ("2001:db8::1", "a private network"),
    ("::ffff:10.0.0.1", "a private network"),
    ("64:ff9b::a00:1", "a private network"),
    ("2002:c0a8:101::", "a private network"),
    ("169.254.169.254", "a machine's own surroundings"),
    ("168.63.129.16", "a machine's own surroundings"),
    ("fe80::1", "a machine's own surroundings"),
    ("224.0.0.1", "a group of machines"),
    ("ff02::1", "a group of machines"),
]


@pytest.mark.parametrize(("address", "why"), INSIDE)
def test_addresses_of_the_inside_are_refused(address: str, why: str) -> None:
    assert refused_because(ip_address(address)) == why


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_public_addresses_are_fine(address: str) -> None:
    assert refused_because(ip_address(address)) is None


@pytest.mark.parametrize("url", ["https://example.org/hook?a=1", "http://example.org:8080", "https://1.1.1.1/x"])
def test_an_ordinary_url_is_kept_as_it_is(url: str) -> None:
    assert check_url(f" {url} ", loopback=False) == url


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "example.org/hook",
        "https://",
        "https://user:secret@example.org/hook",
        "https://@example.org/hook",
        "https://example.org/a b",
        "https://example.org\\@10.0.0.1/",
        "https://example.org/\r\nHost: other",
        "https://example.org:99999/",
        "https://[::1/",
        "https://10.0.0.1/",
        "http://[fd00::1]/",
        "http://169.254.169.254/latest/meta-data",
        "https://example.org/" + "a" * MAX_URL,
    ],
)
def test_a_url_nobody_should_send_to_is_refused_with_its_field(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_url(url, loopback=True)
    assert [error.field for error in caught.value.errors] == ["url"]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9000/x", "http://localhost:9000/x", "http://LOCALHOST./", "http://[::1]:9000/x"]
)
def test_this_machine_is_a_place_only_where_the_server_says_so(url: str) -> None:
    assert check_url(url, loopback=True) == url
    with pytest.raises(Invalid, match="this machine"):
        check_url(url, loopback=False)


@pytest.mark.parametrize(
    ("host", "public_url", "allowed"),
    [
        ("127.0.0.1", None, True),
        ("localhost", None, True),
        ("::1", None, True),
        ("0.0.0.0", None, False),
        ("192.168.1.5", None, False),
        ("homing.example.org", None, False),
        ("127.0.0.1", "https://homing.example.org", False),
    ],
)
def test_only_a_server_that_nobody_reaches_from_outside_sends_to_itself(
    host: str, public_url: str | None, allowed: bool
) -> None:
    assert loopback_allowed(host, public_url) is allowed


def test_a_signing_secret_is_plain_base64_that_every_library_reads_alike() -> None:
    secret = new_signing_secret()
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32
    assert secret != new_signing_secret()
