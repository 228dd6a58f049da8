"""An instance opened for a command or a server: wired, its database up to date; its owner's token and sign-in links."""

import socket
from collections.abc import Callable

from homing.cli.home import home_id, home_lock, owner_token, replace_token
from homing.cli.problems import Problem, failed
from homing.client.home import known_token
from homing.model.people import OWNER, Caller, Door
from homing.operations.context import Context
from homing.operations.people import create_code, recognise
from homing.settings import Settings
from homing.store import Tx, people
from homing.store.people import FROM_ENVIRONMENT, Token
from homing.wiring import Homing, prepare, wire


def open_instance(settings: Settings) -> Homing:
    """Wire a Homing and bring its database up to date."""
    homing = wire(settings)
    prepare(homing)
    return homing


def admit_owner(homing: Homing) -> None:
    """Let the owner in by this home's token, for a server; the token that the home had before ends.

    One that was revoked stays refused: `sign_in_link` says so.
    """
    settings = homing.settings
    with home_lock(settings) as home:
        secret, name = owner_token(settings), _source(settings)
        homing.store.write_now(lambda tx: people.set_owner_token(tx, secret, home=home, name=name))


def rotate_owner(homing: Homing) -> tuple[Token, int]:
    """Give this home a new owner's token; tell it, and how many tokens and browsers ended with the old one.

    The file comes first: after a kill in between, the next start lets the new token in and ends the old one.
    """
    settings = homing.settings
    with home_lock(settings) as home:
        before, fresh, name = known_token(settings), replace_token(settings), _source(settings)
        return homing.store.write_now(lambda tx: _replace_owner(tx, before=before, fresh=fresh, home=home, name=name))


def _replace_owner(tx: Tx, *, before: str | None, fresh: str, home: str, name: str) -> tuple[Token, int]:
    # The file's token, if a server ever let it in; and the home's, should the file have been changed meanwhile.
    old = [people.look_up_secret(tx, before) if before is not None else None, people.owner_token(tx, home)]
    ended = sum(people.revoke_token(tx, token_id) for token_id in {token.id for token in old if token is not None})
    return people.set_owner_token(tx, fresh, home=home, name=name), ended


def caller_here(homing: Homing, door: Door) -> Callable[[Tx], Caller]:
    """Tell who asks on the database itself: the bearer of the token that commands send, else the owner of this home."""
    settings = homing.settings
    secret, home = known_token(settings), home_id(settings)

    def find(tx: Tx) -> Caller:
        known = people.look_up_secret(tx, secret) if secret is not None else None
        if secret is not None and known is not None:
            bearer = recognise(tx, secret, door)
            if bearer is None:
                raise token_refused(settings, known)
            return bearer.caller
        owner = people.owner_token(tx, home)
        return Caller(
            user_id=OWNER, role="admin", door=door, token_id=owner.id if owner is not None else None, approve=True
        )

    return find


def sign_in_link(homing: Homing, base: str) -> str:
    """Make a fresh sign-in link for the owner: ten minutes, once. It ends with the owner's token of this home.

    The code stands in the fragment, so that link previews cannot use it up.
    """
    settings = homing.settings
    secret, home = known_token(settings), home_id(settings)

    def create(tx: Tx) -> str:
        known = people.look_up_secret(tx, secret) if secret is not None else None
        if known is not None and not known.is_alive(tx.now()):
            raise token_refused(settings, known)
        # A server elsewhere may have let in the token that this home shares with it.
        token = people.owner_token(tx, home) or (known if known is not None and known.owner is not None else None)
        if token is None:
            raise failed("This home has no owner's token yet.", hint="Start the server here: `homing up`.")
        owner = Caller(user_id=OWNER, role="admin", door="cli", token_id=token.id, approve=token.approve)
        return create_code(Context(tx=tx, caller=owner, instance=homing.instance), made_from=token.id)

    return f"{base}/sign-in#code={homing.store.write_now(create)}"


def token_refused(settings: Settings, token: Token) -> Problem:
    """Say that this home's token is no longer valid, and what to do."""
    when = token.revoked_at or token.expires_at
    ended = f"{'was revoked' if token.revoked_at else 'ended'}{f' on {when:%Y-%m-%d %H:%M} UTC' if when else ''}"
    if settings.token:
        return failed(
            f"The token in HOMING_TOKEN {ended}, and stays refused.",
            code="unauthenticated",
            hint="Set HOMING_TOKEN to a new long random text (or unset it), and start the server again.",
        )
    return failed(
        f"The owner's token of this home ({settings.token_file}) {ended}, and stays refused.",
        code="unauthenticated",
        hint="Make a new one: `homing tokens rotate`.",
    )


def _source(settings: Settings) -> str:
    return FROM_ENVIRONMENT if settings.token else f"token file on {socket.gethostname()}"


UNMARKED_FIX = "See `homing tokens list`, and end those you do not use with `homing tokens revoke ID`."


def unmarked_words(count: int) -> str:
    """Say that an earlier Homing left admin tokens that still work."""
    tokens = "1 admin token without a name is" if count == 1 else f"{count} admin tokens without a name are"
    return f"{tokens} left from earlier starts, and still valid."
