"""Child random generators and content codes, so that order, workers and neighbours never change a result."""

import uuid
from hashlib import sha256
from typing import Final

import numpy as np
import orjson

# Numbers are final once released: a changed number changes every result of the stage.
STAGES: Final[dict[str, int]] = {"seed_load": 1}


def child_rng(run_seed: int, stage: str, key: str) -> np.random.Generator:
    """Generator for one unit of one stage of a run.

    Args:
        run_seed: The run's single seed, at least 0.
        stage: A name in `STAGES`.
        key: What identifies the unit by its content (a hash, a name), never a position in a list.

    Returns:
        A PCG64 generator that depends on the three arguments alone.

    Raises:
        KeyError: If the stage has no number in `STAGES`.
    """
    unit = int.from_bytes(sha256(key.encode()).digest()[:8], "big")
    return np.random.default_rng(np.random.SeedSequence(run_seed, spawn_key=(STAGES[stage], unit)))


def content_code(kind: str, run_seed: int, content_key: str) -> uuid.UUID:
    """UUID of a generated object: the same kind, seed and content give the same code."""
    digest = sha256(orjson.dumps([kind, run_seed, content_key])).digest()
    return uuid.UUID(bytes=digest[:16], version=5)
