"""The owner's token of a home, and tokens that end with the one they were made with."""

from typing import Any

from homing.model.errors import Unauthenticated
from homing.operations.context import Context, Instance
from homing.operations.people import Known, create_token, recognise
from homing.operations.shapes.people_asks import CreateToken
from homing.store import Store, Tx, people
from homing.store.people import Token
from store.scenes import OWNER, do, many_stores, race

ADMIN: dict[str, Any] = {"user_id": OWNER, "role": "admin", "kind": "token", "expires_at": None}
COOKIE: dict[str, Any] = {**ADMIN, "kind": "cookie"}
LESSER: dict[str, Any] = {**ADMIN, "role": "user"}


def alive(tx: Tx, *secrets: str) -> list[bool]:
    return [people.find_token(tx, secret) is not None for secret in secrets]


def test_a_home_has_one_owners_token_and_a_changed_one_ends_the_old_with_its_children(store: Store) -> None:
    def work(tx: Tx) -> None:
        first = people.set_owner_token(tx, "first", home="h1", name="file")
        assert (first.owner, first.approve, first.role, first.user_id) == ("h1", True, "admin", OWNER)
        assert people.set_owner_token(tx, "first", home="h1", name="file") == first
        people.add_token(tx, **ADMIN, secret="child", made_from=first.id)
        people.add_token(tx, **COOKIE, secret="cookie", made_from=first.id)
        elsewhere = people.set_owner_token(tx, "elsewhere", home="h2", name="file")
        second = people.set_owner_token(tx, "second", home="h1", name="file")
        assert alive(tx, "first", "child", "cookie", "second", "elsewhere") == [False, False, False, True, True]
        assert people.owner_token(tx, "h1") == second
        assert people.owner_token(tx, "h2") == elsewhere
        # The old one stays refused, and replaces nothing.
        assert people.set_owner_token(tx, "first", home="h1", name="file").revoked_at is not None
        assert alive(tx, "first", "second") == [False, True]

    store.write_now(work)


def test_a_new_homing_token_ends_the_old_one_whichever_home_was_given_it(store: Store) -> None:
    def work(tx: Tx) -> None:
        for home in ("h1", "h2"):
            assert people.set_owner_token(tx, "old", home=home, name=people.FROM_ENVIRONMENT).owner == "h1"
        people.set_owner_token(tx, "new", home="h3", name=people.FROM_ENVIRONMENT)
        assert alive(tx, "old", "new") == [False, True]

    store.write_now(work)


def test_of_the_tokens_of_an_old_database_only_the_one_in_use_becomes_the_owners(store: Store) -> None:
    def work(tx: Tx) -> None:
        for secret in ("in the file", "left over"):
            people.add_token(tx, **ADMIN, secret=secret)
        people.add_token(tx, **LESSER, secret="lesser")
        people.set_owner_token(tx, "in the file", home="h1", name="file")
        owners = {token.id: token.owner for token in people.list_tokens(tx, OWNER)}
        assert sorted(owners.values(), key=str) == [None, None, "h1"]
        assert alive(tx, "in the file", "left over", "lesser") == [True, True, True]
        # A lesser token that is given as the owner's gets no further than before, and ends nothing.
        lesser = people.set_owner_token(tx, "lesser", home="h1", name="file")
        assert (lesser.owner, lesser.role, lesser.approve) == (None, "user", False)
        assert alive(tx, "in the file") == [True]

    store.write_now(work)


def test_no_child_outlives_a_parent_that_is_revoked_while_it_is_made(database: str, instance: Instance) -> None:
    """The second one sees the first: the revocation finds the child, or the child is refused."""
    with many_stores(database, 4) as stores:
        for n in range(10):
            parent = do(stores[0], people.add_token, **ADMIN, secret=f"parent {n}")
            known = do(stores[0], recognise, f"parent {n}", "api")
            assert known is not None

            def work(store: Store, number: int, parent: Token = parent, known: Known = known) -> str | None:
                if number == 0:
                    do(store, people.revoke_token, parent.id)
                    return None

                def create(tx: Tx) -> str:
                    return create_token(Context(tx=tx, caller=known.caller, instance=instance), CreateToken()).token

                try:
                    return do(store, create)
                except Unauthenticated:
                    return None

            made = [secret for secret in race(stores, work) if secret is not None]
            assert not any(do(stores[0], alive, *made)), made
