"""One spoiled pack for each fault code of the host, found by exactly that code."""

import dataclasses
import json
import os
import stat
import struct
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.runtime.faults import FAULT_KINDS
from environments.runtime.pack import PackError, check_pack, read_pack, unzip_pack, write_pack, zip_pack
from environments.runtime.pack.limits import MAX_CONDITIONS, MAX_SCENARIO_BYTES, MAX_ZIP_BYTES
from environments.runtime.pack.parameters import condition_parameters
from tests.environments.runtime.pack.small import column, documents, faults_of, files, make_zip, small_pack

MUTANTS = {}
ENVIRONMENT = "environment.json"


def mutant(code):
    """Registers a function that spoils the documents."""

    def register(spoil):
        MUTANTS.setdefault(code, []).append(spoil)
        return spoil

    return register


def spoil_environment(code, *path, value):
    """Registers a change of one value of environment.json."""

    def spoil(docs):
        *parents, last = path
        target = docs[ENVIRONMENT]
        for part in parents:
            target = target[part]
        target[last] = value

    MUTANTS.setdefault(code, []).append(spoil)


def spoil_text(code, name, change):
    """Registers a change of the bytes of one file."""

    def spoil(docs):
        docs[name] = change(files(docs)[name])

    MUTANTS.setdefault(code, []).append(spoil)


def spoil_case(code, index, **values):
    """Registers new values for keys of one case."""
    MUTANTS.setdefault(code, []).append(lambda docs: docs["cases.json"][index].update(values))


IN = ("tools", 0, "input_schema")
PROPERTIES = (*IN, "properties")
REMARK = (*PROPERTIES, "remark")
OUT = ("tools", 1, "output_schema")

# Files

MUTANTS["file_missing"] = [lambda docs: docs.pop("tools.py"), lambda docs: docs.pop(ENVIRONMENT)]
spoil_text("text_encoding", "tools.py", lambda data: data + "# café".encode("latin-1"))
spoil_text("text_encoding", "schema.sql", lambda data: b"\xef\xbb\xbf" + data)
spoil_text("text_encoding", "tools.py", lambda data: data.replace(b"\n", b"\r\n"))
spoil_text("text_encoding", "tools.py", lambda data: data + b"\0")
spoil_text("text_encoding", "cases.json", lambda data: data.replace(b"look_all", b"look\\ud800"))
spoil_text("json_syntax", "cases.json", lambda data: data[:-1])
spoil_text("json_syntax", "cases.json", lambda data: data + b"[]")
spoil_text(
    "json_duplicate_key", ENVIRONMENT, lambda data: data.replace(b'"title": "Look"', b'"title": "Look", "title": "L"')
)
spoil_text("json_number", "scenarios/medium.json", lambda data: data.replace(b'"seed": 7', b'"seed": NaN'))
spoil_text("json_number", "scenarios/medium.json", lambda data: data.replace(b'"seed": 7', b'"seed": 1e999'))
spoil_text("json_number", "scenarios/medium.json", lambda data: data.replace(b'"seed": 7', b'"seed": ' + b"9" * 5000))
spoil_text("json_too_deep", "cases.json", lambda data: b"[" * 80 + b"]" * 80)
spoil_text("json_too_deep", "cases.json", lambda data: b"[" * 1_000_000)
spoil_text(
    "integer_range", "scenarios/medium.json", lambda data: data.replace(b'"seed": 7', b'"seed": 9007199254740993')
)
spoil_environment("format_unknown", "format", value="envfactory-pack/2")
MUTANTS["format_unknown"].append(lambda docs: docs[ENVIRONMENT].pop("format"))
spoil_environment("key_unknown", "tools", 0, "colour", value="red")
spoil_environment("key_unknown", "tools", 0, "postconditions", 0, "policy", value="No sentence belongs here.")
MUTANTS["key_missing"] = [lambda docs: docs[ENVIRONMENT]["tools"][0].pop("effect")]
spoil_environment("type_wrong", "clock_step_seconds", value=True)
spoil_environment("type_wrong", "tools", value={})
spoil_environment("type_wrong", "tools", 0, "captures", "loans", value=3)
MUTANTS["type_wrong"].append(lambda docs: docs["scenarios/medium.json"]["rows"]["boards"][0].update(name=True))
MUTANTS["type_wrong"].append(lambda docs: docs.update({"cases.json": {}}))
spoil_environment("value_wrong", "tools", 0, "effect", value="both")
spoil_environment("value_wrong", "tools", 0, "audience", value="everybody")
spoil_environment("value_wrong", "language", value="English, mostly")
spoil_environment("value_wrong", "clock_step_seconds", value=-1)
MUTANTS["scenario_file_name"] = [lambda docs: docs.update({"scenarios/other.json": docs.pop("scenarios/medium.json")})]

