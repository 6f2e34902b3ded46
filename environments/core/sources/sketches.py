"""Python sketches: functions with docstrings that say what tools there should be.

The text is listed by the locked worker (`environments.runtime.sandbox`), which core can't reach: whoever reads a
sketch hands in a `SketchLister`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from environments.core.errors import UnreadableSourceError
from environments.core.sources.docstrings import Described, read_docstring
from environments.core.sources.model import (
    Document,
    Fetched,
    Location,
    Operation,
    Parameter,
    Problem,
    Response,
    SourceKind,
)
from environments.core.sources.providers import registrable_name
from environments.core.sources.text_values import clean_text
from environments.core.sources.tool_lists.words import schema_of_words
from environments.runtime.sketches import SketchArgument, SketchClass, SketchFunction, SketchListing

SketchLister = Callable[[bytes], SketchListing]
"""What lists a source's declarations; raises UnreadableSourceError for what is no Python."""

_NAME: Final = re.compile(r"\.pyi?(?:[?#].*)?$", re.IGNORECASE)
_OTHER_NAME: Final = re.compile(r"\.(?:md|markdown|html?|json|jsonl|ya?ml|txt|rst)(?:[?#].*)?$", re.IGNORECASE)
_DEFINITION: Final = re.compile(rb"^(?:async )?def [A-Za-z_]\w{0,200}\(", re.MULTILINE)
_HEAD_BYTES: Final = 200_000
_LEFT_OUT: Final = frozenset(
    {"property", "overload", "typing.overload", "abstractmethod", "abc.abstractmethod", "cached_property"}
)
_GENERIC: Final = re.compile(r"^([A-Za-z_][\w.]*)\[(.*)\]$", re.DOTALL)
_VALUE_BASES: Final = frozenset({"TypedDict", "BaseModel", "NamedTuple", "Struct", "Schema"})
_OPTIONAL: Final = re.compile(r"\boptional\b", re.IGNORECASE)
MAX_TYPE_DEPTH: Final = 8


class SketchReader:
    """Reads Python functions as tools; needs what lists them."""

    kind = SourceKind.PYTHON_SKETCH

    def recognises(self, fetched: Fetched) -> bool:
        """Whether the address is of a Python file, or the text has a function at its margin and is nothing else."""
        if _NAME.search(fetched.address) or fetched.media_type in ("text/x-python", "application/x-python"):
            return True
        head = fetched.data[:_HEAD_BYTES]
        if _OTHER_NAME.search(fetched.address) or head.lstrip()[:1] in (b"{", b"[", b"<") or b"\n```" in head:
            return False
        return bool(_DEFINITION.search(head))

    def read(self, fetched: Fetched) -> Document:
        """Not without a lister.

        Raises:
            UnreadableSourceError: Always.
        """
        raise UnreadableSourceError("Python sketches are read in the locked worker, which is not to be had here.")

    def read_listed(self, fetched: Fetched, list_sketch: SketchLister) -> Document:
        """The document.

        Args:
            fetched: The source.
            list_sketch: What lists it.

        Raises:
            UnreadableSourceError: It is no Python, breaks a limit, or declares no public function.
        """
        return document_of(list_sketch(fetched.data), fetched.address)


def document_of(listing: SketchListing, address: str) -> Document:
    """A listing as a document; private functions, properties and overloads are no tools.

    Raises:
        UnreadableSourceError: No function is left.
    """
    types = _Types(listing.classes)
    operations: dict[str, Operation] = {}
    problems: list[Problem] = []
    for function in listing.functions:
        if function.name.startswith("_") or function.class_name.startswith("_") or _LEFT_OUT & set(function.decorators):
            continue
        operation = _operation(function, types)
        if operations.setdefault(operation.key, operation) is not operation:
            problems.append(Problem("repeated_operation", f"line {function.line}", f"{operation.key} is defined twice"))
    if not operations:
        raise UnreadableSourceError("The source declares no public function.")
    own = read_docstring(listing.docstring)
    return Document(
        kind=SourceKind.PYTHON_SKETCH,
        dialect="python",
        title=clean_text(own.summary, 300) or address.rsplit("/", 1)[-1],
        description=clean_text(own.description),
        provider=registrable_name(address),
        operations=tuple(operations.values()),
        definitions=types.used(),
        problems=tuple(problems[:200]),
    )


