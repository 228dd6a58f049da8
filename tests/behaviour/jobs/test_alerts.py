"""Rule 38: what does not work is told by another route, once, and once more when it works again."""

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.jobs.conftest import MakeHome
from behaviour.jobs.homes import Home
from homing.channels.email import EmailChannel, read_smtp_url
from homing.engine.alerts import give_alerts
from homing.engine.courier import Courier
from homing.model.errors import Forbidden, Invalid
from homing.model.people import ActingTurn, Caller
from homing.operations.grants import add_grant, remove_grant
from homing.operations.job_changes import disable_job, enable_job, update_job
from homing.operations.push import add_push
from homing.operations.removal import remove_job
from homing.operations.runs import run_job
from homing.operations.sessions import update_session
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import DisableJob, JobRef, UpdateJob, WhyJob
from homing.operations.shapes.people_asks import AddGrant, AddWebhook, GrantRef, WebhookRef
from homing.operations.shapes.push_asks import AddPush
from homing.operations.shapes.session_asks import UpdateSession
from homing.operations.webhooks import add_webhook, remove_webhook
from homing.operations.why import why_job
from homing.store import Tx, alerts, approvals, deliveries, inbounds, run_lists, sessions
from homing.store import tables as t
from homing.testing import RecordingChannel
from support.explaining import explain
from support.ledger import CHAT
from support.mortal import MortalStore
from support.push import Browser
from unit.channels.post_office import post_office

WRONG_KEY = "I could not answer: the model's provider refused the key. Check it (see `homing doctor`)."
FAILED = f'The automation "fruit watch" failed 3 times in a row. {WRONG_KEY}'
WORKS = 'The automation "fruit watch" works again.'
MAIL = "email:me@example.org"
ELSE = "web:else"


@pytest.fixture
def home(make_home: MakeHome) -> Home:
    """A home with mail, whose owner's first conversation is another one than the jobs'."""
    home = make_home(smtp_url="smtp://localhost:1")
    home.ledger.session(ELSE)
    home.ledger.session(CHAT)
    return home


def grant(home: Home, address: str = MAIL, agent_id: str = "main") -> str:
    return home.ask(add_grant, AddGrant(agent_id=agent_id, address=address)).id


async def hours(home: Home, count: int, **length: float) -> None:
    """Let time pass in steps; after each what is due runs, and alerts are given."""
    for _ in range(count):
        home.pass_time(**(length or {"hours": 1}))
        await home.settle()
        await give_alerts(home.store, home.instance)


def told(home: Home) -> list[str]:
    """Read the alerts of home, without when the job runs next."""
    return [m.text.partition(" It runs next")[0] for m in home.shown(ELSE) if m.kind == "note"]


def sent_to(home: Home) -> list[list[str]]:
    """Name the addresses outside of each alert."""

    session_id = home.ledger.session(ELSE).id
    found = [m.seq for m in home.shown(ELSE) if m.kind == "note"]
    carried = home.ledger.write(lambda tx: deliveries.of_messages(tx, session_id, found))
    return [[d.address for d in carried.get(seq, []) if not d.address.startswith("web:")] for seq in found]


async def test_three_days_of_failures_give_one_alert_and_one_message_when_it_works_again(home: Home) -> None:
    grant(home)
    home.model.fail(401, times=9)
    job = home.add(name="fruit watch", when="every 8h")
    for step in range(9):
        await hours(home, 1, hours=8)
        assert told(home) == [FAILED] * (step >= 2), step
    await hours(home, 3, hours=8)
    assert told(home) == [FAILED, WORKS]
    assert sent_to(home) == [[MAIL], [MAIL]]
    # Nobody asked for them: both are unread.
    assert [m.unasked for m in home.shown(ELSE) if m.kind == "note"] == [True, True]
    assert home.job(job.id).consecutive_failures == 0
    # In the conversation itself each run left its line, and no alert.
    assert home.notes() == []
    home.ledger.check_whole()


