"""Tries a model before it is chosen, and asks servers which models they have. Neither changes anything."""

import asyncio
import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from homing.agent.choice import ChoosableProvider
from homing.agent.models import Models, make_model
from homing.model.addresses import addresses_in
from homing.model.errors import Invalid, ModelFailed
from homing.model.model_setting import check_place, suggested_url

if TYPE_CHECKING:
    import httpx2

TRIAL_SECONDS = 60.0
"""A local server may first have to load its model."""
LOOK_SECONDS = 3.0
LOCAL_SERVERS = (("Ollama", "ollama", "http://127.0.0.1:11434/v1"),)
"""Where servers of this machine usually are: name, provider, address."""
_MOST_BYTES = 1_000_000
_MOST_MODELS = 200
_LONGEST_NAME = 150
_OK = 200
_PROMPT = "This is a test of the connection. Answer with the word OK."


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """A model that a server offers."""

    model: str
    base_url: str
    server: str


@dataclass(frozen=True, kw_only=True)
class FoundModels:
    """What can be chosen."""

    models: tuple[ServedModel, ...]
    providers: tuple[ChoosableProvider, ...]
    suggested_url: str | None = None
    note: str | None = None


async def try_model(name: str, *, base_url: str | None, key: str | None, in_use: str) -> tuple[str, ...]:
    """Make one small real call. Refuse with the provider's own sentence, without the key; give warnings."""
    if base_url is not None:
        await _check_place(base_url, has_key=key is not None)
    try:
        async with asyncio.timeout(TRIAL_SECONDS):
            await _call(name, base_url, key)
    except TimeoutError:
        raise _refused(name, f"It did not answer within {TRIAL_SECONDS:.0f} seconds.", "model", in_use) from None
    except ModelFailed as failed:
        status = getattr(failed.__cause__, "status_code", None)
        said = failed.detail
        if base_url is not None and status in (None, 404, 405):
            meant = suggested_url(base_url)
            if meant is not None and await _answers(meant, key):
                said = f"{said.rstrip('.')}. Did you mean {meant}?"
            raise _refused(name, said, "model" if status == 404 and meant is None else "base_url", in_use) from None
        raise _refused(name, said, "key" if status in (401, 403) else "model", in_use) from None
    if not Models().calls_tools(name):
        return (f"The model {name} cannot call tools: it can only talk, and sets no reminders.",)
    return ()


async def _call(name: str, base_url: str | None, key: str | None) -> None:
    from pydantic_ai.messages import ModelRequest, UserPromptPart  # noqa: PLC0415 - half a second, for this alone

    from homing.agent.model_calls import stream  # noqa: PLC0415 - see above

    model = await asyncio.to_thread(make_model, name, base_url, key, apart=base_url is not None or key is not None)
    async with model:
        await stream(model, Models().settings(name), [ModelRequest([UserPromptPart(_PROMPT)])], "")


def _refused(name: str, said: str, field: str, in_use: str) -> Invalid:
    return Invalid(
        f"{name:.80} cannot be used: {said.rstrip()} Nothing was changed: {in_use} stays.",
        field=field,
        code="model_refused",
    )


async def find_models(providers: Sequence[ChoosableProvider], base_url: str | None, key: str | None) -> FoundModels:
    """Ask the servers that are usually on this machine, and the one that is named."""
    local = await asyncio.gather(*(_listed(url, None) for _, _, url in LOCAL_SERVERS))
    models = [
        ServedModel(model=f"{provider}:{model}", base_url=url, server=f"{name} on this machine")
        for (name, provider, url), names in zip(LOCAL_SERVERS, local, strict=True)
        for model in (names if isinstance(names, list) else ())
    ]
    if base_url is None or base_url in {url for _, _, url in LOCAL_SERVERS}:
        return FoundModels(models=tuple(models), providers=tuple(providers))
    await _check_place(base_url, has_key=key is not None)
    named, meant = await _listed(base_url, key), None
    if not isinstance(named, list) and (other := suggested_url(base_url)) and await _answers(other, key):
        meant = other
    at = urlsplit(base_url).netloc
    mine = [
        ServedModel(model=f"openai-chat:{model}", base_url=base_url, server=f"the server at {at}")
        for model in (named if isinstance(named, list) else ())
    ]
    note = named if isinstance(named, str) else None
    return FoundModels(models=(*mine, *models), providers=tuple(providers), suggested_url=meant, note=note)


async def _answers(url: str, key: str | None) -> bool:
    return isinstance(await _listed(url, key), list)


async def _listed(url: str, key: str | None) -> list[str] | str:
    """Ask an OpenAI-compatible server for its models; a sentence where it gives none."""
    import httpx2  # noqa: PLC0415 - for this alone

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    at = urlsplit(url).netloc
    try:
        # No proxy of the environment: it would see what is asked of this machine.
        async with (
            asyncio.timeout(LOOK_SECONDS),
            httpx2.AsyncClient(trust_env=False, timeout=LOOK_SECONDS) as client,
            client.stream("GET", f"{url}/models", headers=headers) as answer,
        ):
            if answer.status_code != _OK:
                return f"{at} answered {answer.status_code} when asked for its models."
            return _names(await _read(answer)) or f"{at} has no models yet."
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError, UnicodeError):
        return f"Nothing answers at {url}. Is the server running?"
    except (ValueError, TypeError, KeyError, AttributeError):
        return f"{at} does not list its models as OpenAI's API does."


async def _read(answer: "httpx2.Response") -> Any:
    content = b""
    async for chunk in answer.aiter_bytes():
        content += chunk
        if len(content) > _MOST_BYTES:
            raise ValueError("too long")
    return json.loads(content)


def _names(listed: Any) -> list[str]:
    names = [one["id"] for one in listed["data"]]
    return [name for name in names if isinstance(name, str) and name.isprintable() and len(name) <= _LONGEST_NAME][
        :_MOST_MODELS
    ]


async def _check_place(url: str, *, has_key: bool) -> None:
    """Judge what a host's name stands for; a name that nobody knows is told by the attempt itself."""
    parts = urlsplit(url)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            parts.hostname or "", parts.port or 443, type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError):
        return
    check_place(url, addresses_in(found), has_key=has_key)
