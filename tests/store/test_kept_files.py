"""Files in the store: no reference meets a file that is being removed, and impossible ones are refused."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from homing.model.files import File
from homing.model.people import OWNER
from homing.store import Store, Tx, kept_files
from homing.store import tables as t
from store.scenes import add_session, do, many_stores, race, rows

FILES = 60


def old_file(tx: Tx, number: int = 0) -> File:
    file = kept_files.add(tx, user_id=OWNER, name=f"{number}.txt", media_type="text/plain", size=1, sha256="0")
    assert kept_files.mark_stored(tx, file.id)
    tx.run(sa.update(t.file).where(t.file.c.id == file.id).values(created_at=tx.now() - timedelta(days=2)))
    return file


def refer(tx: Tx, session_id: int, file_id: str) -> bool:
    usable = kept_files.lock_usable(tx, [file_id], user_id=OWNER)
    kept_files.refer(tx, {session_id: list(usable)})
    return bool(usable)


def test_a_reference_and_the_sweeper_never_both_have_a_file(database: str) -> None:
    with many_stores(database) as stores:
        session = stores[0].write_now(add_session)
        ids = [stores[0].write_now(lambda tx, n=n: old_file(tx, n)).id for n in range(FILES)]

        def work(store: Store, number: int) -> list[str]:
            if number % 2:
                return do(store, kept_files.take_unreferred)
            return [file_id for file_id in ids[number // 2 :: 2] if do(store, refer, session.id, file_id)]

        found = race(stores, work)
        referred = {row.file_id for row in rows(stores[0], t.file_reference)}
        gone = {row.id for row in rows(stores[0], t.file, t.file.c.gone_at.is_not(None))}
        assert not referred & gone
        assert referred == {file_id for number, taken in enumerate(found) if not number % 2 for file_id in taken}
        assert referred | gone <= set(ids)


def test_only_whole_files_of_ones_own_can_be_referred_to(store: Store) -> None:
    session = do(store, add_session)
    waiting = do(store, kept_files.add, user_id=OWNER, name="x", media_type="text/plain", size=1, sha256="0")
    whole = do(store, old_file)
    assert do(store, kept_files.lock_usable, [waiting.id, whole.id, "file_x"], user_id=OWNER).keys() == {whole.id}
    assert do(store, kept_files.lock_usable, [whole.id], user_id="stranger") == {}
    # Twice is once.
    assert do(store, refer, session.id, whole.id)
    assert do(store, refer, session.id, whole.id)
    assert [file.id for file in do(store, kept_files.of_session, session.id, 10)] == [whole.id]
    do(store, kept_files.release, session.id)
    assert do(store, kept_files.take_unreferred) == [whole.id]
    assert do(store, kept_files.mark_stored, whole.id) is None


def test_an_empty_file_is_no_row(store: Store) -> None:
    with pytest.raises(exc.IntegrityError):
        do(store, kept_files.add, user_id=OWNER, name="x", media_type="text/plain", size=0, sha256="0")
