"""Users, agents, tokens, hooks, webhooks, grants: who may ask, and where things may go. Secrets are kept as hashes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from homing.model.ids import new_id
from homing.model.people import Agent, Role, User
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Row, Tx, columns, insert_new


@dataclass(frozen=True, kw_only=True)
class Token:
    """Proof of a user; its text is shown once and kept as a hash."""

    id: str
    user_id: str
    role: Role
    kind: str
    created_at: datetime
    expires_at: datetime | None
    made_from: str | None
    """Of a cookie or a code: the token that it ends with."""


def hash_secret(secret: str) -> str:
    """Hash a secret. They are long and random, so one round of SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def get_user(tx: Tx, user_id: str) -> User | None:
    rows = tx.rows(sa.select(*r.user_columns).where(t.user.c.id == user_id))
    return r.user_of(rows[0]) if rows else None


def add_user(tx: Tx, user_id: str, *, role: Role, name: str | None = None) -> User:
    """Make a user, or return the one that is there."""
    known = get_user(tx, user_id)
    if known:
        return known
    # Several processes may start at once: whoever comes second takes the first one's.
    values = {"id": user_id, "name": name or user_id, "role": role, "timezone": None, "created_at": tx.now()}
    tx.run(insert_new(tx, t.user).values(values))
    user = get_user(tx, user_id)
    assert user is not None
    return user


def change_user(tx: Tx, user_id: str, values: Mapping[str, object]) -> None:
    tx.run(sa.update(t.user).where(t.user.c.id == user_id).values(dict(values)))


def get_agent(tx: Tx, agent_id: str) -> Agent | None:
    rows = tx.rows(sa.select(*r.agent_columns).where(t.agent.c.id == agent_id))
    return r.agent_of(rows[0]) if rows else None


def list_agents(tx: Tx) -> list[Agent]:
    return [r.agent_of(row) for row in tx.rows(sa.select(*r.agent_columns).order_by(t.agent.c.id))]


def add_agent(tx: Tx, agent: Agent) -> None:
    """Make an agent unless one of that id is there."""
    if get_agent(tx, agent.id) is None:
        tx.run(
            insert_new(tx, t.agent).values(
                id=agent.id, name=agent.name, model=agent.model, instructions=agent.instructions,
                tools=list(agent.tools), created_at=tx.now(),
            )
        )  # fmt: skip


def add_token(
    tx: Tx,
    *,
    user_id: str,
    role: Role,
    kind: str,
    secret: str,
    expires_at: datetime | None,
    made_from: str | None = None,
) -> Token:
    """Keep a token's hash; the same secret is kept once."""
    known = find_token(tx, secret)
    if known:
        return known
    hashed = hash_secret(secret)
    tx.run(
        insert_new(tx, t.token).values(
            id=new_id("tok"), user_id=user_id, role=role, kind=kind, hash=hashed, created_at=tx.now(),
            expires_at=expires_at, made_from=made_from,
        )
    )  # fmt: skip
    return _token_of(tx.rows(sa.select(t.token).where(t.token.c.hash == hashed))[0])


def find_token(tx: Tx, secret: str) -> Token | None:
    """Find a living token by its text."""
    rows = tx.rows(sa.select(t.token).where(t.token.c.hash == hash_secret(secret)))
    token = _token_of(rows[0]) if rows else None
    return None if token is None or (token.expires_at is not None and token.expires_at <= tx.now()) else token


def spend_code(tx: Tx, secret: str) -> Token | None:
    """Use up a sign-in code: it opens the door once."""
    rows = tx.rows(
        sa.delete(t.token).where(t.token.c.hash == hash_secret(secret), t.token.c.kind == "code").returning(*t.token.c)
    )
    token = _token_of(rows[0]) if rows else None
    return None if token is None or (token.expires_at is not None and token.expires_at <= tx.now()) else token


def prolong_token(tx: Tx, token_id: str, until: datetime) -> None:
    tx.run(sa.update(t.token).where(t.token.c.id == token_id).values(expires_at=until))


def list_tokens(tx: Tx, user_id: str) -> list[Token]:
    """List a user's own tokens; cookies and codes are not among them."""
    rows = tx.rows(
        sa.select(t.token).where(t.token.c.user_id == user_id, t.token.c.kind == "token").order_by(t.token.c.created_at)
    )
    return [_token_of(row) for row in rows]


