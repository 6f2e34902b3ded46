"""The commands of the processes that make up a running site."""

import sys
from typing import Final

APPLICATION: Final = "envfactory_site"
GRACEFUL_SECONDS: Final = 5


def web_command(*, host: str, port: int) -> list[str]:
    """Uvicorn with the console and the API."""
    return [
        sys.executable, "-m", "uvicorn", f"{APPLICATION}.asgi:application",
        "--host", host, "--port", str(port), "--log-level", "warning", "--no-server-header",
        # Open event streams would otherwise hold up a stop for ever.
        "--timeout-graceful-shutdown", str(GRACEFUL_SECONDS),
    ]  # fmt: skip


def worker_command(*, queues: list[str], concurrency: int) -> list[str]:
    """A Celery worker on the queues."""
    return [
        sys.executable, "-m", "celery", "--app", APPLICATION, "--quiet", "worker",
        "--queues", ",".join(queues), "--concurrency", str(concurrency),
        "--hostname", f"{queues[0]}@%h", "--loglevel", "WARNING", "--without-gossip", "--without-mingle",
    ]  # fmt: skip


def beat_command() -> list[str]:
    """What starts the periodic tasks; one in all."""
    return [
        sys.executable, "-m", "celery", "--app", APPLICATION, "--quiet", "beat", "--loglevel", "WARNING",
        "--pidfile", "",  # a supervisor watches it, and a stale file would keep it down
    ]  # fmt: skip
