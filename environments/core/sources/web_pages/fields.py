"""Rows of tables and items of lists as named values: name, type, whether required, description."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from environments.core.sources.model import Location
from environments.core.sources.tool_lists.words import schema_of_words
from environments.core.sources.web_pages.blocks import Items, Table

_COLUMNS: Final = {
    "name": r"(?:field |parameter |property |attribute |header |argument |key )?names?|param(?:eter)?s?(?: name)?|"
    r"fields?|propert(?:y|ies)|keys?|arguments?|args?|attributes?|options?|headers?|variables?|members?|elements?",
    "type": r"(?:data |value |parameter )?types?|formats?|schema",
    "required": r"required\??|mandatory\??|presence|requirement|necessity|req\.?|required ?/ ?optional",
    "optional": r"optional\??",
    "description": r"descriptions?|meanings?|details?|notes?|comments?|explanations?|summary|purpose|information",
    "location": r"in|locations?|where|located in|sent in|passed in|position|source",
    "default": r"defaults?(?: values?)?",
    "values": r"(?:allowed |possible |accepted |valid )?values?|enum|options|choices",
    "example": r"examples?(?: values?)?|samples?",
    "status": r"(?:http )?(?:status|response|return)?\s?(?:status )?codes?|(?:http )?status",
}
_COLUMN: Final = {role: re.compile(pattern, re.IGNORECASE) for role, pattern in _COLUMNS.items()}
_NAME: Final = re.compile(
    r"""^[`"']?([A-Za-z_$@][\w.$@\[\]{}:-]{0,200}?)[`"']?\s?(\*)?(?=[\s,(:;\u2013\u2014]|$)\s*(.*)$""", re.DOTALL
)
_ITEM: Final = re.compile(
    r"""^[`"'*]*([A-Za-z_$@][\w.$@\[\]-]{0,200})[`"'*]*\s{0,3}(?:\(([^()]{0,200})\)|\[([^\[\]]{0,100})\])?\s{0,3}(?:[:\u2013\u2014-]\s?|$)(.*)$""",
    re.DOTALL,
)
_YES: Final = frozenset(
    {"yes", "true", "required", "y", "✓", "✔", "✅", "x", "mandatory", "always", "1", "req", "must"}
)
_NO: Final = frozenset({"no", "false", "optional", "n", "✗", "✘", "❌", "-", "—", "0", "opt", "never", ""})
_REQUIRED: Final = re.compile(r"\b(?:required|mandatory)\b", re.IGNORECASE)
_OPTIONAL: Final = re.compile(r"\b(?:optional|not required|not mandatory)\b", re.IGNORECASE)
_ARRAY: Final = re.compile(r"^(?:an? )?(?:array|list|set) of (.+)$")
_PARENTHESES: Final = re.compile(r"[(<\[]([^()<>\[\]]{1,100})[)>\]]")
_FORMATS: Final = frozenset(
    {"date", "date-time", "datetime", "time", "uuid", "uri", "url", "email", "int32", "int64", "float", "double",
     "binary", "byte", "ipv4", "ipv6", "hostname", "password"}
)  # fmt: skip
_PLURALS: Final = re.compile(r"^(string|integer|int|number|float|boolean|bool|object|uuid|date|url|id)s$")
_ONE_OF: Final = re.compile(
    r"\b(?:one of|allowed values|possible values|valid values)\s?:\s?([^.;()]{1,300})", re.IGNORECASE
)
_VALUE: Final = re.compile(r"""^[`"']?([\w.:/+-]{1,60})[`"']?$""")
_LOCATIONS: Final = {
    "path": Location.PATH, "url": Location.PATH, "uri": Location.PATH, "query": Location.QUERY,
    "querystring": Location.QUERY, "query string": Location.QUERY, "header": Location.HEADER, "cookie": Location.COOKIE,
    "body": Location.BODY, "form": Location.BODY, "formdata": Location.BODY, "json": Location.BODY,
    "request body": Location.BODY, "payload": Location.BODY,
}  # fmt: skip
MAX_FIELDS: Final = 400


@dataclass(frozen=True, slots=True)
class Field:
    """A named value.

    Attributes:
        name: As the page has it.
        schema: Empty if the page gives no type that is known.
        is_required: None if the page says nothing.
        description: The page's words.
        location: None if the page says nothing.
    """

    name: str
    schema: Mapping[str, Any]
    is_required: bool | None = None
    description: str = ""
    location: Location | None = None