# Names, texts, sources

spoil_environment("name_pattern", "name", value="Board")
spoil_environment("name_pattern", "name", value="board__library")
spoil_environment("name_pattern", "tools", 0, "rejections", 0, "code", value="nobody!")
MUTANTS["name_pattern"][-1] = lambda docs: docs["cases.json"][4].update(name="Look at all")
spoil_environment(
    "name_reserved",
    "tables",
    "sqlite_more",
    value={"description": "x", "role": "log", "columns": {"a": column("hard")}},
)
spoil_environment("text_empty", "title", value=" ")
spoil_environment("text_empty", "tools", 0, "preconditions", 0, "message", value="")
MUTANTS["text_empty"].append(lambda docs: docs.update({"tools.py": "\n"}))
spoil_environment("text_length", "title", value="x" * 121)
spoil_environment("time_form", "clock_start", value="2026-03-02 09:00:00")
spoil_environment("time_form", "clock_start", value="2026-02-30T09:00:00Z")
spoil_environment(
    "too_many",
    "tables",
    "wide",
    value={"description": "x", "role": "log", "columns": {f"c{n}": column("hard") for n in range(65)}},
)
spoil_environment(
    "too_many",
    "tools",
    0,
    "rejections",
    value=[{"code": "nobody", "message": "x"}] + [{"code": f"c{n}", "message": "x"} for n in range(MAX_CONDITIONS)],
)
MUTANTS["too_many"].pop()  # it also lacks cases; kept out so that the code stays the only one
spoil_environment("licence_missing", "licence", value={"spdx": None, "name": "Mine", "address": None})
spoil_environment("address_form", "provenance", 0, "address", value="example.org")
spoil_environment("address_form", "licence", "address", value="ftp://example.org")
spoil_environment("origin_source", "tools", 0, "origin", "source", value="b" * 64)


@mutant("provenance_sha256")
def upper_case_hash(docs):
    docs[ENVIRONMENT]["provenance"][0]["sha256"] = "A" * 64
    docs[ENVIRONMENT]["tools"][0]["origin"]["source"] = None


@mutant("provenance_missing")
def no_source(docs):
    docs[ENVIRONMENT]["provenance"] = []
    docs[ENVIRONMENT]["tools"][0]["origin"] = None


# Tables, rows


@mutant("table_missing")
def no_tables(docs):
    docs[ENVIRONMENT]["tables"] = {}
    docs["scenarios/medium.json"]["rows"] = {}
    for case in docs["cases.json"]:
        case["changes"] = []
    docs["cases.json"][1]["rows"] = {}


spoil_environment("table_without_columns", "tables", "bare", value={"description": "x", "role": "log", "columns": {}})
spoil_environment("column_generated_class", "tables", "loans", "columns", "lent_at", value=column("hard", "now"))
spoil_environment("column_generated_class", "tables", "loans", "columns", "loan_id", value=column("semantic", "id"))
spoil_environment("column_format", "tables", "boards", "columns", "remark", value=column("exempt", "random", "uuid"))
MUTANTS["column_format"].append(
    lambda docs: (
        docs["scenarios/medium.json"]["rows"]["boards"][1].update(remark=None),
        docs["cases.json"][1].update(rows={}),
        docs[ENVIRONMENT]["tables"]["boards"]["columns"].update(remark=column("semantic", None, "uuid")),
    )
)
MUTANTS["column_format"].pop(0)  # the remark of the scenario is no uuid
spoil_environment("generated_id_duplicate", "tables", "loans", "columns", "borrower", value=column(None, "id"))


