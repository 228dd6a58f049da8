"""Oneself: name and zone, tokens, signing in and out."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import SecretStr

from homing.model.errors import Forbidden, Invalid, NotFound, Unauthenticated
from homing.model.hours import read_hours
from homing.model.ids import is_id, new_secret
from homing.model.people import Caller, Door
from homing.model.schedules import check_zone
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.homes import find_home
from homing.operations.instants import read_future
from homing.operations.shapes.base import Listing, Nothing, utc
from homing.operations.shapes.people_asks import (
    CreateToken,
    Gone,
    ListTokens,
    MeShape,
    NewTokenShape,
    SignedInShape,
    SignedOutShape,
    SignIn,
    SignOut,
    TokenRef,
    TokenShape,
    UpdateMe,
    UserShape,
)
from homing.store import Tx, people
from homing.store.people import Token

CODE_FOR = timedelta(minutes=10)
COOKIE_FOR = timedelta(days=30)
_ROLLS_AFTER = timedelta(days=1)
_TOUCHED_AFTER = timedelta(minutes=1)
TOKENS = "tokens"
"""Rung when a proof has ended: each stream checks its own. It does not say whose, because there may be several."""


def get_me(ctx: Context, ask: Nothing) -> MeShape:
    """Show who the caller is."""
    user = people.get_user(ctx.tx, ctx.caller.user_id)
    if user is None:
        raise NotFound("Your user is gone.")
    home = find_home(ctx.tx, user)
    return MeShape.of(
        user,
        user_id=user.id,
        role=ctx.caller.role,
        approve=ctx.caller.approve,
        home=home.key if home else None,
    )


def update_me(ctx: Context, ask: UpdateMe) -> MeShape:
    """Change your name, time zone, quiet hours or home, which is the conversation for what belongs to no other."""
    values: dict[str, object] = {}
    if ask.gave("name"):
        values["name"] = ask.name or ctx.caller.user_id
    if ask.gave("timezone"):
        values["timezone"] = check_zone(ask.timezone) if ask.timezone else None
    if ask.gave("quiet_hours"):
        values["quiet_hours"] = _quiet_hours(ask.quiet_hours)
    if ask.gave("home"):
        values["home_id"] = _direct(ctx, ask.home).id if ask.home is not None else None
    if values:
        people.change_user(ctx.tx, ctx.caller.user_id, values)
        ctx.tx.ring(f"user:{ctx.caller.user_id}")
    return get_me(ctx, Nothing())


def _quiet_hours(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        begin, end = read_hours(text)
    except ValueError as error:
        raise Invalid(f"Quiet hours {error}.".replace("08:00-22:00", "22:00-07:00"), field="quiet_hours") from None
    return f"{begin:%H:%M}-{end:%H:%M}"


def _direct(ctx: Context, key: str) -> Session:
    session = ctx.session(key)
    if session.parent_id is not None or session.channel == "cron":
        raise Invalid("Home is a conversation, and this is a run's own.", field="home", code="out_of_range")
    if session.several:
        raise Invalid(
            "Other people write there. Home must be a conversation of your own.", field="home", code="out_of_range"
        )
    return session


def list_users(ctx: Context, ask: Nothing) -> Listing[UserShape]:
    """List all users (admins only); list_tokens lists the tokens of each."""
    return Listing(
        items=[
            UserShape.of(one.user, user_id=one.user.id, tokens=one.tokens, last_used_at=utc(one.last_used_at))
            for one in people.list_users(ctx.tx)
        ]
    )


def list_tokens(ctx: Context, ask: ListTokens) -> Listing[TokenShape]:
    """List your tokens, or as an admin another user's; the secrets are never shown again."""
    user_id = ask.user or ctx.caller.user_id
    if user_id != ctx.caller.user_id:
        ctx.admin()
        if people.get_user(ctx.tx, user_id) is None:
            raise NotFound(f"There is no user {user_id}. List them with list_users.")
    return Listing(
        items=[TokenShape.of(token, owner=token.owner is not None) for token in people.list_tokens(ctx.tx, user_id)]
    )


