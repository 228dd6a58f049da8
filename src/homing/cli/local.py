"""No server runs: the same app answers in this process, as the owner. No engine, no scheduler: nothing fires."""

import asyncio
import json
from typing import TYPE_CHECKING, Any

from homing.cli.home import make_home, owner_token
from homing.cli.logs import quiet_logs
from homing.cli.problems import answered
from homing.cli.server import Json
from homing.settings import Settings

if TYPE_CHECKING:
    import httpx2


class Local:
    """The API on this home's database."""

    alive = False

    def __init__(self, settings: Settings) -> None:
        from homing.cli.house import open_house
        from homing.web.app import make_app

        quiet_logs()
        make_home(settings)
        self._homing = open_house(settings)
        self._token = owner_token(settings)
        app = make_app(store=self._homing.store, house=self._homing.house, clock=self._homing.clock)
        self._loop = asyncio.Runner()
        self._client = self._loop.run(_connect(app))

    def ask(self, method: str, path: str, body: Json | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": "homing-cli"}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        response = self._loop.run(self._client.request(method, path, content=content, headers=headers))
        answer = response.json() if response.content else None
        if response.status_code >= 400:
            raise answered(response.status_code, answer)
        return answer

    def close(self) -> None:
        self._loop.run(self._end())
        self._loop.close()

    async def _end(self) -> None:
        await self._client.aclose()
        await self._homing.store.close()


async def _connect(app: Any) -> "httpx2.AsyncClient":
    import httpx2

    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1", timeout=None)
