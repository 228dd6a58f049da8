"""Sign-in links: the code stands in the fragment, so that link previews cannot use it up."""

from homing.cli.home import owner_token
from homing.model.people import OWNER, Caller
from homing.operations.desk import Desk
from homing.operations.people import create_code
from homing.store import Tx, people
from homing.wiring import Homing


def sign_in_link(homing: Homing, base: str) -> str:
    """Make a fresh sign-in link for the owner: ten minutes, once."""
    owner = Caller(user_id=OWNER, role="admin", door="cli")
    secret = owner_token(homing.settings)

    def create(tx: Tx) -> str:
        token = people.find_token(tx, secret)
        # Revoking the owner's token ends every browser that came in by a link.
        return create_code(Desk(tx=tx, caller=owner, house=homing.house), made_from=token.id if token else None)

    return f"{base}/sign-in#code={homing.store.write_now(create)}"
