"""The one place where objects are made and handed to each other; reads top to bottom.

Every command comes by here, and most need neither engine nor channels: those are imported where they are made.
"""

import asyncio
import contextlib
import gc
import json
import os
import secrets
import shutil
import socket
import ssl
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from importlib.metadata import entry_points, version
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import unquote, urlsplit

import structlog

from homing.agent.choice import choosable_providers, choose, needs_key, why_unusable
from homing.agent.models import NO_KEY, Models
from homing.model.agents import INSTRUCTIONS, MAIN, Agent
from homing.model.channel_info import FIELDS_FILE, MAIL, ChannelInfo, ChannelTrial, KeptTrial, KindInfo
from homing.model.clock import Clock, SystemClock
from homing.model.errors import ChannelFailed, Conflict, FieldError, FilesAway, Invalid, NoFiles, NotReady
from homing.model.ids import new_id
from homing.model.mcp_servers import McpServer, McpTool
from homing.model.messages import Message
from homing.model.model_setting import KEY_FILE, ModelSetting
from homing.model.packages import PackageLock, PackageRequest, Resolved
from homing.model.people import OWNER
from homing.model.push import SECRET_NAME
from homing.model.scripts import Script, ScriptEnd
from homing.model.sessions import channel_of
from homing.model.webhook_urls import loopback_allowed
from homing.operations.context import Instance
from homing.operations.instance_id import instance_id, points_here
from homing.operations.kept_channels import with_kept
from homing.operations.models import default_model, setting_for
from homing.operations.workers import home_ability
from homing.settings import (
    CHANNEL_FIELDS,
    PLAIN_FIELDS,
    SECRET,
    ChannelSettings,
    Settings,
    check_channel_fields,
    read_secret,
    remove_old_secrets,
    write_secret,
)
from homing.store import Store, Tx, agents, maintenance, people, push, schema, sessions

if TYPE_CHECKING:
    from homing.agent.model_trial import FoundModels
    from homing.channels import Channel, Part
    from homing.channels.kinds import ChannelKind
    from homing.channels.vapid import VapidKey
    from homing.engine.abilities import Abilities
    from homing.engine.actions import Actions
    from homing.engine.channel_keeper import ChannelKeeper
    from homing.engine.courier import Courier
    from homing.engine.gates import Gates
    from homing.engine.indexer import Indexer
    from homing.engine.lane import Lanes, Think
    from homing.engine.receiver import Receiver
    from homing.engine.restate import RestateRunner
    from homing.engine.runner import Runner
    from homing.engine.scheduler import Scheduler
    from homing.engine.signs import Signs
    from homing.engine.sweeper import Sweeper
    from homing.model.files import FileStore
    from homing.sandbox.bubblewrap import Bubblewrap
    from homing.tools.environments import AgentPackages
    from homing.tools.mcp_servers.keeper import McpServers
    from homing.tools.scripts import Scripts
    from homing.tools.tool import OutsideTool, RequestTool, ToolSpec
    from homing.tools.workspace import WorkspaceTools

log = structlog.get_logger(__name__)

_REPLY_KEY = "MAIL_REPLIES"
_PAUSE_SECONDS = 1.0
_TRY_SECONDS = 15.0
CHANNEL_PACKAGES = "homing.channels"
# How many scripts people try at once; those of gates have slots of their own.
_TRIES = 4
_KEY_WAITS_SECONDS = 600.0
_ELSEWHERE = (
    "This webhook points to the machine on which it was added, and this engine is of another machine or home. Run"
    " `homing work` there, or add the webhook with a URL that every engine can reach."
)

# Some push services refuse a token without a contact; a server without a public name has none.
_NOBODY = "mailto:homing@example.org"

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
    models = models or Models()
    instance = replace(describe(settings, models), hands=ServerHands(settings, store))
    return Homing(settings=settings, clock=clock, store=store, instance=instance, models=models)


def describe(settings: Settings, models: Models) -> Instance:
    """Say what this Homing is, without its database."""
    choice = choose(settings.model, os.environ)
    models.read_key = partial(read_secret, settings.home)
    return Instance(
        version=version("homing"),
        model=choice.name,
        model_offline=choice.offline,
        model_why=choice.why,
        settings=settings,
        why_unusable=lambda name: None if name in models.extra else why_unusable(name, os.environ, default=choice.name),
        calls_tools=models.calls_tools,
        has_price=models.has_price,
        channels=describe_channels,
        channel_kinds=describe_kinds,
        needs_key=needs_key,
        why_no_key=partial(_why_no_key, settings),
        push_key=lambda: make_push_key(settings.home).public,
    )