def _operation(function: SketchFunction, types: "_Types") -> Operation:
    said = read_docstring(function.docstring)
    given = list(function.arguments)
    if (
        function.class_name
        and "staticmethod" not in function.decorators
        and given
        and given[0].kind.startswith("positional")
    ):
        given = given[1:]  # the object or the class itself
    problems: list[Problem] = []
    parameters = []
    place = f"line {function.line}"
    for argument in given:
        if argument.kind.startswith("var"):
            problems.append(Problem("more_arguments", place, f"it takes any number of others as {argument.name}"))
            continue
        parameter = _parameter(argument, said.arguments.get(argument.name, Described()), types)
        if not parameter.schema:
            problems.append(Problem("untyped", place, f"no known type is given for {argument.name}"))
        parameters.append(parameter)
    name = f"{function.class_name}.{function.name}" if function.class_name else function.name
    return Operation(
        key=name,
        name=function.name,
        title=clean_text(said.summary, 500),
        description=clean_text(said.description or said.summary),
        parameters=tuple(parameters),
        responses=tuple(_responses(function, said.result, types)),
        tags=(function.class_name,) if function.class_name else (),
        is_deprecated=any(each.rsplit(".", 1)[-1] == "deprecated" for each in function.decorators),
        problems=tuple(problems),
    )


def _parameter(argument: SketchArgument, said: Described, types: "_Types") -> Parameter:
    schema, is_optional = types.schema_of(argument.annotation or said.words)
    if argument.default is not None:
        default = orjson.loads(argument.default)
        if default is not None:
            schema = {**schema, "default": default}
            if "type" not in schema and "$ref" not in schema and "enum" not in schema:
                schema = {**_type_of(default), **schema}
    return Parameter(
        name=clean_text(argument.name, 300),
        location=Location.ARGUMENT,
        is_required=not argument.has_default and not (is_optional and _OPTIONAL.search(said.words)),
        schema=schema,
        description=clean_text(said.text, 4_000),
    )


def _type_of(value: Any) -> dict[str, Any]:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return {"type": kinds[type(value)]} if type(value) in kinds else {}


def _responses(function: SketchFunction, said: Described | None, types: "_Types") -> list[Response]:
    words = function.returns or (said.words if said else "")
    text = clean_text(said.text, 4_000) if said else ""
    if words.strip() in ("None", "NoReturn", "typing.NoReturn"):
        return [Response("result", description=text)]
    schema, _ = types.schema_of(words)
    if not schema and not text:
        return []
    return [Response("result", "application/json", schema or None, text)]


