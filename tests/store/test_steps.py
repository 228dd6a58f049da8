"""Steps of a turn: begun, done, and read back in order."""

import pytest
from sqlalchemy import exc

from homing.model.turns import Usage, usage_of
from homing.operations.context import Instance
from homing.store import Store, Tx, steps
from store.scenes import add_session, do, open_lane, person_says

USED = Usage(input_tokens=3, output_tokens=4, cost_nano_usd=5)


@pytest.fixture
def turn_id(store: Store, instance: Instance) -> str:
    def work(tx: Tx) -> str:
        session = add_session(tx)
        person_says(tx, session, "hello")
        return open_lane(tx, session.id, instance).turn.id

    return store.write_now(work)


def test_a_begun_step_is_finished_once(store: Store, turn_id: str) -> None:
    do(store, steps.begin_step, turn_id, 1, kind="tool", name="pay", key="call_1", args='{"a": 1}')
    begun = do(store, steps.find, turn_id, kind="tool", key="call_1")
    assert begun is not None
    assert (begun.state, begun.result, begun.args) == ("begun", None, '{"a": 1}')
    finish = {"kind": "tool", "key": "call_1", "failed": True, "duration_ms": 5}
    assert do(store, steps.finish_step, turn_id, **finish, result="refused")  # type: ignore[arg-type]
    assert not do(store, steps.finish_step, turn_id, **finish, result="again")  # type: ignore[arg-type]
    done = do(store, steps.find, turn_id, kind="tool", key="call_1")
    assert done is not None
    assert (done.state, done.result, done.failed, done.duration_ms) == ("done", "refused", True, 5)


def test_finishing_what_was_never_begun_says_so(store: Store, turn_id: str) -> None:
    assert not do(store, steps.finish_step, turn_id, kind="tool", key="none", result="", failed=False, duration_ms=0)
    assert do(store, steps.find, turn_id, kind="tool", key="none") is None


def test_steps_that_are_shown_bring_no_more_of_a_tools_words_than_asked_for(store: Store, turn_id: str) -> None:
    long = "x" * 10_000
    do(store, steps.add_step, turn_id, 1, kind="model", name="m", key="1", result=long)
    do(store, steps.add_step, turn_id, 2, kind="tool", name="look", key="c", args=long, result=long)
    model, tool = do(store, steps.shown, turn_id, most=7)
    assert (model.result, tool.args, tool.result) == (long, "x" * 7, "x" * 7)


def test_steps_come_back_in_order_with_all_they_hold(store: Store, turn_id: str) -> None:
    card = {"kind": "job", "job_id": "job_1", "change": "added", "revision": 1}
    do(store, steps.add_step, turn_id, 3, kind="tool", name="schedule_task", key="c", result="added", cards=[card])
    do(store, steps.add_step, turn_id, 1, kind="model", name="m", key="1", result="{}", usage=USED)
    do(store, steps.add_step, turn_id, 2, kind="inject", name="message", key="in_1", result="and apples")
    kept = do(store, steps.kept, turn_id)
    assert [(step.n, step.kind, step.key) for step in kept] == [
        (1, "model", "1"),
        (2, "inject", "in_1"),
        (3, "tool", "c"),
    ]
    assert kept[0].usage == USED
    assert usage_of(kept) == USED
    assert [list(step.cards) for step in kept] == [[], [], [card]]
    assert do(store, steps.kept, "turn_none") == []


def test_one_call_is_one_step_however_it_is_numbered(store: Store, turn_id: str) -> None:
    do(store, steps.begin_step, turn_id, 1, kind="tool", name="pay", key="call_1", args=None)
    with pytest.raises(exc.IntegrityError):
        do(store, steps.begin_step, turn_id, 2, kind="tool", name="pay", key="call_1", args=None)
    do(store, steps.begin_step, turn_id, 2, kind="model", name="pay", key="call_1", args=None)
