"""Parts of deliveries: what was cut, what was sent, and where a reply leads. The delivery's row is changed before."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import sqlalchemy as sa

from homing.model.messages import DeliveryPart
from homing.store import tables as t
from homing.store.base import Tx, columns

_c = t.part.c
# Deliveries. To one address they go in their order, so a file that went there since is among those before this one.
_NEAR = 1_000
_COLUMNS = tuple(_c[field.name] for field in fields(DeliveryPart))


def cut_once(tx: Tx, parts: Sequence[DeliveryPart]) -> bool:
    """Write the parts of a delivery, unless somebody else did meanwhile."""
    delivery_id = parts[0].delivery_id
    was_whole = sa.update(t.delivery).where(t.delivery.c.id == delivery_id, t.delivery.c.parts == 0)
    if tx.run(was_whole.values(parts=len(parts))) == 0:
        return False
    tx.run(sa.insert(t.part).values([asdict(part) for part in parts]))
    return True


def get(tx: Tx, delivery_id: str, n: int) -> DeliveryPart | None:
    rows = tx.rows(sa.select(*_COLUMNS).where(_c.delivery_id == delivery_id, _c.n == n))
    return DeliveryPart(**columns(rows[0])) if rows else None


def count(tx: Tx, delivery_id: str) -> int:
    return tx.rows(sa.select(sa.func.count()).where(_c.delivery_id == delivery_id))[0][0]


def finish(
    tx: Tx,
    delivery_id: str,
    n: int,
    *,
    receipt: Mapping[str, object],
    external_id: str | None,
    buttons: bool = False,
) -> None:
    """Write the receipt of a part that was not sent before."""
    values = {
        "sent_at": tx.now(),
        "receipt": dict(receipt) or None,
        "external_id": external_id,
        "buttons": buttons and external_id is not None,
    }
    tx.run(sa.update(t.part).where(_c.delivery_id == delivery_id, _c.n == n, _c.sent_at.is_(None)).values(values))


def put_line(tx: Tx, delivery_id: str, n: int, line: str) -> None:
    """Let a line take the place of a file that cannot be sent; the part keeps its id."""
    refused = (_c.delivery_id == delivery_id, _c.n == n, _c.sent_at.is_(None))
    tx.run(sa.update(t.part).where(*refused).values(text=line, file_id=None))


def doubt(tx: Tx, delivery_ids: Collection[str]) -> None:
    """Mark the first unsent part of each: an attempt of it ended without an answer."""
    sent = sa.select(t.delivery.c.parts_sent).where(t.delivery.c.id == _c.delivery_id).scalar_subquery()
    doubtful = (_c.delivery_id.in_(list(delivery_ids)), _c.sent_at.is_(None), _c.n == sent)
    tx.run(sa.update(t.part).where(*doubtful).values(unsure=True))


def receipts_of_files(tx: Tx, delivery_id: str, address: str) -> list[Mapping[str, object]]:
    """Read the receipts of files that went to an address with a delivery or not long before it."""
    delivery = t.delivery.c
    this = sa.select(delivery.n).where(delivery.id == delivery_id).scalar_subquery()
    near = (delivery.n > this - _NEAR, delivery.n <= this, delivery.address == address)
    sent = sa.select(_c.receipt).join(t.delivery, delivery.id == _c.delivery_id)
    files = sent.where(*near, _c.file_id.is_not(None), _c.receipt.is_not(None))
    rows = tx.rows(files.order_by(delivery.n, _c.n))
    return [dict(row.receipt or {}) for row in rows]


def find(tx: Tx, external_id: str) -> DeliveryPart | None:
    """Find the part that a reply or a pressed button means, by `<account>:<place>:<message id>`."""
    rows = tx.rows(sa.select(*_COLUMNS).where(_c.external_id == external_id).limit(1))
    return DeliveryPart(**columns(rows[0])) if rows else None


@dataclass(frozen=True, kw_only=True)
class OpenButtons:
    """A sent part whose buttons are of no use any more."""

    external_id: str
    address: str
    question_id: str | None
    approval_id: str | None


def has_useless_buttons(tx: Tx, channels: Collection[str]) -> bool:
    """Say whether there is something to take, without a lock."""
    return bool(tx.rows(_useless_buttons(channels, 1)))


def take_useless_buttons(tx: Tx, channels: Collection[str], limit: int) -> list[OpenButtons]:
    """Take parts sent by these channels whose question or approval is over.

    Each is given to one caller only, which removes its buttons.
    """
    over = _useless_buttons(channels, limit)
    found = tx.rows(over.with_for_update(of=t.part, skip_locked=True) if tx.postgres else over)
    for delivery_id, n, *_ in found:
        tx.run(sa.update(t.part).where(_c.delivery_id == delivery_id, _c.n == n).values(buttons=False))
    return [
        OpenButtons(external_id=external_id, address=address, question_id=question_id, approval_id=approval_id)
        for _, _, external_id, address, question_id, approval_id in found
    ]


def _useless_buttons(channels: Collection[str], limit: int) -> sa.Select[*tuple[Any, ...]]:
    theirs = (t.delivery.c.address.startswith(f"{name}:", autoescape=True) for name in channels)
    question, approval = t.question.c, t.approval.c
    still = sa.or_(
        sa.exists().where(question.id == _c.question_id, question.state == "pending"),
        sa.exists().where(approval.id == _c.approval_id, approval.state == "pending"),
    )
    return (
        sa.select(_c.delivery_id, _c.n, _c.external_id, t.delivery.c.address, _c.question_id, _c.approval_id)
        .join(t.delivery, t.delivery.c.id == _c.delivery_id)
        .where(_c.buttons, ~still, sa.or_(sa.false(), *theirs))
        .limit(limit)
    )
