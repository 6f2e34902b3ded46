"""How much of everything a worker may have, and how long it may take."""

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one worker; the defaults are measured ones.

    Attributes:
        memory_bytes: RLIMIT_AS of the worker, all its episodes together.
        cpu_seconds: RLIMIT_CPU of the worker's whole life: what ends a hostile spinner whose host is gone.
        soft_seconds: Wall time of one call before the worker itself interrupts it.
        frame_grace_seconds: What a frame may take beyond `soft_seconds` before the host kills the worker.
        call_seconds: Added to a frame's deadline for each call after the first.
        start_seconds: Time from exec to an attested hello; generous, since a loaded machine is no attack.
        load_seconds: Time to load a pack, open episodes, dump states.
        sketch_seconds: Time to list a Python source.
        frame_bytes: Largest frame in either direction.
        observation_bytes: Largest observation of one call.
        batch_calls: Most calls in one frame; a longer list is split.
    """

    memory_bytes: int = 2048 * MEBIBYTE
    cpu_seconds: int = 3600
    soft_seconds: float = 1.0
    frame_grace_seconds: float = 1.0
    call_seconds: float = 0.01
    start_seconds: float = 20.0
    load_seconds: float = 20.0
    sketch_seconds: float = 10.0
    frame_bytes: int = 64 * MEBIBYTE
    observation_bytes: int = 256 * 1024
    batch_calls: int = 128

    def frame_seconds(self, num_calls: int) -> float:
        """How long the host waits for a frame of that many calls before it kills."""
        return self.soft_seconds + self.frame_grace_seconds + self.call_seconds * max(0, num_calls - 1)
