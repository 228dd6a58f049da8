"""A channel as a package: messages become files in a folder, and files that appear there are heard."""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from homing.channels import Capabilities, Channel, IncomingMessage, Intake, Part, Receipt
from homing.channels.kinds import ChannelKind
from homing.model.errors import ChannelFailed


class PigeonChannel(Channel):
    """Sends to `pigeon:ROOF`: a file ROOF/out/PART. Hears ROOF/in/NUMBER.txt."""

    # A file of the same name is there already: a part that is sent again is recognised.
    capabilities = Capabilities(max_length=200, length_unit="bytes", resend="deduplicated")

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder

    async def check(self) -> str:
        if not self.folder.is_dir():
            raise ChannelFailed(f"There is no folder {self.folder}.")
        return f"pigeons of {self.folder.name}"

    async def send(self, part: Part) -> Receipt:
        if not re.fullmatch(r"[a-z]{1,20}", part.place):
            raise ChannelFailed(f"{part.place!r} is not a roof.", permanent=True)
        out = self.folder / part.place / "out"
        try:
            out.mkdir(parents=True, exist_ok=True)
            (out / part.id).write_text(part.text, "utf-8")
        except OSError as error:
            raise ChannelFailed(f"The pigeon came back: {error.strerror}.") from error
        return Receipt(detail={"file": part.id}, external_id=f"{part.place}:{part.id}")

    async def listen(self, intake: Intake) -> None:
        while True:
            seen = int(intake.cursor or 0)
            news = sorted((int(file.stem), file) for file in self.folder.glob("*/in/*.txt") if int(file.stem) > seen)
            if news:
                await intake.take([self._read(file) for _, file in news], str(news[-1][0]))
            await asyncio.sleep(0.05)

    def _read(self, file: Path) -> IncomingMessage:
        roof = file.parent.parent.name
        return IncomingMessage(
            external_id=f"{roof}:{file.stem}",
            address=f"{self.name}:{roof}",
            sender=roof,
            sender_name=roof.title(),
            direct=True,
            addressed=True,
            text=file.read_text("utf-8"),
            at=datetime.fromtimestamp(file.stat().st_mtime, UTC),
        )


def make(name: str, fields: Mapping[str, str]) -> Channel:
    return PigeonChannel(name, Path(fields["folder"]))


KIND = ChannelKind(fields={"folder": True}, make=make)