def _why_no_key(settings: Settings, setting: ModelSetting) -> str | None:
    if setting.secret is None:
        return None
    try:
        found = read_secret(settings.home, setting.secret)
    except Invalid as error:
        return error.detail
    return NO_KEY.format(model=setting.model, file=setting.secret) if found is None else None


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
    gates: "Gates"
    runner: "Runner"
    courier: "Courier"
    sweeper: "Sweeper"
    actions: "Actions"
    receiver: "Receiver"
    signs: "Signs"
    channels: "ChannelKeeper | None" = None
    """None where the channels were given."""
    indexer: "Indexer"
    hands: "Hands | None" = None
    restate: "RestateRunner | None" = None
    """Drives the lanes instead of the runner."""

    @property
    def driver(self) -> "Runner | RestateRunner":
        return self.restate or self.runner


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
    from homing.engine.actions import Actions  # noqa: PLC0415 - see above
    from homing.engine.courier import Courier  # noqa: PLC0415 - see above
    from homing.engine.gates import Gates  # noqa: PLC0415 - see above
    from homing.engine.indexer import Indexer  # noqa: PLC0415 - see above
    from homing.engine.lane import Lanes  # noqa: PLC0415 - see above
    from homing.engine.receiver import Receiver  # noqa: PLC0415 - see above
    from homing.engine.runner import Runner  # noqa: PLC0415 - see above
    from homing.engine.scheduler import Scheduler  # noqa: PLC0415 - see above
    from homing.engine.signs import Signs  # noqa: PLC0415 - see above
    from homing.engine.sweeper import Sweeper  # noqa: PLC0415 - see above
    from homing.engine.turn_context import TurnThinker  # noqa: PLC0415 - see above
    from homing.tools.approved_calls import find_call  # noqa: PLC0415 - see above
    from homing.tools.toolbox import toolbox  # noqa: PLC0415 - see above

    store, instance, clock = homing.store, homing.instance, homing.clock
    model = (
        default_model(instance, store.write_now(maintenance.model_setting))
        if homing.settings.budget_usd_per_day
        else None
    )
    if model is not None and not instance.has_price(model):
        raise Invalid(
            f"HOMING_BUDGET_USD_PER_DAY cannot be kept: the price of the model {model} is not known. Choose a"
            " model with a known price (HOMING_MODEL), or leave the budget out.",
            field="budget_usd_per_day",
            code="price_unknown",
        )
    worker_id = new_id("worker")
    if hands is None and think is None:
        hands = Hands(homing)
    abilities = hands.abilities if hands else Abilities()
    abilities.can |= home_ability(homing.settings.home)
    thinker = TurnThinker(
        store=store,
        instance=instance,
        models=homing.models,
        find_files=lambda: hands.files if hands else None,
        toolbox=lambda opened, keeper, agent: toolbox(
            turn=opened.turn,
            session_key=opened.session_key,
            agent=agent,
            instance=instance,
            store=store,
            commit=keeper.commit,
            outside=hands.tools(agent) if hands else (),
            requests=hands.requests if hands else (),
            own=hands.own_tools if hands else (),
        ),
    )
    scheduler = Scheduler(store, instance, clock) if homing.settings.scheduler_enabled else None
    channel_keeper = _keep_channels(homing, apart=apart) if channels is None else None
    if channel_keeper is not None:
        channels = channel_keeper.channels
    assert channels is not None
    room = Lanes(store=store, instance=instance, think=think or thinker)
    return Engine(
        worker_id=worker_id,
        scheduler=scheduler,
        gates=Gates(store, instance, _scripts_of(homing).run, worker_id, abilities),
        runner=Runner(room, clock, worker_id, abilities),
        restate=_make_restate(room, clock, worker_id, abilities),
        courier=Courier(store, instance, channels),
        receiver=Receiver(store, instance, channels, worker_id),
        signs=Signs(store, channels, worker_id),
        channels=channel_keeper,
        sweeper=Sweeper(
            store,
            instance,
            clock,
            worker_id,
            f"{socket.gethostname()}:{os.getpid()}",
            scheduler,
            abilities,
            sweep_outside=hands.sweep if hands else None,
        ),
        actions=Actions(
            store,
            instance,
            worker_id,
            lambda asked: find_call(
                asked,
                hands.tools(asked.agent) if hands else (),
                instance,
                store,
                hands.requests if hands else (),
                hands.own_tools if hands else (),
            ),
            abilities,
        ),
        indexer=Indexer(store),
        hands=hands,
    )


def _make_restate(room: "Lanes", clock: Clock, worker_id: str, abilities: "Abilities") -> "RestateRunner | None":
    """Make what lets Restate drive the lanes, where the settings say so."""
    if room.instance.settings.engine != "restate":
        return None
    check_restate(room.instance.settings)
    from homing.engine.restate import RestateRunner  # noqa: PLC0415 - see above

    return RestateRunner(room, clock, worker_id, abilities)


def check_restate(settings: Settings) -> None:
    """Refuse HOMING_ENGINE=restate where its libraries are missing."""
    if settings.engine != "restate":
        return
    try:
        import_module("restate")
        import_module("hypercorn")
    except ImportError as error:
        raise Invalid(
            "HOMING_ENGINE=restate needs libraries that are not installed here. Install homing[restate], or"
            " set HOMING_ENGINE=own.",
            field="engine",
        ) from error


def _scripts_of(homing: Homing) -> "Scripts":
    """Give what runs scripts: beside doors the same, so that interpreters are warm for both."""
    hands = homing.instance.hands
    return hands.scripts if isinstance(hands, ServerHands) else ServerHands(homing.settings, homing.store).scripts


def _is_of_here(homing: Homing, webhook: people.Webhook, *, apart: bool) -> bool:
    if webhook.local_to is None:
        # From before places were kept: an engine beside its doors goes on with it, others may be anywhere.
        return not apart
    return webhook.local_to == instance_id(homing.settings.home)


