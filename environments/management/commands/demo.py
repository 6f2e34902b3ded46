"""`manage.py demo`: runs the main job on what ships with the project, then serves the console."""

import time
from argparse import ArgumentParser
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from environments import services
from environments.adapters.supervisor import Supervisor
from environments.core.demo import demo_jobs
from environments.jobs import start_job
from environments.management import site
from environments.models import Job, User

LOGINS = (("reviewer", User.Role.REVIEWER), ("admin", User.Role.ADMIN))
JOB_SECONDS = 1800
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class _Stage:
    title: str
    outcome: str
    seconds: float


class Command(BaseCommand):
    help = "Runs the main job on what ships with the project, prints a summary, and serves the console."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--concurrency", type=int, default=site.default_concurrency())
        parser.add_argument("--no-serve", action="store_true", help="End after the summary.")

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console()
        if not options["no_serve"]:
            site.require_free_port(options["host"], options["port"])
        started = time.monotonic()
        stages = []
        call_command("migrate", verbosity=0, interactive=False)
        stages.append(_Stage("Database brought up to date", "done", time.monotonic() - started))
        passwords = {name: services.issue_login(username=name, role=role, is_lead=True) for name, role in LOGINS}
        logs = settings.VAR_DIR / "log"
        with Supervisor(log_directory=logs) as supervisor:
            site.start_workers(supervisor, concurrency=options["concurrency"])
            stages += _run_jobs(console, supervisor)
            _print_summary(console, stages)
            if any(stage.outcome not in {"done", Job.Status.SUCCEEDED.label} for stage in stages):
                raise CommandError(f"A stage did not succeed: its job's page says why, the messages are in {logs}")
            _print_logins(console, passwords)
            if options["no_serve"]:
                return
            site.start_web(supervisor, host=options["host"], port=options["port"])
            console.print(f"EnvFactory at [bold]http://{options['host']}:{options['port']}/[/] (Ctrl-C stops it)")
            site.tend_until_stopped(supervisor)


def _run_jobs(console: Console, supervisor: Supervisor) -> list[_Stage]:
    """Starts each job in turn and shows its progress until it is final."""
    stages = []
    columns = (TextColumn("{task.description:32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for entry in demo_jobs():
            job, _ = start_job(kind=entry.kind, parameters=entry.parameters, user=None)
            bar = progress.add_task(job.title, total=None)
            start = time.monotonic()
            while not job.is_final:
                if time.monotonic() - start > JOB_SECONDS:
                    raise CommandError(f"{job.title} did not end within {JOB_SECONDS} s; is another worker stuck?")
                supervisor.tend()
                time.sleep(POLL_SECONDS)
                job.refresh_from_db()
                # A waiting parent's units are its children.
                done, total = _units(job)
                progress.update(bar, completed=done, total=total, description=f"{job.title}: {job.stage or 'queued'}")
            progress.update(bar, description=job.title)
            stages.append(_Stage(job.title, job.get_status_display(), time.monotonic() - start))
    return stages


def _units(job: Job) -> tuple[int, int | None]:
    if job.status != Job.Status.WAITING:
        return job.done_units, job.total_units
    return job.children.final().count(), job.children.count()


def _print_summary(console: Console, stages: list[_Stage]) -> None:
    table = Table("Stage", "Outcome", title="What ran", title_justify="left")
    table.add_column("Seconds", justify="right")
    for stage in stages:
        table.add_row(stage.title, stage.outcome, f"{stage.seconds:.1f}")
    table.add_section()
    table.add_row("In all", "", f"{sum(stage.seconds for stage in stages):.1f}")
    console.print(table)


def _print_logins(console: Console, passwords: dict[str, str | None]) -> None:
    for name, password in passwords.items():
        shown = f"password {password} (shown this once)" if password else "the password you were shown before"
        console.print(f"Log in as [bold]{name}[/] with {shown}", highlight=False)
    if not all(passwords.values()):
        console.print("Lost it? .venv/bin/python manage.py changepassword <name>", highlight=False)
