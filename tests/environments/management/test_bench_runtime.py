import io
import json

from django.core.management import call_command


def test_every_figure_is_reported_with_its_target():
    out = io.StringIO()

    call_command("bench_runtime", "--quick", "--json", stdout=out)

    report = json.loads(out.getvalue())
    figures = {figure["name"]: figure for figure in report["figures"]}
    assert {name: figure["target"] for name, figure in figures.items() if figure["target"] is not None} == {
        "Worker CPU, bare read, batch of 64": 25,
        "Worker CPU, read with 2 + 2 conditions, batch of 64": 45,
        "Worker CPU, bare write, batch of 64": 60,
        "Worker CPU, write with 2 + 2 conditions, batch of 64": 100,
        "Host CPU for each call, validation included": 30,
        "Reset with first call, worker CPU without frames": 50,
        "Round trip of one call": 150,
        "Costliest call at 10,000 rows over 100": 2,
        "Verdict over bare fork": 3,
        "Workers gone after the pool is closed": 1,
    }
    assert all(figure["value"] >= 0 for figure in figures.values())
