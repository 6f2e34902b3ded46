"""Rows of arrays that come and go, and messages at the fields that they are about."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from environments.core.schema_form.values import ABSENT, MAX_DEPTH, FormField
from environments.runtime.references import at_pointer


def add_row(value: Any, pointer: str) -> Any:
    """The value with a row more, still without a value, in the array at the pointer, which it makes if need be."""
    return _changed(value, _parts(pointer), lambda found: [*found, ABSENT] if isinstance(found, list) else [ABSENT])


def remove_row(value: Any, pointer: str) -> Any:
    """The value without the row at the pointer; unchanged where there is none."""
    *above, last = _parts(pointer) or [""]

    def without(found: Any) -> Any:
        position = _position(last, found)
        return found if position is None else found[:position] + found[position + 1 :]

    return _changed(value, above, without)


def changed_rows(value: Any, action: str) -> tuple[Any, str] | None:
    """What the button of an array asks for: `add:` or `remove:` and a pointer.

    Returns:
        The value with the row or without it, and the pointer of a new row; None for any other action.
    """
    kind, _, pointer = action.partition(":")
    if kind == "remove":
        return remove_row(value, pointer), ""
    if kind != "add":
        return None
    changed = add_row(value, pointer)
    try:
        rows = at_pointer(changed, pointer)
    except LookupError:
        return changed, ""
    return changed, f"{pointer}/{len(rows) - 1}" if isinstance(rows, list) else ""


def focused(form: FormField, pointer: str) -> str:
    """Pointer of the first control at or below a pointer; empty without one."""
    places = (each.pointer for each in form.every if each.kind not in {"object", "array"})
    return next((place for place in places if pointer and f"{place}/".startswith(f"{pointer}/")), "")


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]][: MAX_DEPTH + 1]


def _position(part: str, rows: Any) -> int | None:
    """The position that a part of a pointer names in an array; None if there is no such row."""
    is_number = part.isascii() and part.isdigit() and len(part) < 6
    return int(part) if isinstance(rows, list) and is_number and int(part) < len(rows) else None


def _changed(value: Any, parts: Sequence[str], change: Callable[[Any], Any]) -> Any:
    if not parts:
        return change(value)
    first, *rest = parts
    position = _position(first, value)
    if position is not None:
        return [*value[:position], _changed(value[position], rest, change), *value[position + 1 :]]
    if value is ABSENT or isinstance(value, dict):
        members: dict[str, Any] = value if isinstance(value, dict) else {}
        changed = _changed(members.get(first, ABSENT), rest, change)
        return value if changed is ABSENT else {**members, first: changed}
    return value


def messages_by_field(
    form: FormField, details: Iterable[tuple[str, str]], *, needed: str = ""
) -> dict[str, tuple[str, ...]]:
    """Messages at the fields that they are about.

    Args:
        form: The fields.
        details: Pointer and message of each; one that points into a field that is drawn as a whole goes to that.
        needed: What to say at a required field that has no value, when there is a message about what it belongs to;
            empty says nothing there.

    Returns:
        Messages by the fields' pointers; "" has those about the whole.
    """
    fields = {each.pointer: each for each in form.every}
    found: dict[str, list[str]] = {}
    for pointer, message in details:
        place = pointer
        while place not in fields and place:
            place = place.rpartition("/")[0]
        found.setdefault(place, []).append(message)
        if needed:
            for child in fields[place].children if place in fields else ():
                if child.is_required and not child.is_given:
                    found.setdefault(child.pointer, [needed])
    return {pointer: tuple(dict.fromkeys(messages)) for pointer, messages in found.items()}