def make_push_key(home: Path) -> "VapidKey":
    """Read the key that pushes are signed with; the first time it is made, in `secrets` of home."""
    from homing.channels.vapid import new_key  # noqa: PLC0415 - see above

    known = read_push_key(home)
    if known is not None:
        return known
    fresh = f"{SECRET_NAME}_{new_id('new')}"
    try:
        write_secret(home, fresh, new_key())
        folder = home / "secrets"
        try:
            # Whole or not at all, and the first of several processes wins.
            with contextlib.suppress(FileExistsError):
                os.link(folder / fresh, folder / SECRET_NAME)
        finally:
            (folder / fresh).unlink()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise Conflict(
            f"The key for notifications cannot be written into `secrets` of home ({why}). Mend that, or set"
            f" {SECRET}{SECRET_NAME}."
        ) from error
    made = read_push_key(home)
    if made is None:
        raise Conflict(f"The file `secrets/{SECRET_NAME}` of home cannot be read.")
    return made


def read_push_key(home: Path) -> "VapidKey | None":
    """Read the key that pushes are signed with; None before it is made. Invalid says why it cannot be used."""
    from homing.channels.vapid import read_key  # noqa: PLC0415 - see above

    text = read_secret(home, SECRET_NAME)
    try:
        return read_key(text) if text is not None else None
    except ValueError as error:
        raise Invalid(f"{SECRET}{SECRET_NAME} cannot be used: {error}.", field="secrets") from None


def _push_key_here(home: Path) -> "VapidKey":
    try:
        key = read_push_key(home)
    except Invalid as error:
        raise ChannelFailed(error.detail) from error
    if key is None:
        raise ChannelFailed(
            f"The key for notifications is not on this machine. Set {SECRET}{SECRET_NAME} to the same value for every"
            " server and engine."
        )
    return key


def _push_channel(homing: Homing, tls: ssl.SSLContext) -> "Channel":
    from homing.channels.pinned import Network, direct  # noqa: PLC0415 - see above
    from homing.channels.push import PushChannel, Target  # noqa: PLC0415 - see above

    async def find(part: "Part") -> Target | None:
        def look(tx: Tx) -> Target | None:
            device = push.get(tx, part.place)
            if device is None:
                return None
            session = sessions.find(tx, part.session_key, user_id=device.user_id)
            return Target(device=device, title=session.title if session else None)

        return await homing.store.read(look)

    public_url = homing.settings.public_url or ""
    return PushChannel(
        find,
        key=partial(_push_key_here, homing.settings.home),
        subject=public_url if public_url.startswith("https://") else _NOBODY,
        clock=homing.clock,
        network=Network(connect=partial(direct, tls)),
    )


def make_channels(homing: Homing, *, apart: bool = False) -> "dict[str, Channel]":
    """Make the channels that this Homing can carry letters by, as its settings name them."""
    return _always_there(homing, apart=apart) | open_channels(homing.settings)


def _keep_channels(homing: Homing, *, apart: bool) -> "ChannelKeeper":
    """Make the channels that the settings name; refuse where one is wrong. Those that were added follow (`running`)."""
    from homing.engine.channel_keeper import ChannelKeeper  # noqa: PLC0415 - see above

    settings, store = homing.settings, homing.store
    open_channels(settings)
    keeper = ChannelKeeper(
        store, settings, _always_there(homing, apart=apart), read=read_channel_fields, make=_make_channel
    )
    keeper.begin()
    return keeper


def _always_there(homing: Homing, *, apart: bool) -> "dict[str, Channel]":
    import httpx2  # noqa: PLC0415 - see above

    from homing.channels.email import EmailChannel, read_smtp_url  # noqa: PLC0415 - see above
    from homing.channels.webhook import WebhookChannel  # noqa: PLC0415 - see above
    from homing.operations.shapes.message import message_shape  # noqa: PLC0415 - see above

    channels: dict[str, Channel] = {}
    tls = httpx2.create_ssl_context()

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
        tls=tls,
    )
    channels["push"] = _push_channel(homing, tls)
    if homing.settings.smtp_url and MAIL not in homing.settings.channel_names:
        channels[MAIL] = EmailChannel(read_smtp_url(homing.settings.smtp_url), page_url=_page_url(homing.settings))
    return channels


def open_channels(settings: Settings) -> "dict[str, Channel]":
    """Make the channels that the settings name; report everything that is wrong with them together."""
    made: dict[str, Channel] = {}
    faults: list[FieldError] = []
    for one in settings.channels:
        try:
            made[one.name] = _open_channel(one, settings)
        except Invalid as error:
            faults += error.errors
    if faults:
        detail = "These channels cannot be used:\n" + "\n".join(f"- {fault.detail}" for fault in faults)
        raise Invalid(detail, errors=tuple(faults))
    return made


def describe_channels(settings: Settings) -> list[ChannelInfo]:
    """Say what the settings name, also what cannot be used; nothing is asked outside."""
    from homing.channels import listens  # noqa: PLC0415 - see above

    kept = {one.name for one in settings.channels if one.secret is not None}
    found: list[ChannelInfo] = []
    for name, kind, make in _channel_makers(settings):
        try:
            channel = make()
        except Invalid as error:
            # By its sentences: what is wrong with the others is not about this one.
            why = " ".join(fault.detail for fault in error.errors) or error.detail
            found.append(ChannelInfo(name=name, kind=kind, error=why, kept=name in kept))
            continue
        capabilities = asdict(channel.capabilities)
        hears = listens(channel)
        found.append(ChannelInfo(name=name, kind=kind, listens=hears, capabilities=capabilities, kept=name in kept))
    return found


