"""Types of arguments against types of the columns that they meet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from environments.core.logic.model import LogicFinding
from environments.core.logic.source import Source
from environments.core.logic.statements import Literal, Meeting, Parameter, Statement, StatementReader
from environments.runtime.pack.model import Tool
from environments.runtime.records import ColumnRef

_FITTING = {
    "TEXT": frozenset({"string", "array", "object"}),
    "INTEGER": frozenset({"integer", "number", "boolean"}),
    "REAL": frozenset({"integer", "number"}),
}
_MAX_DEPTH = 8


def json_types(schema: Any, root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """The JSON types that a schema lets through, as far as it names them; empty if it does not."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return frozenset()
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        found: Any = root
        for part in reference[2:].split("/"):
            found = found.get(part) if isinstance(found, Mapping) else None
        return json_types(found, root, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, str):
        return frozenset({kind})
    if isinstance(kind, list):
        return frozenset(kind)
    for word in ("anyOf", "oneOf"):
        parts = [json_types(one, root, depth + 1) for one in schema.get(word, ())]
        if parts:
            return frozenset().union(*parts) if all(parts) else frozenset()
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return frozenset(_json_type(value) for value in values)


def _json_type(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


class TypeChecker:
    """Looks at what meets in the SQL of a pack."""

    def __init__(self, reader: StatementReader, values: Mapping[ColumnRef, Sequence[Any]]) -> None:
        """Takes the statements' reader and the only values of columns that have such."""
        self._reader = reader
        self._values = values

    def check(self, tool: Tool, source: Source | None) -> Iterator[LogicFinding]:
        """Findings about one tool."""
        schemas = _schemas(tool)
        for place, sql in condition_texts(tool):
            statement = self._reader.read(sql)
            names = {name: name for name in schemas}
            yield from self._check_statement(tool, place, statement, schemas, names)
        if source is not None:
            for call in source.calls.get(tool.name, ()):
                statement = self._reader.read(call.sql)
                yield from self._check_statement(tool, f"tools/{tool.name}", statement, schemas, call.arguments)

    def _check_statement(
        self, tool: Tool, place: str, statement: Statement, schemas: Mapping[str, Any], names: Mapping[str, str]
    ) -> Iterator[LogicFinding]:
        for name in statement.unknown:
            yield LogicFinding("name_unknown", place, f"no table has {name}", tool=tool.name)
        for meeting in statement.meetings:
            yield from self._check_meeting(tool, place, meeting, schemas, names)

    def _check_meeting(
        self, tool: Tool, place: str, meeting: Meeting, schemas: Mapping[str, Any], names: Mapping[str, str]
    ) -> Iterator[LogicFinding]:
        table, column = meeting.column
        kind = self._type(meeting.column)
        other = meeting.other
        verb = "is set to" if meeting.is_set else "is compared with"
        values = self._values.get(meeting.column)
        if isinstance(other, Parameter):
            schema = schemas.get(names.get(other.name, ""))
            types = json_types(schema, tool.input_schema) - {"null"}
            if types and not types & _FITTING[kind]:
                message = f"{table}.{column} is {kind} and {verb} {other.name}, which is {' or '.join(sorted(types))}"
                yield LogicFinding("type_mismatch", place, message, tool=tool.name)
            enum = schema.get("enum") if isinstance(schema, Mapping) else None
            if values and enum and meeting.is_equal and not _overlap(enum, values):
                message = f"{table}.{column} never holds any of the values of {other.name}"
                yield LogicFinding("values_apart", place, message, tool=tool.name)
        elif isinstance(other, Literal):
            fits = isinstance(other.value, str) is (kind == "TEXT")
            if not fits:
                message = f"{table}.{column} is {kind} and {verb} {other.value!r}"
                yield LogicFinding("type_mismatch", place, message, tool=tool.name)
            elif values and meeting.is_equal and other.value not in values:
                message = f"{table}.{column} never holds {other.value!r}"
                yield LogicFinding("values_apart", place, message, tool=tool.name)
        elif (self._type(other) == "TEXT") is not (kind == "TEXT"):
            message = f"{table}.{column} is {kind} and {verb} {other[0]}.{other[1]}, which is {self._type(other)}"
            yield LogicFinding("type_mismatch", place, message, tool=tool.name)

    def _type(self, column: ColumnRef) -> str:
        return self._reader.tables[column[0]].column(column[1]).type


def condition_texts(tool: Tool) -> Iterator[tuple[str, str]]:
    """Every capture and condition with its place."""
    place = f"tools/{tool.name}"
    for name, sql in tool.captures.items():
        yield f"{place}/captures/{name}", sql
    for position, one in enumerate(tool.preconditions):
        yield f"{place}/preconditions/{position}", one.sql
    for position, one in enumerate(tool.postconditions):
        yield f"{place}/postconditions/{position}", one.sql


def _schemas(tool: Tool) -> dict[str, Any]:
    """Schemas of arguments by each name that SQL may use for them."""
    found = {}
    for name, schema in tool.input_schema.get("properties", {}).items():
        found[name] = schema
        found[tool.argument_names.get(name, name)] = schema
    return found


def _overlap(one: Iterable[Any], other: Iterable[Any]) -> bool:
    listed = list(other)
    return any((int(value) if isinstance(value, bool) else value) in listed for value in one)
