"""The bench of the doors, whole and small: real web processes, both official clients, the no-op beside them."""

import json
import os
import subprocess
import sys

import pytest
from django.conf import settings

from environments.management import doors
from environments.runtime.pack import check_pack

SECONDS = 500


def test_bench_pack_has_no_fault():
    assert check_pack(doors.bench_pack()) == ()


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_figures_have_their_targets_and_no_session_sees_another(tmp_path):
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "envfactory_site.settings.local",
        "VAR_DIR": str(tmp_path / "var"),
    }
    command = [sys.executable, "manage.py", "bench_doors", "--quick", "--json"]

    done = subprocess.run(
        command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, timeout=SECONDS, check=True
    )

    figures = json.loads(done.stdout)["figures"]
    targets = [figure["target"] for figure in figures]
    assert [targets.count(target) for target in (1.3, 1.0, 5.0, 0)] == [3, 3, 2, 3]
    assert {figure["name"]: figure["value"] for figure in figures if figure["target"] == 0 and figure["value"]} == {}
    assert all(figure["value"] > 0 for figure in figures if figure["target"] != 0 and "beyond" not in figure["name"])
    assert len({figure["name"] for figure in figures}) == len(figures)