def describe_kinds() -> list[KindInfo]:
    """Say which kinds of channels can be added here: ours, and those of installed packages."""
    from homing.channels.kinds import ChannelKind  # noqa: PLC0415 - see above

    found = [KindInfo(kind=kind, fields=fields) for kind, fields in CHANNEL_FIELDS.items()]
    for entry in entry_points(group=CHANNEL_PACKAGES):
        try:
            kind = entry.load()
        except Exception:  # the rim: a package that cannot be imported is not offered
            log.warning("channel_package_broken", kind=entry.name, exc_info=True)
            continue
        if isinstance(kind, ChannelKind) and entry.name not in CHANNEL_FIELDS:
            found.append(KindInfo(kind=entry.name, fields=kind.fields))
    return found


def _channel_makers(settings: Settings) -> "Iterator[tuple[str, str, Callable[[], Channel]]]":
    if (smtp_url := settings.smtp_url) and MAIL not in settings.channel_names:
        from homing.channels.email import EmailChannel, read_smtp_url  # noqa: PLC0415 - see above

        yield MAIL, MAIL, lambda: EmailChannel(read_smtp_url(smtp_url), page_url=_page_url(settings))
    for one in settings.channels:
        yield one.name, one.kind, partial(_open_channel, one, settings)


async def try_named_channel(settings: Settings, name: str, address: str | None) -> ChannelTrial:
    """Try a channel of the settings; ChannelFailed says why it does not work."""
    from homing.operations.deliveries import TEST_TEXT  # noqa: PLC0415 - see above

    channel = _find_channel(settings, name)
    if address is not None and channel_of(address) != channel.name:
        raise ChannelFailed(f"{address} is not an address of {channel.name}: it begins with {channel.name}:.")
    async with _trying(channel):
        account = await channel.check()
        receipt = await channel.send(_words(address, TEST_TEXT)) if address is not None else None
    return ChannelTrial(account=account, receipt=receipt.detail if receipt is not None else None)


async def try_fields(settings: Settings, name: str, kind: str, fields: Mapping[str, str]) -> str:
    """Sign in to a channel with fields that are not kept yet; name the account. Invalid says what is wrong."""
    one = ChannelSettings(name=name, kind=kind, fields=fields)
    known = _find_kind(one, settings).fields
    faults = [
        FieldError(field=f"fields.{key}", code="unknown_field", detail=f"{kind} has no field {key:.64}.")
        for key in fields
        if key not in known
    ]
    faults += [
        FieldError(field=f"fields.{key}", code="missing", detail=f"{kind} needs {key}.")
        for key, needed in known.items()
        if needed and key not in fields
    ]
    if faults:
        said = " ".join(fault.detail for fault in faults)
        raise Invalid(f"{said} The fields of {kind} are: {', '.join(known)}.", errors=tuple(faults))
    channel = _make_channel(one, settings, fields)
    try:
        async with _trying(channel):
            return await channel.check()
    except ChannelFailed as error:
        detail = f"{error.detail.rstrip('.')}. Nothing was changed."
        raise Invalid(detail, field="fields", code="out_of_range") from None


def _check_same_place(before: Mapping[str, str], given: Mapping[str, str]) -> None:
    """A token goes only to the server that it was given for: with another one it has to be given again."""
    now, then = given.get("base_url"), before.get("base_url", "")
    if now is None or now.strip().rstrip("/") == then.rstrip("/"):
        return
    again = [key for key in before if key not in PLAIN_FIELDS and not given.get(key, "").strip()]
    if again:
        faults = [
            FieldError(field=f"fields.{key}", code="missing", detail=f"With another base_url, give {key} again.")
            for key in again
        ]
        raise Invalid(
            f"base_url is another server. Give {' and '.join(again)} again, so that it goes there because you say so."
            " Nothing was changed.",
            errors=tuple(faults),
        )


async def send_by_channel(settings: Settings, name: str, address: str, text: str) -> None:
    """Send words of Homing's own, which belong to no conversation; ChannelFailed says why they were not taken."""
    channel = _find_channel(settings, name)
    async with _trying(channel):
        await channel.send(_words(address, text))


def _find_channel(settings: Settings, name: str) -> "Channel":
    for known, _, make in _channel_makers(settings):
        if known == name:
            try:
                return make()
            except Invalid as error:
                raise ChannelFailed(" ".join(fault.detail for fault in error.errors) or error.detail) from None
    raise ChannelFailed(f"The channel {name} is not set up in this process.")


def _words(address: str, text: str) -> "Part":
    from homing.channels import Part  # noqa: PLC0415 - see above

    now = SystemClock().now()
    message = Message(
        n=0, session_id=0, session_key="", lane_id=0, seq=0, rev=0, role="assistant", kind="note", text=text,
        turn_id=None, inbound_id=None, job_id=None, run_id=None, model=None, meta={}, cards=[], folded=False,
        created_at=now,
    )  # fmt: skip
    return Part(
        id=f"{new_id('dlv')}.0", address=address, text=text, session_key="", message=message, job_id=None,
        created_at=now,
    )  # fmt: skip


@asynccontextmanager
async def _trying(channel: "Channel") -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(_TRY_SECONDS):
            yield
    except TimeoutError:
        raise ChannelFailed(f"There was no answer within {_TRY_SECONDS:g} seconds.") from None
    except ChannelFailed:
        raise
    except Exception as error:  # a package's channel may break in any way, and says so here
        log.exception("channel_broken", channel=channel.name)
        detail = f"The channel {channel.name} broke ({type(error).__name__}); see the server's log."
        raise ChannelFailed(detail) from error


def _open_channel(one: ChannelSettings, settings: Settings) -> "Channel":
    return _make_channel(one, settings, read_channel_fields(one, settings))


