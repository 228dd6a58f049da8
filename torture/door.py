"""The front door as a stubborn person uses it: asked again under the same key until there is an answer."""

import asyncio
import secrets
from dataclasses import dataclass
from typing import Any

import httpx2

# What a door says when somebody is dead, full or busy, and asking again may help.
_LATER = {429, 500, 502, 503, 504}


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the door answered in the end."""

    status: int
    body: Any
    replayed: bool = False


class Door:
    """One person's way in."""

    def __init__(self, base: str, token: str, *, patience: float = 40.0) -> None:
        self._client = httpx2.AsyncClient(
            base_url=base, headers={"authorization": f"Bearer {token}"}, timeout=8.0, trust_env=False
        )
        self._patience = patience

    async def close(self) -> None:
        await self._client.aclose()

    async def ask(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Said | None:
        """Ask until answered; None when patience ran out and nobody knows what became of it."""
        headers = {"idempotency-key": key or secrets.token_hex(8)} if method == "POST" else {}
        loop = asyncio.get_running_loop()
        until = loop.time() + self._patience
        while loop.time() < until:
            try:
                response = await self._client.request(method, path, json=body, headers=headers)
            except httpx2.HTTPError:
                response = None
            if response is not None and response.status_code not in _LATER:
                replayed = response.headers.get("idempotency-replayed") == "true"
                return Said(status=response.status_code, body=_json(response), replayed=replayed)
            await asyncio.sleep(0.3)
        return None


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
