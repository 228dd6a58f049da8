"""Many ask at once: one of them gets it, and the others are told."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from homing.model.errors import Refused
from homing.operations.job_changes import update_job
from homing.operations.jobs import add_job, list_jobs
from homing.operations.messages import send_message
from homing.operations.runs import list_runs, run_job
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import list_sessions
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import AddJob, JobRef, ListJobs, UpdateJob
from homing.operations.shapes.run_asks import ListRuns
from homing.operations.shapes.session_asks import DeleteSession, ListSessions, SendMessage
from support.asking import add, session
from support.worlds import World

AT_ONCE = 8


def all_at_once(act: Callable[[int], object]) -> list[str]:
    """Do it from many threads; say of each how it ended: done, or the code of the refusal."""

    def one(n: int) -> str:
        try:
            act(n)
        except Refused as error:
            return error.code
        return "done"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sorted(pool.map(one, range(AT_ONCE)))


def test_of_many_run_nows_one_runs(world: World) -> None:
    job = add(world)
    ended = all_at_once(lambda _: world.ask(run_job, JobRef(job_id=job.id)))
    assert ended == ["already_running"] * (AT_ONCE - 1) + ["done"]
    assert len(world.ask(list_runs, ListRuns()).items) == 1


def test_one_dedupe_key_makes_one_job_however_many_add_it(world: World) -> None:
    session(world)
    ask = read(AddJob, {"session_key": "web:abc", "when": "every 2h", "message": "x", "dedupe_key": "k"})
    assert all_at_once(lambda _: world.ask(add_job, ask)) == ["done"] * AT_ONCE
    assert len(world.ask(list_jobs, ListJobs()).items) == 1


def test_of_many_changes_for_one_revision_one_counts(world: World) -> None:
    job = add(world)
    ended = all_at_once(lambda n: world.ask(update_job, UpdateJob(job_id=job.id, name=f"n{n}", revision=1)))
    assert ended == ["done"] + ["stale_revision"] * (AT_ONCE - 1)
    [changed] = world.ask(list_jobs, ListJobs()).items
    assert changed.revision == 2


def test_many_first_messages_make_one_session(world: World) -> None:
    ended = all_at_once(lambda n: world.ask(send_message, SendMessage(session_key="web:new", text=f"m{n}")))
    assert ended == ["done"] * AT_ONCE
    [made] = world.ask(list_sessions, ListSessions()).items
    assert made.lane_size == AT_ONCE


def test_a_session_is_never_deleted_under_a_job_that_is_being_added(world: World) -> None:
    session(world)
    ask = read(AddJob, {"session_key": "web:abc", "when": "every 2h", "message": "x"})

    def act(n: int) -> object:
        if n == AT_ONCE // 2:
            return world.ask(delete_session, DeleteSession(session_key="web:abc", delete_automations=True))
        return world.ask(add_job, ask)

    ended = all_at_once(act)
    assert set(ended) <= {"done", "not_found", "wrong_state"}
    living = world.ask(list_sessions, ListSessions()).items
    jobs = world.ask(list_jobs, ListJobs()).items
    assert bool(living) or jobs == []
