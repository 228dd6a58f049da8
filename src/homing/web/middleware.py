"""The outermost layer: names each request, checks the Host, sets the headers, writes the access line, hides bugs."""

import re

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from homing.model.clock import Clock
from homing.model.errors import Error, NotReady
from homing.model.ids import new_id
from homing.settings import Settings
from homing.store import Store
from homing.web.health import OUTDATED
from homing.web.hosts import check_host
from homing.web.problems import internal, problem_of

log = structlog.get_logger(__name__)

HEADERS = {
    # Pictures of messages: the page fetches them with its key, which no address of a picture can carry.
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

# A hook's token stands in its path; no log may hold it.
_HOOK = re.compile(r"^(/api/hooks/).+")


class SecurityMiddleware:
    """Wraps the whole app."""

    def __init__(self, app: ASGIApp, *, store: Store, settings: Settings, clock: Clock) -> None:
        self.app = app
        self._store = store
        self._settings = settings
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["request_id"] = request_id = new_id("req")
        began = self._clock.monotonic()
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _dress(MutableHeaders(raw=message["headers"]), scope)
            await send(message)

        try:
            check_host(Headers(scope=scope).get("host"), self._settings)
            if self._store.outdated is not None and scope["method"] not in ("GET", "HEAD"):
                raise NotReady(self._store.outdated, public=OUTDATED)
            await self.app(scope, receive, answer)
        except Error as error:
            await problem_of(error, request_id)(scope, receive, answer)
        except ClientDisconnect:
            # The client has gone; there is nobody to answer, and nothing is broken.
            log.debug("request_gone", request_id=request_id, path=_shown(scope))
        except Exception:
            log.exception("request_broke", request_id=request_id, path=_shown(scope))
            if status:
                # Half an answer is out; the connection must not end as if it were whole.
                raise
            await internal(request_id)(scope, receive, answer)
        finally:
            log.info(
                "request",
                method=scope["method"],
                path=_shown(scope),
                status=status,
                duration_ms=round((self._clock.monotonic() - began) * 1000, 1),
                user_id=state.get("user_id"),
                request_id=request_id,
            )


def _dress(headers: MutableHeaders, scope: Scope) -> None:
    for name, value in HEADERS.items():
        # A file that is given back has a stricter policy of its own.
        if name != "Content-Security-Policy" or name not in headers:
            headers[name] = value
    headers["X-Request-Id"] = scope["state"]["request_id"]
    if "cache-control" not in headers:
        headers["Cache-Control"] = "no-store"
    for cookie in scope["state"].get("cookies", ()):
        headers.append("Set-Cookie", cookie)


def _shown(scope: Scope) -> str:
    return _HOOK.sub(r"\1…", scope["path"])