def rows(docs, table):
    return docs["scenarios/medium.json"]["rows"][table]


MUTANTS["scenario_table"] = [lambda docs: docs["scenarios/medium.json"]["rows"].update(planks=[])]
MUTANTS["scenario_column"] = [
    lambda docs: rows(docs, "boards")[0].pop("remark"),
    lambda docs: rows(docs, "boards")[0].update(colour="red"),
]
MUTANTS["scenario_order"] = [
    lambda docs: rows(docs, "loans").reverse(),
    lambda docs: rows(docs, "loans").append(dict(rows(docs, "loans")[1])),
    lambda docs: docs["cases.json"][1]["rows"].update(loans=[*rows(docs, "loans")[::-1]]),
]
MUTANTS["scenario_uuid"] = [
    lambda docs: rows(docs, "members")[0].update(member_id="0B7E3C52-6A41-4D0F-9C38-5F2A7D1E8B64")
]


@mutant("scenario_missing")
def no_scenario(docs):
    del docs["scenarios/medium.json"]
    for case in docs["cases.json"]:
        case.pop("scenario", None)
        case["rows"] = {}


# Tools and schemas


@mutant("tool_missing")
def no_tools(docs):
    docs[ENVIRONMENT]["tools"] = []
    docs["cases.json"] = []


MUTANTS["tool_duplicate"] = [lambda docs: docs[ENVIRONMENT]["tools"].append(docs[ENVIRONMENT]["tools"][1])]
spoil_environment("schema_too_large", *REMARK, "description", value="x" * 70_000)
spoil_environment("schema_too_large", *REMARK, "enum", value=list(range(40_000)))
spoil_environment("schema_keyword", *REMARK, "$dynamicRef", value="#x")
spoil_environment("schema_keyword", *REMARK, "contentEncoding", value="base64")
spoil_environment("schema_keyword", *IN, "patternProperties", value={})
spoil_environment("schema_keyword", *REMARK, "$defs", value={})
spoil_environment("schema_value", *REMARK, "type", value="text")
spoil_environment("schema_value", *REMARK, "minLength", value=-1)
spoil_environment("schema_value", *REMARK, "enum", value=[])
spoil_environment("schema_value", *REMARK, "enum", value=[{"a": 1}])
spoil_environment("schema_value", *REMARK, "anyOf", value={})
spoil_environment("schema_value", *REMARK, "not", value=3)
spoil_environment("schema_value", *IN, "required", value=["from", "from"])
spoil_environment("schema_pattern", *REMARK, "pattern", value="(?=a)b")
spoil_environment("schema_pattern", *REMARK, "pattern", value=r"(a)\1")
spoil_environment("schema_pattern", *REMARK, "pattern", value=r"(\pL{100}){100}")
spoil_environment("schema_pattern", *REMARK, "pattern", value="(")
spoil_environment("schema_pattern", *REMARK, "pattern", value="x" * 600)
spoil_environment("schema_format", *REMARK, "format", value="iban")
spoil_environment("schema_reference_remote", *REMARK, "$ref", value="https://example.org/schema.json")
spoil_environment("schema_reference_remote", *REMARK, "$ref", value="#anchor")
spoil_environment("schema_reference_missing", *REMARK, "$ref", value="#/$defs/board")
spoil_environment("schema_not_object", *OUT, "type", value="array")
spoil_environment("schema_not_object", *IN, "type", value=["object", "null"])
spoil_environment("schema_open_input", *IN, "additionalProperties", value=True)
MUTANTS["schema_open_input"].append(
    lambda docs: docs[ENVIRONMENT]["tools"][1]["input_schema"].pop("additionalProperties")
)
spoil_environment("schema_required_unknown", *IN, "required", value=["from", "too"])
spoil_environment("schema_default", *REMARK, "default", value=3)
spoil_environment("schema_default", *PROPERTIES, "from", "default", value="me")


