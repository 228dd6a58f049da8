"""A Homing behind its front door: the real app over a real store, asked through httpx without a network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2
from starlette.applications import Starlette

from homing.model.messages import NewMessage
from homing.model.people import OWNER, Role
from homing.store import Tx, deliveries, people, sessions
from homing.web.app import make_app
from homing.web.callers import KEY
from homing.web.limits import Limits
from support.worlds import STRANGER, World

T = TypeVar("T")

BASE = "http://127.0.0.1:4664"
OWNER_TOKEN = "hom_owner"
STRANGER_TOKEN = "hom_stranger"
COOKIE = "homing_4664"


@dataclass(frozen=True, kw_only=True)
class Site:
    """The app, and those who ask it."""

    world: World
    app: Starlette
    clients: list[httpx2.AsyncClient] = field(default_factory=list[httpx2.AsyncClient])

    def client(self, token: str | None = None, *, address: str = "127.0.0.1", **headers: str) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app=self.app, client=(address, 50_000))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        client = httpx2.AsyncClient(transport=transport, base_url=BASE, headers=headers)
        self.clients.append(client)
        return client

    @property
    def owner(self) -> httpx2.AsyncClient:
        return self.client(OWNER_TOKEN)

    @property
    def stranger(self) -> httpx2.AsyncClient:
        return self.client(STRANGER_TOKEN)

    @property
    def nobody(self) -> httpx2.AsyncClient:
        return self.client()


def open_site(world: World, limits: Limits | None = None) -> Site:
    """Open the front door of a world, with a token for each of its people."""
    give_token(world, OWNER, "admin", OWNER_TOKEN)
    give_token(world, STRANGER.user_id, "user", STRANGER_TOKEN)
    return Site(world=world, app=make_app(store=world.store, instance=world.instance, clock=world.clock, limits=limits))


async def sign_in(client: httpx2.AsyncClient, proof: dict[str, str], **headers: str) -> httpx2.Response:
    """Sign a browser in as the page does: the cookie is the browser's, the key the page's."""
    signed = await client.post("/api/auth/sign-in", json=proof, headers=headers)
    assert signed.status_code == 200, signed.text
    client.headers[KEY] = signed.json()["key"]
    return signed


def give_token(world: World, user_id: str, role: Role, secret: str, kind: str = "token") -> None:
    world.write(
        lambda tx: people.add_token(
            tx,
            user_id=user_id,
            role=role,
            kind=kind,
            secret=secret,
            expires_at=None,
            # As the owner's token of a home.
            approve=role == "admin",
        )
    )


def loudly(world: World, work: Callable[[Tx], T]) -> T:
    """Run one transaction now, and ring as the store does after a commit."""
    bells = set[str]()

    def both(tx: Tx) -> T:
        result = work(tx)
        bells.update(tx.bells)
        return result

    result = world.write(both)
    world.store.bell.ring(bells)
    return result


def owe(world: World, key: str, text: str, addresses: Sequence[str]) -> list[str]:
    """Write a message that is owed to addresses; return the deliveries' ids."""

    def work(tx: Tx) -> list[str]:
        session = sessions.find(tx, key, user_id=OWNER)
        assert session is not None
        sessions.lock(tx, [session.id])
        note = NewMessage(session_id=session.id, lane_id=session.id, role="assistant", kind="note", text=text)
        [seq], _ = deliveries.post(tx, [note], only=addresses)
        return [delivery.id for delivery in deliveries.of_messages(tx, session.id, [seq]).get(seq, [])]

    return loudly(world, work)


def kill(world: World, delivery_id: str) -> None:
    """Let a delivery fail for good."""

    def work(tx: Tx) -> None:
        delivery = deliveries.get(tx, delivery_id)
        assert delivery is not None
        sessions.lock(tx, [delivery.session_id])
        rev = sessions.touch(tx, delivery.session_id)
        assert deliveries.fail_attempt(tx, delivery, rev=rev, error="Nobody took it.")

    loudly(world, work)


def problem(response: httpx2.Response) -> dict[str, Any]:
    """Read a problem, which is always whole."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    told = response.json()
    assert told["status"] == response.status_code
    assert told["type"] == f"/problems/{told['code']}"
    assert told["title"]
    assert told["detail"].endswith((".", "?"))
    assert told["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in response.text
    return told


def field_codes(response: httpx2.Response) -> dict[str, str]:
    """Read which fields were refused, and why."""
    assert response.status_code == 422, response.text
    return {one["field"]: one["code"] for one in problem(response)["errors"]}
