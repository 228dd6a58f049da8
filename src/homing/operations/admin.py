"""What admins may do to everybody's jobs; each change is written down."""

from homing.model.errors import NotFound
from homing.model.jobs import Job
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.operations.job_changes import change_held, disable_held, prepare_change
from homing.operations.jobs import page_of_jobs
from homing.operations.scripts import NOT_TRIED, TriedScript
from homing.operations.shapes.base import Page
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import AdminListJobs, DisableJob, UpdateJob
from homing.store import jobs, people
from homing.store.job_lists import JobFilter


def admin_list_jobs(ctx: Context, ask: AdminListJobs) -> Page[JobShape]:
    """List all users' jobs, or one user's, with system jobs; a session_key alone means that session of every user."""
    wanted = JobFilter(
        user_id=ask.user_id,
        session_key=ask.session_key,
        enabled=ask.enabled,
        status=ask.status,
        q=ask.q,
        system=None,
    )
    return page_of_jobs(ctx, wanted, sort=ask.sort, cursor=ask.cursor, limit=ask.limit, recent=None)


async def prepare_admin_update_job(desk: Desk, ask: UpdateJob) -> TriedScript:
    """Run a job's script once, if the change gives it another."""
    return await prepare_change(desk, ask, _see)


def admin_update_job(ctx: Context, ask: UpdateJob, tried: TriedScript = NOT_TRIED) -> JobShape:
    """Change any user's job."""
    job = _hold(ctx, ask.job_id)
    shape = change_held(ctx, job, ask, tried)
    _audit(ctx, "update_job", job, sorted(ask.model_fields_set - {"job_id"}))
    return shape


def admin_disable_job(ctx: Context, ask: DisableJob) -> JobShape:
    """Pause any user's job."""
    job = _hold(ctx, ask.job_id)
    shape = disable_held(ctx, job, ask.reason or "An admin paused it.", ask.until)
    _audit(ctx, "disable_job", job, [])
    return shape


def _hold(ctx: Context, job_id: str) -> Job:
    jobs.lock(ctx.tx, [job_id])
    return _see(ctx, job_id)


def _see(ctx: Context, job_id: str) -> Job:
    job = jobs.get(ctx.tx, job_id)
    if job is None or job.removed_at is not None:
        raise NotFound(f"There is no automation {job_id}.")
    return job


def _audit(ctx: Context, action: str, job: Job, fields: list[str]) -> None:
    detail = {"owner": job.user_id, "name": job.name, "fields": fields}
    people.audit(ctx.tx, user_id=ctx.caller.user_id, action=action, object_id=job.id, detail=detail)
