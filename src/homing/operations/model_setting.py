"""The model of this server: read, tried, chosen. The row is written after the key's file, and names it."""

from dataclasses import dataclass

from homing.model.errors import Conflict, Invalid, UnknownModel
from homing.model.model_setting import OFFLINE, ModelSetting, check_base_url, new_setting, provider_of
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.operations.models import server_model, why_failing
from homing.operations.shapes.base import Nothing
from homing.operations.shapes.model_setting import (
    AgentModel,
    ChosenModel,
    FoundModel,
    ListModels,
    ModelSettingShape,
    ModelsShape,
    OwnModels,
    ProviderShape,
    SetModel,
)
from homing.operations.workers import works_apart
from homing.store import agents, maintenance, people, stats

_APART = (
    "An engine of this Homing runs with another home, so a key that is kept here would not reach it. Set HOMING_MODEL"
    " and the provider's key, such as OPENAI_API_KEY (and OPENAI_BASE_URL for another address), where `homing work`"
    " runs, and start it again."
)


@dataclass(frozen=True, kw_only=True)
class TriedModel:
    """A model that answered, and the file that its key was written to."""

    model: str | None
    base_url: str | None = None
    secret: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    model: str
    base_url: str | None
    key: str | None
    """A new key."""
    kept: ModelSetting | None
    """Whose key goes on being used."""


def get_model(ctx: Context, ask: Nothing) -> ModelSettingShape:
    """Show which model this server uses, and why (admins only)."""
    return _show(ctx)


async def prepare_set_model(desk: Desk, ask: SetModel) -> TriedModel:
    """Ask the model something small; only after it answered is its key written."""
    if ask.model is None or ask.model == OFFLINE:
        if ask.key or ask.base_url:
            raise Invalid("Without a model there is nothing to keep a key for.", field="model", code="missing")
        await desk.read(_check_home)
        return TriedModel(model=ask.model)
    wanted, now = await desk.read(lambda ctx: _wanted(ctx, ask))
    warnings = await desk.hands.try_model(
        wanted.model, base_url=wanted.base_url, key=wanted.key, kept=wanted.kept, now_in_use=now
    )
    secret = wanted.kept.secret if wanted.kept is not None else None
    if wanted.key is not None:
        secret = await desk.hands.keep_model_key(wanted.key)
    return TriedModel(model=wanted.model, base_url=wanted.base_url, secret=secret, warnings=warnings)


def set_model(ctx: Context, ask: SetModel, tried: TriedModel) -> ModelSettingShape:
    """Choose the model of this server (admins only): it is asked once before it is kept, and counts from the next turn.

    Null goes back to what the environment says.
    """
    _check_home(ctx)
    user = people.get_user(ctx.tx, ctx.caller.user_id)
    by = (user.name if user else None) or ctx.caller.user_id
    setting = None
    if tried.model is not None:
        _check_kept(ctx, ask, tried)
        setting = new_setting(tried.model, base_url=tried.base_url, secret=tried.secret, set_by=by, set_at=ctx.now)
    maintenance.keep_model_setting(ctx.tx, setting)
    detail = {"model": tried.model, "base_url": tried.base_url, "key": tried.secret is not None}
    people.audit(ctx.tx, user_id=ctx.caller.user_id, action="set_model", object_id="model", detail=detail)
    return _show(ctx, tried.warnings)


async def list_models(desk: Desk, ask: ListModels) -> ModelsShape:
    """List models that can be chosen: of servers on this machine, and of one that is named (admins only)."""
    base_url = check_base_url(ask.base_url) if ask.base_url else None
    chosen = await desk.read(lambda ctx: maintenance.model_setting(ctx.tx))
    kept = chosen if chosen is not None and chosen.base_url == base_url else None
    found = await desk.hands.find_models(base_url, kept=kept)
    providers = [
        ProviderShape.of(one, has_key=one.has_key or (chosen is not None and chosen.serves(one.model)))
        for one in found.providers
    ]
    return ModelsShape(
        items=[FoundModel.of(one) for one in found.models],
        providers=providers,
        suggested_url=found.suggested_url,
        note=found.note,
    )


def _wanted(ctx: Context, ask: SetModel) -> tuple[_Wanted, str]:
    """Say what is to be tried, or refuse what can never be asked."""
    _check_home(ctx)
    assert ask.model is not None
    model = ask.model.strip()
    base_url = check_base_url(ask.base_url) if ask.base_url else None
    key = _checked_key(ask.key)
    chosen = maintenance.model_setting(ctx.tx)
    now = server_model(ctx.instance, chosen).name
    if ctx.settings.budget_usd_per_day and not ctx.instance.has_price(model):
        raise Invalid(
            f"The price of the model {model:.80} is not known, so HOMING_BUDGET_USD_PER_DAY could not be kept. Choose a"
            " model with a known price, or leave the budget out.",
            field="model",
            code="price_unknown",
        )
    kept = chosen if chosen is not None and not ask.gave("key") and _fits(chosen, model, base_url) else None
    moved = chosen is not None and chosen.secret is not None and chosen.provider == provider_of(model)
    if moved and kept is None and not ask.gave("key") and chosen is not None:
        raise Invalid(
            f"The key that is kept was given for {chosen.base_url or 'the provider itself'}. Give the key again for"
            f" {base_url or 'the provider itself'}, or an empty one if it needs none.",
            field="key",
            code="missing",
        )
    if key is None and kept is None and base_url is None and (why := ctx.instance.why_unusable(model)) is not None:
        if ctx.instance.needs_key(model):
            raise Invalid(f"{why} Or give its key.", field="key", code="missing")
        raise UnknownModel(why, field="model", code="unknown_model")
    return _Wanted(model=model, base_url=base_url, key=key, kept=kept), now


def _checked_key(given: str | None) -> str | None:
    key = (given or "").strip()
    if not all("!" <= char <= "~" for char in key):
        raise Invalid("A key has no spaces and no special characters. Copy it again.", field="key", code="wrong_type")
    return key or None


def _fits(chosen: ModelSetting, model: str, base_url: str | None) -> bool:
    return chosen.provider == provider_of(model) and chosen.base_url == base_url


def _check_home(ctx: Context) -> None:
    if (why := _why_apart(ctx)) is not None:
        raise Conflict(why)


def _why_apart(ctx: Context) -> str | None:
    return _APART if works_apart(ctx.tx, ctx.settings.home) else None


def _check_kept(ctx: Context, ask: SetModel, tried: TriedModel) -> None:
    """A kept key that was tried may be another's by now: then its file is about to go."""
    if tried.secret is None or ask.key:
        return
    chosen = maintenance.model_setting(ctx.tx)
    if chosen is None or chosen.secret != tried.secret:
        raise Conflict("Somebody else chose a model meanwhile. Look again, then repeat the change.")


def _show(ctx: Context, warnings: tuple[str, ...] = ()) -> ModelSettingShape:
    chosen = maintenance.model_setting(ctx.tx)
    model = server_model(ctx.instance, chosen)
    own = [agent for agent in agents.listed(ctx.tx) if agent.model]
    sessions, jobs = stats.with_own_model(ctx.tx)
    return ModelSettingShape(
        model=model.name,
        offline=model.offline,
        why=model.why,
        source=model.source,
        problem=why_failing(ctx.instance, chosen),
        chosen=None if chosen is None else ChosenModel.of(chosen, has_key=chosen.secret is not None),
        own_models=OwnModels(
            agents=[AgentModel.of(agent) for agent in own],
            sessions=sessions,
            jobs=jobs,
        ),
        cannot_set=_why_apart(ctx),
        warnings=list(warnings),
    )
