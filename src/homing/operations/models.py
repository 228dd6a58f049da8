"""Which model a caller may name: one that this server can use; without the role admin, one that is in use already."""

from homing.model.errors import Forbidden, UnknownModel
from homing.operations.context import Context
from homing.store import agents

OFFLINE = "offline"


def check_model(ctx: Context, name: str | None, *, before: str | None = None, field: str = "payload.model") -> None:
    """Refuse a model that cannot be asked here, or that is not the caller's to choose. One that stays is not judged."""
    if name is None or name == before:
        return
    why = why_unusable(ctx, name)
    if why is not None:
        raise UnknownModel(why, field=field, code="unknown_model")
    if ctx.caller.admin:
        return
    # A model's price is the server's: neither a user nor what a model wrote chooses a dearer one.
    free = sorted({OFFLINE, ctx.instance.model, *(agent.model for agent in agents.listed(ctx.tx) if agent.model)})
    if name not in free:
        raise Forbidden(f"Only an admin may choose the model {name}. You may use: {', '.join(free)}.")


def why_unusable(ctx: Context, name: str) -> str | None:
    """Say why a model cannot be asked from here; None when it can."""
    return None if name in (OFFLINE, ctx.instance.model) else ctx.instance.why_unusable(name)
