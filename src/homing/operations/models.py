"""Which model answers, and which one a caller may name.

One precedence: the automation's, else the conversation's, else the agent's, else the server's. The server's is what
HOMING_MODEL says, else what an admin chose, else what was found by its key, else `offline`.
"""

from dataclasses import dataclass
from typing import Literal

from homing.model.agents import Agent
from homing.model.errors import Forbidden, UnknownModel
from homing.model.model_setting import OFFLINE, ModelSetting
from homing.operations.context import Context, Instance
from homing.store import agents, maintenance


@dataclass(frozen=True, kw_only=True)
class ServerModel:
    """The model of agents that have none of their own, and why it is that one."""

    name: str
    offline: bool
    why: str
    source: Literal["setting", "chosen", "found"]


def server_model(instance: Instance, chosen: ModelSetting | None) -> ServerModel:
    """Say which model this server uses; `chosen` is the row of `set_model`."""
    if chosen is None or instance.settings.model:
        wins = f" It wins over {chosen.model}, which {chosen.set_by} chose." if chosen else ""
        return ServerModel(
            name=instance.model,
            offline=instance.model_offline,
            why=instance.model_why + wins,
            source="setting" if instance.settings.model else "found",
        )
    return ServerModel(
        name=chosen.model,
        offline=chosen.model == OFFLINE,
        why=f"{chosen.set_by} chose it; `homing model set` or Settings changes it.",
        source="chosen",
    )


def default_model(instance: Instance, chosen: ModelSetting | None) -> str:
    """Name the model of agents that have none of their own."""
    return server_model(instance, chosen).name


def uses_offline(instance: Instance, agent: Agent) -> bool:
    """Say whether an agent's turns use the model without a key, as agent and server are set now."""
    return server_model(instance, agent.server_model).offline if agent.model is None else agent.model == OFFLINE


def setting_for(instance: Instance, chosen: ModelSetting | None, name: str) -> ModelSetting | None:
    """Give the key and address that a model of that name is asked with; None: what the environment says.

    What works by the environment goes on by it: choosing a model does not move those of agents to its server.
    """
    if chosen is None or not chosen.has_connection:
        return None
    if name == chosen.model and not instance.settings.model:
        return chosen
    return chosen if chosen.serves(name) and instance.why_unusable(name) is not None else None


def why_failing(instance: Instance, chosen: ModelSetting | None) -> str | None:
    """Say why turns with the server's model fail here, as far as that shows without asking it."""
    model = server_model(instance, chosen)
    if model.offline:
        return None
    setting = setting_for(instance, chosen, model.name)
    return instance.why_unusable(model.name) if setting is None else instance.why_no_key(setting)


def check_model(ctx: Context, name: str | None, *, before: str | None = None, field: str = "payload.model") -> None:
    """Refuse a model that cannot be asked here, or that is not the caller's to choose. One that stays is not judged."""
    if name is None or name == before:
        return
    chosen = maintenance.model_setting(ctx.tx)
    why = _why_unusable(ctx, chosen, name)
    if why is not None:
        raise UnknownModel(why, field=field, code="unknown_model")
    if ctx.caller.admin:
        return
    # A model's price is the server's: neither a user nor what a model wrote chooses a dearer one.
    named = {agent.model for agent in agents.listed(ctx.tx) if agent.model}
    free = sorted({OFFLINE, default_model(ctx.instance, chosen), *named})
    if name not in free:
        raise Forbidden(f"Only an admin may choose the model {name}. You may use: {', '.join(free)}.")


def why_unusable(ctx: Context, name: str) -> str | None:
    """Say why a model cannot be asked from here; None when it can."""
    return _why_unusable(ctx, maintenance.model_setting(ctx.tx), name)


def _why_unusable(ctx: Context, chosen: ModelSetting | None, name: str) -> str | None:
    if name in (OFFLINE, default_model(ctx.instance, chosen)) or setting_for(ctx.instance, chosen, name) is not None:
        return None
    return ctx.instance.why_unusable(name)
