"""A branch is whole or not there, whatever happens to its source meanwhile; and it takes no number twice."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from homing.model.errors import NotFound
from homing.model.messages import NewMessage
from homing.operations.branching import branch_session
from homing.operations.messages import list_messages
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import list_sessions
from homing.operations.shapes.session_asks import BranchSession, DeleteSession, ListMessages, ListSessions
from homing.store import Tx, sessions
from support.asking import session
from support.worlds import World

AT_ONCE = 8
KEY = "web:abc"


def say(world: World, *texts: str) -> None:
    def append(tx: Tx) -> None:
        [found] = list(sessions.listed(tx, user_id="default", q=KEY, channel=None, before=None, limit=9))
        sessions.lock(tx, [found.id])
        common: dict[str, Any] = {"session_id": found.id, "lane_id": found.id, "role": "assistant", "kind": "chat"}
        sessions.append_messages(tx, [NewMessage(**common, text=text) for text in texts])

    world.write(append)


def texts_of(world: World, key: str) -> list[tuple[int, str]]:
    return [(one.seq, one.text) for one in world.ask(list_messages, ListMessages(session_key=key)).items]


def test_branches_made_while_the_source_is_written_and_deleted_are_whole(world: World) -> None:
    session(world)
    say(world, "one", "two", "three")
    made: list[str] = []

    def act(n: int) -> None:
        if n == AT_ONCE - 1:
            world.ask(delete_session, DeleteSession(session_key=KEY))
            return
        try:
            say(world, f"more {n}") if n % 2 else made.append(
                world.ask(branch_session, BranchSession(session_key=KEY, seq=3)).key
            )
        except (NotFound, ValueError):
            # It is gone already.
            return

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(act, range(AT_ONCE)))
    assert {one.key for one in world.ask(list_sessions, ListSessions()).items} == set(made)
    for key in made:
        assert texts_of(world, key) == [(1, "one"), (2, "two"), (3, "three")]
    for key in made[:1]:
        # Its own numbers go on where the copies end.
        again = world.ask(branch_session, BranchSession(session_key=key, seq=2))
        assert texts_of(world, again.key) == [(1, "one"), (2, "two")]
        assert again.branch_of is not None
        assert again.branch_of.session_key == key
