"""Celery entry points. One task runs every kind of job, so the sweep can send work of any app."""

import logging
from uuid import UUID

from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from environments import services
from environments.core.jobs import job_kind
from environments.models import Job

logger = logging.getLogger(__name__)


@shared_task(name="environments.tasks.run_job", acks_late=True, reject_on_worker_lost=True, ignore_result=True)
def run_job(*, job_code: str) -> None:
    """Runs the job with that code if it is there to be claimed."""
    services.execute_job(job_code=UUID(job_code), send=send_job, interruption=SoftTimeLimitExceeded)


@shared_task(name="environments.tasks.sweep_jobs", ignore_result=True, soft_time_limit=60, time_limit=90)
def sweep_jobs() -> None:
    """Takes up lost work; started every few seconds by beat."""
    counts = services.sweep_jobs(send=send_job)
    if any(counts.values()):
        logger.info("event=jobs_swept %s", " ".join(f"{name}={count}" for name, count in counts.items()))


@shared_task(name="environments.tasks.sweep_sessions", ignore_result=True, soft_time_limit=240, time_limit=270)
def sweep_sessions() -> None:
    """Parks idle sessions and deletes old ones; started every minute by beat."""
    num_parked, num_deleted = services.park_idle_sessions(), services.delete_old_sessions()
    if num_parked or num_deleted:
        logger.info("event=sessions_swept parked=%d deleted=%d", num_parked, num_deleted)


def send_job(job_code: UUID) -> bool:
    """Puts the job on its kind's queue; False, and the row waits for the sweep, if the broker can't be reached."""
    kind = job_kind(Job.objects.values_list("kind", flat=True).get(code=job_code))
    try:
        run_job.apply_async(
            kwargs={"job_code": str(job_code)},
            queue=kind.queue.value,
            soft_time_limit=kind.soft_seconds,
            time_limit=kind.hard_seconds,
        )
    except (OperationalError, RedisError, OSError) as error:
        logger.warning("event=broker_unreachable job=%s error=%s", job_code, type(error).__name__)
        return False
    services.mark_sent(job_code=job_code)
    return True