def columns_of(head: Sequence[str]) -> dict[str, int]:
    """What the columns of a table hold, by the words of its head; the first of each kind counts."""
    found: dict[str, int] = {}
    for place, text in enumerate(head):
        words = " ".join(text.strip(" *`:").lower().split())
        for role, pattern in _COLUMN.items():
            if role not in found and pattern.fullmatch(words):
                found[role] = place
                break
    return found


def fields_of_table(table: Table) -> list[Field] | None:
    """The named values of a table's rows; None if the table is of another kind."""
    if len(table.rows) < 2:
        return None
    columns = columns_of(table.rows[0])
    if "name" not in columns and {"type", "description", "required"} & columns.keys() and 0 not in columns.values():
        columns["name"] = 0
    if "name" not in columns or len(columns) < 2:
        return None
    found = []
    for row in table.rows[1 : MAX_FIELDS + 1]:
        cells = {role: row[place].strip() for role, place in columns.items() if place < len(row)}
        made = _field_of_cells(cells)
        if made is not None:
            found.append(made)
    return found or None


def _field_of_cells(cells: Mapping[str, str]) -> Field | None:
    match = _NAME.match(cells.get("name", ""))
    if match is None:
        return None
    name, star, beside = match.groups()
    description = cells.get("description", "")
    is_required: bool | None = None
    if "required" in cells:
        is_required = _says_required(cells["required"])
    elif "optional" in cells:
        says = _says_required(cells["optional"])
        is_required = None if says is None else not says
    if is_required is None:
        is_required = True if star else _said(f"{beside} {cells.get('type', '')} {description[:60]}")
    words = cells.get("type") or beside
    schema, is_optional = schema_of_cell(words)
    if is_required is None and is_optional:
        is_required = False
    return Field(
        name,
        _completed(schema, cells, description),
        is_required,
        description,
        _LOCATIONS.get(cells.get("location", "").lower().strip(" `.")),
    )


def fields_of_items(block: Items, *, is_certain: bool) -> list[Field] | None:
    """The named values of a list; None if it is a list of anything else.

    Args:
        block: The list.
        is_certain: The page calls it a list of parameters or fields; otherwise most items must give a type.
    """
    found = []
    num_typed = 0
    for item in block.items[:MAX_FIELDS]:
        match = _ITEM.match(item)
        if match is None:
            continue
        name, inside, bracket, description = match.groups()
        words = inside or bracket or ""
        schema, is_optional = schema_of_cell(words)
        first, dot, others = description.partition(".")
        if not schema and len(first) < 60:  # `name: string, required. Its meaning.`
            schema, is_optional = schema_of_cell(first, is_whole=True)
            if schema:
                words, description = first, others if dot else ""
        num_typed += bool(schema)
        is_required = _said(f"{words} {description[:60]}")
        if is_required is None and is_optional:
            is_required = False
        found.append(Field(name, _completed(schema, {}, description), is_required, description.strip()))
    if len(found) < len(block.items) / 2 or not found:
        return None
    return found if is_certain or num_typed > len(found) / 2 else None


def _says_required(text: str) -> bool | None:
    words = text.strip(" *`.").lower()
    if words in _YES:
        return True
    if words in _NO:
        return False
    return _said(words)


def _said(text: str) -> bool | None:
    if _OPTIONAL.search(text):
        return False
    return True if _REQUIRED.search(text) else None


def schema_of_cell(text: str, *, is_whole: bool = False) -> tuple[dict[str, Any], bool]:
    """The schema that a cell's words stand for, and whether they say that the value may be left out.

    Args:
        text: `string`, `array of integers`, `string[]`, `string <date-time>`, `integer (int64), optional`.
        is_whole: Only words that are a type and nothing else count; otherwise the first word may be one.
    """
    is_optional = bool(_OPTIONAL.search(text))
    words = _REQUIRED.sub("", _OPTIONAL.sub("", text)).strip(" ,.;*`").lower()[:200]
    if words.startswith("(") and words.endswith(")"):
        words = words[1:-1].strip(" ,")
    words = words.replace("()", "").strip(" ,")
    inside = [part.strip() for part in _PARENTHESES.findall(words)]
    schema, may_be_left_out = _schema(words, 0)
    is_optional = is_optional or may_be_left_out
    if not schema and not is_whole:
        plain = _PARENTHESES.sub(" ", words).strip(" ,.;")
        schema = _schema(plain, 0)[0] or _schema(re.split(r"[\s,;/]", plain, maxsplit=1)[0], 0)[0]
    if schema.get("type") in ("string", "integer", "number") and "format" not in schema:
        for part in inside:
            if part in _FORMATS:
                schema = {**schema, "format": {"datetime": "date-time", "url": "uri"}.get(part, part)}
    return schema, is_optional


