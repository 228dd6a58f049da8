"""The one place where objects are made and handed to each other; reads top to bottom.

Every command comes by here, and most need neither engine nor channels: those are imported where they are made.
"""

import asyncio
import contextlib
import gc
import os
import shutil
import socket
import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Protocol

import structlog

from homing.agent.choice import choose, why_unusable
from homing.agent.models import Models
from homing.model.agents import INSTRUCTIONS, MAIN, Agent
from homing.model.clock import Clock, SystemClock
from homing.model.errors import ChannelFailed, NotReady
from homing.model.ids import new_id
from homing.model.mcp_servers import McpServer, McpTool
from homing.model.people import OWNER
from homing.model.webhook_urls import loopback_allowed
from homing.operations.context import Instance
from homing.operations.instance_id import instance_id, points_here
from homing.settings import Settings, read_secret
from homing.store import Store, Tx, agents, maintenance, people, schema

if TYPE_CHECKING:
    from homing.channels import Channel
    from homing.engine.courier import Courier
    from homing.engine.lane import Think
    from homing.engine.runner import Runner
    from homing.engine.scheduler import Scheduler
    from homing.engine.sweeper import Sweeper
    from homing.sandbox.bubblewrap import Bubblewrap
    from homing.tools.mcp_servers.keeper import McpServers
    from homing.tools.tool import OutsideTool
    from homing.tools.workspace import WorkspaceTools

log = structlog.get_logger(__name__)

_PAUSE_SECONDS = 1.0
_ELSEWHERE = (
    "This webhook points to the machine on which it was added, and this engine is of another machine or home. Run"
    " `homing work` there, or add the webhook with a URL that every engine can reach."
)

MAIN_AGENT = Agent(id=MAIN, name="Main", instructions=INSTRUCTIONS)


@dataclass(frozen=True, kw_only=True)
class Homing:
    """One Homing, wired: everything a door or an engine needs."""

    settings: Settings
    clock: Clock
    store: Store
    instance: Instance
    models: Models


def wire(settings: Settings, *, clock: Clock | None = None, models: Models | None = None) -> Homing:
    """Make the parts that every process needs; nothing runs yet."""
    clock = clock or SystemClock()
    store = Store(settings.database_url, clock)
    choice = choose(settings.model, os.environ)
    models = models or Models()
    instance = Instance(
        version=version("homing"),
        model=choice.name,
        model_offline=choice.offline,
        model_why=choice.why,
        settings=settings,
        why_unusable=lambda name: None if name in models.extra else why_unusable(name, os.environ, default=choice.name),
        calls_tools=models.calls_tools,
        hands=ServerHands(settings, store),
    )
    return Homing(settings=settings, clock=clock, store=store, instance=instance, models=models)


def prepare(homing: Homing) -> None:
    """Bring the database up to date, with its first user and agent."""
    schema.upgrade(homing.store)

    def furnish(tx: Tx) -> None:
        people.add_user(tx, OWNER, role="admin", name="Owner")
        agents.add(tx, MAIN_AGENT)

    homing.store.write_now(furnish)


@dataclass(frozen=True, kw_only=True)
class Engine:
    """The machines of one worker."""

    worker_id: str
    scheduler: "Scheduler | None"
    runner: "Runner"
    courier: "Courier"
    sweeper: "Sweeper"
    hands: "Hands | None" = None


def make_engine(
    homing: Homing,
    *,
    think: "Think | None" = None,
    channels: "Mapping[str, Channel] | None" = None,
    apart: bool = False,
    hands: "Hands | None" = None,
) -> Engine:
    """Make the machines that move rows; `think` and `channels` are seams for tests and benchmarks. Who thinks otherwise
    has `hands` only if they are given.

    `apart`: an engine without doors, which may be on another machine than they are.
    """
    from homing.engine.abilities import Abilities  # noqa: PLC0415 - see above
    from homing.engine.courier import Courier  # noqa: PLC0415 - see above
    from homing.engine.lane import Lanes  # noqa: PLC0415 - see above
    from homing.engine.runner import Runner  # noqa: PLC0415 - see above
    from homing.engine.scheduler import Scheduler  # noqa: PLC0415 - see above
    from homing.engine.sweeper import Sweeper  # noqa: PLC0415 - see above
    from homing.engine.turn_context import TurnThinker  # noqa: PLC0415 - see above
    from homing.tools.toolbox import toolbox  # noqa: PLC0415 - see above

    store, instance, clock = homing.store, homing.instance, homing.clock
    worker_id = new_id("worker")
    if hands is None and think is None:
        hands = Hands(homing)
    abilities = hands.abilities if hands else Abilities()
    thinker = TurnThinker(
        store=store,
        instance=instance,
        models=homing.models,
        toolbox=lambda opened, keeper, agent: toolbox(
            turn=opened.turn,
            session_key=opened.session_key,
            agent=agent,
            instance=instance,
            store=store,
            commit=keeper.commit,
            outside=hands.tools(agent) if hands else (),
        ),
    )
    scheduler = Scheduler(store, instance, clock) if homing.settings.scheduler_enabled else None
    return Engine(
        worker_id=worker_id,
        scheduler=scheduler,
        runner=Runner(Lanes(store=store, instance=instance, think=think or thinker), clock, worker_id, abilities),
        courier=Courier(store, instance, channels if channels is not None else make_channels(homing, apart=apart)),
        sweeper=Sweeper(
            store, instance, clock, worker_id, f"{socket.gethostname()}:{os.getpid()}", scheduler, abilities
        ),
        hands=hands,
    )


