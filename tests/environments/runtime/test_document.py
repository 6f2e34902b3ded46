"""The examples of docs/runtime.md run as they stand."""

import re
import subprocess
import sys

import pytest
from django.conf import settings

EXAMPLES = re.findall(r"```python\n(.*?)```", (settings.BASE_DIR / "docs/runtime.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(number):
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES[number]], cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stderr


def test_document_has_examples():
    assert len(EXAMPLES) == 2
