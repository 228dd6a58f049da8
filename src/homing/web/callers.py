"""Who asks: a bearer token, or the page's cookie of thirty rolling days together with the page's key.

Browsers send a cookie to every port of its host, so a cookie alone proves nothing: anyone who serves another port has
it too. The key is kept in the storage of the page's own origin, and comes as a header.
"""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from http.cookies import SimpleCookie

from starlette.requests import Request

from homing.model.errors import NotReady, Unauthenticated
from homing.model.people import Caller, Door
from homing.operations.people import Known, page_secret, prolong, recognise
from homing.settings import Settings
from homing.store import Store, Tx
from homing.store.people import touch_token
from homing.web.hosts import check_origin
from homing.web.limits import Proofs

NOBODY = Caller(user_id="", role="user", door="api")
"""The caller of sign-in and hooks: what they send is their proof."""

KEY = "Homing-Key"
_SAFE = ("GET", "HEAD", "OPTIONS")


class Authenticator:
    """Admits callers who can prove who they are."""

    def __init__(self, store: Store, settings: Settings, proofs: Proofs) -> None:
        self._store = store
        self._proofs = proofs
        self._settings = settings
        # Browsers keep cookies by host, not by port: two Homings on one machine must not sign each other out.
        self._cookie = f"homing_{settings.port}"
        self._touching: dict[str, asyncio.Task[None]] = {}

    async def admit(self, request: Request) -> Caller:
        """Find out who asks, or refuse."""
        secret, kind = self._shown(request)
        if kind == "cookie" and request.method not in _SAFE:
            check_origin(request, self._settings)

        def look(tx: Tx) -> tuple[Known | None, bool, bool]:
            known = recognise(tx, secret, _door(request, kind))
            if known is None:
                return None, False, False
            return known, known.wants_prolonging(tx), known.wants_touching(tx)

        known, rolls, touches = await self._store.recognise(look)
        if known is None or known.token.kind != kind:
            if kind == "token":
                self._proofs.wrong(address_of(request))
            raise Unauthenticated("This token is unknown, has ended or was revoked. `homing open` gives a fresh link.")
        request.state.proven = True
        request.state.user_id = known.caller.user_id
        if touches:
            self._touch(known.token.id)
        if rolls:
            lives = await self._store.write(lambda tx: prolong(tx, known) - tx.now())
            self.give_cookie(request, self.cookie_of(request) or "", lives)
        return known.caller

    def _touch(self, token_id: str) -> None:
        """Write down beside the request that a token was used; nobody waits for it, and nothing fails with it."""
        if token_id not in self._touching:
            self._touching[token_id] = task = asyncio.create_task(self._touched(token_id))
            task.add_done_callback(lambda _: self._touching.pop(token_id, None))

    async def _touched(self, token_id: str) -> None:
        with suppress(NotReady):
            await self._store.write(lambda tx: touch_token(tx, token_id))

    async def close(self) -> None:
        """Let what is still being written down come to its end."""
        await asyncio.gather(*self._touching.values(), return_exceptions=True)

    def cookie_of(self, request: Request) -> str | None:
        """Tell the page's cookie."""
        return request.cookies.get(self._cookie)

    def give_cookie(self, request: Request, secret: str, lives: timedelta) -> None:
        """Hand the browser its cookie with the answer; one that lives no time is taken away."""
        jar: SimpleCookie = SimpleCookie()
        jar[self._cookie] = secret
        cookie = jar[self._cookie]
        cookie["path"] = "/"
        cookie["httponly"] = True
        cookie["samesite"] = "Strict"
        cookie["max-age"] = max(0, round(lives.total_seconds()))
        cookie["secure"] = (self._settings.public_url or "").startswith("https://")
        request.state.cookies = [cookie.OutputString()]

    def _shown(self, request: Request) -> tuple[str, str]:
        header = request.headers.get("authorization")
        if header is not None:
            scheme, _, secret = header.partition(" ")
            if scheme.lower() != "bearer" or not secret.strip():
                raise Unauthenticated("Send the header Authorization: Bearer <token>.")
            return secret.strip(), "token"
        cookie = self.cookie_of(request)
        if not cookie:
            raise Unauthenticated("Send the header Authorization: Bearer <token>, or sign in with `homing open`.")
        key = key_of(request)
        if not key:
            raise Unauthenticated(
                f"The cookie came without the header {KEY}. Sign in again: `homing open` gives a link."
            )
        return page_secret(cookie, key), "cookie"


def key_of(request: Request) -> str | None:
    """Tell the page's key."""
    return request.headers.get(KEY)


def address_of(request: Request) -> str:
    """Tell the address that a request comes from."""
    return request.client.host if request.client else ""


def until(instant: str, now: datetime) -> timedelta:
    """Say how long it is to an instant as answers spell it."""
    return datetime.fromisoformat(instant) - now


def _door(request: Request, kind: str) -> Door:
    if kind == "cookie":
        return "page"
    return "cli" if request.headers.get("user-agent", "").startswith("homing-cli") else "api"
