"""A result that cannot be sent: the conversation keeps it, and the run tells how far it got."""

from behaviour.jobs.homes import Home
from homing.engine.courier import Courier
from homing.operations.jobs import get_job
from homing.operations.runs import get_run
from homing.operations.shapes.job_asks import GetJob, WhyJob
from homing.operations.shapes.run_asks import RunRef
from homing.operations.why import why_job
from homing.store import sessions
from homing.testing import RecordingChannel
from support.ledger import CHAT

OUTSIDE = "recording:somewhere"


async def test_a_failed_send_leaves_the_conversation_whole_and_the_run_ok_with_its_delivery_error(home: Home) -> None:
    session = home.ledger.session()
    home.ledger.write(lambda tx: sessions.set_addresses(tx, session.id, [CHAT, OUTSIDE]))
    home.model.when("look for fruit", "There are apples.")
    job = home.add(when="every 1h")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    channel = RecordingChannel()
    channel.refuse()
    courier = Courier(home.store, home.instance, {"recording": channel})
    while await courier.step():
        pass
    run = home.ask(get_run, RunRef(run_id=home.only_run(job.id).id))
    assert (run.state, run.reason) == ("ok", None)
    assert {carried.address: carried.state for carried in run.deliveries} == {CHAT: "sent", OUTSIDE: "dead"}
    [dead] = [carried for carried in run.deliveries if carried.state == "dead"]
    assert dead.error
    assert home.shown()[-1].text == "There are apples."
    told = home.ask(get_job, GetJob(job_id=job.id))
    # Seen, but no failure of the job; and the way of its answers stays as it was.
    assert (told.status, told.state.last_status, told.state.consecutive_failures) == ("attention", "ok", 0)
    assert sorted(home.ledger.write(lambda tx: sessions.addresses(tx, [session.id]))[session.id]) == [OUTSIDE, CHAT]
    home.pass_time(hours=1)
    await home.settle()
    while await courier.step():
        pass
    assert [letter.text for letter in channel.sent] == ["There are apples."]


async def test_why_does_not_say_went_well_of_an_answer_that_did_not_arrive(home: Home) -> None:
    session = home.ledger.session()
    home.ledger.write(lambda tx: sessions.set_addresses(tx, session.id, [CHAT, OUTSIDE]))
    job = home.add(when="every 1 hour", payload={"kind": "reminder", "message": "Drink."}, message=None)
    home.pass_time(hours=1, seconds=1)
    await home.settle()

    def why() -> str:
        return home.ask(why_job, WhyJob(job_id=job.id)).answer

    assert f"ended, and its message is still on its way to {OUTSIDE}." in why()
    channel = RecordingChannel()
    channel.refuse()
    courier = Courier(home.store, home.instance, {"recording": channel})
    while await courier.step():
        pass
    assert f"ended, but its message did not reach {OUTSIDE}:" in why()
    assert "Send it again with `homing deliveries retry dlv_" in why()
    assert "went well" not in why()
    # With no screen that shows it, it reached nobody.
    home.ledger.write(lambda tx: sessions.set_addresses(tx, session.id, [OUTSIDE]))
    channel.refuse()
    home.pass_time(hours=1)
    await home.settle()
    while await courier.step():
        pass
    assert f"ended, but its message reached nobody (not {OUTSIDE}):" in why()
    home.pass_time(hours=1)
    await home.settle()
    while await courier.step():
        pass
    assert why().endswith("went well.")