@mutant("schema_too_deep")
def deep(docs):
    schema = {"type": "string"}
    for _ in range(17):
        schema = {"type": "array", "items": schema}
    docs[ENVIRONMENT]["tools"][1]["output_schema"]["properties"]["boards"] = schema


@mutant("schema_reference_cycle")
def endless(docs):
    docs[ENVIRONMENT]["tools"][1]["output_schema"]["$defs"] = {
        "board": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/plank"}]},
        "plank": {"$ref": "#/$defs/board"},
    }


@mutant("schema_reference_cost")
def doubling(docs):
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 2} for n in range(1, 31)}
    docs[ENVIRONMENT]["tools"][1]["output_schema"]["$defs"] = {
        "d0": {},
        **definitions,
        "board": {"$ref": "#/$defs/d30"},
    }


@mutant("schema_reference_cost")
def doubling_with_each_level(docs):
    again = {"properties": {"a": {"$ref": "#/$defs/board"}}}
    docs[ENVIRONMENT]["tools"][1]["output_schema"]["$defs"] = {"board": {"anyOf": [again, again]}}


spoil_environment("argument_name", *PROPERTIES, "Board-No", value={"type": "string"})
spoil_environment("argument_name", *PROPERTIES, "class", value={"type": "string"})
spoil_environment("argument_name", *PROPERTIES, "before_x", value={"type": "string"})
spoil_environment("argument_name", *PROPERTIES, "from_", value={"type": "string"})
spoil_environment("argument_name_unknown", "tools", 0, "argument_names", "to", value="to_")
spoil_environment("argument_name_unknown", "tools", 0, "argument_names", "remark", value="remark")
spoil_environment("code_duplicate", "tools", 0, "rejections", value=[{"code": "nobody", "message": "x"}] * 2)
spoil_environment("code_duplicate", "tools", 0, "postconditions", 0, "code", value="board_not_found")
spoil_environment("code_reserved", "tools", 0, "postconditions", 0, "code", value="internal_error")
for sql in (
    "DELETE FROM boards",
    "SELECT 1; SELECT 2",
    "SELECT ?1",
    "SELECT @a",
    "SELECT $a",
    "SELECT 'a",
    "PRAGMA x",
    "SELECT [a",
    "SELECT /* a",
    "SELECT 1 -- a\n;",
):
    spoil_environment("condition_form", "tools", 0, "preconditions", 0, "sql", value=sql)
spoil_environment("condition_parameter", "tools", 0, "preconditions", 0, "sql", value="SELECT :colour = 1")
spoil_environment("condition_parameter", "tools", 0, "preconditions", 0, "sql", value="SELECT :result IS NULL")
spoil_environment("condition_parameter", "tools", 0, "preconditions", 0, "sql", value="SELECT 1 = :to")
spoil_environment("condition_parameter", "tools", 0, "captures", "loans", value="SELECT :before_loans")
spoil_environment("capture_unused", "tools", 0, "captures", "more", value="SELECT 1")

# Cases