class _Types:
    """Annotations as schemas; classes of the source that hold values become definitions."""

    def __init__(self, classes: Sequence[SketchClass]) -> None:
        self._classes = {each.name: each for each in classes if _holds_values(each)}
        self._made: dict[str, dict[str, Any]] = {}

    def used(self) -> Mapping[str, dict[str, Any]]:
        """The classes that annotations name, as schemas."""
        return self._made

    def schema_of(self, text: str | None, depth: int = 0) -> tuple[dict[str, Any], bool]:
        """The schema of an annotation, and whether it lets the value be None or left out."""
        words = (text or "").strip()
        if len(words) > 1 and words[0] == words[-1] and words[0] in "'\"":
            words = words[1:-1].strip()  # an annotation that is a text
        if not words or depth > MAX_TYPE_DEPTH:
            return {}, False
        if words in self._classes:
            return self._reference(words), False
        alternatives = _split(words, "|")
        if len(alternatives) > 1:
            return self._union(alternatives, depth)
        match = _GENERIC.match(words)
        if match is None:
            return schema_of_words(_without_module(words))
        name, inner = match[1].rsplit(".", 1)[-1], _split(match[2], ",")
        return self._generic(name, inner, words, depth)

    def _generic(self, name: str, inner: list[str], words: str, depth: int) -> tuple[dict[str, Any], bool]:
        if name == "Optional":
            return self.schema_of(inner[0], depth + 1)[0], True
        if name == "Union":
            return self._union(inner, depth)
        if name in ("Annotated", "Required", "NotRequired", "ReadOnly", "Final", "ClassVar"):
            schema, is_optional = self.schema_of(inner[0], depth + 1)
            note = inner[1].strip() if name == "Annotated" and len(inner) > 1 else ""
            if len(note) > 1 and note[0] == note[-1] and note[0] in "'\"" and schema:
                schema = {**schema, "description": clean_text(note[1:-1], 1_000)}
            return schema, is_optional or name == "NotRequired"
        if name == "Literal":
            values = [_literal(each) for each in inner if each]
            return ({"enum": values}, False) if values else ({}, False)
        if name.lower() in ("list", "sequence", "iterable", "set", "frozenset", "collection", "iterator", "tuple"):
            parts = [part for part in inner if part and part != "..."]
            items = self.schema_of(parts[0], depth + 1)[0] if parts and len(set(parts)) == 1 else {}
            return {"type": "array", **({"items": items} if items else {})}, False
        if name.lower() in ("dict", "mapping", "mutablemapping", "defaultdict", "ordereddict"):
            member = self.schema_of(inner[1], depth + 1)[0] if len(inner) == 2 else {}
            return {"type": "object", **({"additionalProperties": member} if member else {})}, False
        if name in ("Awaitable", "Coroutine", "AsyncIterator", "Generator"):
            return self.schema_of(inner[-1], depth + 1)
        return schema_of_words(words)

    def _union(self, parts: list[str], depth: int) -> tuple[dict[str, Any], bool]:
        given = [part for part in parts if part not in ("None", "NoneType")]
        schemas = [self.schema_of(part, depth + 1)[0] for part in given]
        is_optional = len(given) < len(parts)
        if len(schemas) == 1:
            return schemas[0], is_optional
        return ({"anyOf": schemas} if schemas and all(schemas) else {}), is_optional

    def _reference(self, name: str) -> dict[str, Any]:
        if name not in self._made:
            self._made[name] = {}  # so that a class that names itself ends
            self._made[name] = self._object(self._classes[name])
        return {"$ref": f"#/definitions/{name}"}

    def _object(self, each: SketchClass) -> dict[str, Any]:
        said = read_docstring(each.docstring)
        properties: dict[str, Any] = {}
        required = []
        for field in each.fields:
            schema, is_optional = self.schema_of(field.annotation)
            text = said.arguments.get(field.name, Described()).text
            properties[clean_text(field.name, 300)] = {**schema, **({"description": text} if text and schema else {})}
            if not field.has_default and not (is_optional and (field.annotation or "").startswith("NotRequired")):
                required.append(clean_text(field.name, 300))
        made: dict[str, Any] = {"type": "object", "properties": properties}
        return {
            **made,
            **({"required": required} if required else {}),
            **({"description": clean_text(said.summary, 1_000)} if said.summary else {}),
        }


def _holds_values(each: SketchClass) -> bool:
    """Whether instances of a class are records: dataclasses and those of the known kinds."""
    bases = {base.rsplit(".", 1)[-1] for base in each.bases}
    decorators = {decorator.rsplit(".", 1)[-1] for decorator in each.decorators}
    return bool(each.fields) and bool(bases & _VALUE_BASES or decorators & {"dataclass", "define", "frozen", "attrs"})


def _without_module(words: str) -> str:
    """`datetime.date` as `date`; what is no dotted name stays."""
    return words.rsplit(".", 1)[-1] if re.fullmatch(r"[A-Za-z_][\w.]*", words) else words


def _literal(text: str) -> Any:
    words = text.strip()
    if len(words) > 1 and words[0] == words[-1] and words[0] in "'\"":
        return clean_text(words[1:-1], 300)
    constants = {"True": True, "False": False, "None": None}
    if words in constants:
        return constants[words]
    return int(words) if re.fullmatch(r"-?\d{1,15}", words) else words


def _split(words: str, mark: str) -> list[str]:
    """Parts between marks that stand in no bracket and no quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for place, character in enumerate(words):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "[(") - (character in "])")
            if character == mark and depth == 0:
                parts.append(words[start:place].strip())
                start = place + 1
    return [*parts, words[start:].strip()]
