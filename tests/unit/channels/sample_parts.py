"""Parts as the courier writes them, for tests of channels."""

import threading
from datetime import UTC, datetime
from typing import Any

from homing.channels import Part
from homing.model.messages import Message

SENT_AT = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)


def message(text: str) -> Message:
    return Message(
        n=2, session_id=1, session_key="web:fruit", lane_id=1, seq=2, rev=2, role="assistant", kind="chat", text=text,
        turn_id=None, inbound_id=None, job_id=None, run_id=None, model=None, meta={}, cards=[], folded=False,
        created_at=SENT_AT,
    )  # fmt: skip


def show(message: Message) -> dict[str, object]:
    return {"session_key": message.session_key, "seq": message.seq, "text": message.text}


def part(
    address: str, text: str = "Good morning.", *, delivery_id: str = "dlv_k3v9x2mq7a", job_id: str | None = None
) -> Part:
    return Part(
        id=f"{delivery_id}.0",
        address=address,
        session_key="web:fruit",
        text=text,
        message=message(text),
        job_id=job_id,
        created_at=SENT_AT,
    )


class Noting(str):
    """A text that notes in which threads its content is worked on."""

    __slots__ = ("threads",)

    threads: list[int]

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        self.threads.append(threading.get_ident())
        return super().partition(sep)

    def replace(self, *given: Any) -> str:
        self.threads.append(threading.get_ident())
        return super().replace(*given)


def noting(text: str) -> Noting:
    made = Noting(text)
    made.threads = []
    return made