def _is_of_here(homing: Homing, webhook: people.Webhook, *, apart: bool) -> bool:
    if webhook.local_to is None:
        # From before places were kept: an engine beside its doors goes on with it, others may be anywhere.
        return not apart
    return webhook.local_to == instance_id(homing.settings.home)


def make_channels(homing: Homing, *, apart: bool = False) -> "dict[str, Channel]":
    """Make the channels that this Homing can carry letters by."""
    from homing.channels.email import EmailChannel, read_smtp_url  # noqa: PLC0415 - see above
    from homing.channels.webhook import WebhookChannel  # noqa: PLC0415 - see above
    from homing.operations.shapes.message import message_shape  # noqa: PLC0415 - see above

    channels: dict[str, Channel] = {}

    async def find(webhook_id: str) -> tuple[str, str] | None:
        webhook = await homing.store.read(lambda tx: people.get_webhook(tx, webhook_id))
        if webhook is None:
            return None
        if points_here(webhook.url) and not _is_of_here(homing, webhook, apart=apart):
            raise ChannelFailed(_ELSEWHERE)
        return webhook.url, webhook.secret

    channels["webhook"] = WebhookChannel(
        find,
        # Without its deliveries: a receiver has no business with the other addresses.
        show=lambda message: message_shape(message).plain(),
        clock=homing.clock,
        loopback=loopback_allowed(homing.settings.host, homing.settings.public_url),
    )
    if homing.settings.smtp_url:
        channels["email"] = EmailChannel(read_smtp_url(homing.settings.smtp_url))
    return channels


async def open_sandbox(settings: Settings) -> "Bubblewrap":
    """Give the sandbox of this machine, tried, or refuse with the sentence that helps."""
    from homing.sandbox.errors import SWITCHED_OFF, NoSandbox  # noqa: PLC0415 - see above
    from homing.sandbox.trial import try_sandbox  # noqa: PLC0415 - see above

    if not settings.sandbox:
        raise NoSandbox(SWITCHED_OFF)
    return await try_sandbox()


async def open_workspaces(settings: Settings, store: Store) -> "WorkspaceTools":
    """Give the workspaces of this database with a sandbox, or refuse with the sentence that helps."""
    from homing.sandbox.share import make_share_id, open_share  # noqa: PLC0415 - see above
    from homing.tools.workspace import WorkspaceTools  # noqa: PLC0415 - see above

    bubblewrap, folder = await open_sandbox(settings), settings.share
    known = await store.read(maintenance.share_id)
    if known is None:
        made = await asyncio.to_thread(make_share_id, folder)
        known = await store.write(lambda tx: maintenance.keep_share_id(tx, made))
    share = await asyncio.to_thread(open_share, folder, known)
    return WorkspaceTools(bubblewrap=bubblewrap, share=share, store=store)


def make_web_tools(homing: Homing) -> "Sequence[OutsideTool]":
    """Make the tools that read the web."""
    from homing.tools import fetch_url, search_web  # noqa: PLC0415 - see above

    search_url = homing.settings.search_url
    return [fetch_url.offer(homing.clock), *([search_web.offer(search_url)] if search_url else [])]


