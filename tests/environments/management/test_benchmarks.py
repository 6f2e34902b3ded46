"""The machinery of the bench commands, and one of them."""

import json
import os
import subprocess
import sys
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from environments.management import benchmarks
from environments.management.benchmarks import BenchCommand, Figure, percentile
from environments.models import Job

FIGURES = [Figure("fast", 10, "ms", 100), Figure("slow", 250.12345, "ms", 100), Figure("rows", 3, "")]


class Example(BenchCommand):
    def measure(self, *, is_quick, say):
        say("measuring")
        return FIGURES


def run(*arguments):
    out = StringIO()
    call_command(Example(), *arguments, stdout=out)
    return out.getvalue()


def test_json_is_one_object_with_figures_machine_load_and_version():
    report = json.loads(run("--json"))

    assert set(report) == {"figures", "machine", "load", "version"}
    assert report["figures"] == [
        {"name": "fast", "value": 10, "unit": "ms", "target": 100, "ok": True},
        {"name": "slow", "value": 250.123, "unit": "ms", "target": 100, "ok": False},
        {"name": "rows", "value": 3, "unit": "", "target": None, "ok": None},
    ]
    assert len(report["load"]) == 3


def test_table_has_each_target_beside_its_figure():
    lines = run().splitlines()

    (fast,) = [line for line in lines if "fast" in line]
    (slow,) = [line for line in lines if "slow" in line]
    assert "10.0 ms" in fast
    assert "≤ 100 ms" in fast
    assert "met" in fast
    assert "missed" in slow


@pytest.mark.parametrize(("share", "expected"), [(0, 1), (0.5, 10), (0.95, 19), (1, 20)])
def test_percentile_is_a_measured_value(share, expected):
    assert percentile(list(range(20, 0, -1)), share) == expected


@pytest.mark.kill
@pytest.mark.django_db(transaction=True)
def test_throwaway_database_leaves_the_users_alone():
    before = dict(connection.settings_dict)

    with benchmarks.throwaway_services() as environment:
        assert connection.settings_dict["HOST"] != before["HOST"]
        Job.objects.create(kind="seed_row", queue="build")
        assert Job.objects.count() == 1
        assert connection.settings_dict["HOST"].replace("/", "%2F") in environment["DATABASE_URL"]

    assert connection.settings_dict == before
    assert Job.objects.count() == 0


@pytest.mark.slow
@pytest.mark.kill
@pytest.mark.timeout(600)
def test_bench_console_prints_one_object_and_loses_no_event(tmp_path):
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "envfactory_site.settings.local",
        "VAR_DIR": str(tmp_path / "var"),
    }
    command = [sys.executable, "manage.py", "bench_console", "--quick", "--json"]
    done = subprocess.run(
        command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, timeout=500, check=True
    )

    figures = {figure["name"]: figure for figure in json.loads(done.stdout)["figures"]}
    held = next(figure for name, figure in figures.items() if name.startswith("database connections held"))
    wrong = next(figure for name, figure in figures.items() if "missed or repeated" in name)
    assert (held["value"], wrong["value"]) == (0, 0)