def revoke_token(tx: Tx, token_id: str, *, user_id: str | None) -> bool:
    """Delete a token, with the cookies and codes made from it."""
    where = [t.token.c.id == token_id]
    if user_id is not None:
        where.append(t.token.c.user_id == user_id)
    if tx.run(sa.delete(t.token).where(*where)) != 1:
        return False
    tx.run(sa.delete(t.token).where(t.token.c.made_from == token_id))
    return True


def revoke_secret(tx: Tx, secret: str) -> None:
    tx.run(sa.delete(t.token).where(t.token.c.hash == hash_secret(secret)))


def _token_of(row: Row) -> Token:
    m = columns(row)
    return Token(
        id=m["id"], user_id=m["user_id"], role=m["role"], kind=m["kind"], created_at=m["created_at"],
        expires_at=m["expires_at"], made_from=m["made_from"],
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Hook:
    """A door for others' programs into one session."""

    id: str
    session_id: int
    name: str | None
    created_at: datetime


def add_hook(tx: Tx, *, session_id: int, name: str | None, secret: str) -> Hook:
    hook = Hook(id=new_id("hook"), session_id=session_id, name=name, created_at=tx.now())
    tx.run(
        sa.insert(t.hook).values(
            id=hook.id, session_id=session_id, name=name, hash=hash_secret(secret), created_at=hook.created_at
        )
    )
    return hook


def find_hook(tx: Tx, secret: str) -> Hook | None:
    rows = tx.rows(sa.select(t.hook).where(t.hook.c.hash == hash_secret(secret)))
    return _hook_of(rows[0]) if rows else None


def list_hooks(tx: Tx, session_id: int) -> list[Hook]:
    rows = tx.rows(sa.select(t.hook).where(t.hook.c.session_id == session_id).order_by(t.hook.c.created_at))
    return [_hook_of(row) for row in rows]


def remove_hook(tx: Tx, session_id: int, hook_id: str) -> bool:
    return tx.run(sa.delete(t.hook).where(t.hook.c.session_id == session_id, t.hook.c.id == hook_id)) == 1


def _hook_of(row: Row) -> Hook:
    m = columns(row)
    return Hook(id=m["id"], session_id=m["session_id"], name=m["name"], created_at=m["created_at"])


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """A URL of the user's to which messages are POSTed, and the secret that signs them."""

    id: str
    user_id: str
    url: str
    secret: str
    created_at: datetime


def add_webhook(tx: Tx, *, user_id: str, url: str, secret: str) -> Webhook:
    webhook = Webhook(id=new_id("wh"), user_id=user_id, url=url, secret=secret, created_at=tx.now())
    tx.run(
        sa.insert(t.webhook).values(
            id=webhook.id, user_id=user_id, url=url, secret=secret, created_at=webhook.created_at
        )
    )
    return webhook


def get_webhook(tx: Tx, webhook_id: str) -> Webhook | None:
    rows = tx.rows(sa.select(t.webhook).where(t.webhook.c.id == webhook_id, t.webhook.c.removed_at.is_(None)))
    return _webhook_of(rows[0]) if rows else None


def list_webhooks(tx: Tx, user_id: str) -> list[Webhook]:
    rows = tx.rows(
        sa.select(t.webhook)
        .where(t.webhook.c.user_id == user_id, t.webhook.c.removed_at.is_(None))
        .order_by(t.webhook.c.created_at)
    )
    return [_webhook_of(row) for row in rows]


def remove_webhook(tx: Tx, *, user_id: str, webhook_id: str) -> bool:
    """Forget a webhook: its secret goes, and what is still to be sent there dies with a reason."""
    return (
        tx.run(
            sa.update(t.webhook)
            .where(t.webhook.c.user_id == user_id, t.webhook.c.id == webhook_id, t.webhook.c.removed_at.is_(None))
            .values(removed_at=tx.now(), secret="")
        )
        == 1
    )


def _webhook_of(row: Row) -> Webhook:
    m = columns(row)
    return Webhook(id=m["id"], user_id=m["user_id"], url=m["url"], secret=m["secret"], created_at=m["created_at"])


def granted(tx: Tx, *, user_id: str, agent_id: str, address: str) -> bool:
    """Say whether an agent may write to an address besides its session's own."""
    return bool(
        tx.rows(
            sa.select(t.grant.c.n).where(
                t.grant.c.user_id == user_id, t.grant.c.agent_id == agent_id, t.grant.c.address == address
            )
        )
    )


def audit(tx: Tx, *, user_id: str, action: str, object_id: str, detail: Mapping[str, object]) -> None:
    """Write down what an admin did to somebody else's things."""
    tx.run(
        sa.insert(t.audit).values(at=tx.now(), user_id=user_id, action=action, object_id=object_id, detail=dict(detail))
    )
