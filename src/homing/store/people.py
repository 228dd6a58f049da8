"""Users, tokens, hooks, webhooks, grants: who may ask, and where things may go. Secrets are kept as hashes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime

import sqlalchemy as sa

from homing.model.ids import new_id
from homing.model.people import AGENT_GRANT, HOST_GRANT, OWNER, SESSION_GRANT, Role, User, is_place
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
    """The token that it ends with."""
    name: str | None
    approve: bool
    owner: str | None
    """The home whose owner's token it is."""
    last_used_at: datetime | None
    revoked_at: datetime | None

    def is_alive(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


def hash_secret(secret: str) -> str:
    """Hash a secret. They are long and random, so one round of SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def get_user(tx: Tx, user_id: str) -> User | None:
    rows = tx.rows(sa.select(*r.user_columns).where(t.user.c.id == user_id))
    return r.user_of(rows[0]) if rows else None


def user_ids(tx: Tx) -> list[str]:
    """Name all users."""
    return [user_id for (user_id,) in tx.rows(sa.select(t.user.c.id).order_by(t.user.c.id))]


def add_user(tx: Tx, user_id: str, *, role: Role, name: str | None = None) -> User:
    """Make a user, or return the one that is there."""
    known = get_user(tx, user_id)
    if known:
        return known
    # Several processes may start at once: the second one takes the first one's.
    values = {"id": user_id, "name": name or user_id, "role": role, "timezone": None, "created_at": tx.now()}
    tx.run(insert_new(tx, t.user).values(values))
    user = get_user(tx, user_id)
    assert user is not None
    return user


def admins(tx: Tx) -> list[User]:
    """List the users who are administrators."""
    rows = tx.rows(sa.select(*r.user_columns).where(t.user.c.role == "admin").order_by(t.user.c.id))
    return [r.user_of(row) for row in rows]


def change_user(tx: Tx, user_id: str, values: Mapping[str, object]) -> None:
    tx.run(sa.update(t.user).where(t.user.c.id == user_id).values(dict(values)))


def add_token(
    tx: Tx,
    *,
    user_id: str,
    role: Role,
    kind: str,
    secret: str,
    expires_at: datetime | None,
    made_from: str | None = None,
    name: str | None = None,
    approve: bool = False,
    owner: str | None = None,
) -> Token:
    """Keep a token's hash; the same secret is kept once, as it was first."""
    hashed = hash_secret(secret)
    tx.run(
        insert_new(tx, t.token).values(
            id=new_id("tok"),
            user_id=user_id,
            role=role,
            kind=kind,
            hash=hashed,
            created_at=tx.now(),
            expires_at=expires_at,
            made_from=made_from,
            name=name,
            approve=approve,
            owner=owner,
        )
    )
    known = look_up_secret(tx, secret)
    assert known is not None
    return known


def look_up_secret(tx: Tx, secret: str) -> Token | None:
    """Find a token by its text, also one that has ended."""
    rows = tx.rows(sa.select(t.token).where(t.token.c.hash == hash_secret(secret)))
    return _token_of(rows[0]) if rows else None


def find_token(tx: Tx, secret: str) -> Token | None:
    """Find a living token by its text."""
    token = look_up_secret(tx, secret)
    return token if token is not None and token.is_alive(tx.now()) else None


def get_token(tx: Tx, token_id: str) -> Token | None:
    """Read a token by its id, also one that has ended."""
    rows = tx.rows(sa.select(t.token).where(t.token.c.id == token_id))
    return _token_of(rows[0]) if rows else None


def hold_token(tx: Tx, token_id: str) -> Token | None:
    """Lock a living token while another is made from it: a revocation waits for the child, or the child is refused."""
    rows = tx.rows(sa.select(t.token).where(t.token.c.id == token_id).with_for_update(read=True))
    token = _token_of(rows[0]) if rows else None
    return token if token is not None and token.is_alive(tx.now()) else None


def spend_code(tx: Tx, secret: str) -> Token | None:
    """Use up a sign-in code: it opens the door once."""
    rows = tx.rows(
        sa.delete(t.token).where(t.token.c.hash == hash_secret(secret), t.token.c.kind == "code").returning(*t.token.c)
    )
    token = _token_of(rows[0]) if rows else None
    return token if token is not None and token.is_alive(tx.now()) else None


def prolong_token(tx: Tx, token_id: str, until: datetime) -> None:
    tx.run(sa.update(t.token).where(t.token.c.id == token_id).values(expires_at=until))


def touch_token(tx: Tx, token_id: str) -> None:
    """Write down that a token was used just now."""
    tx.run(sa.update(t.token).where(t.token.c.id == token_id).values(last_used_at=tx.now()))


def list_tokens(tx: Tx, user_id: str) -> list[Token]:
    """List a user's tokens that were not revoked; cookies and codes are not among them."""
    c = t.token.c
    rows = tx.rows(
        sa.select(t.token)
        .where(c.user_id == user_id, c.kind == "token", c.revoked_at.is_(None))
        .order_by(c.created_at, c.id)
    )
    return [_token_of(row) for row in rows]


def revoke_token(tx: Tx, token_id: str) -> int:
    """End a token and everything that goes back to it; say how many ended. A token's row stays, so it stays refused."""
    c, now = t.token.c, tx.now()
    ended = 0
    generation = [token_id]
    while generation:
        # Making a child token locks its parent: after this update the child is either found here, or refused.
        rows = tx.rows(
            sa.update(t.token)
            .where(c.id.in_(generation), c.revoked_at.is_(None))
            .values(revoked_at=now)
            .returning(c.user_id)
        )
        ended += len(rows)
        tx.ring(*{f"user:{user_id}" for (user_id,) in rows})
        tx.run(sa.delete(t.token).where(c.id.in_(generation), c.kind != "token"))
        # What is on its way to these browsers is settled by the courier, who finds them gone.
        tx.run(sa.delete(t.push).where(t.push.c.token_id.in_(generation)))
        children = sa.select(c.id).where(c.made_from.in_(generation), c.revoked_at.is_(None)).order_by(c.id)
        generation = [child for (child,) in tx.rows(children)]
    return ended


def revoke_secret(tx: Tx, secret: str) -> None:
    tx.run(sa.delete(t.token).where(t.token.c.hash == hash_secret(secret)))


FROM_ENVIRONMENT = "HOMING_TOKEN"


def set_owner_token(tx: Tx, secret: str, *, home: str, name: str) -> Token:
    """Make this the owner's token of a home; the one that the home had before ends with everything made from it.

    A token that has ended comes back as it is and replaces nothing: it stays refused. So does one that is somebody's
    plain token. All processes that are given HOMING_TOKEN on one database are given the same: a new value ends the old.
    """
    token = look_up_secret(tx, secret)
    if token is None:
        token = add_token(
            tx,
            user_id=OWNER,
            role="admin",
            kind="token",
            secret=secret,
            expires_at=None,
            name=name,
            approve=True,
            owner=home,
        )
    elif not token.is_alive(tx.now()) or not _may_be_owner(token):
        return token
    elif token.owner is None:
        # Made by a Homing that did not mark it.
        tx.run(sa.update(t.token).where(t.token.c.id == token.id).values(owner=home, name=name, approve=True))
    c = t.token.c
    same_source = sa.and_(c.owner.is_not(None), c.name == name) if name == FROM_ENVIRONMENT else sa.false()
    former = tx.rows(
        sa.select(c.id).where(sa.or_(c.owner == home, same_source), c.revoked_at.is_(None), c.id != token.id)
    )
    for (former_id,) in former:
        revoke_token(tx, former_id)
    found = get_token(tx, token.id)
    assert found is not None
    return found


def _may_be_owner(token: Token) -> bool:
    root = token.made_from is None and token.expires_at is None
    return token.owner is not None or (
        token.user_id == OWNER and token.role == "admin" and token.kind == "token" and root
    )


def owner_token(tx: Tx, home: str) -> Token | None:
    """Find the living owner's token of a home."""
    rows = tx.rows(sa.select(t.token).where(t.token.c.owner == home, t.token.c.revoked_at.is_(None)))
    return _token_of(rows[0]) if rows else None


def count_unmarked_admins(tx: Tx) -> int:
    """Count the owner's living admin tokens that no home has, that have no name and that no token made.

    Starts of 0.1.0 left them, one for each HOMING_TOKEN; nobody knows whether another home still uses one.
    """
    c = t.token.c
    [(count,)] = tx.rows(
        sa.select(sa.func.count()).where(
            c.user_id == OWNER,
            c.role == "admin",
            c.kind == "token",
            c.owner.is_(None),
            c.name.is_(None),
            c.made_from.is_(None),
            c.revoked_at.is_(None),
            sa.or_(c.expires_at.is_(None), c.expires_at > tx.now()),
        )
    )
    return count


@dataclass(frozen=True, kw_only=True)
class UserTokens:
    """A user, and what is known of their living tokens."""

    user: User
    tokens: int
    last_used_at: datetime | None


def list_users(tx: Tx) -> list[UserTokens]:
    """List everybody, with how many tokens they have and when one was used last."""
    c = t.token.c
    counts = (
        sa.select(c.user_id, sa.func.count().label("tokens"))
        .where(c.kind == "token", c.revoked_at.is_(None), sa.or_(c.expires_at.is_(None), c.expires_at > tx.now()))
        .group_by(c.user_id)
        .subquery()
    )
    used = sa.select(c.user_id, sa.func.max(c.last_used_at).label("used")).group_by(c.user_id).subquery()
    rows = tx.rows(
        sa.select(*r.user_columns, counts.c.tokens, used.c.used)
        .outerjoin(counts, counts.c.user_id == t.user.c.id)
        .outerjoin(used, used.c.user_id == t.user.c.id)
        .order_by(t.user.c.created_at, t.user.c.id)
    )
    return [UserTokens(user=r.user_of(row[:-2]), tokens=row.tokens or 0, last_used_at=row.used) for row in rows]


def _token_of(row: Row) -> Token:
    m = columns(row)
    return Token(
        id=m["id"],
        user_id=m["user_id"],
        role=m["role"],
        kind=m["kind"],
        created_at=m["created_at"],
        expires_at=m["expires_at"],
        made_from=m["made_from"],
        name=m["name"],
        approve=m["approve"],
        owner=m["owner"],
        last_used_at=m["last_used_at"],
        revoked_at=m["revoked_at"],
    )


@dataclass(frozen=True, kw_only=True)
class Hook:
    """A door for others' programs into one session."""

    id: str
    session_id: int
    name: str | None
    created_at: datetime
    paused_until: datetime | None = None


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


def pause_hook(tx: Tx, hook_id: str, until: datetime) -> None:
    tx.run(sa.update(t.hook).where(t.hook.c.id == hook_id).values(paused_until=until))


def remove_hook(tx: Tx, session_id: int, hook_id: str) -> bool:
    return tx.run(sa.delete(t.hook).where(t.hook.c.session_id == session_id, t.hook.c.id == hook_id)) == 1


def _hook_of(row: Row) -> Hook:
    m = columns(row)
    return Hook(
        id=m["id"],
        session_id=m["session_id"],
        name=m["name"],
        created_at=m["created_at"],
        paused_until=m["paused_until"],
    )


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """A URL of the user's to which messages are POSTed, and the secret that signs them."""

    id: str
    user_id: str
    url: str
    secret: str
    created_at: datetime
    local_to: str | None = None
    """Of one that points to loopback: the place whose loopback was meant."""


def add_webhook(tx: Tx, *, user_id: str, url: str, secret: str, local_to: str | None = None) -> Webhook:
    webhook = Webhook(id=new_id("wh"), user_id=user_id, url=url, secret=secret, created_at=tx.now(), local_to=local_to)
    tx.run(
        sa.insert(t.webhook).values(
            id=webhook.id, user_id=user_id, url=url, secret=secret, created_at=webhook.created_at, local_to=local_to
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
    return Webhook(
        id=m["id"],
        user_id=m["user_id"],
        url=m["url"],
        secret=m["secret"],
        created_at=m["created_at"],
        local_to=m["local_to"],
    )


@dataclass(frozen=True, kw_only=True)
class Grant:
    """An address, agent or conversation that an agent may also write to, for one user; or a host that it may also
    reach, for everybody.
    """

    id: str
    user_id: str
    agent_id: str
    address: str
    created_at: datetime
    paused_until: datetime | None = None
    """A loop brake stopped it until then (rule 35)."""
    told_at: datetime | None = None
    """When people were last told that a brake stopped it."""

    @property
    def host(self) -> str | None:
        return self._behind(HOST_GRANT)

    @property
    def to_agent_id(self) -> str | None:
        return self._behind(AGENT_GRANT)

    @property
    def session_key(self) -> str | None:
        return self._behind(SESSION_GRANT)

    def _behind(self, beginning: str) -> str | None:
        return self.address.removeprefix(beginning) if self.address.startswith(beginning) else None


_GRANT = tuple(field.name for field in fields(Grant))


def add_grant(tx: Tx, *, user_id: str, agent_id: str, address: str) -> Grant:
    """Make a grant, or return the one that is there."""
    tx.run(
        insert_new(tx, t.grant).values(
            id=new_id("grt"), user_id=user_id, agent_id=agent_id, address=address, created_at=tx.now()
        )
    )
    grant = find_grant(tx, user_id=user_id, agent_id=agent_id, address=address)
    assert grant is not None
    return grant


def find_grant(tx: Tx, *, user_id: str, agent_id: str, address: str, hold: bool = False) -> Grant | None:
    """Find a grant by what it says. With `hold` it stays until this transaction ends."""
    c = t.grant.c
    statement = sa.select(t.grant).where(c.user_id == user_id, c.agent_id == agent_id, c.address == address)
    rows = tx.rows(statement.with_for_update(read=True) if hold and tx.postgres else statement)
    return _grant_of(rows[0]) if rows else None


def get_grant(tx: Tx, grant_id: str) -> Grant | None:
    rows = tx.rows(sa.select(t.grant).where(t.grant.c.id == grant_id))
    return _grant_of(rows[0]) if rows else None


def find_host_grant(tx: Tx, *, agent_id: str, host: str) -> Grant | None:
    """Find the grant of a host, of any user."""
    c = t.grant.c
    rows = tx.rows(sa.select(t.grant).where(c.agent_id == agent_id, c.address == f"{HOST_GRANT}{host}"))
    return _grant_of(rows[0]) if rows else None


def list_grants(tx: Tx, user_id: str, *, all_hosts: bool) -> list[Grant]:
    """List a user's grants; with `all_hosts` also the hosts that others granted."""
    c = t.grant.c
    mine = c.user_id == user_id
    which = sa.or_(mine, c.address.startswith(HOST_GRANT)) if all_hosts else mine
    rows = tx.rows(sa.select(t.grant).where(which).order_by(c.n))
    return [_grant_of(row) for row in rows]


def remove_grant(tx: Tx, grant_id: str) -> bool:
    return tx.run(sa.delete(t.grant).where(t.grant.c.id == grant_id)) == 1


def _grant_of(row: Row) -> Grant:
    m = columns(row)
    return Grant(**{name: m[name] for name in _GRANT})


def lock_talks(tx: Tx, *, user_id: str, agent_id: str) -> list[Grant]:
    """Lock all that lets an agent write into other conversations of a user: what it sends is counted over all of it."""
    c = t.grant.c
    other = sa.or_(c.address.startswith(AGENT_GRANT), c.address.startswith(SESSION_GRANT))
    mine = sa.select(t.grant).where(c.user_id == user_id, c.agent_id == agent_id, other).order_by(c.n)
    return [_grant_of(row) for row in tx.rows(mine.with_for_update(key_share=True) if tx.postgres else mine)]


def stop_grant(tx: Tx, grant_id: str, *, told_at: datetime, paused_until: datetime | None) -> None:
    """Note that a loop brake stopped a locked grant."""
    values = {"told_at": told_at} if paused_until is None else {"told_at": told_at, "paused_until": paused_until}
    tx.run(sa.update(t.grant).where(t.grant.c.id == grant_id).values(**values))


def remove_grants_to(tx: Tx, address: str, *, user_id: str | None = None) -> None:
    """Remove the grants that lead to an agent or conversation which is gone: another may get its name."""
    c = t.grant.c
    tx.run(sa.delete(t.grant).where(c.address == address, *([] if user_id is None else [c.user_id == user_id])))


def granted(tx: Tx, *, user_id: str, agent_id: str, address: str) -> bool:
    """Say whether an agent may write to an address besides its session's own."""
    if not is_place(address):
        return False
    return find_grant(tx, user_id=user_id, agent_id=agent_id, address=address) is not None


def granted_users(tx: Tx, address: str) -> set[str]:
    """Name the users to whom an address was granted."""
    return {user_id for (user_id,) in tx.rows(sa.select(t.grant.c.user_id).where(t.grant.c.address == address))}


def granted_to_any(tx: Tx, *, user_id: str, address: str) -> bool:
    """Say whether any agent may write to an address for a user by a grant."""
    c = t.grant.c
    return bool(tx.rows(sa.select(c.n).where(c.user_id == user_id, c.address == address).limit(1)))


def audit(tx: Tx, *, user_id: str, action: str, object_id: str, detail: Mapping[str, object]) -> None:
    """Write down what an admin did to somebody else's things."""
    tx.run(
        sa.insert(t.audit).values(at=tx.now(), user_id=user_id, action=action, object_id=object_id, detail=dict(detail))
    )