def _schema(words: str, depth: int) -> tuple[dict[str, Any], bool]:
    if depth > 5:
        return {}, False
    if match := _ARRAY.match(words):
        items = _schema(_PLURALS.sub(r"\1", match[1].strip()), depth + 1)[0]
        return {"type": "array", **({"items": items} if items else {})}, False
    if words.endswith("[]"):
        items = _schema(words[:-2], depth + 1)[0]
        return {"type": "array", **({"items": items} if items else {})}, False
    if words == "":
        return {}, False
    return schema_of_words(words)


def _completed(schema: Mapping[str, Any], cells: Mapping[str, str], description: str) -> dict[str, Any]:
    """A schema with the default and the values that the row gives."""
    made = dict(schema)
    values = _values(cells.get("values", "")) or _values(match[1] if (match := _ONE_OF.search(description)) else "")
    kind = made.get("type")
    if len(values) > 1 and kind in (None, "string", "integer", "number"):
        typed = [_typed(value, kind or "string") for value in values]
        if None not in typed:
            made = {**made, "type": kind or "string", "enum": typed}
    default = cells.get("default", "").strip(" `\"'")
    if default and isinstance(kind, str):
        value = _typed(default, kind)
        if value is not None and ("enum" not in made or value in made["enum"]):
            made["default"] = value
    return made


def _values(text: str) -> list[str]:
    parts = [part.strip() for part in re.split(r"\s*[,|]\s*(?:or |and )?|\s+or\s+", text.strip()) if part.strip()]
    found = [match[1] for part in parts if (match := _VALUE.match(part))]
    return list(dict.fromkeys(found)) if len(found) == len(parts) and len(found) <= 100 else []


def _typed(text: str, kind: str) -> Any:
    """A word as a value of a type; None if it is none."""
    if kind == "string":
        return None if text.lower() in ("none", "null", "-", "n/a") else text
    try:
        value = orjson.loads(text.lower() if kind == "boolean" else text)
    except orjson.JSONDecodeError:
        return None
    fits = {
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }
    return value if fits.get(kind) else None


def object_of(fields: Iterable[Field]) -> dict[str, Any]:
    """One object schema of named values; `owner.id` and `items[].id` stand for members of members."""
    made: dict[str, Any] = {"type": "object", "properties": {}}
    for each in fields:
        *above, last = list(_steps(each.name))[:8]
        place = made
        for name, is_list in above:
            place = _inside(place, name, is_list=is_list)
        name, is_list = last
        schema = {**each.schema, **({"description": each.description} if each.description else {})}
        properties = place.setdefault("properties", {})
        if is_list and schema.get("type") != "array":
            schema = {"type": "array", "items": dict(each.schema)}
        if name in properties and "properties" in properties[name]:
            schema = {**schema, "properties": properties[name]["properties"]}
        properties[name] = schema
        if each.is_required and name not in place.setdefault("required", []):
            place["required"].append(name)
    return made


def _inside(place: dict[str, Any], name: str, *, is_list: bool) -> dict[str, Any]:
    member: dict[str, Any] = place.setdefault("properties", {}).setdefault(name, {})
    if is_list or member.get("type") == "array":
        member["type"] = "array"
        inner: dict[str, Any] = member.setdefault("items", {})
        inner.setdefault("type", "object")
        return inner
    member["type"] = "object"
    return member


def _steps(name: str) -> Iterator[tuple[str, bool]]:
    for part in name.replace("[].", "[]\0").replace(".", "\0").split("\0"):
        yield part.removesuffix("[]") or part, part.endswith("[]")
