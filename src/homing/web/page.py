"""The page's built files. Names with a hash in them never change; every other path is the page itself.

An unknown path gets the page too, which tells people so; the status 404 tells programs.
"""

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from homing.web.problems import problem

BUILT = Path(__file__).parent / "static"
_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
# The first parts of the paths that ui/src/App.tsx knows.
ROOMS = ("", "sign-in", "chat", "automations", "runs", "week", "agents", "turns", "deliveries", "settings")
# What is a program's address is answered with a problem, never with a page.
_NOT_PAGES = ("api", "mcp", "metrics", "healthz", "readyz")


class Page:
    """Answers every path that no route knows."""

    def __init__(self, folder: Path = BUILT) -> None:
        self._folder = folder
        self._files = StaticFiles(directory=folder, check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._answer(scope))(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        request_id: str = scope["state"]["request_id"]
        path = scope["path"].strip("/")
        room = path.partition("/")[0]
        reads = scope["method"] in ("GET", "HEAD")
        if room in _NOT_PAGES or not (reads or room in ROOMS):
            return problem(404, "not_found", f"There is nothing at {scope['path'][:200]}.", request_id)
        if not reads:
            allowed = {"Allow": "GET, HEAD"}
            return problem(405, "wrong_method", "The page can only be read.", request_id, headers=allowed)
        found = await self._file(path, scope)
        if found is not None:
            return found
        if path.startswith("assets/"):
            return problem(404, "not_found", "This file is of another version of the page. Reload it.", request_id)
        index = self._folder / "index.html"
        if not index.is_file():
            detail = "The page is not built: run `make page`. The API works without it."
            return problem(404, "not_found", detail, request_id)
        return FileResponse(index, status_code=200 if room in ROOMS else 404, headers={"Cache-Control": _ASK_AGAIN})

    async def _file(self, path: str, scope: Scope) -> Response | None:
        if not path or not self._folder.is_dir():
            return None
        try:
            response = await self._files.get_response(path, scope)
        except HTTPException:
            return None
        response.headers["Cache-Control"] = _FOREVER if path.startswith("assets/") else _ASK_AGAIN
        return response