MUTANTS["case_duplicate"] = [lambda docs: docs["cases.json"].append(docs["cases.json"][4])]
spoil_case("case_tool_unknown", 4, calls=[{"tool": "see", "arguments": {}}])
MUTANTS["case_tool_unknown"].pop()  # it also leaves `look` without its success
MUTANTS["case_tool_unknown"].append(
    lambda docs: docs["cases.json"].append({**docs["cases.json"][4], "name": "x", "tool": "see"})
)
MUTANTS["case_tool_unknown"].append(
    lambda docs: docs["cases.json"].append(
        {
            **docs["cases.json"][4],
            "name": "x",
            "calls": [{"tool": name, "arguments": {}} for name in ("look", "see")],
            "expect": [{"status": "success", "code": None}] * 2,
        }
    )
)
spoil_case("case_scenario", 4, scenario="large")
spoil_case("case_scenario", 4, rows={})
spoil_case("case_scenario", 1, rows=None)
spoil_case("case_expectations", 4, expect=[{"status": "success", "code": None}] * 2)
spoil_case("case_status", 4, kind="rejection")
MUTANTS["case_status"].pop()  # it also takes the success case away
MUTANTS["case_status"].append(
    lambda docs: docs["cases.json"].append({**docs["cases.json"][4], "name": "x", "kind": "rejection"})
)
MUTANTS["case_status"].append(
    lambda docs: docs["cases.json"].append({**docs["cases.json"][2], "name": "x", "kind": "success"})
)
spoil_case("case_status", 4, expect=[{"status": "failure", "code": "internal_error"}])
spoil_case(
    "case_code", 7, expect=[{"status": "success", "code": "fine"}, {"status": "invalid", "code": "unknown_tool"}]
)
spoil_case("case_code", 6, expect=[{"status": "invalid", "code": "board_not_found"}])
for target in ([1, "/x"], [-1, "/x"], [True, "/x"], [0, "x"], [0], "/x", [0, "/x", 1]):
    spoil_case(
        "case_result_reference",
        1,
        calls=[
            {"tool": "look", "arguments": {}},
            {"tool": "borrow", "arguments": {"from": "x", "board_code": {"$result": target}}},
        ],
    )
spoil_case("case_arguments", 4, calls=[{"tool": "look", "arguments": {"board_code": 3}}])
spoil_case("case_arguments", 6, calls=[{"tool": "look", "arguments": {"board_code": "ELM"}}])
spoil_case("case_result", 0, expect=[{"status": "success", "code": None, "result": {"loan": 3}}])
spoil_case("case_result", 0, expect=[{"status": "success", "code": None, "result": [3]}])
CHANGE = {
    "table": "boards",
    "key": {"board_code": "OAK"},
    "kind": "update",
    "before": {"name": "a"},
    "after": {"name": "b"},
}
for change in (
    {**CHANGE, "table": "planks"},
    {**CHANGE, "key": {"code": "OAK"}},
    {**CHANGE, "key": {}},
    {**CHANGE, "kind": "insert"},
    {**CHANGE, "after": None},
    {**CHANGE, "after": {"remark": "b"}},
    {**CHANGE, "kind": "delete", "after": None},
):
    spoil_case("case_changes", 0, changes=[change])
MUTANTS["case_coverage"] = [lambda docs, n=n: docs["cases.json"].pop(n) for n in (0, 1, 2, 3, 4, 5)]

# What no files can show: packs made in memory, folders and zips


def in_memory(**values):
    return lambda path: check_pack(dataclasses.replace(small_pack(), **values))


def in_folder(spoil):
    def read(path):
        write_pack(small_pack(), path)
        spoil(path)
        return read_pack(path)

    return read


def in_zip(make):
    return lambda path: unzip_pack(make())


def content():
    return list(files().items())


def with_bytes(data, *changes):
    data = bytearray(data)
    for position, new in changes:
        data[position : position + len(new)] = new
    return bytes(data)


def lying_size():
    data = make_zip(content())
    central = data.rindex(b"PK\1\2")
    return with_bytes(data, (central + 24, struct.pack("<I", 50)))


def many_entries():
    return make_zip([*content(), *((f"scenarios/s{n}.json", "{}") for n in range(300))])