def create_token(ctx: Context, ask: CreateToken) -> NewTokenShape:
    """Make a token. Only an admin can make one for another user, who may be new, or with the role admin.

    It ends with the token it was made with, at the latest.
    """
    user_id = ask.user or ctx.caller.user_id
    role = ask.role or "user"
    if (user_id != ctx.caller.user_id or role == "admin") and not ctx.caller.admin:
        raise Forbidden("Only an admin may make tokens for other users, or with the role admin.")
    if ask.approve and not ctx.caller.approve:
        raise Forbidden("Only a token that may answer approvals can make another one that may.")
    if not is_id(user_id):
        raise Invalid("A user's name has letters, digits, _ and - only.", field="user", code="out_of_range")
    parent = _parent(ctx)
    expires_at = parent.expires_at if parent is not None else None
    if ask.expires is not None:
        asked = read_future(
            ask.expires, field="expires", now=ctx.now, tz=ctx.zone(), hours=ctx.settings.named_hours, day_ends=True
        )
        expires_at = asked if expires_at is None else min(asked, expires_at)
    people.add_user(ctx.tx, user_id, role=role)
    secret = new_secret("hom_")
    token = people.add_token(
        ctx.tx,
        user_id=user_id,
        role=role,
        kind="token",
        secret=secret,
        expires_at=expires_at,
        made_from=parent.id if parent is not None else None,
        name=ask.name,
        approve=ask.approve,
    )
    if user_id != ctx.caller.user_id:
        _audit(ctx, "create_token", token)
    return NewTokenShape.of(token, token=secret)


def _parent(ctx: Context) -> Token | None:
    """Hold the token that a new one is to end with: the caller's, or the one that their cookie goes back to."""
    if ctx.caller.token_id is None:
        return None
    proof = people.get_token(ctx.tx, ctx.caller.token_id)
    if proof is not None and proof.kind != "token" and proof.made_from is None:
        # A cookie of 0.1.0 knows no token.
        return None
    held = (
        None
        if proof is None
        else people.hold_token(ctx.tx, proof.id if proof.kind == "token" else proof.made_from or "")
    )
    if held is None:
        raise Unauthenticated("The token this was asked with has ended meanwhile.")
    return held


def revoke_token(ctx: Context, ask: TokenRef) -> Gone:
    """Revoke a token and everything made with it; an admin may revoke anyone's."""
    token = people.get_token(ctx.tx, ask.token_id)
    mine = token is not None and (ctx.caller.admin or token.user_id == ctx.caller.user_id)
    if token is None or not mine or token.kind != "token" or token.revoked_at is not None:
        raise NotFound(f"There is no token {ask.token_id}. List yours with list_tokens.")
    if token.role == "admin" and not ctx.caller.admin:
        raise Forbidden("Only an admin's token, or a page signed in as admin, may revoke a token with the role admin.")
    people.revoke_token(ctx.tx, token.id)
    if token.user_id != ctx.caller.user_id:
        _audit(ctx, "revoke_token", token)
    ctx.tx.ring(TOKENS)
    return Gone(id=token.id)


def _audit(ctx: Context, action: str, token: Token) -> None:
    detail = {"owner": token.user_id, "role": token.role, "name": token.name}
    people.audit(ctx.tx, user_id=ctx.caller.user_id, action=action, object_id=token.id, detail=detail)


def create_code(ctx: Context, *, made_from: str | None = None) -> str:
    """Make a code that signs the caller in once, within ten minutes: for `homing open`. It ends with its token."""
    secret = new_secret()
    people.add_token(
        ctx.tx,
        user_id=ctx.caller.user_id,
        role=ctx.caller.role,
        kind="code",
        secret=secret,
        expires_at=ctx.now + CODE_FOR,
        made_from=made_from,
        approve=ctx.caller.approve,
    )
    return secret


