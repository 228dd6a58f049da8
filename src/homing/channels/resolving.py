"""Names become addresses here, and every address found is judged before anything is sent to it."""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

from homing.model.errors import ChannelFailed
from homing.model.webhook_urls import names_loopback, refused_because


async def resolve(host: str, port: int, *, loopback: bool) -> list[IPv4Address | IPv6Address]:
    """Find the addresses of a host, all of them fit to be sent to. Connect to one of these, not to the name again:
    its owner may have another answer by then.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ChannelFailed(f"The host {host} was not found.") from error
    # An IPv6 address may carry its zone behind a percent sign.
    addresses = list(dict.fromkeys(ip_address(str(where[0]).partition("%")[0]) for *_, where in found))
    allowed = loopback and names_loopback(host)
    for address in addresses:
        why = None if allowed and address.is_loopback else refused_because(address)
        if why:
            raise ChannelFailed(f"Webhooks are not sent to {why}; {host} leads there.", permanent=True)
    return addresses
