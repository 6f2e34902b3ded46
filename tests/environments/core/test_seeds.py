import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.core.seeds import STAGES, child_rng, content_code


@given(st.integers(0, 2**63), st.text())
def test_child_rng_repeats_and_neighbours_differ(seed, key):
    first = child_rng(seed, "seed_load", key).bytes(32)

    assert first == child_rng(seed, "seed_load", key).bytes(32)
    assert first != child_rng(seed + 1, "seed_load", key).bytes(32)
    assert first != child_rng(seed, "seed_load", key + "x").bytes(32)


def test_child_rng_gives_the_same_bytes_in_another_process():
    code = "from environments.core.seeds import child_rng; print(child_rng(7, 'seed_load', 'a').bytes(8).hex())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    assert printed == child_rng(7, "seed_load", "a").bytes(8).hex() == "bfd577ae82d33054"


def test_unknown_stage_is_refused():
    with pytest.raises(KeyError):
        child_rng(0, "no such stage", "key")


def test_stage_numbers_are_unique():
    assert len(set(STAGES.values())) == len(STAGES)


def test_content_code_depends_on_each_argument_alone():
    code = content_code("task", 1, "a")

    assert code == content_code("task", 1, "a")
    assert len({code, content_code("chain", 1, "a"), content_code("task", 2, "a"), content_code("task", 1, "b")}) == 4
