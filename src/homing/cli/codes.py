"""Sign-in links: the code stands in the fragment, so that link previews cannot use it up."""

from homing.cli.home import home_id
from homing.cli.house import token_refused
from homing.cli.problems import failed
from homing.client.home import known_token
from homing.model.people import OWNER, Caller
from homing.operations.context import Context
from homing.operations.people import create_code
from homing.store import Tx, people
from homing.wiring import Homing


def sign_in_link(homing: Homing, base: str) -> str:
    """Make a fresh sign-in link for the owner: ten minutes, once. It ends with the owner's token of this home."""
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
