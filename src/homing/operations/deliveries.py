"""How far messages got: list deliveries, try a dead one again, send a test."""

from homing.model.errors import Conflict, NotFound
from homing.model.messages import NewMessage
from homing.operations.desk import Desk, lane_of
from homing.operations.sessions import check_address
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.delivery import DeliveryShape, delivery_shape
from homing.operations.shapes.session_asks import DeliveryRef, ListDeliveries, TestAddress
from homing.store import deliveries, sessions
from homing.store.deliveries import NewOutbound

TEST_TEXT = "This is a test message from Homing. If you can read it, this address works."


def list_deliveries(desk: Desk, ask: ListDeliveries) -> Page[DeliveryShape]:
    """List deliveries, newest first."""
    before = cursors.decode_in("deliveries", ask.cursor)
    session_id = desk.session(ask.session_key).id if ask.session_key else None
    found = deliveries.listed(
        desk.tx,
        user_id=desk.caller.user_id,
        state=ask.state,
        session_id=session_id,
        before_n=before,
        limit=ask.limit + 1,
    )
    page = found[: ask.limit]
    following = cursors.encode_in("deliveries", page[-1][0]) if len(found) > ask.limit else None
    return Page(items=[delivery_shape(delivery) for _, delivery in page], next_cursor=following)


def retry_delivery(desk: Desk, ask: DeliveryRef) -> DeliveryShape:
    """Try a dead delivery again from the start, under the same id."""
    delivery = deliveries.get(desk.tx, ask.delivery_id)
    if delivery is None or delivery.user_id != desk.caller.user_id:
        raise NotFound(f"There is no delivery {ask.delivery_id}. List them with list_deliveries.")
    sessions.lock(desk.tx, [delivery.session_id])
    rev = sessions.mark(desk.tx, {delivery.session_id: 0})[delivery.session_id].rev
    if not deliveries.retry(desk.tx, delivery.id, rev=rev):
        raise Conflict(f"This delivery is {delivery.state}; only a dead one can be tried again.")
    again = deliveries.get(desk.tx, delivery.id)
    assert again is not None
    return delivery_shape(again)


def test_address(desk: Desk, ask: TestAddress) -> DeliveryShape:
    """Send a test message to one address of a session, and only there."""
    session = desk.session(ask.session_key)
    check_address(desk, session, ask.address, field="address")
    lane_id = lane_of(desk.tx, session, unified=desk.settings.unified_session)
    sessions.lock(desk.tx, [session.id])
    session = desk.again(session)
    note = NewMessage(session_id=session.id, lane_id=lane_id, role="assistant", kind="note", text=TEST_TEXT)
    [seq], marks = sessions.say(desk.tx, [note])
    owed = NewOutbound(
        session_id=session.id,
        user_id=session.user_id,
        seq=seq,
        rev=marks[session.id].rev,
        cause="note",
        addresses=[ask.address],
    )
    deliveries.owe(desk.tx, [owed])
    [delivery] = deliveries.of_messages(desk.tx, session.id, [seq])[seq]
    return delivery_shape(delivery)
