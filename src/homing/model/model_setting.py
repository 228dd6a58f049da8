"""The model that an admin chose on the page or at the command line: a row that each turn reads.

The row names the file of the key. A crash between the two leaves the old row with its own file, so the old model works.
"""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from urllib.parse import urlsplit

from homing.model.addresses import Address, kind_of, read_address
from homing.model.errors import Invalid
from homing.model.webhook_urls import MAX_URL

OFFLINE = "offline"
KEY_FILE = "model"
"""Begins the names of key files in `secrets` of home."""


@dataclass(frozen=True, kw_only=True)
class ModelSetting:
    """A model's name, where it is asked, and which file holds the key."""

    model: str
    base_url: str | None = None
    """None: the provider's own address."""
    secret: str | None = None
    """The name of the key's file in `secrets` of home; None: no key was given."""
    set_by: str
    set_at: str

    @property
    def provider(self) -> str:
        return provider_of(self.model)

    @property
    def has_connection(self) -> bool:
        """Say whether it is asked otherwise than the environment says."""
        return self.base_url is not None or self.secret is not None

    def serves(self, name: str) -> bool:
        """Say whether a model of that name can be asked with this key, at this address."""
        return self.has_connection and provider_of(name) == self.provider

    def dumped(self) -> str:
        return json.dumps(asdict(self))


def load_setting(text: str | None) -> ModelSetting | None:
    """Read what `dumped` wrote."""
    return None if text is None else ModelSetting(**json.loads(text))


def new_setting(model: str, *, base_url: str | None, secret: str | None, set_by: str, set_at: datetime) -> ModelSetting:
    """Make the row's content."""
    return ModelSetting(model=model, base_url=base_url, secret=secret, set_by=set_by, set_at=set_at.isoformat())


def provider_of(model: str) -> str:
    """Name the provider in a model's name."""
    return model.partition(":")[0]


def check_base_url(text: str) -> str:
    """Give a model server's address as it is kept, or say what is wrong with it."""
    url = text.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is not a number shows itself only when asked for
    except ValueError:
        raise _bad_url("This is not a URL") from None
    odd = len(url) > MAX_URL or any(not char.isprintable() or char.isspace() or char == "\\" for char in url)
    if odd or parts.scheme not in ("http", "https") or not parts.hostname:
        raise _bad_url("The address must begin with http:// or https:// and name a host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise _bad_url("Leave user name, password, ? and # out of the address; the key is a field of its own")
    if (address := read_address(parts.hostname)) is not None:
        check_place(url, [address], has_key=False)
    return url


def check_place(url: str, addresses: list[Address], *, has_key: bool) -> None:
    """Refuse addresses that are never a model server, and a key that would cross the internet for everybody to read.

    An admin wrote the address, so this machine and private networks are allowed.
    """
    kinds = {kind_of(address) for address in addresses}
    if kinds & {"surroundings", "multicast"}:
        raise _bad_url(f"{urlsplit(url).hostname} is not an address of a model server")
    if has_key and "public" in kinds and url.startswith("http://"):
        raise _bad_url("This would send the key unencrypted over the internet. Use https://")


def suggested_url(url: str) -> str | None:
    """Name the address that is usually meant by one without /v1."""
    return None if url.endswith("/v1") else f"{url}/v1"


def _bad_url(said: str) -> Invalid:
    return Invalid(f"{said}. For example: http://127.0.0.1:11434/v1", field="base_url", code="out_of_range")