async def test_a_job_that_fails_and_works_in_turns_alerts_once_in_six_hours(home: Home) -> None:
    job = home.add(name="fruit watch", when="every 30m")
    for _ in range(2):
        home.model.fail(401, times=3)
        await hours(home, 4, minutes=30)
    # The second began at 3:30 and was over before six hours had passed since 1:30.
    assert told(home) == [FAILED, WORKS]
    # The next one is told when they have.
    home.model.fail(401, times=8)
    await hours(home, 6, minutes=30)
    assert len(told(home)) == 2
    await hours(home, 2, minutes=30)
    assert told(home)[2:] == [FAILED.replace("3 times", "7 times")]
    assert home.job(job.id).enabled
    await hours(home, 1, minutes=30)
    assert told(home)[3:] == [WORKS]


async def test_an_alert_that_waits_is_dropped_when_it_works_before_its_time(home: Home) -> None:
    home.add(name="fruit watch", when="every 30m")
    home.model.fail(401, times=3)
    await hours(home, 4, minutes=30)
    home.model.fail(401, times=3)
    await hours(home, 4, minutes=30)
    await hours(home, 16, minutes=30)
    assert told(home) == [FAILED, WORKS]


@pytest.mark.parametrize(("after", "failures", "alerts"), [(1, 1, 1), (5, 4, 0), (5, 5, 1), (0, 10, 0), (50, 10, 1)])
async def test_alert_after_says_how_many_failures_are_borne(home: Home, after: int, failures: int, alerts: int) -> None:
    home.model.fail(401, times=failures)
    home.add(name="fruit watch", when="every 8h", alert_after=after)
    await hours(home, failures, hours=8)
    assert len(told(home)) == alerts


async def test_a_job_that_is_paused_says_so_in_its_alert(home: Home) -> None:
    home.model.fail(401, times=10)
    home.add(name="fruit watch", when="every 1h", alert_after=50)
    await hours(home, 12)
    assert told(home) == [
        f'The automation "fruit watch" failed 10 times in a row. {WRONG_KEY} Homing paused it: enable it to go on.'
    ]


async def test_a_one_shot_alerts_when_it_is_given_up(home: Home) -> None:
    grant(home)
    home.model.fail(503, retry_after_seconds=0, times=16)
    job = home.add("call mum", name="call mum", when="in 1 hour")
    await hours(home, 1, hours=1, seconds=1)
    for minutes in (1, 5):
        await hours(home, 1, minutes=minutes, seconds=5)
        assert told(home) == []
    await hours(home, 1, minutes=15, seconds=5)
    faulty = "I could not answer: the model's server reported an error at every attempt. Try again later."
    paused = "Homing paused it: enable it to go on."
    assert told(home) == [f'The automation "call mum" failed 4 times in a row. {faulty} {paused}']
    home.ask(run_job, JobRef(job_id=job.id))
    await hours(home, 1)
    assert told(home)[1:] == ['The automation "call mum" works again.']


async def test_an_alert_goes_where_the_run_did_not_write_itself(home: Home) -> None:
    """Rule 38: never by the route that failed. Without another, it stands in home and in the inbox only."""
    other = home.ask(add_webhook, AddWebhook(url="https://example.org/other")).address
    grant(home)
    home.ask(update_session, UpdateSession(session_key=CHAT, addresses=[CHAT, MAIL]))
    home.model.fail(401, times=10)
    job = home.add(name="fruit watch", when="every 8h")
    await hours(home, 3, hours=8)
    assert sent_to(home) == [[other]]
    assert f"An alert about it is on its way to {other}." in home.ask(why_job, WhyJob(job_id=job.id)).answer
    hook = RecordingChannel("webhook")
    courier = Courier(home.store, home.instance, {"webhook": hook, "email": RecordingChannel("email")})
    while await courier.step():
        pass
    assert f"An alert about it went to {other} on " in home.ask(why_job, WhyJob(job_id=job.id)).answer


