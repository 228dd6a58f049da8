"""Sign-in links: the code stands in the fragment, so that link previews cannot use it up."""

from homing.model.people import OWNER, Caller
from homing.operations.desk import Desk
from homing.operations.people import create_code
from homing.wiring import Homing


def sign_in_link(homing: Homing, base: str) -> str:
    """Make a fresh sign-in link for the owner: ten minutes, once."""
    owner = Caller(user_id=OWNER, role="admin", door="cli")
    code = homing.store.write_now(lambda tx: create_code(Desk(tx=tx, caller=owner, house=homing.house)))
    return f"{base}/sign-in#code={code}"
