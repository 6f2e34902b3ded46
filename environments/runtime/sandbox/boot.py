"""How a worker starts: import everything, lock, prove the lock, say hello, serve."""

import gc
import signal
import sys
from typing import Any

import apsw

from environments.runtime.sandbox import frames, lockdown, selftest, zygote
from environments.runtime.sandbox.limits import Limits
from environments.runtime.sandbox.serve import EXIT_NO_LOCK, Channel, Server, interrupt, leave, serve_warm


def warm_up() -> None:
    """First uses that would open a file or need a system call that the lock refuses."""
    connection = apsw.Connection(":memory:")
    connection.execute("SELECT randomblob(1)").fetchall()  # SQLite seeds its generator from /dev/urandom
    connection.close()


def stop_imports() -> None:
    """No file can be opened from here on; a late import fails at once and by its right name."""
    sys.path.clear()
    sys.path_hooks.clear()
    sys.meta_path.clear()
    sys.path_importer_cache.clear()
    sys.dont_write_bytecode = True


def run(setup: dict[str, Any]) -> None:
    """The worker's life, from `worker`'s one argument."""
    limits = Limits(**setup["limits"])
    channel = Channel(setup["descriptor"], limits.frame_bytes)
    is_zygote = setup["mode"] == "fork"
    warm_up()
    stop_imports()
    signal.signal(signal.SIGALRM, interrupt)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        child_filter = lockdown.compile_filter("steady") if is_zygote else None
        layers = lockdown.lock("zygote" if is_zygote else "steady", limits, is_unsafe=setup["is_unsafe"])
    except lockdown.LockdownError as error:
        if not setup["is_unsafe"]:
            channel.send(frames.Locked(error.layer, str(error)))
            leave(EXIT_NO_LOCK)
        child_filter, layers = None, {"seccomp": f"missing: {error}"}
    if layers["seccomp"].startswith("missing"):
        child_filter = None  # unsafe, and told so
    holes = selftest.find_holes(tries_exec=not setup["is_unsafe"])
    gc.collect()
    gc.freeze()
    channel.send(
        frames.Hello(frames.PROTOCOL, layers, holes, sys.version.split()[0], apsw.sqlite_lib_version()),
    )
    server = Server(limits)
    if is_zygote:
        zygote.serve(channel, server, child_filter)
    else:
        serve_warm(channel, server)
