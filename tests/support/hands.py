"""Hands for tests that are about something else: every MCP server is there, with one tool; scripts run for real."""

import shutil
import weakref
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from homing.agent.model_trial import FoundModels
from homing.files import FolderStore
from homing.model.agents import Agent
from homing.model.channel_info import ChannelTrial, KeptTrial
from homing.model.mcp_servers import McpServer, McpTool, make_tool
from homing.model.model_setting import ModelSetting
from homing.model.packages import PackageLock, PackageRequest, Resolved
from homing.model.scripts import Script, ScriptEnd
from homing.sandbox.trial import try_sandbox
from homing.tools.scripts import Scripts


class StillHands:
    """Starts no server; keeps files in a folder that goes with it."""

    @cached_property
    def files(self) -> FolderStore:
        folder = Path(mkdtemp(prefix="homing-files-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return FolderStore(folder=folder)

    async def file_store(self) -> FolderStore:
        return self.files

    def check_mcp_server(self, server: McpServer, agent: Agent) -> None:
        pass

    async def list_mcp_tools(self, server: McpServer, agent: Agent, user_id: str) -> tuple[McpTool, ...]:
        return (make_tool("echo", "Gives the text back.", {"type": "object"}, {}),)

    async def resolve_packages(self, request: PackageRequest, base: PackageLock | None) -> Resolved:
        raise NotImplementedError

    async def try_model(
        self, name: str, *, base_url: str | None, key: str | None, kept: ModelSetting | None, now_in_use: str
    ) -> tuple[str, ...]:
        return ()

    async def keep_model_key(self, key: str) -> str:
        return "model_nowhere"

    async def find_models(self, base_url: str | None, *, kept: ModelSetting | None) -> FoundModels:
        return FoundModels(models=(), providers=())

    async def try_script(self, script: Script, given: Mapping[str, Any]) -> ScriptEnd:
        scripts = Scripts(try_sandbox)
        try:
            return await scripts.run(script, given)
        finally:
            await scripts.close()

    async def keep_channel(self, name: str, kind: str, fields: Mapping[str, str], kept: str | None) -> KeptTrial:
        raise NotImplementedError

    async def send_words(self, name: str, address: str, text: str) -> None:
        self.words.append((address, text))

    @cached_property
    def words(self) -> list[tuple[str, str]]:
        """What was sent, and where to."""
        return []

    async def try_channel(self, name: str, address: str | None) -> ChannelTrial:
        return ChannelTrial(account=f"the {name}", receipt=None if address is None else {"number": 1})
