"""Whether this machine can lock tool code in, and how strictly the settings want it."""

import threading
import time
from typing import Final

from django.conf import settings

from environments.runtime.sandbox.policy import Policy
from environments.runtime.sandbox.report import Layer, is_available, sandbox_report

GOOD_SECONDS: Final = 3600.0
BAD_SECONDS: Final = 60.0
"""How long a report is believed: it takes two processes to make, and `/readyz` is asked every few seconds."""

_lock = threading.Lock()
_report: tuple[float, tuple[Layer, ...]] | None = None


def sandbox_policy() -> Policy:
    """What the settings ask for; without `DEBUG` nothing ever runs unlocked."""
    return Policy(
        allow_unsafe=settings.SANDBOX_ALLOW_UNSAFE,
        is_production=not settings.DEBUG,
        require_landlock=settings.SANDBOX_REQUIRE_LANDLOCK,
    )


def check_sandbox() -> str:
    """Every required layer of the lock is on."""
    layers = _recent_report()
    missing = [layer for layer in layers if layer.state != "on"]
    if not is_available(layers):
        names = ", ".join(layer.name for layer in missing if layer.is_required)
        raise RuntimeError(f"Tool code can't be locked in here: {names}. `manage.py sandbox_check` says what to do.")
    without = f", without {', '.join(layer.name for layer in missing)}" if missing else ""
    return f"{len(layers) - len(missing)} of {len(layers)} layers{without}"


def _recent_report() -> tuple[Layer, ...]:
    global _report
    with _lock:
        if _report is not None:
            made_at, layers = _report
            if time.monotonic() - made_at < (GOOD_SECONDS if is_available(layers) else BAD_SECONDS):
                return layers
        layers = sandbox_report(sandbox_policy())
        _report = time.monotonic(), layers
        return layers
