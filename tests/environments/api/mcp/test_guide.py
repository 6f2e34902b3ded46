"""The guide's programs, as a reader runs them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests.factories.registry import shipped_version

pytestmark = [pytest.mark.django_db(transaction=True)]

PROGRAMS = re.findall(
    r"```python\n(.*?)```", Path(settings.BASE_DIR, "docs/mcp.md").read_text(encoding="utf-8"), re.DOTALL
)


@pytest.mark.parametrize(
    ("program", "answer"),
    [(PROGRAMS[0], '12 False {"visitor'), (PROGRAMS[1], "False {'parts': [{")],
    ids=["Client", "ClientSession"],
)
def test_the_guides_programs_work(program, answer, console_server, token):
    shipped_version("repair_cafe")
    environment = {**os.environ, "SITE": console_server, "TOKEN": token.key}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(answer)
