"""Letters as the courier writes them, for tests of channels."""

from datetime import UTC, datetime

from homing.channels import Letter
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


def letter(
    address: str, text: str = "Good morning.", *, delivery_id: str = "dlv_k3v9x2mq7a", job_id: str | None = None
) -> Letter:
    return Letter(
        delivery_id=delivery_id,
        address=address,
        session_key="web:fruit",
        text=text,
        message=message(text),
        job_id=job_id,
        created_at=SENT_AT,
    )