async def test_why_says_that_an_alert_did_not_arrive(home: Home) -> None:
    grant(home)
    channel = RecordingChannel("email")
    channel.refuse(times=50)
    courier = Courier(home.store, home.instance, {"email": channel})
    home.model.fail(401, times=10)
    job = home.add(name="fruit watch", when="every 8h")
    await hours(home, 3, hours=8)
    while await courier.step():
        pass
    assert f"it did not reach {MAIL}" in home.ask(why_job, WhyJob(job_id=job.id)).answer


async def test_without_another_address_the_alert_is_in_home_only_and_why_says_so(home: Home) -> None:
    home.model.fail(401, times=10)
    job = home.add(name="fruit watch", when="every 8h")
    await hours(home, 3, hours=8)
    assert (told(home), sent_to(home)) == ([FAILED], [[]])
    assert "there was no other address to send it to" in home.ask(why_job, WhyJob(job_id=job.id)).answer


async def test_alert_to_names_the_addresses_and_takes_only_ones_own(home: Home) -> None:
    first = home.ask(add_webhook, AddWebhook(url="https://example.org/first")).address
    home.ask(add_webhook, AddWebhook(url="https://example.org/second"))
    with pytest.raises(Invalid, match=r"email:you@example.org: it is not one of your addresses. Yours are: webhook:"):
        home.add(when="every 8h", alert_to=["email:you@example.org"])
    home.model.fail(401, times=10)
    job = home.add(name="fruit watch", when="every 8h", alert_to=[first])
    with pytest.raises(Invalid, match="web:chat: it is not one of your addresses"):
        home.ask(update_job, UpdateJob(job_id=job.id, alert_to=[CHAT]))
    await hours(home, 3, hours=8)
    assert sent_to(home) == [[first]]


async def test_an_address_that_was_taken_back_gets_no_alert(home: Home) -> None:
    granted = grant(home)
    home.model.fail(401, times=10)
    home.add(name="fruit watch", when="every 8h", alert_to=[MAIL])
    await hours(home, 2, hours=8)
    home.ask(remove_grant, GrantRef(grant_id=granted))
    await hours(home, 1, hours=8)
    assert (told(home), sent_to(home)) == ([FAILED], [[]])


async def test_several_workers_give_one_alert(home: Home) -> None:
    home.model.fail(401, times=3)
    for n in range(3):
        home.add(name=f"watch {n}", when="every 1h", alert_after=1, session_key=f"web:{n}")
    home.pass_time(hours=1)
    await home.settle()
    given = await asyncio.gather(*(give_alerts(home.store, home.instance) for _ in range(6)))
    assert (sum(given), len(told(home))) == (3, 3)
    home.pass_time(hours=1)
    await home.settle()
    given = await asyncio.gather(*(give_alerts(home.store, home.instance) for _ in range(6)))
    assert (sum(given), len(told(home))) == (3, 6)


async def test_a_person_who_saw_to_it_is_not_told(home: Home) -> None:
    """A job that was paused, removed or rid of its alerts before its alert was given."""
    home.model.fail(401, times=20)
    ids = [home.add(name=f"watch {n}", when="every 1h", session_key=f"web:{n}").id for n in range(3)]
    for _ in range(3):
        home.pass_time(hours=1)
        await home.settle()
    home.ask(disable_job, DisableJob(job_id=ids[0]))
    home.ask(remove_job, JobRef(job_id=ids[1]))
    home.ask(update_job, UpdateJob(job_id=ids[2], alert_after=0))
    await give_alerts(home.store, home.instance)
    assert told(home) == []


async def test_a_job_that_was_enabled_again_alerts_again_and_says_only_once_that_it_works(home: Home) -> None:
    home.model.fail(401, times=10)
    job = home.add(name="fruit watch", when="every 8h")
    await hours(home, 3, hours=8)
    home.ask(disable_job, DisableJob(job_id=job.id))
    home.ask(enable_job, JobRef(job_id=job.id))
    await give_alerts(home.store, home.instance)
    assert told(home) == [FAILED]
    await hours(home, 3, hours=8)
    assert told(home) == [FAILED, FAILED]
    home.model.script.reset()
    await hours(home, 2, hours=8)
    assert told(home) == [FAILED, FAILED, WORKS]


