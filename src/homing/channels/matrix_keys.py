"""The keys of one Matrix device, kept by matrix-nio in a file: they open and seal what is said in encrypted rooms.

Only nio's key machine is used, none of its HTTP. What a sync brings is kept in one transaction of that file, before our
own rows and cursor are: killed in between, the server gives it again, and its second copy opens nothing and harms
nothing. What is sealed is kept before it is sent. One process at a time has the file, and reads it again after another
one wrote.

nio binds its tables to one file for the whole process at a time, so one thread does everything that touches a file, for
all accounts.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from homing.channels.matrix_api import CLIENT, MatrixCalls, at
from homing.model.errors import ChannelFailed

Result = TypeVar("Result")

MISSING = "needs the extra `matrix`: install homing[matrix]"
_LOCK_SECONDS = 10.0
_LOCK_PAUSE_SECONDS = 0.02
# Also because SQLite's connections belong to a thread, and because the loop must not wait for a disk.
_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="matrix keys")
_OUTER = ("event_id", "sender", "origin_server_ts")
# Where SQLite counts the changes of a file.
_CHANGES = slice(24, 28)


def can_encrypt() -> bool:
    """Say whether the extra is installed."""
    return find_spec("nio") is not None and find_spec("vodozemac") is not None


class MatrixKeys:
    """The keys of one device."""

    def __init__(self, folder: Path, *, user_id: str, device_id: str) -> None:
        self._folder = folder
        self._name = sha256(f"{user_id} {device_id}".encode()).hexdigest()[:16]
        self._user_id = user_id
        self._device_id = device_id
        self._busy = asyncio.Lock()
        self._machine: Any = None
        self._stale = True
        self._locked: int | None = None
        self._changes = b""
        self._shared: dict[str, frozenset[tuple[str, str]]] = {}
        """The devices that can open what is sealed for a room now."""

    async def publish(self, calls: MatrixCalls, left: int | None = None) -> None:
        """Let others seal for this device: give the server its keys, and new one-time keys when few are `left`."""
        async with self._held() as machine:
            if machine.account.shared and left is None:
                return
            if not machine.account.shared:
                await self._check_first(calls, machine)
            machine.uploaded_key_count = left
            if not machine.should_upload_keys:
                return

            def make() -> dict[str, Any]:
                made = machine.share_keys()
                # Before anybody can use one of them.
                machine.save_account()
                return made

            made = await self._run(make)
            taken = await calls.post(CLIENT + "/keys/upload", made)
            count = taken.get("one_time_key_counts", {}).get("signed_curve25519", 0)
            await self._answer(machine, "KeysUploadResponse", 0, count)

    async def open(
        self, sent: Sequence[Mapping[str, Any]], events: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> dict[str, Mapping[str, Any]]:
        """Keep the keys that were sent to this device, then open the events of rooms: those that open, by their id."""
        async with self._held() as machine:
            return await self._run(lambda: self._open_all(machine, sent, events))

    async def seal(
        self, calls: MatrixCalls, room_id: str, members: Collection[str], event_type: str, content: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Seal an event for every device of the members, which get the key first."""
        async with self._held() as machine:
            await self._share(calls, machine, room_id, sorted(members))
            plain = {"type": event_type, "content": dict(content)}
            sealed: dict[str, Any] = await self._run(lambda: machine.group_encrypt(room_id, plain))
        if "m.relates_to" in content:
            # The server reads it too: threads and edits work by it.
            sealed["m.relates_to"] = content["m.relates_to"]
        return sealed

    async def mend(self, calls: MatrixCalls) -> None:
        """Begin again with devices whose messages do not open any more, and ask for keys that are missing."""
        async with self._held() as machine:
            if machine.wedged_devices:
                wanted = machine.get_users_for_key_claiming()
                await self._claim(calls, machine, wanted)
            waiting = list(machine.outgoing_to_device_messages)
            for message in waiting:
                path = at(CLIENT + "/sendToDevice/{}/{}", message.type, uuid4().hex)
                await calls.put(path, message.as_dict())
                await self._answer(machine, "ToDeviceResponse", message)

    def _open_all(
        self, machine: Any, sent: Sequence[Mapping[str, Any]], events: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> dict[str, Mapping[str, Any]]:
        nio = import_module("nio")
        opened: dict[str, Mapping[str, Any]] = {}
        with machine.store.database.atomic():
            for one in sent:
                # Anybody may send anything to a device; only keys matter here.
                if one.get("type") == "m.room.encrypted":
                    with suppress(Exception), machine.store.database.atomic():
                        machine.handle_to_device_event(nio.ToDeviceEvent.parse_event(dict(one)))
            for room_id, given in events.items():
                for one in given:
                    with suppress(Exception):
                        sealed = nio.MegolmEvent.from_dict({**one, "room_id": room_id})
                        found = machine.decrypt_event(sealed, room_id)
                        if found is not None and not isinstance(found, nio.BadEvent | nio.UnknownBadEvent):
                            # Who wrote it is the server's to say, never what was sealed.
                            opened[str(one["event_id"])] = {**found.source, **{name: one[name] for name in _OUTER}}
        return opened

    async def _share(self, calls: MatrixCalls, machine: Any, room_id: str, members: Sequence[str]) -> None:
        """Give the room's key to every device there; to all of them a new one if a device came or went."""
        found = await calls.post(CLIENT + "/keys/query", {"device_keys": {user: [] for user in members}})
        await self._answer(machine, "KeysQueryResponse", found.get("device_keys", {}), {})
        devices = frozenset(
            (user, str(device.id))
            for user in members
            for device in machine.device_store.active_user_devices(user)
            if device.id != self._device_id
        )
        if self._shared.get(room_id) == devices and not machine.should_share_group_session(room_id):
            return
        if missing := machine.get_missing_sessions(list(members)):
            await self._claim(calls, machine, missing)

        def seal_key() -> list[tuple[set[tuple[str, str]], dict[str, Any]]]:
            machine.create_outbound_group_session(room_id)
            return list(machine.share_group_session_parallel(room_id, list(members), True))

        given_to = set[tuple[str, str]]()
        for some, given in await self._run(seal_key):
            await calls.put(at(CLIENT + "/sendToDevice/m.room.encrypted/{}", uuid4().hex), given)
            given_to |= some
        machine.outbound_group_sessions[room_id].shared = True
        # A device that had no key to begin with is asked again the next time.
        self._shared[room_id] = frozenset(given_to)

    async def _claim(self, calls: MatrixCalls, machine: Any, wanted: Mapping[str, Sequence[str]]) -> None:
        asked = {user: dict.fromkeys(devices, "signed_curve25519") for user, devices in wanted.items()}
        found = await calls.post(CLIENT + "/keys/claim", {"one_time_keys": asked})
        await self._answer(machine, "KeysClaimResponse", found.get("one_time_keys", {}), {})

    async def _answer(self, machine: Any, kind: str, *values: Any) -> None:
        """Let the machine keep what the server answered."""
        answered = getattr(import_module("nio.responses"), kind)(*values)
        await self._run(lambda: machine.handle_response(answered))

    async def _check_first(self, calls: MatrixCalls, machine: Any) -> None:
        """Refuse to replace the keys of a device that has some elsewhere."""
        found = await calls.post(CLIENT + "/keys/query", {"device_keys": {self._user_id: [self._device_id]}})
        known = found.get("device_keys", {}).get(self._user_id, {}).get(self._device_id, {}).get("keys", {})
        ours = machine.account.identity_keys["ed25519"]
        if known.get(f"ed25519:{self._device_id}", ours) != ours:
            raise ChannelFailed(
                f"The keys of the device {self._device_id} are not in {self._folder}, and cannot be made again."
                " Copy the folder that has them here, or log in again and use the new token."
            )

    @asynccontextmanager
    async def _held(self) -> "AsyncGenerator[Any]":
        """Have the file for a while, with a machine that knows all of it."""
        async with self._busy:
            try:
                await self._lock()
                yield await self._run(self._take)
            except BaseException:
                # What the machine knows may be more than what was kept.
                self._stale = True
                raise
            finally:
                # Also after a cancelled take: the thread does one thing after the other.
                await asyncio.shield(self._run(self._release))

    async def _run(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(_THREAD, work)

    async def _lock(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._locked = os.open(self._path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ChannelFailed(f"The folder of Matrix keys cannot be used: {error.strerror}.") from None
        try:
            async with asyncio.timeout(_LOCK_SECONDS):
                while not _try_lock(self._locked):  # noqa: ASYNC110 - the lock is another process's
                    await asyncio.sleep(_LOCK_PAUSE_SECONDS)
        except TimeoutError:
            raise ChannelFailed("Another process uses the keys of this Matrix device.") from None

    def _take(self) -> Any:
        if self._stale or self._changes != self._read_changes():
            self._machine, self._stale = self._load(), False
        else:
            self._machine.store.database.connect(reuse_if_open=True)
        return self._machine

    def _release(self) -> None:
        if self._machine is not None:
            self._machine.store.database.close()
            self._changes = self._read_changes()
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    def _load(self) -> Any:
        # Only here, because it takes two seconds.
        crypto, stores = import_module("nio.crypto"), import_module("nio.store")
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        store = stores.SqliteStore(self._user_id, self._device_id, str(self._folder), database_name=self._path.name)
        self._shared = {}
        return crypto.Olm(self._user_id, self._device_id, store)

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._name}.db"

    def _read_changes(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                return file.read(_CHANGES.stop)[_CHANGES]
        except OSError:
            return b""


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def seal_file(data: bytes) -> tuple[bytes, dict[str, Any]]:
    """Encrypt a file; give the bytes, and what opens them."""
    sealed, keys = import_module("nio.crypto").encrypt_attachment(data)
    return sealed, keys


def open_file(sealed: bytes, keys: Mapping[str, Any]) -> bytes:
    """Decrypt a file and check that it is whole."""
    try:
        return import_module("nio.crypto").decrypt_attachment(
            sealed, keys["key"]["k"], keys["hashes"]["sha256"], keys["iv"]
        )
    except (import_module("nio").EncryptionError, LookupError, TypeError, ValueError):
        raise ChannelFailed("The file cannot be decrypted.", permanent=True) from None