def read_channel_fields(one: ChannelSettings, settings: Settings) -> dict[str, str]:
    """Give the fields of a channel with their secrets, or say which are wrong or missing."""
    if one.secret is not None:
        return _read_kept_fields(one, one.secret, settings)
    kind, home = _find_kind(one, settings), settings.home
    faults, values = check_channel_fields(one.name, one.fields, kind.fields), dict[str, str]()
    for key, value in one.fields.items():
        found = value if isinstance(value, str) else read_secret(home, value["secret"])
        if found is None:
            secret = dict(value)["secret"] if not isinstance(value, str) else key
            detail = f"The channel {one.name}: there is no secret {secret}. Set {SECRET}{secret}, or put it in a file"
            faults.append(
                FieldError(field="channels", code="missing", detail=f"{detail} secrets/{secret} of home (0600).")
            )
        else:
            values[key] = found
    if faults:
        raise Invalid("This channel cannot be used.", errors=tuple(faults))
    return values


def _read_kept_fields(one: ChannelSettings, secret: str, settings: Settings) -> dict[str, str]:
    found = _load_kept_fields(settings.home, secret)
    again = f"Enter its fields again: homing channels update {one.name}, or Settings on the page."
    if found is None:
        raise Invalid(
            f"The channel {one.name}: its file secrets/{secret} of home is missing or damaged. {again}",
            field="channels",
        )
    missing = [key for key, needed in _find_kind(one, settings).fields.items() if needed and not found.get(key)]
    if missing:
        raise Invalid(f"The channel {one.name} needs {', '.join(missing)}. {again}", field="channels")
    return found


def _load_kept_fields(home: Path, secret: str) -> dict[str, str] | None:
    """Read the fields of a channel that was added; None where its file is missing or damaged."""
    try:
        found: object = json.loads(read_secret(home, secret) or "")
    except ValueError:
        # Neither the text nor the error is shown: it may hold the token.
        return None
    fields = cast("dict[str, object]", found) if isinstance(found, dict) else {"": None}
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    return texts if len(texts) == len(fields) else None


def _make_channel(one: ChannelSettings, settings: Settings, given: Mapping[str, str]) -> "Channel":
    kind, values = _find_kind(one, settings), dict(given)
    if one.kind == MAIL and settings.smtp_url is not None:
        values.setdefault("smtp_url", settings.smtp_url)
    try:
        return kind.make(one.name, values)
    except ValueError as error:
        raise Invalid(f"The channel {one.name}: {error}.", field="channels") from None


def _page_url(settings: Settings) -> str:
    return settings.public_url or f"http://{settings.host}:{settings.port}"


def _find_kind(one: ChannelSettings, settings: Settings) -> "ChannelKind":
    """Import one kind of channel: ours, or a package's. Only those that the settings name are imported."""
    from homing.channels.kinds import ChannelKind  # noqa: PLC0415 - see above

    if one.kind == "matrix":
        from homing.channels.matrix import make_matrix_channel  # noqa: PLC0415 - see above

        return ChannelKind(
            fields=CHANNEL_FIELDS["matrix"], make=partial(make_matrix_channel, keys_folder=settings.share / "matrix")
        )
    if one.kind == MAIL:
        from homing.channels.mail_account import make_mail_channel  # noqa: PLC0415 - see above

        make = partial(
            make_mail_channel,
            find_key=partial(_find_reply_key, settings.home),
            read_html=_read_html,
            page_url=_page_url(settings),
        )
        return ChannelKind(fields=CHANNEL_FIELDS[MAIL], make=make)
    if one.kind in CHANNEL_FIELDS:
        return import_module(f"homing.channels.{one.kind}").KIND
    for entry in entry_points(group=CHANNEL_PACKAGES, name=one.kind):
        try:
            kind = entry.load()
        except Exception as error:  # the rim: a package that cannot be imported spoils its own channel only
            log.warning("channel_package_broken", kind=entry.name, exc_info=True)
            raise Invalid(
                f"The channel {one.name}: the package of its kind {one.kind} cannot be imported"
                f" ({type(error).__name__}). Install it again.",
                field="channels",
            ) from None
        if isinstance(kind, ChannelKind):
            return kind
        raise Invalid(f"The channel {one.name}: {entry.value} is not a ChannelKind.", field="channels")
    known = sorted({*CHANNEL_FIELDS, *(entry.name for entry in entry_points(group=CHANNEL_PACKAGES))})
    raise Invalid(
        f"The channel {one.name}: there is no kind {one.kind}. Set `kind` to {' or '.join(known)}, or install a package"
        " that offers it.",
        field="channels",
    )


def _reply_key(home: Path) -> str:
    """Give the key of the tokens in reply addresses; the first who needs it makes it."""
    for _ in range(2):
        if (known := read_secret(home, _REPLY_KEY)) is not None:
            return known
        try:
            write_secret(home, _REPLY_KEY, secrets.token_urlsafe(32))
        except FileExistsError:
            # Another process made it at this moment, and may be writing it.
            continue
        except OSError as error:
            raise ChannelFailed(
                f"The key of reply addresses could not be written to secrets in Homing's home: {error.strerror}."
            ) from None
    known = read_secret(home, _REPLY_KEY)
    if known is None:
        raise ChannelFailed(f"The key of reply addresses could not be read; look at secrets/{_REPLY_KEY} in home.")
    return known


async def _find_reply_key(home: Path) -> str:
    return await asyncio.to_thread(_reply_key, home)