ELSEWHERE = {
    "pack_missing": [lambda path: read_pack(path / "none")],
    "file_unknown": [
        in_folder(lambda path: (path / "README.md").write_text("x")),
        in_folder(lambda path: (path / "scenarios/x.txt").write_text("x")),
        in_zip(lambda: make_zip([*content(), ("more.json", "{}")])),
        in_zip(lambda: make_zip([*content(), ("docs/", "")])),
    ],
    "file_link": [
        in_folder(lambda path: ((path / "cases.json").unlink(), (path / "cases.json").symlink_to("/etc/passwd"))),
        in_folder(lambda path: ((path / "cases.json").unlink(), os.mkfifo(path / "cases.json"))),
        in_folder(
            lambda path: (
                (path / "scenarios").rename(path.parent / "s"),
                (path / "scenarios").symlink_to(path.parent / "s"),
            )
        ),
    ],
    "file_too_large": [in_folder(lambda path: (path / "schema.sql").write_text("-" * 300_000))],
    "scenario_duplicate": [in_memory(scenarios=small_pack().scenarios * 2)],
    "integer_range": [in_memory(clock_step_seconds=2**60)],
    "json_number": [
        in_memory(
            tables=small_pack().tables,
            cases=(dataclasses.replace(small_pack().cases[0], rows={"boards": ({"name": float("nan")},)}),),
        )
    ],
    "text_encoding": [in_memory(title="\ud800"), in_memory(tools_py="pass\r\n")],
    "zip_invalid": [
        in_zip(lambda: b"PK"),
        in_zip(lambda: b"\0" * 100),
        in_zip(lambda: make_zip(content())[:-30]),
        in_zip(lambda: b"#!" + make_zip(content())),
        in_zip(lambda: make_zip(content()) + b"x"),
        in_zip(lambda: with_bytes(make_zip(content()), (60, b"\xff" * 40))),
        in_zip(lying_size),
    ],
    "zip_name": [
        in_zip(lambda name=name: make_zip([*content(), (name, "x")]))
        for name in (
            "../evil.json",
            "/etc/passwd",
            "scenarios/../../x.json",
            "C:\\x.json",
            "a\\b.json",
            "a//b",
            "scenarios/.",
            "\u00e9.json",
            "a\nb.json",
            "con:.json",
            "./cases.json",
            "",
        )
    ],
    "zip_link": [
        in_zip(lambda kind=kind: make_zip(content(), create_system=3, external_attr=kind << 16))
        for kind in (stat.S_IFLNK | 0o777, stat.S_IFCHR, stat.S_IFIFO)
    ],
    "zip_duplicate": [
        in_zip(lambda: make_zip([*content(), ("CASES.json", "[]")])),
        in_zip(lambda: make_zip([*content(), ("scenarios/Medium.json", "{}")])),
    ],
    "zip_encrypted": [in_zip(lambda: make_zip_with_flag(0x1)), in_zip(lambda: make_zip_with_flag(0x41))],
    "zip_method": [in_zip(lambda: make_zip_with_method(12)), in_zip(lambda: make_zip_with_method(99))],
    "zip_too_large": [
        in_zip(lambda: make_zip([*content(), ("scenarios/big.json", b" " * (MAX_SCENARIO_BYTES + 1))])),
        in_zip(lambda: b"\0" * (MAX_ZIP_BYTES + 1)),
        in_zip(lambda: make_zip([*content(), *((f"scenarios/b{n}.json", b" " * (7 << 20)) for n in range(7))])),
    ],
    "zip_too_many": [in_zip(many_entries)],
    "zip_ratio": [in_zip(lambda: make_zip([*content(), ("scenarios/big.json", b" " * 1_000_000)]))],
}


def make_zip_with_flag(flag):
    data = make_zip(content())
    central = data.index(b"PK\1\2")
    return with_bytes(data, (6, struct.pack("<H", flag)), (central + 8, struct.pack("<H", flag)))


