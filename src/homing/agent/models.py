"""Which model answers: names to Pydantic AI models, each made once.

Every process that is wired has one of these, and few of them ever ask a model: the library and each SDK are loaded when
they are needed, and not before.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from homing.agent.choice import OFFLINE, Choice, choose
from homing.agent.journal import Ask
from homing.model.errors import Invalid, ModelFailed
from homing.model.job_fields import THINKING_LEVELS

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.settings import ModelSettings, ThinkingLevel

__all__ = ["OFFLINE", "Choice", "Models", "choose", "read_thinking"]

# A model may think for minutes before it says a word; the turn's own ceiling ends what takes longer.
_SECONDS = {"connect": 10, "read": 300, "write": 60, "pool": 10}
THINKING = cast("Mapping[str, ThinkingLevel]", {level: level for level in THINKING_LEVELS} | {"off": False, "on": True})


@dataclass(kw_only=True)
class Models:
    """The models of this process. `extra` names models of your own, for tests and for providers we do not know."""

    extra: "Mapping[str, Model]" = field(default_factory=dict[str, "Model"])
    _made: "dict[str, Model]" = field(default_factory=dict[str, "Model"], init=False)
    _making: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def for_ask(self, ask: Ask) -> "Model":
        """Give the model a turn asks for; the offline one is told what it may know besides the text."""
        if ask.model == OFFLINE and OFFLINE not in self.extra:
            from homing.agent.offline import offline_model  # noqa: PLC0415 - see above

            return offline_model(prompt=ask.prompt, facts=ask.facts)
        return await self.get(ask.model)

    async def get(self, name: str) -> "Model":
        """Give the model of that name, or raise a permanent `ModelFailed` that says what is missing."""
        if name in self.extra:
            return self.extra[name]
        if name in self._made:
            return self._made[name]
        async with self._making:
            if name not in self._made:
                # An SDK takes a second to import: not on the loop's time.
                model = await asyncio.to_thread(_make, name)
                self._made[name] = await model.__aenter__()
            return self._made[name]

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


def _make(name: str) -> "Model":
    from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - see above
    from pydantic_ai.models import infer_model  # noqa: PLC0415 - see above

    try:
        return infer_model(name)
    except (UserError, ImportError, ValueError) as error:
        # Only the reason: further lines advertise what the library can do, not what we can.
        reason = str(error).partition("\n")[0]
        raise ModelFailed(f"The model {name!r} cannot be used: {reason}", permanent=True) from error
