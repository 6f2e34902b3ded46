"""What the host can see of a worker in /proc, which the worker can't make up.

Reference: man 5 proc_pid_status, proc_pid_limits, proc_pid_stat, proc_pid_statm.
"""

import os
import resource
from pathlib import Path

PROC = Path("/proc")
ZERO_LIMITS = ("Max file size", "Max core file size", "Max locked memory")


def read_status(process_id: int | str) -> dict[str, str]:
    """The fields of /proc/PID/status.

    Raises:
        OSError: The process is gone, or there is no /proc.
    """
    lines = (PROC / str(process_id) / "status").read_text("ascii", "replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def find_missing(process_id: int, *, may_fork: bool) -> list[tuple[str, str]]:
    """(layer, what is wrong) for everything that a locked worker must show and this one does not.

    Args:
        process_id: The worker.
        may_fork: Whether it is a zygote, whose process limit is its child's filter.

    Raises:
        OSError: The process is gone, or there is no /proc.
    """
    status = read_status(process_id)
    own = read_status("self")
    missing = []
    # In a container the host has a filter itself, which the worker inherits: it must have one more.
    num_filters, num_own = int(status.get("Seccomp_filters", "1")), int(own.get("Seccomp_filters", "0"))
    if status.get("Seccomp") != "2" or num_filters <= num_own:
        missing.append(("seccomp", f"Seccomp {status.get('Seccomp')}, {num_filters} filters, its host has {num_own}"))
    if status.get("NoNewPrivs") != "1":
        missing.append(("no_new_privs", f"NoNewPrivs {status.get('NoNewPrivs')}"))
    sets = ("CapInh", "CapPrm", "CapEff", "CapAmb")
    missing += [("uid", f"{name} {status[name]}") for name in sets if int(status.get(name, "0"), 16)]
    if status.get("Threads") != "1":
        missing.append(("process", f"{status.get('Threads')} threads"))
    limits = (PROC / str(process_id) / "limits").read_text("ascii", "replace").splitlines()
    for name in ZERO_LIMITS if may_fork else (*ZERO_LIMITS, "Max processes"):
        line = next((line for line in limits if line.startswith(name + " ")), "")
        if line[len(name) :].split()[1:2] != ["0"]:
            missing.append(("rlimits", line or f"no {name}"))
    return missing


def resident_bytes(process_id: int) -> int:
    """Memory of the process that is in RAM; 0 if it is gone."""
    try:
        return int((PROC / str(process_id) / "statm").read_text("ascii").split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return 0


def cpu_seconds(process_id: int) -> float:
    """CPU time of the process; 0 if it is gone."""
    try:
        fields = (PROC / str(process_id) / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0
