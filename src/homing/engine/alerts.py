"""Tell people by another route what does not work, once, and once more when it does (rules 38, 59).

The rows of the trouble are written where it is seen. Here each becomes a message of its user's home, in a transaction
of its own: the job is locked first, so that several workers give one alert, and a job gets one in six hours.
"""

from collections.abc import Sequence
from functools import partial

import structlog

from homing.model.alerts import Alert, alert_words, away_words, over_words
from homing.model.errors import NotReady
from homing.model.jobs import Job
from homing.model.messages import ALERT, NewMessage
from homing.operations.context import Instance
from homing.operations.homes import NotePlace, note_places
from homing.operations.reach import reachable
from homing.store import LookAgain, Store, Tx, alerts, deliveries, jobs, people, runs, sessions
from homing.store.sessions import is_screen

log = structlog.get_logger(__name__)


async def give_alerts(store: Store, instance: Instance) -> int:
    """Give all alerts that are to be given now; say how many messages were written."""
    given, last = 0, 0
    while True:
        found = await store.read(partial(alerts.waiting, after_n=last))
        if not found:
            return given
        for n, job_id, user_id in found:
            last = n
            work = partial(_tell, n=n, job_id=job_id, user_id=user_id, instance=instance)
            try:
                told = await store.write(work)
            except NotReady:
                raise
            except Exception:  # the rim: an alert that cannot be given keeps no other one back, and is tried again
                log.exception("alert_failed", alert=n, job_id=job_id)
                continue
            if told is not None:
                given += 1
                log.info("alert_given", alert=n, job_id=job_id, user_id=user_id, addresses=len(told))


def _tell(tx: Tx, *, n: int, job_id: str | None, user_id: str, instance: Instance) -> list[str] | None:
    """Tell what there is to tell of one alert; name the addresses it goes to, or None if it is left alone."""
    if job_id is not None:
        jobs.lock(tx, [job_id])
    place = note_places(tx, [user_id], unified=instance.settings.unified_session)[user_id]
    sessions.lock(tx, {place.home.id, place.lane_id})
    if sessions.get(tx, place.home.id).deleted_at is not None:
        raise LookAgain
    found = alerts.hold(tx, n)
    if found is None:
        return None
    alert = found.alert
    job = jobs.get(tx, job_id) if job_id is not None else None
    if job is None:
        return None if found.waits else _tell_away(tx, alert, place, instance)
    if found.works or found.gone:
        alerts.end(tx, alert)
        if alert.state != "given" or found.gone:
            return None
        own = reachable(tx, instance.settings, job.user_id)
        to = [address for address in alert.given_to or () if address in own]
        _send(tx, alert, job, place, over_words(alert, job), to)
        return to
    if alert.state != "pending" or found.waits:
        return None
    if job.alert_after == 0 or job.disabled_by == "person":
        # Somebody has seen to it meanwhile.
        alerts.end(tx, alert)
        return None
    to = _to(tx, alert, job, instance)
    seq = _send(tx, alert, job, place, alert_words(alert, job), to)
    alerts.give(tx, alert, to, session_id=place.home.id, seq=seq)
    return to


def _tell_away(tx: Tx, alert: Alert, place: NotePlace, instance: Instance) -> list[str]:
    user = people.get_user(tx, alert.user_id)
    to = reachable(tx, instance.settings, alert.user_id)
    tz = (user.timezone if user else None) or instance.settings.timezone
    seq = _send(tx, alert, None, place, away_words(alert, tz), to)
    alerts.give(tx, alert, to, session_id=place.home.id, seq=seq)
    return to


def _to(tx: Tx, alert: Alert, job: Job, instance: Instance) -> list[str]:
    """Choose where an alert goes: where the job says, else to the user's addresses that were not told by the run
    itself; never to the one that failed, nor to one that is not theirs any more.
    """
    own = reachable(tx, instance.settings, job.user_id)
    if alert.kind == "undelivered":
        own = [address for address in own if address != alert.address]
    if job.alert_to:
        return [address for address in own if address in job.alert_to]
    run = runs.get(tx, alert.run_id) if alert.run_id is not None else None
    # A script that does not work says nothing in the conversation.
    told = (
        [] if run is not None and run.reason == "script" else sessions.addresses(tx, [job.session_id])[job.session_id]
    )
    return [address for address in own if address not in told]


def _send(tx: Tx, alert: Alert, job: Job | None, place: NotePlace, text: str, to: Sequence[str]) -> int:
    meta: dict[str, object] = {ALERT: alert.kind}
    if job is not None:
        meta |= {"cron_job_id": job.id, "cron_job_name": job.name}
    message = NewMessage(
        session_id=place.home.id,
        lane_id=place.lane_id,
        role="assistant",
        kind="note",
        text=text,
        unasked=True,
        job_id=job.id if job is not None else None,
        meta=meta,
    )
    screens = [address for address in sessions.addresses(tx, [place.home.id])[place.home.id] if is_screen(address)]
    [seq], _ = deliveries.post(tx, [message], only=[*screens, *to])
    return seq
