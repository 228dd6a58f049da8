"""Oneself: name and zone, tokens, signing in and out; and which agents there are."""

from dataclasses import dataclass
from datetime import timedelta

from pydantic import SecretStr

from homing.model.errors import Forbidden, Invalid, NotFound, Unauthenticated
from homing.model.ids import is_id, new_secret
from homing.model.people import Caller, Door
from homing.model.schedules import check_zone
from homing.operations.desk import Desk
from homing.operations.instants import read_future
from homing.operations.shapes.base import Listing, Nothing, utc
from homing.operations.shapes.people_asks import (
    AgentShape,
    CreateToken,
    Gone,
    MeShape,
    NewTokenShape,
    SignedInShape,
    SignedOutShape,
    SignIn,
    SignOut,
    TokenRef,
    TokenShape,
    UpdateMe,
)
from homing.store import Tx, people
from homing.store.people import Token

CODE_FOR = timedelta(minutes=10)
COOKIE_FOR = timedelta(days=30)
_ROLLS_AFTER = timedelta(days=1)


def get_me(desk: Desk, ask: Nothing) -> MeShape:
    """Tell who is asking."""
    user = people.get_user(desk.tx, desk.caller.user_id)
    if user is None:
        raise NotFound("Your user is gone.")
    return MeShape(user_id=user.id, name=user.name, role=desk.caller.role, timezone=user.timezone)


def update_me(desk: Desk, ask: UpdateMe) -> MeShape:
    """Change one's name or zone."""
    values: dict[str, object] = {}
    if ask.gave("name"):
        values["name"] = ask.name or desk.caller.user_id
    if ask.gave("timezone"):
        values["timezone"] = check_zone(ask.timezone) if ask.timezone else None
    if values:
        people.change_user(desk.tx, desk.caller.user_id, values)
        desk.tx.ring(f"user:{desk.caller.user_id}")
    return get_me(desk, Nothing())


def list_agents(desk: Desk, ask: Nothing) -> Listing[AgentShape]:
    """List the agents there are."""
    found = people.list_agents(desk.tx)
    return Listing(items=[AgentShape(id=a.id, name=a.name, model=a.model or desk.house.model) for a in found])


def list_tokens(desk: Desk, ask: Nothing) -> Listing[TokenShape]:
    """List one's own tokens; their text is never shown again."""
    return Listing(items=[_token_shape(token) for token in people.list_tokens(desk.tx, desk.caller.user_id)])


def create_token(desk: Desk, ask: CreateToken) -> NewTokenShape:
    """Make a token. Another user, or the role admin, takes an admin; a new user is made with it."""
    user_id = ask.user or desk.caller.user_id
    role = ask.role or "user"
    if (user_id != desk.caller.user_id or role == "admin") and not desk.caller.admin:
        raise Forbidden("Only an admin may make tokens for other users, or with the role admin.")
    if not is_id(user_id):
        raise Invalid("A user's name has letters, digits, _ and - only.", field="user", code="out_of_range")
    expires_at = None
    if ask.expires is not None:
        expires_at = read_future(ask.expires, field="expires", now=desk.now, tz=desk.zone(), day_ends=True)
    people.add_user(desk.tx, user_id, role=role)
    secret = new_secret("hom_")
    token = people.add_token(desk.tx, user_id=user_id, role=role, kind="token", secret=secret, expires_at=expires_at)
    return NewTokenShape(id=token.id, token=secret, user_id=user_id, role=role, expires_at=utc(token.expires_at))


def revoke_token(desk: Desk, ask: TokenRef) -> Gone:
    """Make a token worthless; an admin may do so with anybody's."""
    owner = None if desk.caller.admin else desk.caller.user_id
    if not people.revoke_token(desk.tx, ask.token_id, user_id=owner):
        raise NotFound(f"There is no token {ask.token_id}. List yours with list_tokens.")
    return Gone(id=ask.token_id)


def create_code(desk: Desk, *, made_from: str | None = None) -> str:
    """Make a code that signs the caller in once, within ten minutes: for `homing open`. It ends with its token."""
    secret = new_secret()
    people.add_token(
        desk.tx,
        user_id=desk.caller.user_id,
        role=desk.caller.role,
        kind="code",
        secret=secret,
        expires_at=desk.now + CODE_FOR,
        made_from=made_from,
    )
    return secret


def sign_in(desk: Desk, ask: SignIn) -> SignedInShape:
    """Give a cookie for a one-time code or a token. Nobody need be known to ask this."""
    if (ask.code is None) == (ask.token is None):
        raise Invalid("Give a code or a token.", field="code", code="missing")
    if ask.code is not None:
        proof = people.spend_code(desk.tx, ask.code)
    else:
        proof = people.find_token(desk.tx, ask.token or "")
        proof = proof if proof is not None and proof.kind == "token" else None
    if proof is None:
        raise Unauthenticated("This code or token is not valid (any more). Get a fresh link with `homing open`.")
    secret = new_secret()
    until = desk.now + COOKIE_FOR
    if proof.kind == "token" and proof.expires_at is not None:
        # A token that ends must not live on as a cookie.
        until = min(until, proof.expires_at)
    cookie = people.add_token(
        desk.tx,
        user_id=proof.user_id,
        role=proof.role,
        kind="cookie",
        secret=secret,
        expires_at=until,
        made_from=proof.id if proof.kind == "token" else proof.made_from,
    )
    return SignedInShape(
        user_id=proof.user_id,
        role=proof.role,
        expires_at=str(utc(cookie.expires_at)),
        cookie=SecretStr(secret),
    )


def sign_out(desk: Desk, ask: SignOut) -> SignedOutShape:
    """Make a cookie worthless."""
    known = people.find_token(desk.tx, ask.cookie)
    if known is not None and known.kind == "cookie":
        people.revoke_secret(desk.tx, ask.cookie)
    return SignedOutShape()


@dataclass(frozen=True, kw_only=True)
class Known:
    """A caller whose secret was recognised."""

    caller: Caller
    token: Token

    def wants_prolonging(self, tx: Tx) -> bool:
        """Say whether a cookie is to be kept alive: it rolls once a day, unless a token's end cut it."""
        ends = self.token.expires_at
        if self.token.kind != "cookie" or ends is None or ends - self.token.created_at < COOKIE_FOR:
            return False
        return ends - tx.now() < COOKIE_FOR - _ROLLS_AFTER


def recognise(tx: Tx, secret: str, door: Door) -> Known | None:
    """Tell who holds a token or a cookie."""
    token = people.find_token(tx, secret)
    if token is None or token.kind == "code":
        return None
    return Known(caller=Caller(user_id=token.user_id, role=token.role, door=door), token=token)


def prolong(tx: Tx, known: Known) -> None:
    """Keep a cookie alive for another thirty days."""
    people.prolong_token(tx, known.token.id, tx.now() + COOKIE_FOR)


def _token_shape(token: Token) -> TokenShape:
    return TokenShape(
        id=token.id,
        user_id=token.user_id,
        role=token.role,
        created_at=str(utc(token.created_at)),
        expires_at=utc(token.expires_at),
    )
