"""Says whether the process of this container works: `healthcheck.py web`, `worker <queue>` or `beat`.

It starts no Django: a check runs twice a minute in each container, and must cost little.
"""

import os
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

TIMEOUT_SECONDS = 5
# Beat writes its schedule every three minutes, as it does not wait for the broker.
BEAT_SILENT_SECONDS = 600


def check_web() -> None:
    """The console answers; raises if it does not."""
    port = os.environ.get("PORT", "8000")
    host = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip(".")
    request = urllib.request.Request(f"http://127.0.0.1:{port}/healthz", headers={"Host": host})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - loopback
        if answer.read() != b"ok":
            raise RuntimeError("/healthz does not say ok")


def check_worker(queue: str) -> None:
    """This container's worker answers a ping that goes through the broker; raises if it does not."""
    from celery import Celery
    from celery.utils.nodenames import gethostname

    from envfactory_site.settings import env

    name = f"{queue}@{gethostname()}"
    broker = env.broker_address(env.text("REDIS_URL"), database_number=0)
    replies = Celery(broker=broker, set_as_current=False).control.ping(destination=[name], timeout=TIMEOUT_SECONDS)
    if not any(name in reply for reply in replies or []):
        raise RuntimeError(f"the worker {name} does not answer")


def check_beat() -> None:
    """Beat goes on writing its schedule; raises if it does not."""
    schedule = Path(os.environ["VAR_DIR"]) / "beat-schedule"
    silent_seconds = time.time() - max(file.stat().st_mtime for file in schedule.parent.glob(f"{schedule.name}*"))
    if silent_seconds > BEAT_SILENT_SECONDS:
        raise RuntimeError(f"beat has written nothing for {silent_seconds:.0f} s")


CHECKS: dict[str, Callable[..., None]] = {"web": check_web, "worker": check_worker, "beat": check_beat}

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    try:
        CHECKS[sys.argv[1]](*sys.argv[2:])
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is what the engine shows
        sys.exit(f"unhealthy: {type(error).__name__}: {error}")