def make_zip_with_method(method):
    data = make_zip(content())
    central = data.index(b"PK\1\2")
    return with_bytes(data, (8, struct.pack("<H", method)), (central + 10, struct.pack("<H", method)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("code", "number"), [(code, n) for code in sorted(MUTANTS) for n in range(len(MUTANTS[code]))])
def test_spoiled_documents_are_found_by_exactly_their_code(code, number):
    docs = documents()
    MUTANTS[code][number](docs)
    faults = faults_of(docs)
    assert {fault.code for fault in faults} == {code}, faults
    assert all(fault.place and fault.message for fault in faults)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("code", "number"), [(code, n) for code in sorted(ELSEWHERE) for n in range(len(ELSEWHERE[code]))]
)
def test_spoiled_packs_are_found_by_exactly_their_code(code, number, tmp_path):
    try:
        faults = ELSEWHERE[code][number](tmp_path)
    except PackError as error:
        faults = error.faults
    assert isinstance(faults, tuple)
    assert {fault.code for fault in faults} == {code}, faults


def test_every_code_of_the_host_has_a_mutant():
    codes = {code for code, kind in FAULT_KINDS.items() if kind.half != "worker"}
    assert codes == MUTANTS.keys() | ELSEWHERE.keys()


def test_the_unspoiled_pack_has_no_fault():
    assert faults_of(documents()) == ()


def nodes(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from nodes(entry, (*path, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from nodes(entry, (*path, index))


PATHS = [path for path in nodes(documents()) if path]
ODD = st.sampled_from(
    [None, True, 0, -1, 1.5, 2**60, "", "a", "x__y", "#/$defs/a", ":a", "[", {}, [], {"": 1}, [1], [{}], {"a": {}}]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PATHS), ODD, st.sampled_from(["replace", "remove", "rename"])), max_size=3))
def test_checks_never_crash_whatever_a_pack_holds(changes):
    docs = documents()
    for (*parents, last), value, how in changes:
        target = docs
        try:
            for part in parents:
                target = target[part]
            removed = target.pop(last)
        except (LookupError, TypeError, AttributeError):
            continue
        if how == "remove":
            continue
        if isinstance(target, list):
            target.insert(last, value)
        elif how == "replace" and (parents or isinstance(value, str)):
            target[last] = value
        elif parents:
            target[str(value)] = removed
    assert all(fault.place for fault in faults_of(docs))


def test_hostile_conditions_are_scanned_in_linear_time():
    for text in (
        "[" * 8_000,
        "'" * 7_999,
        "/*" * 4_000,
        "SELECT " + "'a''" * 1_990,
        "`" * 7_999,
        ":a" * 4_000,
        "-" * 8_000,
    ):
        started = time.process_time()
        condition_parameters(text)
        assert time.process_time() - started < 0.01


def test_a_scenario_cannot_name_a_file_elsewhere(tmp_path):
    scenario = dataclasses.replace(small_pack().scenarios[0], name="../../evil")
    pack = dataclasses.replace(small_pack(), scenarios=(scenario,))
    for write in (lambda: write_pack(pack, tmp_path / "a" / "b"), lambda: zip_pack(pack)):
        with pytest.raises(PackError, match="name_pattern"):
            write()
    assert list(tmp_path.rglob("*")) == []


def test_places_name_the_file_or_the_part():
    docs = documents()
    docs["environment.json"]["tools"][0]["preconditions"][0]["sql"] = "SELECT :colour"
    (fault,) = faults_of(docs)
    assert fault.place == "tools/borrow/preconditions/0/sql"
    docs = documents()
    docs["cases.json"] = json.dumps(docs["cases.json"])[:-1]
    (fault,) = faults_of(docs)
    assert fault.place == "cases.json"
    assert fault.remedy.startswith("Correct the JSON")
    assert "line 1" in fault.message


def test_all_faults_of_a_pack_are_listed_at_once():
    docs = documents()
    docs["environment.json"]["title"] = ""
    docs["environment.json"]["language"] = "?"
    docs["environment.json"]["tools"][0]["captures"]["more"] = "SELECT 1"
    assert [fault.code for fault in faults_of(docs)] == ["text_empty", "value_wrong", "capture_unused"]
