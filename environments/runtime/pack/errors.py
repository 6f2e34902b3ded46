"""What reading a pack raises.

Raised by `read_pack`, `unzip_pack` and `decode_pack`; caught by whoever took the pack from outside (upload, compiler,
command line), who shows or stores the faults. A pack that can be read but does not make sense raises nothing: its
faults are what `check_pack` returns.
"""

from collections.abc import Iterable

from environments.runtime.faults import Fault


class PackError(Exception):
    """A pack cannot be read; `faults` says why, at least one."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults[:5])))
