"""How far messages got: list deliveries, try a dead one again, send a test."""

from collections.abc import Sequence

from homing.model.errors import Conflict, NotFound
from homing.model.messages import Delivery, NewMessage
from homing.operations.context import Context
from homing.operations.push import is_own_browser
from homing.operations.reach import may_deliver
from homing.operations.sessions import check_address
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.delivery import DeliveryShape
from homing.operations.shapes.session_asks import DeliveryRef, ListDeliveries, TestAddress
from homing.store import Tx, deliveries, lanes, messages, sessions

# As much as a line of a list shows.
_FIRST_WORDS = 160
TEST_TEXT = "This is a test message from Homing. If you can read it, this address works."


def list_deliveries(ctx: Context, ask: ListDeliveries) -> Page[DeliveryShape]:
    """List deliveries, newest first."""
    before = cursors.decode_in("deliveries", ask.cursor)
    session_id = ctx.session(ask.session_key).id if ask.session_key else None
    found = deliveries.listed(
        ctx.tx,
        user_id=ctx.caller.user_id,
        state=ask.state,
        session_id=session_id,
        outside=ask.outside,
        before_n=before,
        limit=ask.limit + 1,
    )
    page = found[: ask.limit]
    following = cursors.encode_in("deliveries", page[-1][0]) if len(found) > ask.limit else None
    return Page(items=show_deliveries(ctx.tx, [one for _, one in page]), next_cursor=following)


def show_deliveries(tx: Tx, carried: Sequence[Delivery]) -> list[DeliveryShape]:
    """Show deliveries as lists and streams do: each with the first words of its message."""
    words = messages.first_words(tx, [(one.session_id, one.seq) for one in carried], _FIRST_WORDS)
    found = sessions.get_many(tx, {one.session_id for one in carried})
    return [
        DeliveryShape.of(
            one, first_words=words.get((one.session_id, one.seq)), session_title=found[one.session_id].title
        )
        for one in carried
    ]


def retry_delivery(ctx: Context, ask: DeliveryRef) -> DeliveryShape:
    """Try a dead delivery again from the start, under the same id."""
    delivery = deliveries.get(ctx.tx, ask.delivery_id)
    if delivery is None or delivery.user_id != ctx.caller.user_id:
        raise NotFound(f"There is no delivery {ask.delivery_id}. List them with list_deliveries.")
    sessions.lock(ctx.tx, [delivery.session_id])
    if delivery.state == "dead":
        _check_still_allowed(ctx, delivery)
    rev = sessions.touch(ctx.tx, delivery.session_id)
    if not deliveries.retry(ctx.tx, delivery.id, rev=rev):
        raise Conflict(f"This delivery is {delivery.state}; only a dead one can be tried again.")
    again = deliveries.get(ctx.tx, delivery.id)
    assert again is not None
    return show_deliveries(ctx.tx, [again])[0]


def _check_still_allowed(ctx: Context, delivery: Delivery) -> None:
    session = sessions.get(ctx.tx, delivery.session_id)
    message = messages.get(ctx.tx, delivery.session_id, delivery.seq)
    if message is None or not may_deliver(ctx.tx, ctx.settings, session, message, delivery.address):
        raise Conflict(
            f"{delivery.address} no longer belongs to this conversation, or its link or grant was"
            " removed. Link, grant or add it again, then retry.",
            extra={"address": delivery.address},
        )


def test_address(ctx: Context, ask: TestAddress) -> DeliveryShape:
    """Send a test message to one address of a session, or to a browser of yours, and only there."""
    session = ctx.session(ask.session_key)
    if not is_own_browser(ctx.tx, session.user_id, ask.address):
        check_address(ctx, session, ask.address, field="address")
    lane_id = lanes.enter(ctx.tx, session, unified=ctx.settings.unified_session)
    session = ctx.again(session)
    note = NewMessage(session_id=session.id, lane_id=lane_id, role="assistant", kind="note", text=TEST_TEXT)
    [seq], _ = deliveries.post(ctx.tx, [note], only=[ask.address])
    [delivery] = deliveries.of_messages(ctx.tx, session.id, [seq])[seq]
    return show_deliveries(ctx.tx, [delivery])[0]
