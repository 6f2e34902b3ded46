"""The jobs that `make demo` runs on what ships with the project; each app registers its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DemoJob:
    """One job of the demonstration.

    Attributes:
        order: Position; the apps' stages follow the line from sources to training.
        kind: A registered, startable kind.
        parameters: What it is started with.
    """

    order: int
    kind: str
    parameters: Mapping[str, Any]


_JOBS: dict[tuple[int, str], DemoJob] = {}


def register_demo_job(job: DemoJob) -> None:
    """Adds a job to the demonstration; called from `AppConfig.ready()`."""
    _JOBS[job.order, job.kind] = job


def demo_jobs() -> list[DemoJob]:
    """The jobs in order."""
    return [_JOBS[key] for key in sorted(_JOBS)]
