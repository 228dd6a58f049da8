"""The page's built files. Names with a hash in them never change; every other path is the page itself.

An unknown path gets the page too, which tells people so; the status 404 tells programs. Beside a file its build put the
same in brotli and gzip (`ui/vite.config.ts`); it is given to those who take it.
"""

import mimetypes
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from homing.web.compression import accepted
from homing.web.problems import problem

INDEX = "index.html"
BUILT = Path(__file__).parent / "static"
_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
# The first parts of the paths that ui/src/App.tsx knows.
ROOMS = (
    "",
    "sign-in",
    "inbox",
    "chat",
    "automations",
    "runs",
    "week",
    "agents",
    "approvals",
    "turns",
    "deliveries",
    "usage",
    "settings",
)
_MANIFEST = "manifest.webmanifest"
# The best first.
_BUILT_ENCODINGS = {"br": ".br", "gzip": ".gz"}
_CONDITIONS = (b"if-none-match", b"if-modified-since")
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
        if not (self._folder / INDEX).is_file():
            detail = "The page is not built: run `make page`. The API works without it."
            return problem(404, "not_found", detail, request_id)
        if room not in ROOMS:
            # "Not there" is never "not modified".
            scope = {**scope, "headers": [(name, value) for name, value in scope["headers"] if name not in _CONDITIONS]}
        page = await self._file(INDEX, scope)
        assert page is not None
        if room not in ROOMS:
            page.status_code = 404
        return page

    async def _file(self, path: str, scope: Scope) -> Response | None:
        if not path or not self._folder.is_dir() or path.endswith(tuple(_BUILT_ENCODINGS.values())):
            return None
        takes = accepted(Headers(scope=scope).get("accept-encoding", ""))
        for encoding, suffix in _BUILT_ENCODINGS.items():
            if encoding in takes and (found := await self._found(path + suffix, scope)) is not None:
                found.headers["Content-Encoding"] = encoding
                break
        else:
            found = await self._found(path, scope)
        if found is not None:
            # Of what is inside, not of the brotli around it.
            found.headers["Content-Type"] = _media_type(path)
            found.headers["Cache-Control"] = _FOREVER if path.startswith("assets/") else _ASK_AGAIN
            found.headers["Vary"] = "Accept-Encoding"
        return found

    async def _found(self, path: str, scope: Scope) -> Response | None:
        try:
            return await self._files.get_response(path, scope)
        except HTTPException:
            return None


def _media_type(path: str) -> str:
    if path == _MANIFEST:
        # Python's table of types does not know it.
        return "application/manifest+json"
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
