"""The program that starts an MCP server for `mcp_stdio` and outlives it: limits before, and nothing left after.

It is run by its path with a clean interpreter and stands on the standard library alone. It stays between host and
server because a killed process group is not enough: a server's child may leave the group. As a subreaper this process
inherits whatever the server leaves behind, on Linux, and ends all of it once the server ends, the host closes the
control pipe or dies, or the server and its children use more than they may.

None of this confines a hostile server, which runs as the same user: the machine's owner chooses what is started.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
POLL_SECONDS = 0.1
ENDING_SECONDS = 5.0
NOT_STARTED, OVER_LIMIT = 127, 125


def main() -> int:
    """Starts the server of the one argument and returns its exit code."""
    setup = json.loads(sys.argv[1])
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    own_id = os.getpid()

    def prepare() -> None:  # in the server, before its program; this process has one thread
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != own_id:
            os._exit(NOT_STARTED)
        limit(setup["limits"])

    try:
        server = subprocess.Popen(  # noqa: S603 - what the machine's owner configured
            setup["command"],
            env=setup["environment"],
            cwd=setup["folder"],
            close_fds=True,
            start_new_session=True,
            preexec_fn=prepare,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        say(f"{setup['command'][0]} does not start: {error}")
        return NOT_STARTED
    # The pipes are the server's: its end must be seen by the host.
    os.close(0)
    os.close(1)
    try:
        return watch(server, setup["control"], setup["limits"])
    finally:
        end_all()


def watch(server: "subprocess.Popen[bytes]", control: int, limits: "dict[str, int]") -> int:
    """Waits for the server's end, the host's word, or a broken limit."""
    poll = select.poll()
    poll.register(control, select.POLLIN | select.POLLHUP)
    while True:
        if poll.poll(POLL_SECONDS * 1000):
            return 0
        if server.poll() is not None:
            return server.returncode if server.returncode >= 0 else 128 - server.returncode
        ids = descendants()
        if len(ids) > limits["processes"]:
            say(f"more than {limits['processes']} processes")
            return OVER_LIMIT
        if sum(map(resident_bytes, ids)) > limits["memory_bytes"]:
            say(f"more than {limits['memory_bytes'] >> 20} MiB of memory")
            return OVER_LIMIT


def say(text: str) -> None:
    """Tells the host, in words that it shows."""
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode("utf-8", "replace"))


def prctl(option: int, value: int) -> None:
    """Sets an option of this process, where the kernel has prctl."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def limit(limits: "dict[str, int]") -> None:
    """Lowers this process's own limits, which its program and their children inherit."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits["cpu_seconds"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NOFILE: limits["descriptors"],
        resource.RLIMIT_AS: limits["address_bytes"],
        # Counts every thread of the user, on the whole machine; it does not hold for root.
        resource.RLIMIT_NPROC: threads_of_user() + limits["threads"],
    }
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (lowered, lowered))


def processes() -> "dict[int, list[str]]":
    """The fields of /proc/<id>/stat behind the name, of every process that is no zombie."""
    found = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH208, PTH112 - pathlib is slow to import
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().decode("utf-8", "replace").rpartition(")")[2].split()
                if fields[0] not in "ZX":
                    found[int(name)] = fields
    return found


def descendants() -> "list[int]":
    """Every process below this one."""
    children: dict[int, list[int]] = {}
    for process_id, fields in processes().items():
        children.setdefault(int(fields[1]), []).append(process_id)
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def threads_of_user() -> int:
    """Threads of this user's processes."""
    count = 0
    for process_id, fields in processes().items():
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{process_id}").st_uid == os.getuid():  # noqa: PTH116
                count += int(fields[17])
    return count


def resident_bytes(process_id: int) -> int:
    """Memory of a process."""
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{process_id}/statm", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()
    return 0


def end_all() -> None:
    """Ends every process below this one: all are stopped first, so that none forks while others die."""
    deadline = time.monotonic() + ENDING_SECONDS
    while time.monotonic() < deadline:
        for word in (signal.SIGSTOP, signal.SIGKILL):
            for process_id in descendants():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process_id, word)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main())