async def _read_html(html: str) -> str:
    from homing.tools.page_text import read_page  # noqa: PLC0415 - see above

    if not html.strip():
        return ""
    page = await read_page(html.replace("\0", "").encode(errors="replace"), "text/html; charset=utf-8", "")
    return page.text or page.remark


async def open_sandbox(settings: Settings) -> "Bubblewrap":
    """Give the sandbox of this machine, tried, or refuse with the sentence that helps."""
    from homing.sandbox.errors import SWITCHED_OFF, NoSandbox  # noqa: PLC0415 - see above
    from homing.sandbox.trial import try_sandbox  # noqa: PLC0415 - see above

    if not settings.sandbox:
        raise NoSandbox(SWITCHED_OFF)
    return await try_sandbox()


async def open_files(settings: Settings, store: Store, *, first: bool = False) -> "FileStore":
    """Give where this database keeps the bytes of files, or refuse with the sentence that helps.

    `first`: this process may say which folder it is, if nobody has yet.
    """
    from homing.files import FolderStore  # noqa: PLC0415 - see above
    from homing.sandbox.errors import NoSandbox  # noqa: PLC0415 - see above
    from homing.sandbox.share import make_share_id, open_share  # noqa: PLC0415 - see above

    if settings.files_url and settings.files_url.startswith("s3:"):
        return _open_bucket(settings, settings.files_url, store)
    own = unquote(urlsplit(settings.files_url).path) if settings.files_url else None
    folder, name = (Path(own), maintenance.FILES_ID) if own else (settings.share, maintenance.SHARE_ID)
    known = await store.read(lambda tx: maintenance.share_id(tx, name))
    try:
        if known is None:
            if not first:
                raise NoFiles("Files are off until a worker has started once: it says which folder keeps them.")
            made = await asyncio.to_thread(make_share_id, folder, "Files")
            known = await store.write(lambda tx: maintenance.keep_share_id(tx, made, name))
        share = await asyncio.to_thread(open_share, folder, known, "Files")
    except NoSandbox as refused:
        raise NoFiles(refused.detail) from refused
    return FolderStore(folder=share.folder / "files")


def _open_bucket(settings: Settings, url: str, store: Store) -> "FileStore":
    """Give files in a bucket; which one it is, it finds out when it is first used."""
    try:
        from homing.files.bucket import BucketStore  # noqa: PLC0415 - an extra
    except ImportError as missing:
        raise NoFiles(
            "HOMING_FILES_URL names a bucket, which needs a package that is not installed: pip install 'homing[s3]'."
        ) from missing

    name = maintenance.FILES_ID
    return BucketStore(
        url,
        incoming=settings.share / "incoming-files",
        find_id=lambda: store.read(lambda tx: maintenance.share_id(tx, name)),
        keep_id=lambda made: store.write(lambda tx: maintenance.keep_share_id(tx, made, name)),
    )


async def open_workspaces(
    settings: Settings, store: Store, bubblewrap: "Bubblewrap | None" = None
) -> "tuple[WorkspaceTools, AgentPackages]":
    """Give the workspaces of this database with a sandbox, and its packages, or refuse with the sentence that helps."""
    from homing.sandbox.packages import Packages  # noqa: PLC0415 - see above
    from homing.sandbox.share import make_share_id, open_share  # noqa: PLC0415 - see above
    from homing.tools.environments import AgentPackages  # noqa: PLC0415 - see above
    from homing.tools.workspace import WorkspaceTools  # noqa: PLC0415 - see above

    bubblewrap, folder = bubblewrap or await open_sandbox(settings), settings.share
    known = await store.read(maintenance.share_id)
    if known is None:
        made = await asyncio.to_thread(make_share_id, folder)
        known = await store.write(lambda tx: maintenance.keep_share_id(tx, made))
    share = await asyncio.to_thread(open_share, folder, known)
    packages = AgentPackages(packages=Packages(share=share), store=store, clock=store.clock)
    tools = WorkspaceTools(
        bubblewrap=bubblewrap,
        share=share,
        store=store,
        find_environment=packages.find,
        find_files=partial(open_files, settings, store),
    )
    return tools, packages


def make_web_tools(homing: Homing) -> "Sequence[OutsideTool]":
    """Make the tools that read the web."""
    from homing.tools import fetch_url, search_web  # noqa: PLC0415 - see above

    search_url = homing.settings.search_url
    return [fetch_url.offer(homing.clock), *([search_web.offer(search_url)] if search_url else [])]


