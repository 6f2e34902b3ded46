"""How much memory processes and everything that they started hold."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path


def tree_bytes(pids: Iterable[int]) -> int:
    """Resident bytes of processes and of all that descend from them."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children[_parent(entry)].append(int(entry.name))
    total, waiting = 0, list(pids)
    while waiting:
        pid = waiting.pop()
        total += _resident(Path("/proc") / str(pid))
        waiting += children[pid]
    return total


def _parent(process: Path) -> int:
    try:
        text = (process / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0  # it has ended
    return int(text.rpartition(")")[2].split()[1])


def _resident(process: Path) -> int:
    """The proportional share where the kernel tells it, so that forked workers do not count their parent's pages."""
    for name, pattern in (("smaps_rollup", r"^Pss:\s+(\d+) kB"), ("status", r"^VmRSS:\s+(\d+) kB")):
        try:
            match = re.search(pattern, (process / name).read_text(encoding="utf-8"), re.MULTILINE)
        except OSError:
            continue
        if match:
            return int(match[1]) << 10
    return 0
