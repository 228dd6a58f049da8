"""What no longer fits is folded into a running summary; nobody pays for it twice, and nothing is lost unsaid."""

from homing.agent.frames import frame
from homing.agent.history import OFFLINE_SUMMARY, SUMMARY_INSTRUCTIONS
from homing.engine import turn_context
from homing.model.messages import NewMessage
from homing.store import Store, Tx, sessions
from homing.testing.scripted import wire_messages
from support.rooms import Room

# About a third of the budget, so that the fourth turn is the first that has to leave one out.
BIG = "apple " * (turn_context.HISTORY_TOKENS * 4 // 6 // 3)


async def talk(room: Room, *names: str) -> None:
    for name in names:
        room.ledger.say(f"{name} {BIG}")
        await room.work()


def names(room: Room, call: int = -1) -> list[str]:
    """Name the big messages that a call saw."""
    return [m.text.split()[0] for m in wire_messages(room.model.seen[call]) if m.role == "user"]


def summaries(room: Room) -> list[str]:
    """What the calls for a summary were given."""
    infos = zip(room.model.seen, room.model.infos, strict=True)
    return [wire_messages(seen)[0].text for seen, info in infos if info.instructions == SUMMARY_INSTRUCTIONS]


async def test_older_turns_are_folded_into_a_summary_made_by_the_model(room: Room) -> None:
    room.model.otherwise("Fine.")
    room.model.when("Messages since then", "They said one.")
    await talk(room, "one", "two", "three")
    assert names(room) == ["one", "two", "three"]
    await talk(room, "four")
    # Half of what fits stays as it was said.
    assert names(room) == ["three", "four"]
    assert f"Earlier in this conversation:\n{frame('summary.earlier', 'They said one.')}" in (
        room.model.infos[-1].instructions or ""
    )
    [given] = summaries(room)
    assert "User: one apple" in given
    assert "User: two apple" in given
    assert "Earlier summary:\n(none)" in given


async def test_the_summary_runs_on_and_is_not_made_again_for_what_it_holds(room: Room) -> None:
    room.model.otherwise("Fine.")
    room.model.when("Messages since then", "They said one and two.", times=1)
    room.model.when("Messages since then", "They said one to four.", times=1)
    await talk(room, "one", "two", "three", "four", "five")
    assert len(summaries(room)) == 1
    assert names(room) == ["three", "four", "five"]
    await talk(room, "six")
    assert f"Earlier summary:\n{frame('summary.earlier', 'They said one and two.')}" in summaries(room)[1]
    assert "User: three apple" in summaries(room)[1]
    assert "User: two apple" not in summaries(room)[1]
    assert names(room) == ["five", "six"]
    assert "They said one to four." in (room.model.infos[-1].instructions or "")


async def test_a_last_turn_that_is_large_is_shown_as_it_was(room: Room) -> None:
    room.model.otherwise("Fine.")
    room.model.when("Messages since then", "They said one.")
    room.ledger.say("one " + BIG * 2)
    await room.work()
    room.ledger.say("two " + BIG * 2)
    await room.work()
    room.ledger.say("three")
    await room.work()
    assert names(room) == ["two", "three"]


async def test_a_summary_that_fails_does_not_stop_the_turn_and_is_tried_again_with_the_next(room: Room) -> None:
    room.model.otherwise("Fine.")
    room.model.fail(500, match="Messages since then")
    room.model.when("Messages since then", "They said one.")
    await talk(room, "one", "two", "three", "four")
    assert room.ledger.texts()[-1] == "Fine."
    room.ledger.say("small")
    await room.work()
    assert "They said one." in (room.model.infos[-1].instructions or "")


async def test_an_empty_summary_forgets_nothing_and_is_tried_again_with_the_next(room: Room) -> None:
    room.model.otherwise("Fine.")
    room.model.when("Messages since then", "", times=1)
    room.model.when("Messages since then", "They said one.")
    await talk(room, "one", "two", "three", "four")
    lane = room.ledger.session()
    assert (lane.summary, lane.summary_until) == (None, 0)
    assert room.ledger.texts()[-1] == "Fine."
    room.ledger.say("small")
    await room.work()
    assert "User: one apple" in summaries(room)[1]
    assert "They said one." in (room.model.infos[-1].instructions or "")


async def test_without_a_model_older_turns_are_left_out_with_a_note(room_store: Store) -> None:
    room = Room(room_store, model="offline")
    await talk(room, "one", "two", "three", "four")
    lane = room.ledger.session()
    assert lane.summary == OFFLINE_SUMMARY
    assert lane.summary_until > 0


async def test_a_stretch_of_very_many_small_turns_is_folded_as_well(room: Room) -> None:
    """Only so many stretches are read at once: those beyond may not vanish without a word."""
    room.model.otherwise("Fine.")
    fill(room, turn_context.HISTORY_STRETCHES + 50)
    room.model.when("Messages since then", "They said small things.")
    room.ledger.say("and now?")
    await room.work()
    [given] = summaries(room)
    assert frame("note.message", "small 0") in given
    assert names(room)[0] == "[data"
    assert len(names(room)) == turn_context.HISTORY_STRETCHES // 2 + 1
    assert "They said small things." in (room.model.infos[-1].instructions or "")


def fill(room: Room, count: int) -> None:
    """Lay in many messages that no turn wrote."""
    session = room.ledger.session()

    def work(tx: Tx) -> None:
        sessions.lock(tx, [session.id])
        new = [
            NewMessage(session_id=session.id, lane_id=session.id, role="user", kind="note", text=f"small {number}")
            for number in range(count)
        ]
        sessions.append_messages(tx, new)

    room.ledger.write(work)
