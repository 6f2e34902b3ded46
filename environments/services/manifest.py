"""What a result was made with: recorded on every job, and later on every dataset and training run."""

import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

from django.conf import settings


@cache
def run_manifest() -> dict[str, str | None]:
    """Versions of the code and of the libraries on which bytes depend; None for what is not installed."""
    return {
        "envfactory": settings.ENVFACTORY_VERSION,
        "commit": settings.ENVFACTORY_COMMIT or _commit(settings.BASE_DIR),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "django": _version("django"),
        "numpy": _version("numpy"),
        "faker": _version("faker"),
        "torch": _version("torch"),
    }


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _commit(directory: Path) -> str | None:
    command = ["git", "-C", str(directory), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
