"""The job that makes rows for load tests, and jobs for throughput tests; resumable, and the same rows every time."""

import time
from datetime import timedelta
from typing import Any, Final
from uuid import uuid5

from environments.core.jobs import COLLECT_STAGE, WAITING, JobContext, JobKind, Queue, Waiting
from environments.core.seeds import child_rng
from environments.models import Job

BATCH_ROWS = 1000
STATUSES: Final = (Job.Status.SUCCEEDED, Job.Status.FAILED, Job.Status.CANCELLED)
STATUS_SHARES: Final = (0.9, 0.07, 0.03)


def run_seed_load(context: JobContext) -> dict[str, Any] | Waiting:
    """Makes `count` finished rows (mode `rows`) or runs `count` small jobs (mode `jobs`)."""
    if context.parameters["mode"] == "rows":
        return _make_rows(context)
    if context.stage == COLLECT_STAGE:
        return _count_children(context)
    return _spawn_jobs(context)


def _make_rows(context: JobContext) -> dict[str, Any]:
    parent = Job.objects.get(code=context.job_code)
    count, seed = context.parameters["count"], context.parameters["seed"]
    # Batches are written whole and in order, so the number of rows says where a killed run stopped.
    first = parent.children.count() // BATCH_ROWS * BATCH_ROWS
    for start in range(first, count, BATCH_ROWS):
        context.progress("rows", start, count)
        batch = range(start, min(start + BATCH_ROWS, count))
        Job.objects.bulk_create([_row(parent, seed, index) for index in batch], ignore_conflicts=True)
    context.progress("rows", count, count)
    return {"rows": parent.children.count()}


def _row(parent: Job, seed: int, index: int) -> Job:
    key = _key(index)
    rng = child_rng(seed, "seed_load", key)
    status = STATUSES[rng.choice(len(STATUSES), p=STATUS_SHARES)]
    created_at = parent.created_at - timedelta(seconds=float(rng.uniform(0, 30 * 86400)))
    seconds = float(rng.lognormal(3, 1))
    return Job(
        code=uuid5(parent.code, key),
        kind=SEED_ROW.name,
        queue=SEED_ROW.queue,
        parameters={"seed": seed, "index": index, "milliseconds": 0},
        status=status,
        stage="row",
        done_units=1,
        total_units=1,
        attempt=1,
        parent=parent,
        key=key,
        created_by=parent.created_by,
        created_at=created_at,
        started_at=created_at,
        finished_at=created_at + timedelta(seconds=seconds),
        error_code="synthetic" if status == Job.Status.FAILED else "",
        error_message="Made for a load test." if status == Job.Status.FAILED else "",
        manifest=parent.manifest,
    )


def _spawn_jobs(context: JobContext) -> Waiting:
    count = context.parameters["count"]
    for index in range(count):
        context.progress("spawn", index, count)
        parameters = {
            "seed": context.parameters["seed"],
            "index": index,
            "milliseconds": context.parameters["milliseconds"],
        }
        context.spawn(SEED_ROW.name, parameters, key=_key(index))
    context.progress("spawn", count, count)
    return WAITING


def _count_children(context: JobContext) -> dict[str, Any]:
    counts: dict[str, int] = {}
    children = context.children()
    for child in children:
        counts[child.status] = counts.get(child.status, 0) + 1
    context.progress(COLLECT_STAGE, len(children), len(children))
    return {"jobs": len(children), **counts}


def run_seed_row(context: JobContext) -> dict[str, Any]:
    """Draws one number from the unit's own generator, after waiting as long as was asked for."""
    deadline = time.monotonic() + context.parameters["milliseconds"] / 1000
    while time.monotonic() < deadline:
        context.check_cancelled()
        time.sleep(min(0.05, max(deadline - time.monotonic(), 0)))
    index = context.parameters["index"]
    value = float(child_rng(context.parameters["seed"], "seed_load", _key(index)).random())
    context.progress("row", 1, 1)
    return {"value": value}


def _key(index: int) -> str:
    return f"{index:07d}"


_SEED: Final = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1, "default": 0, "title": "Seed"}
_MILLISECONDS: Final = {"type": "integer", "minimum": 0, "maximum": 60_000, "default": 0}

SEED_LOAD: Final = JobKind(
    name="seed_load",
    title="Load-test rows",
    description="Makes finished job rows for load tests, or runs many small jobs to measure throughput.",
    queue=Queue.DEFAULT,
    parameters={
        "type": "object",
        "properties": {
            "mode": {
                "type": "string",
                "enum": ["rows", "jobs"],
                "default": "rows",
                "title": "Mode",
                "description": "rows: write finished rows. jobs: run that many small jobs.",
            },
            "count": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1_000_000,
                "default": 1000,
                "title": "How many",
            },
            "seed": _SEED,
            "milliseconds": {
                **_MILLISECONDS,
                "title": "Milliseconds each",
                "description": "In mode jobs: how long each job takes.",
            },
        },
        "additionalProperties": False,
    },
    run=run_seed_load,
)

SEED_ROW: Final = JobKind(
    name="seed_row",
    title="Load-test job",
    description="One unit of a load test.",
    queue=Queue.BUILD,
    parameters={
        "type": "object",
        "properties": {
            "seed": _SEED,
            "index": {"type": "integer", "minimum": 0},
            "milliseconds": _MILLISECONDS,
        },
        "required": ["index"],
        "additionalProperties": False,
    },
    run=run_seed_row,
    is_startable=False,
)
