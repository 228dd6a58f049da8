"""Oneself: zone and name, tokens, signing in; the house; and what an admin may."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from homing.model.errors import Forbidden, Invalid, NotFound, Unauthenticated
from homing.model.people import Caller
from homing.operations.admin import admin_disable_job, admin_list_jobs, admin_update_job
from homing.operations.people import (
    create_code,
    create_token,
    get_me,
    list_tokens,
    page_secret,
    prolong,
    recognise,
    revoke_token,
    sign_in,
    sign_out,
    update_me,
)
from homing.operations.runs import run_job
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import list_sessions
from homing.operations.shapes.base import Nothing, read
from homing.operations.shapes.job_asks import AdminListJobs, DisableJob, JobRef, UpdateJob
from homing.operations.shapes.people_asks import CreateToken, ListTokens, SignIn, SignOut, TokenRef, UpdateMe
from homing.operations.shapes.session_asks import DeleteSession, ListSessions
from homing.operations.status import get_status
from homing.store import maintenance
from homing.store import tables as t
from support.asking import PERSON_TURN, add, agent, field_codes, refused, session
from support.worlds import OWNER_CALLER, STRANGER, World


def test_one_changes_ones_own_name_and_zone(world: World) -> None:
    assert world.ask(get_me, Nothing()).plain() == {
        "user_id": "default",
        "name": "Owner",
        "role": "admin",
        "timezone": None,
        "quiet_hours": None,
        "approve": False,
        "home": None,
    }
    changed = world.ask(update_me, UpdateMe(name="Ada", timezone="asia/tokyo"))
    assert (changed.name, changed.timezone) == ("Ada", "Asia/Tokyo")
    assert add(world, when="every day at 9").schedule.tz == "Asia/Tokyo"
    assert world.ask(update_me, UpdateMe(timezone=None)).timezone is None
    assert field_codes(refused(lambda: world.ask(update_me, UpdateMe(timezone="x/y")), Invalid)) == {
        "timezone": "unknown_timezone"
    }
    assert field_codes(refused(lambda: read(UpdateMe, {"role": "admin"}), Invalid)) == {"role": "read_only"}


def test_home_is_the_first_conversation_until_another_own_one_is_chosen(world: World) -> None:
    session(world, "web:first")
    session(world, "web:second")
    session(world, "web:theirs", STRANGER.user_id)
    assert world.ask(get_me, Nothing()).home == "web:first"
    assert world.ask(update_me, UpdateMe(home="web:second")).home == "web:second"
    for key in ("web:theirs", "web:none", "unified:default"):
        refused(lambda key=key: world.ask(update_me, UpdateMe(home=key)), NotFound)
    shown = {one.key: one.home for one in world.ask(list_sessions, ListSessions()).items}
    assert shown == {"web:first": False, "web:second": True}
    world.ask(delete_session, DeleteSession(session_key="web:second"))
    assert world.ask(get_me, Nothing()).home == "web:first"
    session(world, "web:third")
    world.ask(update_me, UpdateMe(home="web:third"))
    assert world.ask(update_me, UpdateMe(home=None)).home == "web:first"


def test_a_token_is_shown_once_and_kept_as_a_hash(world: World) -> None:
    made = world.ask(create_token, CreateToken(user="ada", expires="in 30 days"))
    assert (made.user_id, made.role) == ("ada", "user")
    stored = world.write(lambda tx: tx.rows(sa.select(t.token)))
    assert made.token not in str(stored)
    known = world.write(lambda tx: recognise(tx, made.token, "api"))
    assert known is not None
    assert known.caller == Caller(user_id="ada", role="user", door="api", token_id=made.id)
    assert [one.id for one in world.ask(list_tokens, ListTokens(), caller=known.caller).items] == [made.id]
    assert world.ask(list_tokens, ListTokens()).items == []


def test_only_an_admin_makes_tokens_for_others_or_with_the_role_admin(world: World) -> None:
    for ask in (CreateToken(user="default"), CreateToken(role="admin")):
        with pytest.raises(Forbidden):
            world.ask(create_token, ask, caller=STRANGER)
    assert world.ask(create_token, CreateToken(), caller=STRANGER).user_id == "stranger"
    assert field_codes(refused(lambda: world.ask(create_token, CreateToken(user="a b")), Invalid)) == {
        "user": "out_of_range"
    }
    assert refused(lambda: world.ask(create_token, CreateToken(expires="2001-01-01")), Invalid).field_code == (
        "schedule_in_past"
    )


def test_a_revoked_token_is_worthless_and_only_ones_own_can_be_revoked(world: World) -> None:
    made = world.ask(create_token, CreateToken())
    with pytest.raises(NotFound):
        world.ask(revoke_token, TokenRef(token_id=made.id), caller=STRANGER)
    world.ask(revoke_token, TokenRef(token_id=made.id))
    assert world.write(lambda tx: recognise(tx, made.token, "api")) is None


def test_a_code_signs_in_once_and_gives_a_cookie_that_rolls(world: World) -> None:
    code = world.write(lambda tx: create_code(world.ctx(tx)))
    assert world.write(lambda tx: recognise(tx, code, "page")) is None
    signed = world.ask(sign_in, SignIn(code=code))
    assert set(signed.plain()) == {"user_id", "role", "expires_at", "key"}
    cookie = page_secret(signed.cookie.get_secret_value(), signed.key)
    with pytest.raises(Unauthenticated):
        world.ask(sign_in, SignIn(code=code))
    known = world.write(lambda tx: recognise(tx, cookie, "page"))
    assert known is not None
    assert (known.caller.user_id, known.caller.role) == ("default", "admin")
    assert world.write(known.wants_prolonging) is False
    world.write(
        lambda tx: tx.run(
            sa.update(t.token).values(created_at=tx.now() - timedelta(days=28), expires_at=tx.now() + timedelta(days=2))
        )
    )
    again = world.write(lambda tx: recognise(tx, cookie, "page"))
    assert again is not None
    assert world.write(again.wants_prolonging) is True
    world.write(lambda tx: prolong(tx, again))
    world.ask(sign_out, SignOut(cookie=signed.cookie.get_secret_value(), key=signed.key))
    assert world.write(lambda tx: recognise(tx, cookie, "page")) is None


def test_a_token_signs_in_too_and_nothing_else_does(world: World) -> None:
    token = world.ask(create_token, CreateToken()).token
    assert world.ask(sign_in, SignIn(token=token)).user_id == "default"
    for ask in (SignIn(token="hom_none"), SignIn(code="none"), SignIn(code=token)):
        with pytest.raises(Unauthenticated):
            world.ask(sign_in, ask)
    for ask in (SignIn(), SignIn(code="a", token="b")):
        with pytest.raises(Invalid):
            world.ask(sign_in, ask)
    cookie = world.ask(sign_in, SignIn(token=token)).cookie.get_secret_value()
    with pytest.raises(Unauthenticated):
        world.ask(sign_in, SignIn(token=cookie))


def test_a_wake_that_is_over_is_not_the_next_one(world: World) -> None:
    world.write(
        lambda tx: maintenance.beat(tx, "w1", name="w1", schedules=True, next_wake_at=tx.now() - timedelta(seconds=5))
    )
    assert world.ask(get_status, Nothing()).scheduler.next_wake_at is None


def test_the_status_counts_ones_own_things(world: World) -> None:
    job = add(world)
    add(world, enabled=False)
    world.ask(run_job, JobRef(job_id=job.id))
    world.write(
        lambda tx: maintenance.beat(tx, "w1", name="w1", schedules=True, next_wake_at=tx.now() + timedelta(seconds=5))
    )
    status = world.ask(get_status, Nothing())
    plain = status.plain()
    assert list(plain) == (
        "version server_time timezone model database channels scheduler jobs status_words runs deliveries".split()
    )
    assert plain["jobs"] == {"active": 1, "paused": 1, "attention": 0, "done": 0}
    assert plain["runs"] == {"queued": 1, "running": 0}
    assert plain["model"] == {"name": "offline", "offline": True, "why": "No key was found."}
    assert plain["database"] == ("postgresql" if world.postgres else "sqlite")
    assert (status.scheduler.workers, status.scheduler.enabled) == (2, True)
    assert status.scheduler.next_wake_at is not None
    assert world.ask(get_status, Nothing(), caller=STRANGER).jobs.active == 0


# admins


def test_an_admin_sees_and_changes_everybodys_jobs_and_it_is_written_down(world: World) -> None:
    job = add(world, session_key="web:theirs", caller=STRANGER, name="theirs")
    assert [j.id for j in world.ask(admin_list_jobs, AdminListJobs(user_id="stranger")).items] == [job.id]
    assert world.ask(admin_list_jobs, AdminListJobs(user_id="default")).items == []
    changed = world.ask(admin_update_job, UpdateJob(job_id=job.id, name="renamed"))
    assert (changed.name, changed.user_id) == ("renamed", "stranger")
    paused = world.ask(admin_disable_job, DisableJob(job_id=job.id))
    assert (paused.status, paused.state.disabled_reason) == ("paused", "An admin paused it.")
    audit = world.write(lambda tx: tx.rows(sa.select(t.audit).order_by(t.audit.c.n)))
    assert [(row.user_id, row.action, row.object_id) for row in audit] == [
        ("default", "update_job", job.id),
        ("default", "disable_job", job.id),
    ]
    assert audit[0].detail["fields"] == ["name"]


def test_nobody_else_is_an_admin_not_even_an_admins_agent(world: World) -> None:
    job = add(world)
    for caller in (STRANGER, agent(world, PERSON_TURN)):
        for operation, ask in (
            (admin_list_jobs, AdminListJobs()),
            (admin_update_job, UpdateJob(job_id=job.id, name="x")),
            (admin_disable_job, DisableJob(job_id=job.id)),
        ):
            with pytest.raises(Forbidden):
                world.ask(operation, ask, caller=caller)  # pyright: ignore[reportArgumentType]
    assert OWNER_CALLER.admin
