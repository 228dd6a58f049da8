"""Home: the one session of a user for what belongs to no conversation."""

from collections.abc import Collection
from dataclasses import dataclass

from homing.model.agents import MAIN
from homing.model.people import User
from homing.model.sessions import Session
from homing.store import LookAgain, Tx, people, sessions
from homing.store.lanes import unified_lanes

HOME_KEY = "web:home"


def find_home(tx: Tx, user: User) -> Session | None:
    """Find a user's home: the session they chose, else their first conversation."""
    chosen = sessions.get(tx, user.home_id) if user.home_id is not None else None
    if chosen is not None and chosen.deleted_at is None and chosen.user_id == user.id:
        return chosen
    return sessions.first_direct(tx, user.id)


def home_of(tx: Tx, user: User) -> Session:
    """Find a user's home; one without any conversation gets one now."""
    if found := find_home(tx, user):
        return found
    made = sessions.add(tx, key=HOME_KEY, user_id=user.id, agent_id=MAIN, title="Home")
    if made is None:
        # Somebody else made it between our look and our insert.
        raise LookAgain
    return made


@dataclass(frozen=True, kw_only=True)
class NotePlace:
    """Where a user's notes go that belong to no conversation: home, and the lane it stands in."""

    home: Session
    lane_id: int


def note_places(tx: Tx, user_ids: Collection[str], *, unified: bool) -> dict[str, NotePlace]:
    """Find the homes of users, to be locked with everything else before a note is given."""
    places: dict[str, NotePlace] = {}
    for user_id in sorted(user_ids):
        user = people.get_user(tx, user_id)
        assert user is not None
        home = home_of(tx, user)
        pair = (home.user_id, home.agent_id)
        lane_id = unified_lanes(tx, [pair])[pair] if unified else home.id
        places[user_id] = NotePlace(home=home, lane_id=lane_id)
    return places
