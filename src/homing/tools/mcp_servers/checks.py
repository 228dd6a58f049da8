"""What can be said against a server's URL before anything is sent to it."""

import httpx2

from homing.channels.pinned import host_and_port
from homing.model.errors import Invalid
from homing.model.mcp_servers import names_a_secret
from homing.sandbox.hosts import Hosts


def check_url(url: str, hosts: Hosts) -> None:
    """Refuse an address that can never be used."""
    try:
        read = httpx2.URL(url)
    except httpx2.InvalidURL:
        raise _invalid("This URL cannot be read.") from None
    if read.scheme not in ("http", "https") or not read.host or read.userinfo or read.fragment:
        raise _invalid("Write the server's URL as https://HOST/PATH, without a name or password in it.")
    if hidden := next(filter(names_a_secret, read.params), None):
        raise _invalid(
            f"The URL would store the value of {hidden:.80} for everybody to read: give it as a header with a secret."
        )
    host, port = host_and_port(read)
    if read.scheme == "http" and not hosts.has_exact(host, port):
        entry = f"{host}:{port}"
        raise _invalid(f"MCP servers must use https. To allow plain http, add {entry} to the agent's hosts.")


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, field="url", code="out_of_range")