def sign_in(ctx: Context, ask: SignIn) -> SignedInShape:
    """Exchange a one-time code or a token for a cookie."""
    if (ask.code is None) == (ask.token is None):
        raise Invalid("Give a code or a token.", field="code", code="missing")
    if ask.code is not None:
        proof = people.spend_code(ctx.tx, ask.code)
    else:
        proof = people.find_token(ctx.tx, ask.token or "")
        proof = proof if proof is not None and proof.kind == "token" else None
    if proof is None:
        raise _not_valid()
    root_id = proof.id if proof.kind == "token" else proof.made_from
    root = None if root_id is None else people.hold_token(ctx.tx, root_id)
    if root is None and root_id is not None:
        raise _not_valid()
    secret, key = new_secret(), new_secret()
    cookie = people.add_token(
        ctx.tx,
        user_id=proof.user_id,
        role=proof.role,
        kind="cookie",
        secret=page_secret(secret, key),
        # A token that ends must not live on as a cookie.
        expires_at=_until(ctx.now + COOKIE_FOR, root),
        made_from=root_id,
        approve=proof.approve,
    )
    return SignedInShape(
        user_id=proof.user_id,
        role=proof.role,
        expires_at=str(utc(cookie.expires_at)),
        cookie=SecretStr(secret),
        key=key,
    )


def page_secret(cookie: str, key: str) -> str:
    """Join the two halves of a page's proof: browsers send the cookie to every port of its host, the key to none."""
    return f"{cookie}.{key}"


def _not_valid() -> Unauthenticated:
    return Unauthenticated("This code or token has expired or isn't valid. Get a fresh link with `homing open`.")


def _until(instant: datetime, root: Token | None) -> datetime:
    return instant if root is None or root.expires_at is None else min(instant, root.expires_at)


def sign_out(ctx: Context, ask: SignOut) -> SignedOutShape:
    """Sign out: end the cookie."""
    secret = page_secret(ask.cookie, ask.key)
    known = people.find_token(ctx.tx, secret)
    if known is not None and known.kind == "cookie":
        people.revoke_secret(ctx.tx, secret)
        ctx.tx.ring(TOKENS)
    return SignedOutShape()


@dataclass(frozen=True, kw_only=True)
class Known:
    """A caller whose secret was recognised."""

    caller: Caller
    token: Token

    def wants_prolonging(self, tx: Tx) -> bool:
        """Say whether a cookie is to be kept alive: it rolls once a day, until the token that it goes back to ends."""
        ends = self.token.expires_at
        if self.token.kind != "cookie" or ends is None or ends - tx.now() >= COOKIE_FOR - _ROLLS_AFTER:
            return False
        return _rolled(tx, self.token) > ends

    def wants_touching(self, tx: Tx) -> bool:
        """Say whether the last use is to be written down: once a minute is enough."""
        last = self.token.last_used_at
        return last is None or tx.now() - last >= _TOUCHED_AFTER


def recognise(tx: Tx, secret: str, door: Door) -> Known | None:
    """Tell who holds a token or a cookie."""
    token = people.find_token(tx, secret)
    if token is None or token.kind == "code":
        return None
    caller = Caller(user_id=token.user_id, role=token.role, door=door, token_id=token.id, approve=token.approve)
    return Known(caller=caller, token=token)


def prolong(tx: Tx, known: Known) -> datetime:
    """Keep a cookie alive for another thirty days, or as long as its token lives; say until when."""
    until = _rolled(tx, known.token)
    people.prolong_token(tx, known.token.id, until)
    return until


def _rolled(tx: Tx, cookie: Token) -> datetime:
    root = people.get_token(tx, cookie.made_from) if cookie.made_from is not None else None
    return _until(tx.now() + COOKIE_FOR, root)