class ServerHands:
    """The MCP servers that this process can start and reach, and its scripts. Made when they are first used."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._workspaces: WorkspaceTools | None = None
        self._packages: AgentPackages | None = None
        self._trial: Path | None = None
        self._sandbox: Bubblewrap | None = None
        self._files: FileStore | None = None
        self._tries = asyncio.Semaphore(_TRIES)

    @cached_property
    def servers(self) -> "McpServers":
        from homing.tools.mcp_servers.keeper import McpServers  # noqa: PLC0415 - see above

        settings, database = self._settings, self._store.file
        return McpServers(
            find_place=self._find_place,
            read_secret=partial(read_secret, settings.home),
            private=[settings.home, settings.share, *([database] if database else [])],
            find_environment=self._find_environment,
        )

    def check_mcp_server(self, server: McpServer, agent: Agent) -> None:
        self.servers.check_mcp_server(server, agent)

    async def list_mcp_tools(self, server: McpServer, agent: Agent, user_id: str) -> tuple[McpTool, ...]:
        return await self.servers.list_mcp_tools(server, agent, user_id)

    async def resolve_packages(self, request: PackageRequest, base: PackageLock | None) -> Resolved:
        from homing.sandbox.packages import Packages  # noqa: PLC0415 - see above
        from homing.sandbox.share import Share  # noqa: PLC0415 - see above

        # A lookup leaves nothing behind, so it needs no share: a worker that has it builds.
        packages = Packages(share=Share(folder=await asyncio.to_thread(self._trial_folder)))
        return await packages.resolve(request, base, self._store.clock.now())

    async def try_model(
        self, name: str, *, base_url: str | None, key: str | None, kept: ModelSetting | None, now_in_use: str
    ) -> tuple[str, ...]:
        from homing.agent.model_trial import try_model  # noqa: PLC0415 - see above

        return await try_model(name, base_url=base_url, key=key or self._kept_key(kept), in_use=now_in_use)

    async def keep_model_key(self, key: str) -> str:
        name = new_id(KEY_FILE)
        try:
            await asyncio.to_thread(write_secret, self._settings.home, name, key)
        except OSError as error:
            raise Conflict(
                f"The key could not be written to secrets in Homing's home: {error.strerror}. Nothing was changed."
            ) from None
        return name

    async def sweep_secrets(self) -> None:
        """Remove the files of keys and channels that were replaced. One that was just written waits for its row."""
        # Before the rows are read: a file that is older than this has its row by then, or never gets one.
        before = time.time() - _KEY_WAITS_SECONDS
        chosen = await self._store.read(maintenance.model_setting)
        kept = await self._store.read(maintenance.kept_channels)
        keep = {KEY_FILE: {chosen.secret or ""} if chosen else set[str](), FIELDS_FILE: {one.secret for one in kept}}
        for beginning, used in keep.items():
            await asyncio.to_thread(remove_old_secrets, self._settings.home, beginning, keep=used, before=before)

    async def find_models(self, base_url: str | None, *, kept: ModelSetting | None) -> "FoundModels":
        from homing.agent.model_trial import find_models  # noqa: PLC0415 - see above

        return await find_models(choosable_providers(os.environ), base_url, self._kept_key(kept))

    def _kept_key(self, kept: ModelSetting | None) -> str | None:
        return read_secret(self._settings.home, kept.secret) if kept is not None and kept.secret is not None else None

    @cached_property
    def scripts(self) -> "Scripts":
        from homing.tools.scripts import Scripts  # noqa: PLC0415 - see above

        return Scripts(self.sandbox)

    async def sandbox(self) -> "Bubblewrap":
        """Give the sandbox of this machine, tried once, or refuse with the sentence that helps."""
        if self._sandbox is None:
            self._sandbox = await open_sandbox(self._settings)
        return self._sandbox

    async def file_store(self) -> "FileStore":
        # SQLite is of one machine; with PostgreSQL a door may be elsewhere, so a worker says which folder it is.
        if self._files is None:
            self._files = await open_files(self._settings, self._store, first=not self._store.postgres)
        return self._files

    async def try_script(self, script: Script, given: Mapping[str, Any]) -> ScriptEnd:
        async with self._tries:
            return await self.scripts.run(script, given)

    async def try_channel(self, name: str, address: str | None) -> ChannelTrial:
        return await try_named_channel(await self._settings_now(), name, address)

    async def keep_channel(self, name: str, kind: str, fields: Mapping[str, str], kept: str | None) -> KeptTrial:
        home = self._settings.home
        before: Mapping[str, str] = {}
        if kept is not None:
            # Without it, all that is needed has to be given again.
            before = await asyncio.to_thread(_load_kept_fields, home, kept) or {}
            _check_same_place(before, fields)
        wanted = {key: value.strip() for key, value in {**before, **fields}.items() if value.strip()}
        account = await try_fields(self._settings, name, kind, wanted)
        secret = new_id(FIELDS_FILE)
        try:
            await asyncio.to_thread(write_secret, home, secret, json.dumps(wanted))
        except OSError as error:
            raise Conflict(
                f"The channel could not be written to secrets in Homing's home: {error.strerror}. Nothing was changed."
            ) from None
        return KeptTrial(account=account, secret=secret)

    async def send_words(self, name: str, address: str, text: str) -> None:
        await send_by_channel(await self._settings_now(), name, address, text)

    async def _settings_now(self) -> Settings:
        return await self._store.read(lambda tx: with_kept(tx, self._settings))

    def tools(self, agent: Agent) -> "Sequence[OutsideTool]":
        """Give the tools of an agent's servers."""
        if not agent.mcp_servers:
            return ()
        from homing.tools.mcp_servers.offers import mcp_tools  # noqa: PLC0415 - see above

        return mcp_tools(agent, self.servers, self._store, unified=self._settings.unified_session)

    async def close(self) -> None:
        """Stop the servers and interpreters that still run."""
        if "servers" in vars(self):
            await self.servers.close()
        if "scripts" in vars(self):
            await self.scripts.close()

    async def _find_place(self, owner: tuple[str, ...]) -> "tuple[Bubblewrap, Path]":
        if self._workspaces is None:
            if await self._store.read(maintenance.share_id) is None:
                # Only a worker says which folder is the share: a server is tried in an empty workspace.
                return await open_sandbox(self._settings), await asyncio.to_thread(self._trial_workspace, owner)
            self._workspaces, self._packages = await open_workspaces(self._settings, self._store)
        workspace = await asyncio.to_thread(self._workspaces.share.workspace, *owner)
        return self._workspaces.bubblewrap, workspace.folder

    async def _find_environment(self, agent: Agent) -> Path | None:
        # A place was found before: where packages could be, the workspaces are open.
        return await self._packages.find(agent) if self._packages is not None else None

    def _trial_workspace(self, owner: tuple[str, ...]) -> Path:
        from homing.sandbox.share import Share  # noqa: PLC0415 - see above

        return Share(folder=self._trial_folder()).workspace(*owner).folder

    def _trial_folder(self) -> Path:
        if self._trial is None:
            self._trial = Path(mkdtemp(prefix="homing-"))
            weakref.finalize(self, shutil.rmtree, self._trial, ignore_errors=True)
        return self._trial


