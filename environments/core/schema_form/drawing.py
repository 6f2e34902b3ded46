"""The fields for a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from environments.core.schema_form.shapes import DATE, Shape, is_same, read_leaf, shape_of, written
from environments.core.schema_form.values import ABSENT, MAX_DEPTH, MAX_FIELDS, MAX_ROWS, FormField, State, Unread
from environments.core.schema_form.words import constraint_words, json_text
from environments.runtime.references import pointer_part


def build_form(schema: Any, value: Any = ABSENT) -> FormField:
    """The fields for a value; linear in both, and bounded by `MAX_FIELDS` whatever they are.

    Reading what these fields send gives the value again, exactly: a part that its own control could not give back is
    drawn as JSON.

    Args:
        schema: A JSON Schema; of any form, since what is not understood is drawn as JSON.
        value: What the fields hold; may have `ABSENT` and `Unread` parts.
    """
    return _Builder(schema).build(schema, value, _Place("", "", 0, is_required=True, is_row=False))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a field stands."""

    pointer: str
    label: str
    depth: int
    is_required: bool
    is_row: bool


@dataclass(slots=True)
class _Builder:
    root: Any
    num_fields: int = field(default=0)

    def build(self, schema: Any, value: Any, place: _Place) -> FormField:
        self.num_fields += 1
        shape = shape_of(self.root, schema)
        common = FormField(
            kind="json",
            pointer=place.pointer,
            number=self.num_fields,
            label=place.label,
            title=_text(shape.schema.get("title")) or place.label.replace("_", " ").capitalize(),
            is_required=place.is_required and not place.is_row,
            is_given=value is not ABSENT,
            description=_text(shape.schema.get("description")),
            constraints=tuple(constraint_words(shape.schema)),
            default=json_text(shape.schema["default"]) if "default" in shape.schema else None,
            is_row=place.is_row,
        )
        return self._drawn(shape, value, place, common) or _as_json(common, value, was_drawn_otherwise=True)

    def _drawn(self, shape: "Shape", value: Any, place: _Place, common: FormField) -> FormField | None:
        """The field by its shape; None if the value does not fit into it."""
        if isinstance(value, Unread):
            return None
        if shape.kind == "json":
            return _as_json(common, value)
        if shape.kind in {"object", "array"}:
            if place.depth >= MAX_DEPTH or self.num_fields > MAX_FIELDS:
                return None
            filled = self._object(shape, value, place) if shape.kind == "object" else self._array(shape, value, place)
            if filled is None:
                return None
            can_be_left_out = not place.is_required and not place.is_row
            is_bare = value is not ABSENT and not value
            return replace(
                common,
                kind=shape.kind,
                children=filled,
                flags=("given",) if can_be_left_out else (),
                state="given" if can_be_left_out and is_bare else "",
            )
        return _leaf(shape, value, place, common)

    def _object(self, shape: "Shape", value: Any, place: _Place) -> tuple[FormField, ...] | None:
        properties: Mapping[str, Any] = shape.schema.get("properties", {})
        given = {} if value is ABSENT else value
        if not isinstance(given, dict) or not given.keys() <= properties.keys():
            return None
        if self.num_fields + len(properties) > MAX_FIELDS:
            return None
        required = shape.schema.get("required", ())
        return tuple(
            self.build(
                part,
                given.get(name, ABSENT),
                _Place(place.pointer + pointer_part(name), name, place.depth + 1, name in required, is_row=False),
            )
            for name, part in properties.items()
        )

    def _array(self, shape: "Shape", value: Any, place: _Place) -> tuple[FormField, ...] | None:
        given = [] if value is ABSENT else value
        if not isinstance(given, list) or len(given) > MAX_ROWS or self.num_fields + len(given) > MAX_FIELDS:
            return None
        return tuple(
            self.build(
                shape.schema["items"],
                item,
                _Place(
                    f"{place.pointer}/{position}", str(position + 1), place.depth + 1, is_required=True, is_row=True
                ),
            )
            for position, item in enumerate(given)
        )


def _as_json(common: FormField, value: Any, *, was_drawn_otherwise: bool = False) -> FormField:
    if value is ABSENT:
        text = ""
    elif isinstance(value, Unread):
        text = value.text
    else:
        text = json_text(_without_holes(value), indent=2)
    return replace(common, kind="json", text=text, was_drawn_otherwise=was_drawn_otherwise)


def _without_holes(value: Any) -> Any:
    """The value for people to go on with: rows without a value are null, text that is no JSON is a string."""
    if value is ABSENT:
        return None
    if isinstance(value, Unread):
        return value.text
    if isinstance(value, dict):
        return {name: _without_holes(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_holes(item) for item in value]
    return value


def _leaf(shape: "Shape", value: Any, place: _Place, common: FormField) -> FormField | None:
    kind = shape.kind
    flags: list[State] = []
    state: State = ""
    if shape.is_nullable:
        flags.append("null")
    if value is None and shape.is_nullable:
        drawn = replace(common, kind=kind, state="null")
    elif value is ABSENT:
        drawn = replace(common, kind=kind)
    elif kind in {"choice", "boolean"}:
        numbers = [number for number, choice in enumerate(shape.values) if is_same(choice, value)]
        if not numbers:
            return None
        drawn = replace(common, kind=kind, text=str(numbers[0]))
    else:
        text = written(value)
        if text is None:
            return None
        if kind == "date" and not DATE.fullmatch(text):
            kind = "text"
        if "\n" in text:
            kind = "long_text"
        drawn = replace(common, kind=kind, text=text)
    if kind in {"text", "long_text", "date"} and not place.is_row:
        # A text that may be empty needs a word beside it, since an empty control means that it is left out.
        if shape.may_be_empty or value == "":
            flags.append("empty")
        if value == "":
            state = "empty"
    choices = tuple((str(number), _shown(choice)) for number, choice in enumerate(shape.values))
    drawn = replace(drawn, flags=tuple(flags), state=drawn.state or state, choices=choices)
    again = read_leaf(shape, drawn.text, drawn.state, is_forced=place.is_row)
    return drawn if value is ABSENT or is_same(again, value) else None


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and value else json_text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
