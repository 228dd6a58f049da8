"""What operations that work outside a transaction are given: short transactions of their own, and hands.

Hands are made by wiring. Operations know none of the rooms behind them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from homing.model.agents import Agent
from homing.model.channel_info import ChannelTrial, KeptTrial
from homing.model.errors import Conflict
from homing.model.files import FileStore
from homing.model.mcp_servers import McpServer, McpTool
from homing.model.model_setting import ModelSetting
from homing.model.packages import PackageLock, PackageRequest, Resolved
from homing.model.scripts import Script, ScriptEnd
from homing.operations.context import Context
from homing.store import Store, Tx

T = TypeVar("T")

NO_HANDS = "This command needs a running server: start `homing up`."


class ModelsFound(Protocol):
    """Models that can be chosen, and the providers that need a key."""

    @property
    def models(self) -> Sequence[object]: ...
    @property
    def providers(self) -> Sequence["KeyedProvider"]: ...
    @property
    def suggested_url(self) -> str | None: ...
    @property
    def note(self) -> str | None: ...


class KeyedProvider(Protocol):
    """A provider whose key a person may give."""

    @property
    def model(self) -> str: ...
    @property
    def has_key(self) -> bool: ...


class Hands(Protocol):
    """What a process can do outside the database."""

    def check_mcp_server(self, server: McpServer, agent: Agent) -> None:
        """Refuse a server that can never be used here."""
        ...

    async def list_mcp_tools(self, server: McpServer, agent: Agent, user_id: str) -> tuple[McpTool, ...]:
        """Start a server once and say which tools it has; `Failed` when it does not come up."""
        ...

    async def resolve_packages(self, request: PackageRequest, base: PackageLock | None) -> Resolved:
        """Find out what exactly would be installed; nothing is. `Failed` when the index could not be asked."""
        ...

    async def try_model(
        self, name: str, *, base_url: str | None, key: str | None, kept: ModelSetting | None, now_in_use: str
    ) -> tuple[str, ...]:
        """Ask a model something small, with a new key or the kept one; refuse with the provider's own sentence."""
        ...

    async def keep_model_key(self, key: str) -> str:
        """Write a key to a file of its own, and name the file."""
        ...

    async def find_models(self, base_url: str | None, *, kept: ModelSetting | None) -> ModelsFound:
        """Ask servers of this machine, and the one that is named, which models they have."""
        ...

    async def try_script(self, script: Script, given: Mapping[str, Any]) -> ScriptEnd:
        """Run a script once; refuse with the sentence that helps where its language cannot run."""
        ...

    async def file_store(self) -> FileStore:
        """Give where the bytes of files lie; refuse with the sentence that helps where there is no such place."""
        ...

    async def try_channel(self, name: str, address: str | None) -> ChannelTrial:
        """Sign in to a channel, and send a test message if an address is given; `ChannelFailed` says why not."""
        ...

    async def keep_channel(self, name: str, kind: str, fields: Mapping[str, str], kept: str | None) -> KeptTrial:
        """Sign in with these fields, over those of the file `kept`, then write them to a file of their own. `Invalid`
        says what is wrong with them, in the platform's words where it refused.
        """
        ...

    async def send_words(self, name: str, address: str, text: str) -> None:
        """Send words that belong to no conversation, such as a code; `ChannelFailed` says why they were not taken."""
        ...


@dataclass(frozen=True, kw_only=True)
class Desk:
    """One caller outside a transaction."""

    store: Store
    context: Callable[[Tx], Context]
    hands_or_none: Hands | None

    async def read(self, work: Callable[[Context], T]) -> T:
        """Read in one transaction."""
        return await self.store.read(lambda tx: work(self.context(tx)))

    async def write(self, work: Callable[[Context], T]) -> T:
        """Write in one transaction."""
        return await self.store.write(lambda tx: work(self.context(tx)))

    @property
    def hands(self) -> Hands:
        if self.hands_or_none is None:
            raise Conflict(NO_HANDS, code="no_sandbox")
        return self.hands_or_none
