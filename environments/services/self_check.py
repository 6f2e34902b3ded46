"""The job that exercises every service once: database, vectors, cache, disk, clock, and a worker on each queue."""

import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.core.cache import cache
from django.db import connection, transaction
from django.utils import timezone

from environments.core.errors import EnvFactoryError
from environments.core.jobs import COLLECT_STAGE, WAITING, JobContext, JobKind, Queue, Waiting
from environments.services.health import readiness

MAX_CLOCK_DIFFERENCE = timedelta(seconds=5)
MIN_FREE_BYTES = 1 << 30


class SelfCheckError(EnvFactoryError):
    """At least one check failed; the message names them, the log says why."""

    code = "self_check_failed"


def run_self_check(context: JobContext) -> dict[str, Any] | Waiting:
    """Runs the checks in this worker, then sends one probe through each queue and collects them."""
    if context.stage == COLLECT_STAGE:
        return _collect(context)
    failed = []
    checks = _checks()
    for done, (name, check) in enumerate(checks.items()):
        context.progress("services", done, len(checks))
        try:
            context.log("info", f"{name}: {check()}")
        except (OSError, RuntimeError, AssertionError) as error:
            failed.append(name)
            context.log("error", f"{name}: {error}")
    context.progress("services", len(checks), len(checks))
    if failed:
        raise SelfCheckError(f"Failed: {', '.join(failed)}. The log says why.")
    for queue in Queue:
        context.spawn(probe_kind_name(queue), {}, key=queue.value)
    context.progress("queues", 0, len(Queue))
    return WAITING


def _collect(context: JobContext) -> dict[str, Any]:
    children = context.children()
    context.progress("queues", len(children), len(children))
    failed = [child.key for child in children if child.status != "succeeded"]
    if failed:
        raise SelfCheckError(f"The probe of these queues did not succeed: {', '.join(failed)}.")
    return {"checks": sorted(_checks()), "queues": {child.key: child.result for child in children}}


def run_queue_probe(context: JobContext) -> dict[str, Any]:
    """Shows that a worker serves the queue."""
    context.progress("probe", 1, 1)
    return {"served_at": timezone.now().isoformat()}


def probe_kind_name(queue: Queue) -> str:
    """Name of the kind that probes a queue."""
    return f"queue_probe_{queue.value}"


def _checks() -> dict[str, Callable[[], str]]:
    checks = {f"{result.name} (ready)": partial(_ready, result) for result in readiness()}
    return checks | {
        "database rolls back": _database_rolls_back,
        "vector distance": _vector_distance,
        "cache round trip": _cache_round_trip,
        "clock": _clock,
        "disk": _disk,
    }


def _ready(result: Any) -> str:
    if not result.is_ok:
        raise RuntimeError(result.message)
    return f"{result.message} ({result.milliseconds:.1f} ms)"


def _database_rolls_back() -> str:
    with connection.cursor() as cursor:
        with transaction.atomic():
            cursor.execute("CREATE TEMPORARY TABLE self_check (x integer PRIMARY KEY)")
            cursor.execute("INSERT INTO self_check SELECT generate_series(1, 1000)")
            sid = transaction.savepoint()
            cursor.execute("DELETE FROM self_check")
            transaction.savepoint_rollback(sid)
            cursor.execute("SELECT count(*) FROM self_check")
            (count,) = cursor.fetchone()
            cursor.execute("DROP TABLE self_check")
        if count != 1000:
            raise RuntimeError(f"{count} rows of 1,000 are left after a rollback")
    return "1,000 rows written, deleted and rolled back"


def _vector_distance() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT '[1,0,0]'::vector <=> '[0,1,0]'::vector")
        (distance,) = cursor.fetchone()
    if abs(distance - 1) > 1e-9:
        raise RuntimeError(f"the cosine distance of orthogonal vectors is {distance}, not 1")
    return "cosine distance of orthogonal vectors is 1"


def _cache_round_trip() -> str:
    start = time.perf_counter()
    cache.set("self-check", "written", timeout=10)
    found = cache.get("self-check")
    cache.delete("self-check")
    if found != "written" or cache.get("self-check") is not None:
        raise RuntimeError("the cache does not return what was written, or keeps what was deleted")
    return f"written, read and deleted in {(time.perf_counter() - start) * 1000:.1f} ms"


def _clock() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (database_now,) = cursor.fetchone()
    difference = abs(timezone.now() - database_now)
    if difference > MAX_CLOCK_DIFFERENCE:
        raise RuntimeError(f"this machine and the database are {difference.total_seconds():.0f} s apart: set up NTP")
    return f"{difference.total_seconds() * 1000:.0f} ms from the database's"


def _disk() -> str:
    free = shutil.disk_usage(settings.VAR_DIR).free
    if free < MIN_FREE_BYTES:
        raise RuntimeError(f"{free / 2**30:.1f} GiB free at {settings.VAR_DIR}: at least 1 GiB is needed")
    return f"{free / 2**30:.0f} GiB free"


NO_PARAMETERS: Final = {"type": "object", "properties": {}, "additionalProperties": False}

SELF_CHECK: Final = JobKind(
    name="self_check",
    title="Self-check",
    description="Exercises the database, vectors, cache, disk and clock, and sends a probe through every queue.",
    queue=Queue.DEFAULT,
    parameters=NO_PARAMETERS,
    run=run_self_check,
    soft_seconds=120,
    hard_seconds=150,
)

QUEUE_PROBES: Final = tuple(
    JobKind(
        name=probe_kind_name(queue),
        title=f"Probe of queue {queue.value}",
        description="Succeeds as soon as a worker serves the queue.",
        queue=queue,
        parameters=NO_PARAMETERS,
        run=run_queue_probe,
        soft_seconds=30,
        hard_seconds=60,
        is_startable=False,
    )
    for queue in Queue
)
