"""Guards broken in the code itself, one at a time: `python -m torture --break NAME` must end in violations.

The mutation list in the tests shows that the checker would see it; this shows that the chaos gets there.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

VARIABLE = "TORTURE_BREAK"


@dataclass(frozen=True, kw_only=True)
class Sabotage:
    """A guard, how to break it in a process, and the index that would stop the damage."""

    rule: str
    apply: Callable[[], None]
    drops: str | None = None


def _lane() -> None:
    """Open a lane's head although a turn is open."""
    from homing.store import lanes, picking

    lanes.busy = lambda tx, lane_ids: set()  # pyright: ignore[reportUnknownLambdaType]
    # The picker knows free lanes by itself.
    free = picking.pick_people

    def pick(tx: Any, limit: int, *others: Any, **more: Any) -> list[int]:
        import sqlalchemy as sa

        rows = tx.rows(sa.text("select distinct lane_id from inbound where state = 'waiting' and line = 'people'"))
        return [*free(tx, limit, *others, **more), *(lane for (lane,) in rows)][:limit]

    picking.pick_people = pick


def _fence() -> None:
    """Let whoever held a turn once go on thinking and writing for it."""
    from homing.engine.claims import Claim
    from homing.store import turns

    stop = Claim.stop

    def hear(self: Claim, reason: Any) -> None:
        if reason != "lost":
            stop(self, reason)

    Claim.stop = hear
    Claim.alive = lambda self: True

    def hold(tx: Any, turn_id: str, fence: int) -> Any:
        turn = turns.get_turn(tx, turn_id)
        assert turn is not None
        return turn

    def hold_many(tx: Any, fences: Mapping[str, int]) -> dict[str, Any]:
        found = [turns.get_turn(tx, turn_id) for turn_id in fences]
        return {turn.id: turn for turn in found if turn is not None and turn.state == "running"}

    turns.hold, turns.hold_many = hold, hold_many


def _kept() -> None:
    """Forget the steps of earlier attempts."""
    from homing.agent.progress import Progress
    from homing.store import steps

    steps.kept = lambda tx, turn_id: []  # pyright: ignore[reportUnknownLambdaType]
    number = Progress.next_step
    Progress.next_step = lambda self: number(self) + random.randrange(10_000)


def _begun() -> None:
    """Begin an unrepeatable tool without writing it down first."""
    from homing.engine.step_journal import StepJournal

    async def nothing(self: Any, call: Any) -> None:
        return None

    StepJournal.tool_begun = nothing


def _repeat() -> None:
    """Take a command for one that may be repeated."""
    from dataclasses import replace

    from homing.tools.workspace import WorkspaceTools

    make = WorkspaceTools._run_command  # pyright: ignore[reportPrivateUsage]
    WorkspaceTools._run_command = lambda self: replace(make(self), repeatable=True)  # pyright: ignore[reportPrivateUsage]


def _survive() -> None:
    """Let commands outlive the process that started them."""
    from homing.sandbox.bubblewrap import Bubblewrap

    wrap = Bubblewrap.wrap

    def without(self: Any, *given: Any, **more: Any) -> list[str]:
        return [word for word in wrap(self, *given, **more) if word != "--die-with-parent"]

    Bubblewrap.wrap = without


def _active() -> None:
    """Fire a job although its last run is still active."""
    from homing.store import runs

    runs.active_jobs = lambda tx, job_ids: {}  # pyright: ignore[reportUnknownLambdaType]


def _instant() -> None:
    """Lose a due instant now and then."""
    from homing.model.jobs import Timing

    found_after = Timing.next_due

    def next_due(self: Any, after: Any) -> Any:
        found = found_after(self, after)
        return found_after(self, found) if found is not None and random.random() < 0.05 else found

    Timing.next_due = next_due


def _outbound() -> None:
    """Forget now and then to owe people a closing."""
    from homing.store import deliveries, sessions

    post = deliveries.post

    def forget(tx: Any, messages: Any, *, also: Any = (), **how: Any) -> Any:
        if random.random() < 0.9:
            return post(tx, messages, also=also, **how)
        return sessions.append_messages(tx, messages, also=also)

    deliveries.post = forget


def _once() -> None:
    """Carry a request out again although its key is known."""
    from homing.store import maintenance

    maintenance.kept_answer = lambda tx, *, user_id, path, key: None  # pyright: ignore[reportUnknownLambdaType]


def _line() -> None:
    """Send a later letter although an earlier one is still tried."""
    import sqlalchemy as sa

    from homing.store import deliveries

    deliveries._first_of_address = sa.true  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def _back() -> None:
    """Forget now and then what another agent is to be answered."""
    from homing.engine import closing

    answer = closing.answer

    def forget(tx: Any, ended: Any) -> None:
        if random.random() < 0.5:
            answer(tx, ended)

    closing.answer = forget


def _sent() -> None:
    """Call a delivery sent that failed."""
    from homing.store import deliveries

    def lie(tx: Any, delivery: Any, *, rev: int, **_: Any) -> bool:
        return deliveries.finish_part(tx, delivery, rev=rev)

    deliveries.fail_attempt = lie


def _door() -> None:
    """Show anybody's session to whoever asks."""
    import sqlalchemy as sa

    from homing.operations.context import Context
    from homing.store import sessions
    from homing.store import tables as t

    def session(self: Any, key: str) -> Any:
        whose = sa.select(t.session.c.user_id).where(t.session.c.key == key, t.session.c.deleted_at.is_(None))
        found = sessions.find(self.tx, key, user_id=self.tx.rows(whose)[0].user_id)
        assert found is not None
        return found

    Context.session = session


SABOTAGES: Mapping[str, Sabotage] = {
    "lane": Sabotage(rule="two_turns_at_once", apply=_lane, drops="ux_turn_open"),
    "fence": Sabotage(rule="step_repeated", apply=_fence),
    "kept": Sabotage(rule="step_repeated", apply=_kept),
    "begun": Sabotage(rule="deed_begun_twice", apply=_begun),
    "repeat": Sabotage(rule="command_begun_twice", apply=_repeat),
    "survive": Sabotage(rule="command_survived", apply=_survive),
    "active": Sabotage(rule="two_active_runs", apply=_active, drops="ux_run_active"),
    "instant": Sabotage(rule="instant_without_run", apply=_instant),
    "outbound": Sabotage(rule="closing_without_outbound", apply=_outbound),
    "once": Sabotage(rule="message_doubled", apply=_once),
    "line": Sabotage(rule="delivery_out_of_order", apply=_line),
    "sent": Sabotage(rule="delivery_invented", apply=_sent),
    "back": Sabotage(rule="agent_answer_not_once", apply=_back),
    "door": Sabotage(rule="foreign_door", apply=_door),
}
