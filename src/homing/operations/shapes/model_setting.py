"""What may be asked and is answered about the server's model. No answer holds a key."""

from typing import Annotated, Literal

from pydantic import Field

from homing.model.bounds import MAX_LONG
from homing.operations.shapes.base import Answer, Ask, Listing, Short, plainly

BaseUrl = Annotated[str, Field(min_length=1, max_length=2048)]


class SetModel(Ask):
    """Choose the model of this server; null goes back to what the environment says."""

    model: Annotated[str, Field(min_length=1, max_length=200)] | None
    key: Annotated[
        str | None, Field(max_length=MAX_LONG), plainly(f"must be a text of at most {MAX_LONG} characters")
    ] = Field(
        default=None,
        repr=False,
        description="The provider's key. Left out, the one that is kept is used; empty means none.",
    )
    base_url: BaseUrl | None = Field(
        default=None, description="The address of another server that speaks the provider's protocol."
    )


class ListModels(Ask):
    """Which models can be chosen."""

    base_url: BaseUrl | None = Field(default=None, description="A server to ask for its models.")


class ChosenModel(Answer):
    """What an admin chose."""

    model: str
    base_url: str | None
    has_key: bool
    set_by: str
    set_at: str


class AgentModel(Answer):
    """An agent with a model of its own."""

    id: str
    name: str
    model: str


class OwnModels(Answer):
    """Who does not use the server's model. Precedence: automation, conversation, agent, server."""

    agents: list[AgentModel]
    sessions: int
    jobs: int


class ModelSettingShape(Answer):
    """The model of this server."""

    model: str
    offline: bool
    why: str
    source: Literal["setting", "chosen", "found"]
    """`setting`: HOMING_MODEL, which wins; `chosen`: by an admin; `found`: by a key in the environment, or offline."""
    problem: str | None
    """Why turns with it will fail here; null while nothing speaks against it."""
    chosen: ChosenModel | None
    own_models: OwnModels
    cannot_set: str | None
    """Why it cannot be chosen here, and what to set instead; null where it can."""
    warnings: list[str] = Field(default_factory=list[str])


class FoundModel(Answer):
    """A model that a server offers."""

    model: str
    base_url: str
    server: str
    """What is known of the server, in words."""


class ProviderShape(Answer):
    """A provider whose key may be given."""

    provider: str
    name: str
    model: Short
    """What to begin with."""
    has_key: bool
    installed: bool


class ModelsShape(Listing[FoundModel]):
    """Models of servers that were found or named, and the providers that need a key."""

    providers: list[ProviderShape]
    suggested_url: str | None
    """The address that was probably meant: it answers, and the one given does not."""
    note: str | None
    """Why the server that was named gave no list."""
