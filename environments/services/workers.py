"""The one worker pool of this process, and the environments that it runs."""

import threading
from collections import OrderedDict
from typing import Final

from environments.models import EnvironmentVersion
from environments.runtime.sandbox.pool import PoolSettings, WorkerPool
from environments.runtime.session import Environment
from environments.services.sandbox import sandbox_policy

MAX_ENVIRONMENTS: Final = 32
"""Packs kept ready in memory; the longest unused is read from the database again when it is next asked for."""

_lock = threading.Lock()
_pool: WorkerPool | None = None
_environments: OrderedDict[str, Environment] = OrderedDict()


def worker_pool() -> WorkerPool:
    """The pool; it starts no process before it is used, and a forked child finds it empty."""
    global _pool
    with _lock:
        if _pool is None or _pool.is_closed:
            _pool = WorkerPool(PoolSettings(policy=sandbox_policy()))
            _environments.clear()
        return _pool


def close_worker_pool() -> None:
    """Ends the workers; the next use starts others."""
    global _pool
    with _lock:
        pool, _pool = _pool, None
        _environments.clear()
    if pool is not None:
        pool.close()


def environment_of(version: EnvironmentVersion) -> Environment:
    """The version as something that runs; its pack is read once and kept while it is used."""
    pool = worker_pool()
    with _lock:
        found = _environments.get(version.content_sha256)
        if found is not None:
            _environments.move_to_end(version.content_sha256)
            return found
    made = Environment(version.to_core(), pool)
    with _lock:
        kept = _environments.setdefault(version.content_sha256, made)
        while len(_environments) > MAX_ENVIRONMENTS:
            _environments.popitem(last=False)
    return kept
