"""The packs that ship are the standard for generated ones, so they are held to more than the format asks for."""

import dataclasses
import json
from collections import Counter
from pathlib import Path

import pytest

from environments.runtime.__main__ import main
from environments.runtime.engine import Engine
from environments.runtime.pack import check_pack, read_pack, write_pack, zip_pack
from environments.runtime.records import CallStatus
from tests.environments.runtime.pack.small import small_pack

FOLDER = Path("environments/packs")
PACKS = {folder.name: read_pack(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()}
SIZES = {"seed_bank": ((24, 40), (8, 10)), "repair_cafe": ((8, 15), (5, 7)), "tide_gauges": ((8, 15), (5, 7))}
BENCHMARK_WORDS = """airline flight telecom retail delivery hotel ticket trading stock_price vehicle travel booking
    message file_system"""


@pytest.fixture(params=PACKS)
def pack(request):
    return PACKS[request.param]


def parts(schema, place):
    """Every subschema that describes a value by name."""
    for name, entry in schema.get("properties", {}).items():
        yield f"{place}/{name}", entry
        yield from parts(entry, f"{place}/{name}")
        if "items" in entry:
            yield f"{place}/{name}/items", {"description": "item", **entry["items"]}
            yield from parts(entry["items"], f"{place}/{name}/items")


def test_packs_have_no_fault_in_either_half(pack):
    assert check_pack(pack, require_cases=True) == ()
    assert Engine(pack).faults == ()


def test_packs_have_the_sizes_of_the_issue(pack):
    (few_tools, many_tools), (few_tables, many_tables) = SIZES[pack.name]
    assert few_tools <= len(pack.tools) <= many_tools
    assert few_tables <= len(pack.tables) <= many_tables
    assert {scenario.level for scenario in pack.scenarios} == {"simple", "medium", "complex", "boundary"}
    num_rows = {scenario.level: sum(map(len, scenario.rows.values())) for scenario in pack.scenarios}
    assert 30 <= num_rows["medium"] <= 150
    assert num_rows["simple"] < num_rows["medium"] < num_rows["complex"]


def test_one_pack_has_three_tools_of_the_user():
    users = {name: sum(tool.audience == "user" for tool in pack.tools) for name, pack in PACKS.items()}
    assert users == {"repair_cafe": 3, "seed_bank": 0, "tide_gauges": 0}


def test_every_value_is_described(pack):
    for tool in pack.tools:
        for half, schema in (("input", tool.input_schema), ("output", tool.output_schema)):
            for place, entry in parts(schema, f"{tool.name}/{half}"):
                assert len(entry.get("description", "")) >= 4, place
    for table in pack.tables.values():
        assert all(len(column.description) >= 4 for column in table.columns.values())


def test_writes_are_guarded_by_conditions(pack):
    for tool in pack.tools:
        if tool.effect == "write":
            assert tool.postconditions, tool.name
            assert tool.preconditions, tool.name
    policies = [item.policy for tool in pack.tools for item in tool.preconditions if item.policy]
    assert len(set(policies)) >= 8
    assert all(policy.endswith(".") for policy in policies)
    assert any(tool.captures for tool in pack.tools)


def test_every_kind_of_column_is_there():
    columns = [column for pack in PACKS.values() for table in pack.tables.values() for column in table.columns.values()]
    assert {column.comparison for column in columns} == {"hard", "semantic", "exempt", None}
    assert {column.generated for column in columns} >= {"id", "now", None}
    assert {column.format for column in columns} == {"uuid", None}
    assert {table.role for pack in PACKS.values() for table in pack.tables.values()} == {"entity", "link", "log"}
    assert any(tool.argument_names for pack in PACKS.values() for tool in pack.tools)


def test_cases_of_a_write_change_something(pack):
    for case in pack.cases:
        tool = pack.tool(case.tool)
        if case.kind == "success":
            assert bool(case.changes) == (tool.effect == "write"), case.name
            assert all(expect.status is CallStatus.SUCCESS for expect in case.expect)
    names = Counter(case.tool for case in pack.cases)
    assert min(names[tool.name] for tool in pack.tools) >= 3


def test_no_name_is_one_of_a_public_benchmark(pack):
    names = [pack.name, *pack.tables, *(tool.name for tool in pack.tools)]
    assert not [name for name in names for word in BENCHMARK_WORDS.split() if word in name]


def test_packs_are_free_to_use_and_say_who_wrote_them(pack):
    assert pack.licence.spdx == "CC0-1.0"
    assert {entry.kind for entry in pack.provenance} == {"person"}
    assert {case.author for case in pack.cases} == {"person"}
    assert {tool.origin.author for tool in pack.tools} == {"person"}


# The command line


def test_check_command_accepts_a_good_folder_and_zip(tmp_path, capsys):
    assert main(["check", str(FOLDER / "tide_gauges"), "--host-only"]) == 0
    assert "no faults in the host half, content_sha256 " in capsys.readouterr().out
    (tmp_path / "pack.zip").write_bytes(zip_pack(PACKS["tide_gauges"]))
    assert main(["check", str(tmp_path / "pack.zip"), "--host-only", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["name"], report["faults"], report["problem"]) == ("tide_gauges", [], None)


def test_check_command_runs_the_workers_half_in_the_sandbox(tmp_path, capsys):
    assert main(["check", str(FOLDER / "tide_gauges")]) == 0
    assert "no faults, conforms, content_sha256 " in capsys.readouterr().out
    write_pack(small_pack(), tmp_path)
    (tmp_path / "schema.sql").write_text("CREATE TABLE boards (board_code TEXT PRIMARY KEY, name BLOB);")
    assert main(["check", str(tmp_path), "--json"]) == 1
    codes = {fault["code"] for fault in json.loads(capsys.readouterr().out)["faults"]}
    assert "table_not_strict" in codes


def test_check_command_names_faults_and_remedies(tmp_path, capsys):
    write_pack(small_pack(), tmp_path)
    (tmp_path / "cases.json").write_text("[")
    assert main(["check", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert "cases.json: line 1, column 2" in output
    assert "    Correct the JSON at the line and column given." in output
    assert output.endswith("1 fault\n")
    assert main(["check", str(tmp_path / "none")]) == 1


def test_check_command_says_what_does_not_conform(tmp_path, capsys):
    pack = PACKS["tide_gauges"]
    case = next(case for case in pack.cases if case.changes)
    wrong = dataclasses.replace(case, changes=())
    write_pack(dataclasses.replace(pack, cases=tuple(wrong if each == case else each for each in pack.cases)), tmp_path)

    assert main(["check", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert f"cases/{case.name}" in output
    assert "does not conform: 1 finding" in output


def test_check_command_refuses_another_command(capsys):
    with pytest.raises(SystemExit) as error:
        main(["frobnicate"])
    assert error.value.code == 2
    assert "usage" in capsys.readouterr().err
