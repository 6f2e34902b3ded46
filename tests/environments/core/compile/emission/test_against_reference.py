"""Emitted tools against the reference interpreter, which reads the same plan and shares no code with emission."""

import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.core.compile.emission import emit_pack
from environments.core.compile.reference import Interpreter, UnspecifiedError
from environments.core.compile.semantics import ArgumentRole, Kind, Source
from environments.runtime.engine.engine import Engine
from environments.runtime.records import CallStatus
from environments.runtime.schema import ArgumentValidator
from tests.environments.core.compile.emission.odd import odd
from tests.environments.core.compile.emission.states import ODD_ROWS, SHOP_ROWS, scenario
from tests.factories.blueprints import shop

PLANS = {"shop": (shop, SHOP_ROWS), "odd": (odd, ODD_ROWS)}
EXAMPLES = 60
TEXTS = ["", "o", "%", "_", "DOOR", "ö", "Bonn", "nothing like it", "a"]
PLAIN = {
    "integer": st.integers(-2, 12) | st.sampled_from([1767600001, 1767600003]),
    "number": st.sampled_from([0, 0.25, 1, 1.5, 5.5, 20, 1e6]),
    "boolean": st.booleans(),
    "array": st.lists(st.sampled_from(["a", "é", 'q"']), max_size=3),
    "object": st.dictionaries(
        st.sampled_from("abc"), st.none() | st.integers(0, 3) | st.text("é\"'", max_size=2), max_size=2
    ),
}  # fmt: skip


@cache
def engine(name):
    make, rows = PLANS[name]
    blueprint = make()
    made = Engine(emit_pack(blueprint, [scenario(rows)], []))
    assert not made.faults
    return blueprint, made, scenario(rows)


@cache
def validator(name, tool):
    return ArgumentValidator(engine(name)[1].pack.tool(tool))


def values_for(blueprint, tool, argument):
    """Values that an argument may have: such as rows have, and others."""
    schema = argument.schema
    if argument.role is ArgumentRole.CURSOR:
        return st.integers(0, 8).map(str)
    if argument.role is ArgumentRole.SIZE:
        return st.integers(1, 6)
    if argument.role in (ArgumentRole.PAGE, ArgumentRole.OFFSET):
        return st.integers(0, 5)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if argument.role is ArgumentRole.ONE_OF:
        items = schema["items"]
        return st.lists(st.sampled_from(items["enum"]) if "enum" in items else PLAIN[items["type"]], max_size=3)
    if schema.get("type") != "string":
        return PLAIN[schema["type"]]
    rows = PLANS[blueprint.name][1]
    held = sorted(
        {value for table in rows.values() for row in table for value in row.values() if isinstance(value, str)}
    )
    names = {pair[0] for check in tool.meaning.checks for pair in check.where if pair[1] == argument.name}
    names |= {argument.column} if argument.column else set()
    near = sorted(
        {row[name] for table in rows.values() for row in table for name in names if isinstance(row.get(name), str)}
    )
    return st.sampled_from(near or held) | st.sampled_from(TEXTS) | st.sampled_from(held)


@cache
def calls_of(name, tool_name):
    blueprint = engine(name)[0]
    tool = next(each for each in blueprint.tools if each.name == tool_name)
    needed = {each.name: values_for(blueprint, tool, each) for each in tool.meaning.arguments if each.is_required}
    free = {each.name: values_for(blueprint, tool, each) for each in tool.meaning.arguments if not each.is_required}
    return st.fixed_dictionaries(needed, optional=free)


def without_fresh(value, tool, blueprint):
    """The value without what only the runtime knows: new ids of this call."""
    if tool.meaning.kind is not Kind.CREATE:
        return value
    fresh = {each.column for each in tool.meaning.assignments if each.source is Source.NEW_ID}
    view = tool.meaning.result.view
    names = {entry.path[-1] for entry in view.properties if entry.column in fresh} if view else set()

    def masked(item):
        if isinstance(item, dict):
            return {name: "fresh" if name in names else masked(entry) for name, entry in item.items()}
        return [masked(entry) for entry in item] if isinstance(item, list) else item

    return masked(value)


def plain(changes, blueprint):
    """Changes with JSON columns parsed, and without new ids."""
    found = []
    for change in changes:
        table = blueprint.table(change.table)
        fresh = {each.name for each in table.columns if each.generated == "id" and change.kind == "insert"}
        texts = {each.name for each in table.columns if each.kind == "json"}

        def shown(row, texts=texts, fresh=fresh):
            if row is None:
                return None
            return {
                name: "fresh" if name in fresh else json.loads(value) if name in texts and value else value
                for name, value in row.items()
            }

        found.append((change.table, str(change.kind), shown(change.key), shown(change.before), shown(change.after)))
    return sorted(found, key=lambda each: json.dumps(each, sort_keys=True))


@pytest.mark.parametrize("name", PLANS)
@given(data=st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_tools_do_what_their_meaning_says(name, data):
    blueprint, made, start = engine(name)
    episode = made.open("small")
    reference = Interpreter(blueprint, start)
    for _ in range(4):
        tool = data.draw(st.sampled_from(blueprint.tools))
        arguments = data.draw(calls_of(name, tool.name))
        if validator(name, tool.name).errors(arguments):
            continue
        try:
            expected = reference.call(tool.name, arguments)
        except UnspecifiedError:
            break
        record = episode.call(tool.name, validator(name, tool.name).fill_defaults(arguments))
        assert episode.failure is None
        assert (record.status, record.code) == (expected.status, expected.code)
        if expected.status is CallStatus.SUCCESS:
            result = json.loads(record.observation)
            assert without_fresh(result, tool, blueprint) == without_fresh(expected.result, tool, blueprint)
            assert plain(record.changes, blueprint) == plain(expected.changes, blueprint)
        if any(each.source is Source.NEW_ID for each in tool.meaning.assignments):
            break  # what follows would see ids that the two do not share
