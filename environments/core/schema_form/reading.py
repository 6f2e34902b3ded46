"""The value that a form sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.core.schema_form.shapes import Shape, read_leaf, shape_of
from environments.core.schema_form.values import (
    ABSENT,
    MAX_DEPTH,
    MAX_JSON_CHARACTERS,
    MAX_ROWS,
    Problem,
    Reading,
    Unread,
)
from environments.runtime.pack.errors import PackError
from environments.runtime.pack.strict_json import parse_json
from environments.runtime.references import pointer_part


def read_form(schema: Any, data: Mapping[str, Sequence[str]]) -> Reading:
    """The value that a form of this schema sent; bounded by what it sent.

    Args:
        schema: The schema that the form was built of.
        data: Every control's texts by its name, in the order of the page.
    """
    reader = _Reader(schema, data)
    value = reader.read(schema, _Spot("", "", 0), is_forced=True)
    return Reading(value, tuple(reader.problems))


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a value is: by the names of its controls, and in the value that is read."""

    name: str
    pointer: str
    depth: int

    def member(self, name: str) -> "_Spot":
        part = pointer_part(name)
        return _Spot(self.name + part, self.pointer + part, self.depth + 1)

    def row(self, token: str, position: int) -> "_Spot":
        return _Spot(self.name + pointer_part(token), f"{self.pointer}/{position}", self.depth + 1)


class _Reader:
    def __init__(self, root: Any, data: Mapping[str, Sequence[str]]) -> None:
        self.root = root
        self.data = data
        self.problems: list[Problem] = []

    def one(self, prefix: str, spot: _Spot) -> str:
        found = self.data.get(f"{prefix}:{spot.name}")
        return found[-1] if found else ""

    def read(self, schema: Any, spot: _Spot, *, is_forced: bool) -> Any:
        shape = shape_of(self.root, schema)
        if shape.kind == "json" or self.one("k", spot) == "json" or spot.depth > MAX_DEPTH:
            return self.json(spot, is_forced=is_forced)
        state = self.one("s", spot)
        if shape.kind == "object":
            return self.object(shape, spot, is_forced=is_forced or state == "given")
        if shape.kind == "array":
            return self.array(shape, spot, is_forced=is_forced or state == "given")
        text = self.one("v", spot).replace("\r\n", "\n")
        return read_leaf(shape, text, state, is_forced=is_forced)

    def json(self, spot: _Spot, *, is_forced: bool) -> Any:
        text = self.one("v", spot)
        if not text.strip():
            if is_forced:
                self.problems.append(Problem(spot.pointer, "This needs a value: null, or any other JSON."))
                return Unread(text)
            return ABSENT
        return self.parsed(text, spot.pointer)

    def parsed(self, text: str, pointer: str) -> Any:
        try:
            return parse_typed_json(text)
        except ValueError as error:
            self.problems.append(Problem(pointer, str(error)))
            return Unread(text)

    def object(self, shape: Shape, spot: _Spot, *, is_forced: bool) -> Any:
        properties: Mapping[str, Any] = shape.schema.get("properties", {})
        found = {name: self.read(part, spot.member(name), is_forced=False) for name, part in properties.items()}
        if not is_forced and all(value is ABSENT for value in found.values()):
            return ABSENT
        for name, part in properties.items():
            # A required object or array without parts is given all the same; of a text nothing may be typed yet.
            if found[name] is ABSENT and name in shape.schema.get("required", ()):
                found[name] = self.bare(part, spot.member(name))
        return {name: value for name, value in found.items() if value is not ABSENT}

    def bare(self, schema: Any, spot: _Spot) -> Any:
        """An object or array with no parts, if that is how the schema is drawn."""
        kind = shape_of(self.root, schema).kind
        is_drawn = kind in {"object", "array"} and self.one("k", spot) != "json"
        return self.read(schema, spot, is_forced=True) if is_drawn else ABSENT

    def array(self, shape: Shape, spot: _Spot, *, is_forced: bool) -> Any:
        tokens = list(dict.fromkeys(self.data.get(f"r:{spot.name}", ())))[:MAX_ROWS]
        found = [
            self.read(shape.schema["items"], spot.row(token, position), is_forced=True)
            for position, token in enumerate(tokens)
        ]
        return found if found or is_forced else ABSENT


def parse_typed_json(text: str) -> Any:
    """The value of JSON that a person typed.

    Raises:
        ValueError: It is no strict JSON; the message says where and why.
    """
    if len(text) > MAX_JSON_CHARACTERS:
        raise ValueError(f"This has more than {MAX_JSON_CHARACTERS:,} characters.")
    try:
        return parse_json(text.replace("\r\n", "\n").encode("utf-8", "surrogatepass"), "")
    except PackError as error:
        fault = error.faults[0]
        place = f" at {fault.place}" if fault.place else ""
        raise ValueError(f"This is not JSON{place}: {fault.message}.") from None