class ServerHands:
    """The MCP servers that this process can start and reach. Made when they are first used."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._workspaces: WorkspaceTools | None = None
        self._trial: Path | None = None

    @cached_property
    def servers(self) -> "McpServers":
        from homing.tools.mcp_servers.keeper import McpServers  # noqa: PLC0415 - see above

        settings, database = self._settings, self._store.file
        return McpServers(
            find_place=self._find_place,
            read_secret=partial(read_secret, settings.home),
            private=[settings.home, settings.share, *([database] if database else [])],
        )

    def check_mcp_server(self, server: McpServer, agent: Agent) -> None:
        self.servers.check_mcp_server(server, agent)

    async def list_mcp_tools(self, server: McpServer, agent: Agent, user_id: str) -> tuple[McpTool, ...]:
        return await self.servers.list_mcp_tools(server, agent, user_id)

    def tools(self, agent: Agent) -> "Sequence[OutsideTool]":
        """Give the tools of an agent's servers."""
        if not agent.mcp_servers:
            return ()
        from homing.tools.mcp_servers.offers import mcp_tools  # noqa: PLC0415 - see above

        return mcp_tools(agent, self.servers, self._store, unified=self._settings.unified_session)

    async def close(self) -> None:
        """Stop the servers that still run."""
        if "servers" in vars(self):
            await self.servers.close()

    async def _find_place(self, owner: tuple[str, ...]) -> "tuple[Bubblewrap, Path]":
        if self._workspaces is None:
            if await self._store.read(maintenance.share_id) is None:
                # Only a worker says which folder is the share: a server is tried in an empty workspace.
                return await open_sandbox(self._settings), await asyncio.to_thread(self._trial_workspace, owner)
            self._workspaces = await open_workspaces(self._settings, self._store)
        workspace = await asyncio.to_thread(self._workspaces.share.workspace, *owner)
        return self._workspaces.bubblewrap, workspace.folder

    def _trial_workspace(self, owner: tuple[str, ...]) -> Path:
        from homing.sandbox.share import Share  # noqa: PLC0415 - see above

        if self._trial is None:
            self._trial = Path(mkdtemp(prefix="homing-"))
            weakref.finalize(self, shutil.rmtree, self._trial, ignore_errors=True)
        return Share(folder=self._trial).workspace(*owner).folder


class Hands:
    """What turns of one worker work with outside the database, opened once before the first of them."""

    def __init__(self, homing: Homing) -> None:
        from homing.engine.abilities import Abilities  # noqa: PLC0415 - see above

        self._homing = homing
        self.abilities = Abilities()
        self._workspaces: WorkspaceTools | None = None
        self._web = make_web_tools(homing)

    def tools(self, agent: Agent) -> "Sequence[OutsideTool]":
        servers = self._homing.instance.hands
        of_servers = servers.tools(agent) if isinstance(servers, ServerHands) else ()
        return [*self._web, *(self._workspaces.offers() if self._workspaces else ()), *of_servers]

    async def open(self) -> None:
        """Open what this machine has, and log what it lacks and why."""
        from homing.sandbox.errors import NoSandbox  # noqa: PLC0415 - see above

        try:
            self._workspaces = await open_workspaces(self._homing.settings, self._homing.store)
        except NoSandbox as refused:
            log.info("sandbox_unavailable", reason=refused.detail, error=refused.error)
        else:
            found = self._workspaces.bubblewrap
            self.abilities.add_workspaces()
            log.info("sandbox_ready", bubblewrap=found.version_text, all_flags=found.has_all_flags)


class Machine(Protocol):
    """What runs until it is cancelled."""

    async def run(self) -> None: ...


async def _tend(machine: Machine) -> None:
    """Run a machine; one that breaks says so and begins again, for a process that only looks alive helps nobody."""
    while True:
        try:
            await machine.run()
        except Exception:  # the rim: whatever it was, the rows are as they were after the last commit
            log.exception("machine_broke", machine=type(machine).__name__)
        await asyncio.sleep(_PAUSE_SECONDS)


@dataclass(frozen=True, kw_only=True)
class _Turns:
    """The runner, once it is known which tools there are: until then no turn opens."""

    engine: Engine

    async def run(self) -> None:
        while self.engine.hands is not None:
            try:
                await self.engine.hands.open()
                # So that other workers know at once what this one can do, and this one what they can.
                await self.engine.sweeper.beat()
                break
            except NotReady:
                await asyncio.sleep(_PAUSE_SECONDS)
        await self.engine.runner.run()


@asynccontextmanager
async def watching(homing: Homing) -> AsyncGenerator[None]:
    """For doors without an engine: see when a newer Homing upgrades the database under them."""
    from homing.engine.sweeper import BEAT_SECONDS, schema_look  # noqa: PLC0415 - see above

    async def watch() -> None:
        while True:
            with contextlib.suppress(NotReady):
                await homing.store.read(schema_look(homing.store))
            await asyncio.sleep(BEAT_SECONDS)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()


@asynccontextmanager
async def running(homing: Homing, engine: Engine) -> AsyncGenerator[None]:
    """Run the machines for as long as the block lasts; then finish turns or hand them back."""
    await homing.store.bell.open()
    await engine.sweeper.beat()
    # What is loaded by now stays: the collector need not look through it again and again while turns wait.
    gc.collect()
    gc.freeze()
    machines = [_Turns(engine=engine), engine.courier, engine.sweeper, engine.scheduler]
    tasks = [asyncio.create_task(_tend(machine)) for machine in machines if machine is not None]
    try:
        yield
    finally:
        await engine.runner.stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await engine.sweeper.leave()
        if isinstance(homing.instance.hands, ServerHands):
            await homing.instance.hands.close()
        await homing.models.close()
