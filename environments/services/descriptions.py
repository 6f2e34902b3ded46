"""What the worker says of a version's tables: types and keys as SQLite holds them, never as the text of schema.sql."""

import threading
from collections import OrderedDict
from typing import Final

from environments.core.errors import NotVerifiedError, SandboxFailedError
from environments.models import EnvironmentVersion
from environments.runtime.sandbox.errors import SandboxError
from environments.runtime.tables import TableInfo
from environments.services.workers import environment_of, worker_pool

MAX_DESCRIPTIONS: Final = 256
"""Kept in memory; content never changes, so none grows old."""

_lock = threading.Lock()
_described: OrderedDict[str, tuple[TableInfo, ...]] = OrderedDict()


def describe_tables(*, version: EnvironmentVersion) -> tuple[TableInfo, ...]:
    """The tables of a version that is or was verified; the first time a locked worker loads its pack.

    Raises:
        NotVerifiedError: If the version is in quarantine: nothing but its verification loads it.
        SandboxFailedError: If the worker can't be had.
    """
    if version.status not in {EnvironmentVersion.Status.VERIFIED, EnvironmentVersion.Status.RETIRED}:
        raise NotVerifiedError(f"{version} is {version.status}: nothing but its verification loads it.")
    with _lock:
        found = _described.get(version.content_sha256)
        if found is not None:
            _described.move_to_end(version.content_sha256)
            return found
    try:
        environment = environment_of(version)
        tables = tuple(worker_pool().describe(environment.encoded, environment.content_sha256).tables)
    except SandboxError as error:
        raise SandboxFailedError(f"{error.code}: {error}") from error
    with _lock:
        _described[version.content_sha256] = tables
        while len(_described) > MAX_DESCRIPTIONS:
            _described.popitem(last=False)
    return tables