class Hands:
    """What turns of one worker work with outside the database, opened once before the first of them."""

    def __init__(self, homing: Homing) -> None:
        from homing.engine.abilities import Abilities  # noqa: PLC0415 - see above

        self._homing = homing
        self.abilities = Abilities()
        self.opened = asyncio.Event()
        """Until then nobody knows which tools there are."""
        self._workspaces: WorkspaceTools | None = None
        self._packages: AgentPackages | None = None
        self._web = make_web_tools(homing)
        self.files: FileStore | None = None

    @property
    def requests(self) -> "Sequence[RequestTool]":
        """Give the tools by which agents ask for more than they have."""
        from homing.tools import add_mcp_server, install_packages, request_access  # noqa: PLC0415 - see above

        instance = self._homing.instance
        found = [
            request_access.offer(self._homing.settings),
            add_mcp_server.offer(self._homing.store, instance, sandbox=self._workspaces is not None),
        ]
        if self._packages is not None:
            found.append(install_packages.offer(self._packages, instance))
        return found

    @property
    def own_tools(self) -> "Sequence[ToolSpec]":
        """Give the tools of workspaces whose effect is in our own rows."""
        return self._workspaces.own_offers() if self._workspaces else ()

    async def sweep(self) -> bool:
        """Remove what is not needed any more outside the database; say whether more files may have to go."""
        servers = self._homing.instance.hands
        if isinstance(servers, ServerHands):
            await servers.sweep_secrets()
        if self._packages is not None:
            await self._packages.sweep()
        if self._workspaces is not None:
            await asyncio.to_thread(self._workspaces.files.copies.sweep)
        return self.files is not None and await self._sweep_files(self.files)

    async def _sweep_files(self, files: "FileStore") -> bool:
        from homing.operations.files import sweep_files  # noqa: PLC0415 - see above

        try:
            gone = await sweep_files(self._homing.store, files)
        except FilesAway as away:
            log.warning("files_away", reason=str(away))
            return False
        if gone:
            log.info("files_removed", files=gone)
        return gone > 0

    def tools(self, agent: Agent) -> "Sequence[OutsideTool]":
        servers = self._homing.instance.hands
        of_servers = servers.tools(agent) if isinstance(servers, ServerHands) else ()
        return [*self._web, *(self._workspaces.offers() if self._workspaces else ()), *of_servers]

    async def open(self) -> None:
        """Open what this machine has, and log what it lacks and why."""
        from homing.sandbox.errors import NoSandbox  # noqa: PLC0415 - see above

        try:
            self.files = await open_files(self._homing.settings, self._homing.store, first=True)
        except NoFiles as refused:
            log.warning("files_unavailable", reason=refused.detail)
        try:
            sandbox = await open_sandbox(self._homing.settings)
            self.abilities.add_sandbox()
            opened = await open_workspaces(self._homing.settings, self._homing.store, sandbox)
            self._workspaces, self._packages = opened
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
                self.engine.hands.opened.set()
                break
            except NotReady:
                await asyncio.sleep(_PAUSE_SECONDS)
        await self.engine.driver.run()


@dataclass(frozen=True, kw_only=True)
class _ApprovedActions:
    """The actions, once it is known which tools there are: one that is not there yet would count as gone."""

    engine: Engine

    async def run(self) -> None:
        if self.engine.hands is not None:
            await self.engine.hands.opened.wait()
        await self.engine.actions.run()


async def _load_model(homing: Homing) -> None:
    """Import the server's model in the background: that takes a second, which the first message need not wait."""
    try:
        chosen = await homing.store.read(maintenance.model_setting)
        name = default_model(homing.instance, chosen)
        await homing.models.load(name, setting_for(homing.instance, chosen, name))
    except Exception:
        # Whatever is wrong is told by the turn that asks the model.
        log.info("model_not_loaded", exc_info=True)


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
    if engine.channels is not None:
        with contextlib.suppress(NotReady):
            await engine.channels.step()
    # What is loaded by now stays: the collector need not look through it again and again while turns wait.
    gc.collect()
    gc.freeze()
    machines = [
        _Turns(engine=engine),
        _ApprovedActions(engine=engine),
        engine.gates,
        engine.indexer,
        engine.channels,
        engine.courier,
        engine.receiver,
        engine.signs,
        engine.sweeper,
        engine.scheduler,
    ]
    tasks = [asyncio.create_task(_tend(machine)) for machine in machines if machine is not None]
    tasks.append(asyncio.create_task(_load_model(homing)))
    try:
        yield
    finally:
        await engine.driver.stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await engine.sweeper.leave()
        if isinstance(homing.instance.hands, ServerHands):
            await homing.instance.hands.close()
        await homing.models.close()