async def test_skipped_runs_are_not_failures_and_count_by_themselves(home: Home) -> None:
    """CASES 54: what is left out moves no count of failures. For long, it is told by itself."""
    job = home.add(name="fruit watch", when="every 30m")
    home.pass_time(minutes=30)
    await home.tick()
    for _ in range(4):
        home.pass_time(minutes=30)
        await home.tick()
        await give_alerts(home.store, home.instance)
    left_out = 'The automation "fruit watch" was left out 4 times in a row: its run before has not ended.'
    assert told(home) == [left_out.replace("4 times", "3 times")]
    assert home.job(job.id).consecutive_failures == 0
    await hours(home, 1, minutes=30)
    assert told(home)[1:] == ['The automation "fruit watch" is no longer left out.']


async def test_messages_that_do_not_arrive_alert_by_another_route(home: Home) -> None:
    """CASES 55: the run is ok and its streak unchanged; the address that failed is not used for the alert."""
    other = home.ask(add_webhook, AddWebhook(url="https://example.org/other")).address
    grant(home)
    home.ask(update_session, UpdateSession(session_key=CHAT, addresses=[CHAT, MAIL]))
    channel, hook = RecordingChannel("email"), RecordingChannel("webhook")
    courier = Courier(home.store, home.instance, {"email": channel, "webhook": hook})
    channel.refuse(times=3)
    job = home.add(name="fruit watch", when="every 8h", alert_to=[MAIL, other])
    for step in range(3):
        await hours(home, 1, hours=8)
        while await courier.step():
            pass
        await give_alerts(home.store, home.instance)
        assert len(told(home)) == (step == 2), step
    text = f'The last 3 messages of the automation "fruit watch" could not be delivered to {MAIL}.'
    assert (told(home), sent_to(home)) == ([text], [[other]])
    found = home.job(job.id)
    assert (found.consecutive_failures, found.last_status) == (0, "ok")
    while await courier.step():
        pass
    assert [letter.text for letter in hook.sent] == [text]
    await hours(home, 1, hours=8)
    while await courier.step():
        pass
    await give_alerts(home.store, home.instance)
    assert told(home)[1:] == [f'Messages of the automation "fruit watch" reach {MAIL} again.']


async def test_a_browser_that_gets_no_push_ends_no_alert_about_another_address(home: Home) -> None:
    """A push is a sign beside the message; nothing of it may take the place of mail that does not arrive."""
    home.ask(add_push, read(AddPush, Browser().subscription))
    grant(home)
    home.ask(update_session, UpdateSession(session_key=CHAT, addresses=[CHAT, MAIL]))
    channels = {"email": RecordingChannel("email"), "push": RecordingChannel("push")}
    for channel in channels.values():
        channel.refuse(times=3)
    courier = Courier(home.store, home.instance, channels)
    home.add(name="fruit watch", when="every 8h")
    for _ in range(3):
        home.pass_time(hours=8)
        await home.settle()
        while await courier.step():
            pass
        # A push waits for a screen that shows the message.
        home.pass_time(seconds=4)
        while await courier.step():
            pass
    await give_alerts(home.store, home.instance)
    assert told(home) == [f'The last 3 messages of the automation "fruit watch" could not be delivered to {MAIL}.']


async def test_an_alert_that_cannot_be_delivered_raises_none(home: Home) -> None:
    grant(home)
    channel = RecordingChannel("email")
    channel.refuse(times=50)
    courier = Courier(home.store, home.instance, {"email": channel})
    home.model.fail(401, times=3)
    home.add(name="fruit watch", when="every 8h")
    await hours(home, 3, hours=8)
    while await courier.step():
        pass
    await hours(home, 3, hours=8)
    assert told(home) == [FAILED, WORKS]
    kinds = home.ledger.write(lambda tx: [kind for (kind,) in tx.rows(sa.select(t.alert.c.kind))])
    assert kinds == ["failing"]


