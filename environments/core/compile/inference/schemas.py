"""Schemas of columns and arguments: what the document says, in the form that the column stores."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from environments.core.compile.inference.drafts import ColumnDraft
from environments.core.compile.reading.calls import Shape, ShapeType
from environments.core.compile.reading.shapes import Shapes
from environments.core.compile.semantics import ArgumentRole, ValueKind
from environments.runtime.schema.compiled import SchemaError, compile_schema

TIME_PATTERN: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
DATE_PATTERN: Final = r"^\d{4}-\d\d-\d\d$"
MAX_SIZE: Final = 100
"""Rows of a page at most, whatever more the document allows."""
MAX_INTEGER: Final = 2**53
MAX_EXAMPLES: Final = 4

_TYPES: Final[Mapping[ValueKind, str]] = {
    ValueKind.TEXT: "string",
    ValueKind.TIME: "string",
    ValueKind.DATE: "string",
    ValueKind.INTEGER: "integer",
    ValueKind.EPOCH: "integer",
    ValueKind.EPOCH_MILLISECONDS: "integer",
    ValueKind.REAL: "number",
    ValueKind.BOOLEAN: "boolean",
}
_NUMBERS: Final = frozenset({"integer", "number"})
_FORMATS: Final = frozenset({"email", "uri", "uuid", "hostname", "ipv4", "ipv6"})
_TEXT_KEYS: Final = ("format", "pattern", "minLength", "maxLength")
_BOUNDS: Final = frozenset({"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                            "multipleOf"})  # fmt: skip
_NUMBER_KEYS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_TIMES: Final = {
    ValueKind.TIME: {"type": "string", "format": "date-time", "pattern": TIME_PATTERN},
    ValueKind.DATE: {"type": "string", "format": "date", "pattern": DATE_PATTERN},
}
_PYTHON: Final = {"string": str, "integer": int, "number": (int, float), "boolean": bool}


def accepts(kind: ValueKind, shape: Shape) -> bool:
    """Whether a column can store or be compared with values of a shape; a type that differs yields to the column's."""
    if shape.type is ShapeType.ANY:
        return kind is not ValueKind.JSON
    if kind is ValueKind.JSON:
        return shape.type in (ShapeType.OBJECT, ShapeType.ARRAY)
    if kind is ValueKind.BOOLEAN:
        return shape.type is ShapeType.BOOLEAN
    if kind in (ValueKind.TEXT, ValueKind.TIME, ValueKind.DATE):
        return shape.type in (ShapeType.STRING, ShapeType.INTEGER)
    return shape.type in (ShapeType.INTEGER, ShapeType.NUMBER, ShapeType.STRING)


def scalar_schema(kind: ValueKind, shape: Shape | None, values: tuple[Any, ...] = ()) -> dict[str, Any]:
    """The schema of one plain value as the column holds it."""
    if kind in _TIMES:
        return dict(_TIMES[kind])
    made: dict[str, Any] = {"type": _TYPES[kind]}
    if kind is ValueKind.BOOLEAN:
        return made
    if shape is not None:
        is_text = kind is ValueKind.TEXT and shape.type is ShapeType.STRING
        is_number = made["type"] in _NUMBERS and shape.type in (ShapeType.INTEGER, ShapeType.NUMBER)
        for key in _TEXT_KEYS if is_text else _NUMBER_KEYS if is_number else ():
            if key in shape.keywords:
                made[key] = shape.keywords[key]
        if made.get("format") not in _FORMATS:
            made.pop("format", None)
        if "pattern" in made and not _is_usable(str(made["pattern"])):
            del made["pattern"]
        examples = [each for each in shape.examples if _fits(each, made["type"])]
        if examples:
            made["examples"] = examples[:MAX_EXAMPLES]
    if values:
        made["enum"] = list(values)
        made.pop("examples", None)
    return made


@lru_cache(4096)
def _is_usable(pattern: str) -> bool:
    """Whether the runtime takes the pattern, and rows can be drawn for it."""
    if "(?" in pattern:
        return False
    try:
        compile_schema({"type": "string", "pattern": pattern})
    except SchemaError:
        return False
    return True


def column_schema(column: ColumnDraft, shapes: Shapes) -> dict[str, Any]:
    """The schema of what a column shows."""
    if column.kind is ValueKind.JSON:
        return _json_schema(column.shape, shapes)
    return scalar_schema(column.kind, column.shape, column.values)


def argument_schema(
    column: ColumnDraft, shape: Shape | None, shapes: Shapes, role: ArgumentRole = ArgumentRole.SET
) -> dict[str, Any]:
    """The schema of an argument that is compared with a column or sets it."""
    if column.kind is ValueKind.JSON:
        own = shape if shape is not None and shape.type in (ShapeType.OBJECT, ShapeType.ARRAY) else column.shape
        return _json_schema(own, shapes)
    is_same = shape is not None and shape.type is not ShapeType.ANY and shape.type is not ShapeType.OBJECT
    values = column.values
    if is_same and shape is not None and shape.values and column.values:
        common = tuple(value for value in shape.values if value in column.values)
        values = common or column.values
    if role is ArgumentRole.SET:
        return scalar_schema(column.kind, shape if is_same else column.shape, values)
    # What is looked for need not be a value that could be stored: the call finds nothing, it is not wrong.
    made = scalar_schema(column.kind, column.shape, values)
    forms = ("pattern", "format") if column.kind is ValueKind.TEXT else ()
    return {key: value for key, value in made.items() if key not in _BOUNDS and key not in forms}


def _json_schema(shape: Shape | None, shapes: Shapes) -> dict[str, Any]:
    made = dict(shapes.plain(shape.schema)) if shape is not None else {}
    if made.get("type") not in ("object", "array"):
        made = {"type": "array" if shape is not None and shape.type is ShapeType.ARRAY else "object"}
    return made


def size_schema(shape: Shape | None) -> dict[str, Any]:
    """How many rows a page may have."""
    maximum = shape.keywords.get("maximum") if shape is not None else None
    limit = int(maximum) if isinstance(maximum, int | float) and 1 <= maximum <= MAX_SIZE else MAX_SIZE
    return {"type": "integer", "minimum": 1, "maximum": limit}


def stored(value: Any, kind: ValueKind, values: tuple[Any, ...]) -> Any:
    """A document's default in stored form; None if the column can't hold it."""
    if kind is ValueKind.BOOLEAN:
        return int(value) if isinstance(value, bool) else None
    if kind in (ValueKind.JSON, ValueKind.TIME, ValueKind.DATE) or not _fits(value, _TYPES[kind]):
        return None
    if values and value not in values:
        return None
    return float(value) if kind is ValueKind.REAL else value


def _fits(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name in _NUMBERS and isinstance(value, int | float) and abs(value) > MAX_INTEGER:
        return False
    return isinstance(value, _PYTHON[name])  # type: ignore[arg-type]  # a tuple of classes or a class
