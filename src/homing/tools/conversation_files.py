"""Files of a conversation: shown to its programs below /files, and sent into it from the workspace."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homing.files import gather
from homing.model.bounds import MAX_MESSAGE
from homing.model.errors import Conflict, FilesAway, Invalid, NoFiles, NotFound
from homing.model.files import MAX_FILE, File, FileStore, size_words
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.files import keep_file, send_kept_file
from homing.operations.hands import Desk
from homing.sandbox.bubblewrap import FILES, WORKSPACE
from homing.sandbox.files import Entry, Workspace
from homing.sandbox.share import Share
from homing.sandbox.shown_files import ShownFiles
from homing.store import Store, Tx, kept_files, sessions
from homing.store.steps import Done
from homing.tools.tool import CallContext, ToolFunction, ToolSpec
from homing.tools.typed_arguments import parameters, read_arguments

# Of one conversation, the newest ones.
_MOST_FILES = 50
_MOST_BYTES = 200 << 20
_SEND_SECONDS = 120.0

FindFiles = Callable[[], Coroutine[Any, Any, FileStore]]


async def no_files() -> FileStore:
    """Of workspaces in which nothing is shown."""
    raise NoFiles("This process keeps no files.")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What programs can read below /files, and a sentence if something is missing there."""

    folders: Mapping[str, Workspace]
    files: Sequence[File] = ()
    note: str | None = None

    def find(self, path: str) -> tuple[Workspace, str]:
        """Read a path below /files as a file's id and its name."""
        parts = [part for part in path.removeprefix(FILES).split("/") if part not in ("", ".")]
        file = next((one for one in self.files if parts and one.id == parts[0]), None)
        if file is None or parts[1:] not in ([], [file.name]):
            why = f" {self.note}" if self.note else ""
            raise NotFound(f"{path} does not exist; list_files with {FILES} shows what does.{why}")
        return self.folders[file.id], file.name

    def entries(self) -> list[Entry]:
        return [Entry(name=f"{file.id}/{file.name}", kind="file", size=file.bytes) for file in self.files]


@dataclass(frozen=True, kw_only=True)
class ConversationFiles:
    """Gives programs the files of their conversation, and no others."""

    store: Store
    share: Share
    find_files: FindFiles

    @property
    def copies(self) -> ShownFiles:
        return ShownFiles(folder=self.share.folder / "shown-files")

    async def show(self, context: CallContext) -> Shown:
        """Copy what is not there yet; what cannot be read now is left out and said."""
        wanted = _fitting(await self.store.read(lambda tx: _files_of(tx, context)))
        folders: dict[str, Workspace] = {}
        missing: list[str] = []
        for file in wanted:
            place = await asyncio.to_thread(self.copies.find, file.id)
            if place is None:
                try:
                    content = (await self.find_files()).read(file.id)
                    place = await self.copies.add(file.id, file.name, content)
                except (NotFound, NoFiles, FilesAway, OSError) as error:
                    missing.append(f"{file.id} cannot be read now: {error}")
                    continue
            folders[file.id] = Workspace(folder=place)
        files = [file for file in wanted if file.id in folders]
        return Shown(folders=folders, files=files, note=" ".join(missing) or None)


def _files_of(tx: Tx, context: CallContext) -> list[File]:
    session = sessions.get(tx, context.turn.session_id)
    home = session if session.parent_id is None else sessions.get(tx, session.parent_id)
    return [
        file
        for file in kept_files.of_session(tx, home.id, _MOST_FILES)
        if file.user_id == home.user_id and file.stored_at is not None and file.gone_at is None
    ]


def _fitting(files: Sequence[File]) -> list[File]:
    kept: list[File] = []
    for file in files:
        if sum(one.bytes for one in kept) + file.bytes <= _MOST_BYTES:
            kept.append(file)
    return kept


def send_file_tool(share: Share) -> ToolSpec:
    """Offer `send_file`: the bytes are kept first, and the message is written together with the call's step."""

    async def prepare(desk: Desk, arguments: Mapping[str, object], home: Callable[[Context], Session]) -> ToolFunction:
        given = read_arguments("send_file", _PARAMETERS, arguments)
        text = given.get("text", "").strip()
        if len(text) > MAX_MESSAGE:
            raise Invalid(f"text has at most {MAX_MESSAGE:,} characters.", field="text", code="too_long")
        user_id, owner, most_mb = await desk.read(lambda ctx: _owner(ctx, home(ctx)))
        workspace = await asyncio.to_thread(share.workspace, *owner)
        data = await asyncio.to_thread(workspace.read_bytes, given["path"], MAX_FILE)
        if not data:
            raise Invalid(f"{given['path']} is empty; there is nothing to send.", field="path", code="out_of_range")
        try:
            files = await desk.hands.file_store()
            async with gather(files.incoming) as gathering:
                await gathering.add(data)
                upload = await gathering.finish()
                file = await keep_file(desk.store, files, given["path"], upload, user_id=user_id, most_mb=most_mb)
        except FilesAway as away:
            raise Conflict(f"The file was not sent: {away}") from away

        def send(ctx: Context, session: Session, arguments: Mapping[str, object]) -> Done:
            send_kept_file(ctx, session, file, text)
            return Done(text=f"Sent {file.name} ({size_words(file.bytes)}) into the conversation as {file.id}.")

        return send

    return ToolSpec(
        name="send_file",
        description=(
            "Send a file of your workspace to the people of this conversation, as a message of its own. They see it at"
            f" once, on the page and in their channels. At most {MAX_FILE >> 20} MB."
        ),
        parameters=_PARAMETERS,
        function=_unprepared,
        prepare=prepare,
        seconds=_SEND_SECONDS,
    )


def _owner(ctx: Context, home: Session) -> tuple[str, tuple[str, ...], int]:
    turn = ctx.caller.turn
    assert turn is not None
    return home.user_id, owner_of(turn.agent_id, home), ctx.settings.max_files_mb


def owner_of(agent_id: str, home: Session) -> tuple[str, ...]:
    """Rule 60: a workspace is an agent's for a user; a conversation in which several people write has its own."""
    several = (f"session-{home.id}",) if home.several else ()
    return agent_id, home.user_id, *several


def _unprepared(ctx: Context, session: Session, arguments: Mapping[str, object]) -> Done:
    raise AssertionError("send_file is prepared before it is called")


_PARAMETERS = parameters(
    required=["path"],
    path={"type": "string", "description": f"In your workspace: relative, or below {WORKSPACE}"},
    text={"type": "string", "description": "Words to go with it; may be left out"},
)
