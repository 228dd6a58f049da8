"""Which hosts a list allows: `name`, `*.name`, `name:port`, `address:port`."""

from ipaddress import ip_address

import pytest

from homing.model.errors import Forbidden, Invalid
from homing.sandbox.hosts import read_hosts

HOSTS = ["example.org", "*.Example.com", "nas.local:5000", "127.0.0.1:8080", "[::1]:8080", "93.184.216.34:443"]


def allows(host: str, port: int, address: str | None = None) -> bool:
    hosts = read_hosts(HOSTS)
    try:
        hosts.check_name(host, port)
        hosts.check_address(host, port, ip_address(address or host))
    except Forbidden:
        return False
    return True


@pytest.mark.parametrize(
    ("host", "port", "address"),
    [
        ("example.org", 443, "93.184.216.34"),
        ("EXAMPLE.org.", 8443, "2606:2800:220:1::1"),
        ("a.example.com", 80, "93.184.216.34"),
        ("a.b.example.com", 80, "93.184.216.34"),
        ("nas.local", 5000, "192.168.1.2"),
        ("nas.local", 5000, "127.0.0.1"),
        ("127.0.0.1", 8080, None),
        ("::1", 8080, None),
        ("93.184.216.34", 443, None),
    ],
)
def test_a_host_on_the_list_is_allowed(host: str, port: int, address: str | None) -> None:
    assert allows(host, port, address)


@pytest.mark.parametrize(
    ("host", "port", "address"),
    [
        ("www.example.org", 443, "93.184.216.34"),
        ("example.com", 443, "93.184.216.34"),
        ("badexample.com", 443, "93.184.216.34"),
        ("example.org", 443, "10.0.0.1"),
        ("a.example.com", 443, "127.0.0.1"),
        ("nas.local", 5001, "192.168.1.2"),
        ("nas.local", 5000, "169.254.169.254"),
        ("127.0.0.1", 8081, None),
        ("127.0.0.2", 8080, None),
        ("93.184.216.34", 80, None),
        ("93.184.216.35", 443, None),
        # The C library looks up what stands before the NUL.
        ("evil.test\0.example.com", 443, "93.184.216.34"),
        (".example.com", 443, "93.184.216.34"),
        ("a..example.com", 443, "93.184.216.34"),
        ("evil.test/.example.com", 443, "93.184.216.34"),
        ("evil.test .example.com", 443, "93.184.216.34"),
        ("\xaa.example.com", 443, "93.184.216.34"),
        # The metadata of clouds, beside 169.254.169.254.
        ("nas.local", 5000, "100.100.100.200"),
        ("nas.local", 5000, "192.0.0.192"),
        ("nas.local", 5000, "fd00:ec2::254"),
        ("nas.local", 5000, "fd20:ce::254"),
        ("nas.local", 5000, "::ffff:100.100.100.200"),
    ],
)
def test_any_other_host_is_refused(host: str, port: int, address: str | None) -> None:
    assert not allows(host, port, address)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "*.",
        "127.0.0.1",
        "::1",
        "[::1]",
        "10.1",
        "exa mple.org",
        "http://example.org",
        "example.org/x",
        "example.org:0",
        "example.org:65536",
        "example.org:x",
        "*.example.org:443",
        "a..b",
        "-x.org",
    ],
)
def test_an_entry_that_cannot_be_used_is_refused_with_the_field(entry: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_hosts(["example.org", entry])
    assert caught.value.errors[0].field == "hosts"
