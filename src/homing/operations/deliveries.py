"""How far messages got: list deliveries, try a dead one again, send a test."""

from homing.model.errors import Conflict, NotFound
from homing.model.messages import NewMessage
from homing.operations.context import Context
from homing.operations.sessions import check_address
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.delivery import DeliveryShape
from homing.operations.shapes.session_asks import DeliveryRef, ListDeliveries, TestAddress
from homing.store import deliveries, lanes, sessions

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
        before_n=before,
        limit=ask.limit + 1,
    )
    page = found[: ask.limit]
    following = cursors.encode_in("deliveries", page[-1][0]) if len(found) > ask.limit else None
    return Page(items=[DeliveryShape.of(delivery) for _, delivery in page], next_cursor=following)


def retry_delivery(ctx: Context, ask: DeliveryRef) -> DeliveryShape:
    """Try a dead delivery again from the start, under the same id."""
    delivery = deliveries.get(ctx.tx, ask.delivery_id)
    if delivery is None or delivery.user_id != ctx.caller.user_id:
        raise NotFound(f"There is no delivery {ask.delivery_id}. List them with list_deliveries.")
    sessions.lock(ctx.tx, [delivery.session_id])
    rev = sessions.touch(ctx.tx, delivery.session_id)
    if not deliveries.retry(ctx.tx, delivery.id, rev=rev):
        raise Conflict(f"This delivery is {delivery.state}; only a dead one can be tried again.")
    again = deliveries.get(ctx.tx, delivery.id)
    assert again is not None
    return DeliveryShape.of(again)


def test_address(ctx: Context, ask: TestAddress) -> DeliveryShape:
    """Send a test message to one address of a session, and only there."""
    session = ctx.session(ask.session_key)
    check_address(ctx, session, ask.address, field="address")
    lane_id = lanes.enter(ctx.tx, session, unified=ctx.settings.unified_session)
    session = ctx.again(session)
    note = NewMessage(session_id=session.id, lane_id=lane_id, role="assistant", kind="note", text=TEST_TEXT)
    [seq], _ = deliveries.post(ctx.tx, [note], only=[ask.address])
    [delivery] = deliveries.of_messages(ctx.tx, session.id, [seq])[seq]
    return DeliveryShape.of(delivery)
