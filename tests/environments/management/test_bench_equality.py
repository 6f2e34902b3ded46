import json
from io import StringIO

from django.core.management import call_command


def run(*arguments):
    out = StringIO()
    call_command("bench_equality", "--quick", *arguments, stdout=out)
    return out.getvalue()


def test_json_is_one_object_of_figures():
    report = json.loads(run("--json"))
    assert set(report) == {"figures", "machine", "load", "version"}
    names = [figure["name"] for figure in report["figures"]]
    assert "shop, equal, 100 rows" in names
    assert len(set(names)) == len(names)
    assert all(set(figure) == {"name", "value", "unit", "target", "ok"} for figure in report["figures"])


def test_table_has_workloads_by_changed_rows():
    text = run()
    assert "milliseconds by changed rows" in text
    assert "one ring of identical rows" in text
    assert "CFI graph over 6, twisted" in text
