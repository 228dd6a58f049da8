"""Which model answers: names to Pydantic AI models, each made once.

Every process that is wired has one of these, and few of them ever ask a model: the library and each SDK are loaded when
they are needed, and not before.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from homing.agent.choice import OFFLINE, Choice, choose
from homing.agent.journal import Ask
from homing.model.errors import Invalid, ModelFailed
from homing.model.job_fields import THINKING_LEVELS
from homing.model.model_setting import ModelSetting

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.providers import Provider
    from pydantic_ai.settings import ModelSettings, ThinkingLevel

__all__ = ["OFFLINE", "Choice", "Models", "choose", "read_thinking"]

# A model may think for minutes before it says a word; the turn's own ceiling ends what takes longer.
NO_KEY = (
    "The key of {model} is not on this machine: there is no file secrets/{file} in Homing's home. Choose the model"
    " again (Settings, or `homing model set`), or copy the file here."
)
_NO_KEY = "no-key"
_SECONDS = {"connect": 10, "read": 300, "write": 60, "pool": 10}
THINKING = cast("Mapping[str, ThinkingLevel]", {level: level for level in THINKING_LEVELS} | {"off": False, "on": True})


@dataclass(kw_only=True)
class Models:
    """The models of this process. `extra` names models of your own, for tests and for providers we do not know."""

    extra: "Mapping[str, Model]" = field(default_factory=dict[str, "Model"])
    read_key: Callable[[str], str | None] = lambda name: None
    """Reads a key by the name of its file."""
    _made: "dict[tuple[str, ModelSetting | None], Model]" = field(
        default_factory=dict["tuple[str, ModelSetting | None]", "Model"], init=False
    )
    _making: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def for_ask(self, ask: Ask) -> "Model":
        """Give the model a turn asks for; the offline one is told what it may know besides the text."""
        if ask.model == OFFLINE and OFFLINE not in self.extra:
            from homing.agent.offline import offline_model  # noqa: PLC0415 - see above

            return offline_model(prompt=ask.prompt, facts=ask.facts)
        return await self.get(ask.model, ask.setting)

    async def load(self, name: str, setting: ModelSetting | None) -> None:
        """Load what a model needs before anybody waits for it; one that cannot be made says so when it is asked."""
        if name == OFFLINE:
            await asyncio.to_thread(import_module, "homing.agent.offline")
            return
        with suppress(ModelFailed):
            await self.get(name, setting)

    async def get(self, name: str, setting: ModelSetting | None = None) -> "Model":
        """Give the model of that name, or raise a permanent `ModelFailed` that says what is missing.

        `setting`: asked with the key and at the address that an admin gave, not with the environment's.
        """
        if name in self.extra:
            return self.extra[name]
        made = name, setting
        if made in self._made:
            return self._made[made]
        async with self._making:
            if made not in self._made:
                # An SDK takes a second to import: not on the loop's time.
                model = await asyncio.to_thread(self._make, name, setting)
                self._made[made] = await model.__aenter__()
            return self._made[made]

    def _make(self, name: str, setting: ModelSetting | None) -> "Model":
        if setting is None:
            return make_model(name, None, None, apart=False)
        key = None
        if setting.secret is not None:
            try:
                key = self.read_key(setting.secret)
            except Invalid as error:
                raise ModelFailed(error.detail, permanent=True) from error
            if key is None:
                raise ModelFailed(NO_KEY.format(model=name, file=setting.secret), permanent=True)
        return make_model(name, setting.base_url, key, apart=True)

    def settings(self, name: str, *, thinking: str | None = None) -> "ModelSettings":
        """Give the settings of a request: how hard to think, and no tries but those that we count."""
        import httpx2  # noqa: PLC0415 - see above
        from pydantic_ai.settings import ModelSettings  # noqa: PLC0415 - see above

        settings = ModelSettings()
        if thinking:
            settings["thinking"] = read_thinking(thinking)
        if name not in self.extra and name != OFFLINE:
            settings |= ModelSettings(max_retries=0, timeout=cast(float, httpx2.Timeout(**_SECONDS)))
        return settings

    def calls_tools(self, name: str) -> bool:
        """Say whether a model can call tools, as far as its profile tells; unknown ones are taken to."""
        if name == OFFLINE and name not in self.extra:
            return True
        profile = self.extra[name].profile if name in self.extra else _profile(name)
        return profile.get("supports_tools", True)

    def has_price(self, name: str) -> bool:
        """Say whether the price list knows a model."""
        from homing.agent.prices import has_price  # noqa: PLC0415 - see above

        return has_price(name)

    async def close(self) -> None:
        """Close every connection."""
        made, self._made = self._made, {}
        for model in made.values():
            await model.__aexit__(None, None, None)


def read_thinking(text: str) -> "ThinkingLevel":
    """Read how hard a model should think."""
    level = THINKING.get(text.strip().lower())
    if level is None:
        known = ", ".join(THINKING)
        raise Invalid(f"Cannot read {text!r} as a thinking level. Use one of: {known}.", field="payload.thinking")
    return level


def _profile(name: str) -> "ModelProfile":
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415 - see above

    provider, _, model = name.partition(":")
    try:
        return infer_provider_class(provider).model_profile(model) or {}
    except (ImportError, ValueError):
        return {}


def make_model(name: str, base_url: str | None, key: str | None, *, apart: bool) -> "Model":
    """Make a model. `apart` from the environment: only this key is sent, and only to this address."""
    from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - see above
    from pydantic_ai.models import infer_model  # noqa: PLC0415 - see above
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415 - see above

    def provider(named: str) -> "Provider[Any]":
        # Without a key of our own the SDK would send the environment's to any address.
        given = {"api_key": key or _NO_KEY} | ({} if base_url is None else {"base_url": base_url})
        return infer_provider_class(named)(**given)

    try:
        return infer_model(name, provider) if apart else infer_model(name)
    except TypeError as error:
        raise ModelFailed(
            f"The model {name!r} cannot be used: its provider takes no key or address of its own.", permanent=True
        ) from error
    except (UserError, ImportError, ValueError) as error:
        # Only the reason: further lines advertise what the library can do, not what we can.
        reason = str(error).partition("\n")[0]
        raise ModelFailed(f"The model {name!r} cannot be used: {reason}", permanent=True) from error