async def test_what_stayed_away_is_one_message_per_user_at_the_next_start(home: Home) -> None:
    grant(home)
    for n in range(7):
        home.add(name=f"watch {n}", when="every 1h", session_key=f"web:{n}")
    home.add("x", name="silent", when="every 1h", alert_after=0)
    home.pass_time(minutes=70)
    await hours(home, 1, minutes=45)
    assert len(told(home)) == 0, "an hour is not long"
    await hours(home, 1, hours=9)
    [text] = told(home)
    assert text.startswith("7 automations were due while Homing was not running, the first on ")
    assert ': "watch 0", "watch 1", "watch 2", "watch 3", "watch 4" and 2 more. ' in text
    assert sent_to(home) == [[MAIL]]
    await hours(home, 3)
    assert len(told(home)) == 1


async def test_only_a_person_changes_the_alerts_of_an_automation(home: Home) -> None:
    job = home.add(name="fruit watch", when="every 8h")
    session = home.ledger.session(CHAT)
    turn = ActingTurn(
        id="turn_x", session_id=session.id, session_key=CHAT, agent_id="main", source="run", job_id=job.id,
        sender_id=None, depth=0, may_schedule=False,
    )  # fmt: skip
    caller = Caller(user_id=session.user_id, turn=turn, door="tool")
    with pytest.raises(Forbidden, match="Only a person may change the alerts"):
        home.world.ask(update_job, UpdateJob(job_id=job.id, alert_after=0), caller=caller)


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_worker_killed_around_an_alerts_commit_gives_it_once(home: Home, database: str, place: Any) -> None:
    home.model.fail(401, times=1)
    home.add(name="fruit watch", when="every 1h", alert_after=1)
    home.pass_time(hours=1)
    await home.settle()
    store = MortalStore(database, nth=1, place=place)
    task = asyncio.create_task(give_alerts(store, home.instance))
    await asyncio.wait_for(store.died.wait(), 30)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.close()
    assert len(told(home)) == (place == "after")
    await give_alerts(home.store, home.instance)
    assert len(told(home)) == 1


async def test_an_alert_arrives_as_a_mail_whichever_agent_it_was_granted_to(make_home: MakeHome) -> None:
    async with post_office() as office:
        home = make_home(smtp_url=f"smtp://127.0.0.1:{office.port}?from=homing@example.net")
        home.ledger.session(ELSE)
        grant(home, agent_id="other")
        home.model.fail(401, times=1)
        home.add(name="fruit watch", when="every 1h", alert_after=1)
        await hours(home, 2)
        mail = EmailChannel(read_smtp_url(home.instance.settings.smtp_url or ""))
        while await Courier(home.store, home.instance, {"email": mail}).step():
            pass
    assert office.recipients == ["RCPT TO:<me@example.org>"] * 2
    first, second = [mail.get_content().replace("\n", " ") for mail in office.mails]
    assert first.startswith('The automation "fruit watch" failed.')
    assert second.startswith(WORKS)


async def test_alert_to_mail_says_what_is_missing_on_a_server_without_mail(make_home: MakeHome) -> None:
    home = make_home()
    home.ledger.session(CHAT)
    grant(home)
    with pytest.raises(Invalid, match=r"this server sends no mail\. An admin has to set HOMING_SMTP_URL"):
        home.add(when="every 8h", alert_to=[MAIL])


@pytest.mark.parametrize("given", [False, True], ids=["pending", "given"])
async def test_an_undelivered_alert_ends_silently_when_its_address_is_taken_away(home: Home, given: bool) -> None:
    granted = grant(home)
    home.ask(update_session, UpdateSession(session_key=CHAT, addresses=[CHAT, MAIL]))
    channel = RecordingChannel("email")
    channel.refuse(times=3)
    courier = Courier(home.store, home.instance, {"email": channel})
    home.add(name="fruit watch", when="every 8h")
    for _ in range(3):
        home.pass_time(hours=8)
        await home.settle()
        while await courier.step():
            pass
    if given:
        await give_alerts(home.store, home.instance)
        assert len(told(home)) == 1
    home.ask(remove_grant, GrantRef(grant_id=granted))
    await give_alerts(home.store, home.instance)
    assert len(told(home)) == given
    assert home.ledger.write(lambda tx: [state for (state,) in tx.rows(sa.select(t.alert.c.state))]) == ["over"]


