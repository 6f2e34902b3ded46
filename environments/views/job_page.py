"""What the pages of jobs show, made from the rows: progress, stages, parts, log, and the curve of finished units."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from environments.core.errors import UnknownJobKindError
from environments.core.jobs import job_kind
from environments.models import Job, JobEvent, JobQuerySet
from environments.web import HtmxHttpRequest

NUM_PARTS_SHOWN = 20
NUM_STAGES_SHOWN = 30
NUM_LOG_LINES = 500
NUM_MARKS_READ = 5000
NUM_CURVE_POINTS = 120
MIN_CURVE_POINTS = 3

ADVICE = {
    "worker_lost": gettext_lazy("Its workers died several times. See the worker's own log for memory; then retry."),
    "timed_out": gettext_lazy("It ran longer than its kind may. Give it less to do at once, then start it again."),
    "database": gettext_lazy("The database failed several times. See Services on the home page; then retry."),
    "transient": gettext_lazy("Something outside failed several times. Check that it answers; then retry."),
    "internal_error": gettext_lazy("This is a fault of the program. Its worker's log has the traceback; report it."),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a job's run as a line of the page."""

    name: str
    started_at: datetime
    seconds: float | None
    total: int | None


def narrow(rows: JobQuerySet) -> JobQuerySet:
    """The rows with what a list shows, and nothing heavy."""
    return rows.select_related("created_by").defer(*Job.WIDE_COLUMNS)


def page_context(request: HtmxHttpRequest, job: Job) -> dict[str, Any]:
    """Everything the job page shows."""
    now = timezone.now()
    may_steer = _may_steer(request, job)
    beat_seconds = (now - job.heartbeat_at).total_seconds() if job.heartbeat_at else None
    is_running = job.status == Job.Status.RUNNING
    return {
        "job": job,
        "may_cancel": may_steer and not job.is_final and not job.is_cancelling,
        "may_retry": may_steer and job.can_retry,
        "may_start_again": may_steer and job.parent_id is None and job.status == Job.Status.SUCCEEDED,
        "rate": job.rate(now),
        "seconds_left": job.seconds_left(now),
        "took": (job.finished_at or now) - job.started_at if job.started_at else None,
        "silent_seconds": beat_seconds if is_running and (beat_seconds or 0) > settings.JOB_STALE_SECONDS else None,
        "advice": ADVICE.get(
            job.error_code, _("Read the log below, mend the cause, then retry: what finished is kept.")
        ),
        "stages": _stages(job, now),
        **_parts(job),
        **log_context(job),
        **curve_context(job),
    }


def _may_steer(request: HtmxHttpRequest, job: Job) -> bool:
    try:
        return request.user.may(job_kind(job.kind).permission)
    except UnknownJobKindError:
        return False


def _stages(job: Job, now: datetime) -> list[Stage]:
    """The last stages, oldest first; one ends where the next begins."""
    marks = list(job.events.filter(kind=JobEvent.Kind.STAGE).order_by("-pk")[:NUM_STAGES_SHOWN])[::-1]
    ends = [mark.at for mark in marks[1:]] + [job.finished_at or now]
    return [
        Stage(mark.stage, mark.at, max((end - mark.at).total_seconds(), 0), mark.data.get("total"))
        for mark, end in zip(marks, ends, strict=False)
    ]


def _parts(job: Job) -> dict[str, Any]:
    """The job's children: counts by status, and the first of them with what failed on top."""
    counts = dict(job.children.order_by().values_list("status").annotate(num=Count("pk")))
    if not counts:
        return {"num_parts": 0}
    failed_first = [Job.Status.FAILED, Job.Status.RUNNING, Job.Status.CANCELLED, Job.Status.QUEUED, Job.Status.WAITING]
    shown: list[Job] = []
    for status in [*failed_first, Job.Status.SUCCEEDED]:
        if counts.get(status) and len(shown) < NUM_PARTS_SHOWN:
            shown += narrow(job.children.filter(status=status)).order_by("pk")[: NUM_PARTS_SHOWN - len(shown)]
    return {
        "num_parts": sum(counts.values()),
        "num_parts_final": sum(counts.get(status, 0) for status in Job.FINAL_STATUSES),
        "part_counts": [(status, counts[status]) for status in Job.Status if status in counts],
        "parts": shown,
    }


def log_context(job: Job) -> dict[str, Any]:
    """The end of the log, and the id after which the event stream goes on."""
    lines = list(job.events.log_lines().reverse()[:NUM_LOG_LINES])[::-1]
    last_id = job.events.order_by("-pk").values_list("pk", flat=True).first() or 0
    return {
        "log_lines": lines,
        "log_is_cut": len(lines) == NUM_LOG_LINES,
        "last_event_id": last_id,
        "stream_url": reverse("job-stream", args=[job.code]),
    }


def curve_context(job: Job) -> dict[str, Any]:
    """Finished units over time in the latest stage, thinned to what a chart can show; empty while too short."""
    marks = job.events.filter(kind__in=[JobEvent.Kind.STAGE, JobEvent.Kind.PROGRESS], stage=job.stage)
    rows = list(marks.order_by("-pk").values_list("at", "data")[:NUM_MARKS_READ])[::-1]
    step = -(-len(rows) // NUM_CURVE_POINTS) or 1
    points = [(at, data.get("done", 0)) for at, data in [*rows[:-1:step], *rows[-1:]]]
    if len(points) < MIN_CURVE_POINTS:
        return {"points": []}
    return {
        "points": points,
        "num_marks": len(rows),
        "curve": {
            "x": [at.timestamp() for at, _done in points],
            "x_label": _("Time"),
            "x_unit": "time",
            "y_from_zero": True,
            "series": [{"label": _("Units done"), "values": [done for _at, done in points]}],
        },
    }
