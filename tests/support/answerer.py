"""Somebody who answers approvals through a worker process's own operations, and writes down what was heard.

A line is written after the answer was committed, as a browser shows it then: what stands there must never be lost.
"""

import asyncio
import os
import random
from functools import partial
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

from homing.model.errors import Conflict, NotReady
from homing.model.people import OWNER, Caller
from homing.operations.approvals import answer_approval
from homing.operations.context import Context
from homing.operations.shapes.approval import AnswerApproval
from homing.store import Tx
from homing.store import tables as t
from homing.wiring import Homing
from support.orders import Order

Decision = Literal["approve", "deny"]
_OWNER = Caller(user_id=OWNER, role="admin", door="page", approve=True)
_DENIED = 0.15


async def answer_all(homing: Homing, order: Order) -> None:
    """Answer whatever waits, again and again, until cancelled."""
    dice = random.Random(order.answers)

    def look(tx: Tx) -> list[tuple[str, str]]:
        c = t.approval.c
        return [(row.id, row.digest) for row in tx.rows(sa.select(c.id, c.digest).where(c.state == "pending"))]

    while True:
        try:
            waiting = await homing.store.read(look)
            if waiting:
                approval_id, digest = dice.choice(waiting)
                decision = "deny" if dice.random() < _DENIED else "approve"
                await homing.store.write(partial(answer, homing, approval_id, digest, decision))
                _note(order.folder, approval_id, decision)
        except (Conflict, NotReady):
            continue
        await asyncio.sleep(dice.random() * 0.2)


def answer(homing: Homing, approval_id: str, digest: str, decision: Decision, tx: Tx) -> None:
    """Answer as a person does on the page."""
    ctx = Context(tx=tx, caller=_OWNER, instance=homing.instance)
    answer_approval(ctx, AnswerApproval(approval_id=approval_id, digest=digest, decision=decision))


def _note(folder: Path, approval_id: str, decision: str) -> None:
    handle = os.open(folder / "answers", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, f"{approval_id} {decision}\n".encode())
    finally:
        os.close(handle)


def answers(folder: Path) -> dict[str, str]:
    """Read what was heard, by approval."""
    path = folder / "answers"
    lines = path.read_text().splitlines() if path.exists() else []
    return {approval_id: decision for approval_id, _, decision in (line.partition(" ") for line in lines)}