async def test_a_batch_of_alerts_that_cannot_be_given_keeps_no_later_one_back(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Smaller than the real one: each that fails is logged at length.
    monkeypatch.setattr("homing.store.alerts._BATCH", 2)
    failing: dict[str, Any] = {"consecutive_failures": 1, "last_status": "error"}
    for n in range(3):
        job = home.add(name=f"watch {n}", when="every 1h", session_key=f"web:{n}")
        # A zone that is gone from this machine: when it runs next cannot be told.
        home.change(job.id, **(failing | ({"tz": "Gone/Gone"} if n < 2 else {})))
        trouble = alerts.Trouble(job_id=job.id, user_id="default", kind="failing", count=1, run_id=None)
        home.ledger.write(lambda tx, trouble=trouble: alerts.note_trouble(tx, trouble))
    assert await give_alerts(home.store, home.instance) == 1
    assert [text[:24] for text in told(home)] == ['The automation "watch 2"']


@pytest.mark.parametrize("way", ["grant", "session", "webhook"])
async def test_what_is_on_its_way_to_an_address_that_is_taken_away_is_given_up_at_once(home: Home, way: str) -> None:
    granted = grant(home)
    hook = home.ask(add_webhook, AddWebhook(url="https://example.org/other"))
    address = hook.address if way == "webhook" else MAIL
    home.ask(update_session, UpdateSession(session_key=CHAT, addresses=[CHAT, address]))
    job = home.add(name="fruit watch", when="every 8h")
    for _ in range(2):
        home.pass_time(hours=8)
        await home.settle()
    match way:
        case "grant":
            home.ask(remove_grant, GrantRef(grant_id=granted))
        case "session":
            home.ask(update_session, UpdateSession(session_key=CHAT, addresses=[CHAT]))
        case _:
            home.ask(remove_webhook, WebhookRef(webhook_id=hook.id))
    states = home.ledger.write(
        lambda tx: [
            tuple(row)
            for row in tx.rows(sa.select(t.delivery.c.state, t.delivery.c.error).where(t.delivery.c.address == address))
        ]
    )
    assert [state for state, _ in states] == ["dead", "dead"]
    assert all("removed before this was sent" in error for _, error in states)
    answer = home.ask(why_job, WhyJob(job_id=job.id)).answer
    assert "The conversation no longer has that address" in answer
    assert "deliveries retry" not in answer


async def test_why_and_the_plan_of_heartbeats_read_no_table_whole(home: Home) -> None:
    job = home.add(name="fruit watch", when="every 8h")
    await hours(home, 1, hours=8)
    session = home.ledger.session(CHAT)

    def plans(tx: Tx) -> str:
        return explain(
            tx,
            lambda: (
                run_lists.newest(tx, job.id, 5),
                approvals.pending_of_job(tx, job.id, limit=3),
                inbounds.waiting_events(tx, session.id, job.id),
                inbounds.with_notes(tx, [session.id]),
                alerts.of_job(tx, job.id),
                sessions.users_with(tx, "main"),
                sessions.first_direct(tx, session.user_id),
            ),
        )

    found = home.ledger.write(plans)
    assert "Seq Scan" not in found
    # Of tables this small PostgreSQL takes any index.
    if not home.store.postgres:
        for index in ("ix_run_job", "ix_approval_job", "ix_inbound_session", "ix_session_direct"):
            assert index in found, found
        scanned = {line.split("'SCAN ")[1].split()[0].strip("')") for line in found.splitlines() if "'SCAN " in line}
        assert scanned <= {"user", "json_each", "anon_1"}, found
