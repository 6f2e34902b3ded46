"""Packs as folders, zips and bytes: nothing is lost, nothing depends on the day, and people can read them."""

import contextlib
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import time
import zipfile
from io import BytesIO
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.runtime.pack import (
    PackError,
    canonical_json,
    content_sha256,
    decode_pack,
    encode_pack,
    read_pack,
    unzip_pack,
    write_pack,
    zip_pack,
)
from environments.runtime.pack.documents import pack_files, pack_from_files
from environments.runtime.pack.model import (
    Case,
    CaseCall,
    Column,
    Condition,
    Expectation,
    Licence,
    Origin,
    Pack,
    Provenance,
    Rejection,
    Scenario,
    Table,
    Tool,
)
from environments.runtime.pack.strict_json import format_json, parse_json
from environments.runtime.records import CallStatus, ChangeKind, RowChange
from tests.environments.runtime.pack.small import documents, files, small_pack

GOLDEN = Path(__file__).parent / "golden"

text = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=12)
name = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
integer = st.integers(-(2**53), 2**53)
value = st.none() | integer | text | st.floats(allow_nan=False, allow_infinity=False)
json_value = st.recursive(
    value | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(text, json_value, max_size=3)
row = st.dictionaries(name, value, max_size=3)
rows = st.dictionaries(name, st.lists(row, max_size=3).map(tuple), max_size=2)
licence = st.builds(Licence, spdx=st.none() | text, name=st.none() | text, address=st.none() | text)
column = st.builds(
    Column,
    comparison=st.sampled_from((None, "hard", "semantic", "exempt")),
    generated=st.sampled_from((None, "id", "now", "random")),
    format=st.sampled_from((None, "uuid")),
    description=text,
)
condition = st.builds(Condition, code=name, sql=text, message=text, policy=st.none() | text)
post = st.builds(Condition, code=name, sql=text, message=text)
tool = st.builds(
    Tool,
    name=name,
    title=text,
    description=text,
    effect=st.sampled_from(("read", "write")),
    audience=st.sampled_from(("agent", "user")),
    input_schema=objects,
    output_schema=objects,
    argument_names=st.dictionaries(text, name, max_size=2),
    captures=st.dictionaries(name, text, max_size=2),
    preconditions=st.lists(condition, max_size=2).map(tuple),
    postconditions=st.lists(post, max_size=2).map(tuple),
    rejections=st.lists(st.builds(Rejection, name, text), max_size=2).map(tuple),
    origin=st.none() | st.builds(Origin, st.none() | text, st.none() | text, st.sampled_from(("compiler", "model"))),
)
change = st.builds(
    RowChange, table=name, key=row, kind=st.sampled_from(ChangeKind), before=st.none() | row, after=st.none() | row
)
case = st.builds(
    Case,
    name=name,
    tool=name,
    kind=st.sampled_from(("success", "boundary", "rejection")),
    calls=st.lists(st.builds(CaseCall, name, objects), max_size=2).map(tuple),
    expect=st.lists(st.builds(Expectation, st.sampled_from(CallStatus), st.none() | name, json_value), max_size=2).map(
        tuple
    ),
    changes=st.lists(change, max_size=2).map(tuple),
    author=text,
    scenario=st.none() | name,
    rows=st.none() | rows,
)
scenario = st.builds(
    Scenario,
    name=name,
    level=st.sampled_from(("simple", "medium", "complex", "boundary")),
    clock_start=text,
    seed=integer,
    rows=rows,
)
packs = st.builds(
    Pack,
    name=name,
    title=text,
    domain=text,
    description=text,
    language=text,
    licence=licence,
    clock_start=text,
    clock_step_seconds=integer,
    tables=st.dictionaries(
        name,
        st.builds(Table, text, st.sampled_from(("entity", "link", "log")), st.dictionaries(name, column, max_size=3)),
        max_size=2,
    ),
    tools=st.lists(tool, max_size=2).map(tuple),
    provenance=st.lists(
        st.builds(Provenance, text, text, text, text, st.none() | text, st.none() | licence), max_size=2
    ).map(tuple),
    schema_sql=text,
    tools_py=text,
    scenarios=st.lists(scenario, max_size=3, unique_by=lambda item: item.name).map(
        lambda items: tuple(sorted(items, key=lambda item: item.name))
    ),
    cases=st.lists(case, max_size=2).map(tuple),
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(packs)
def test_files_zip_and_bytes_lose_nothing(pack):
    assert pack_from_files(pack_files(pack)) == pack
    assert unzip_pack(zip_pack(pack)) == pack
    assert decode_pack(encode_pack(pack)) == pack
    for other in (pack_from_files(pack_files(pack)), decode_pack(encode_pack(pack))):
        assert content_sha256(other) == content_sha256(pack)
        assert encode_pack(other) == encode_pack(pack)  # 1 and 1.0 stay apart


def test_folder_is_written_the_same_after_reading(tmp_path):
    write_pack(small_pack(), tmp_path)
    first = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_pack(read_pack(tmp_path), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == first
    (tmp_path / "pack.zip").write_bytes(zip_pack(small_pack()))
    assert read_pack(tmp_path / "pack.zip") == small_pack()


def test_scenarios_that_are_gone_are_removed_and_other_files_stay(tmp_path):
    write_pack(small_pack(), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    write_pack(dataclasses.replace(small_pack(), scenarios=()), tmp_path)
    assert list((tmp_path / "scenarios").iterdir()) == []
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("folder", sorted(Path("environments/packs").iterdir()), ids=lambda path: path.name)
def test_shipped_packs_are_written_as_they_stand(folder, tmp_path):
    write_pack(read_pack(folder), tmp_path)
    for path in folder.rglob("*"):
        if path.is_file():
            assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes(), path


def test_golden_pack():
    pack = read_pack(GOLDEN / "board_library")
    assert pack == small_pack()
    assert encode_pack(pack) == (GOLDEN / "encoded.json").read_bytes().strip()
    assert content_sha256(pack) == (GOLDEN / "content_sha256").read_text().strip()


def test_hash_is_the_one_of_the_contract():
    docs = documents()
    for entry in docs["environment.json"]["provenance"]:
        del entry["retrieved_at"]
    for tool_ in docs["environment.json"]["tools"]:
        for item in tool_["postconditions"]:
            assert "policy" not in item
    content = [
        docs["environment.json"],
        docs["schema.sql"],
        docs["tools.py"],
        [docs["scenarios/medium.json"]],
        docs["cases.json"],
    ]
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert content_sha256(small_pack()) == hashlib.sha256(canonical).hexdigest()


def test_hash_leaves_out_the_day_of_retrieval_and_nothing_else():
    pack = small_pack()
    entry = pack.provenance[0]
    later = dataclasses.replace(pack, provenance=(dataclasses.replace(entry, retrieved_at="2031-01-01T00:00:00Z"),))
    assert content_sha256(later) == content_sha256(pack)
    newer = dataclasses.replace(pack, provenance=(dataclasses.replace(entry, version="1.3"),))
    hashes = {
        content_sha256(changed)
        for changed in (
            pack,
            newer,
            dataclasses.replace(pack, tools_py=pack.tools_py + "\n"),
            dataclasses.replace(pack, schema_sql=pack.schema_sql + "\n"),
            dataclasses.replace(pack, scenarios=()),
            dataclasses.replace(pack, cases=pack.cases[::-1]),
            dataclasses.replace(pack, tools=pack.tools[::-1]),
            dataclasses.replace(pack, title="Another title"),
        )
    }
    assert len(hashes) == 8


def test_hash_and_bytes_are_the_same_in_another_process_with_other_hash_seeds():
    code = (
        "import hashlib; from pathlib import Path; from environments.runtime.pack import *;"
        "p = read_pack(Path('environments/packs/repair_cafe'));"
        "print(content_sha256(p), hashlib.sha256(encode_pack(p)).hexdigest(), hashlib.sha256(zip_pack(p)).hexdigest())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert next(iter(outputs)).split()[0].decode() == content_sha256(read_pack(Path("environments/packs/repair_cafe")))


def test_zip_has_plain_files_of_a_fixed_date():
    with zipfile.ZipFile(BytesIO(zip_pack(small_pack()))) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == sorted(files())
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.external_attr >> 16 for entry in entries} == {0o100644}


def test_optional_keys_may_be_left_out():
    docs = documents()
    for tool_ in docs["environment.json"]["tools"]:
        for key in ("argument_names", "captures", "preconditions", "postconditions", "rejections", "origin"):
            if not tool_[key]:
                del tool_[key]
    for table in docs["environment.json"]["tables"].values():
        for entry in table["columns"].values():
            for key in [key for key in entry if not entry[key]]:
                del entry[key]
    del docs["environment.json"]["licence"]["name"]
    assert pack_from_files(files(docs)) == small_pack()
    docs.pop("cases.json")
    assert pack_from_files(files(docs)).cases == ()


def test_readable_json_keeps_what_fits_on_a_line():
    assert format_json({"a": [1, 2], "b": {}}) == '{"a": [1, 2], "b": {}}\n'
    long = {"first": "x" * 60, "second": ["y" * 60, {"c": None}], "é": True}
    written = format_json(long)
    assert written.splitlines()[1] == f'  "first": "{"x" * 60}",'
    assert "é" in written
    assert json.loads(written) == long
    assert max(map(len, written.splitlines())) <= 120


@given(json_value)
def test_readable_and_canonical_json_lose_nothing(item):
    assert parse_json(format_json(item).encode(), "x") == item
    assert parse_json(canonical_json(item), "x") == item
    assert b"\n" not in canonical_json(item)


def test_canonical_json_refuses_what_json_has_not():
    for item in (float("nan"), float("inf"), "\ud800"):
        with pytest.raises(ValueError):
            canonical_json(item)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b"[" * 5000, encode_pack(small_pack())[:-2]])
def test_decode_refuses_other_bytes(data):
    with pytest.raises(PackError):
        decode_pack(data)


def test_decoded_pack_is_checked_for_types():
    raw = msgspec.json.decode(encode_pack(small_pack()))
    raw["tools"][0]["effect"] = "both"
    with pytest.raises(PackError, match="effect"):
        decode_pack(msgspec.json.encode(raw))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_zips_are_refused_or_read_but_never_crash(data):
    damaged = bytearray(zip_pack(small_pack()))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(PackError):
        unzip_pack(bytes(damaged))


def test_large_hostile_files_are_refused_quickly():
    docs = files()
    for hostile in (b"[" * 2_000_000, b'{"a":' * 400_000, b"9" * 2_000_000, b'"' + b"\\u0041" * 300_000):
        started = time.process_time()
        with pytest.raises(PackError):
            pack_from_files({**docs, "environment.json": hostile})
        assert time.process_time() - started < 0.5


def test_runtime_knows_neither_django_nor_the_rest_of_the_project():
    code = (
        "import sys, environments.runtime.__main__;"
        "print([m for m in sys.modules if m.split('.')[0] in ('django', 'numpy', 'mcp', 'graphs', 'trajectories')"
        " or m.startswith('environments.') and not m.startswith('environments.runtime')])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert output.strip() == "[]"
