"""Names become addresses here, and every address found is judged before anything is sent to it."""

import asyncio
import socket

from homing.model.addresses import Address, addresses_in, names_loopback, refused_because
from homing.model.errors import ChannelFailed


async def resolve(host: str, port: int, *, loopback: bool) -> list[Address]:
    """Find the addresses of a host, all of them fit to be sent to."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ChannelFailed(f"The host {host} was not found.") from error
    addresses = addresses_in(found)
    allowed = loopback and names_loopback(host)
    for address in addresses:
        why = None if allowed and address.is_loopback else refused_because(address)
        if why:
            raise ChannelFailed(f"Webhooks are not sent to {why}; {host} leads there.", permanent=True)
    return addresses
