"""Deliveries: each sent or dead; what arrived twice came under one id; an address gets its letters in order."""

from collections import Counter
from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence, Letter, Row


def sent_or_dead(evidence: Evidence) -> Iterator[Violation]:
    """Nothing is left on the way; what is called sent has arrived, and no oftener than it was tried."""
    arrived = Counter(letter.delivery_id for letter in evidence.letters)
    accepted = {letter.delivery_id for letter in evidence.letters if letter.outcome in _GOOD}
    for delivery in evidence["delivery"]:
        if delivery["state"] == "pending":
            yield broken("delivery_open", f"{delivery['id']} to {delivery['address']} is still on its way")
        if not delivery["address"].startswith("webhook:"):
            continue
        if delivery["state"] == "sent" and delivery["id"] not in accepted:
            yield broken("delivery_invented", f"{delivery['id']} is called sent, and never arrived")
        if arrived[delivery["id"]] > delivery["attempts"]:
            yield broken(
                "delivery_doubled",
                f"{delivery['id']} arrived {arrived[delivery['id']]} times, of {delivery['attempts']} attempts",
            )


# A hung one that was let go answers 200.
_GOOD = {"status 200", "released"}


def one_id_a_message(evidence: Evidence) -> Iterator[Violation]:
    """The same message at the same place has one id, and that id is on record."""
    deliveries = {row["id"]: row for row in evidence["delivery"]}
    known: dict[tuple[str, object, object], str] = {}
    for letter in evidence.letters:
        data = letter.event.get("data", {})
        place = (letter.path, data.get("session_key"), data.get("seq"))
        if letter.delivery_id not in deliveries:
            yield broken("delivery_invented", f"letter {letter.number} came under the unknown id {letter.delivery_id}")
        elif known.setdefault(place, letter.delivery_id) != letter.delivery_id:
            yield broken("delivery_doubled", f"{place} came as {known[place]} and as {letter.delivery_id}")


def in_order(evidence: Evidence) -> Iterator[Violation]:
    """A later message to an address waits for an earlier one that is still tried."""
    deliveries = {row["id"]: row for row in evidence["delivery"]}
    newest: dict[str, tuple[Row, Letter]] = {}
    for letter in evidence.letters:
        delivery = deliveries.get(letter.delivery_id)
        if delivery is None:
            continue
        before = newest.get(delivery["address"])
        if before is not None and delivery["n"] < before[0]["n"]:
            yield broken("delivery_out_of_order", f"{delivery['id']} came after the later {before[0]['id']}")
        else:
            newest[delivery["address"]] = (delivery, letter)


CHECKS = (sent_or_dead, one_id_a_message, in_order)
