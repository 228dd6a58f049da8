"""Letters as the courier writes them, for tests of channels."""

from datetime import UTC, datetime

from homing.channels import Letter

SENT_AT = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)


def letter(
    address: str, text: str = "Good morning.", *, delivery_id: str = "dlv_k3v9x2mq7a", job_id: str | None = None
) -> Letter:
    return Letter(
        delivery_id=delivery_id,
        address=address,
        session_key="web:fruit",
        text=text,
        message={"session_key": "web:fruit", "seq": 2, "text": text},
        job_id=job_id,
        created_at=SENT_AT,
    )
