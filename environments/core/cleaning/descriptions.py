"""Descriptions that say what goes in and what comes out.

Reference: AgentScaler (Fang et al., 2025, arXiv 2509.13311), section 2.1: descriptions are rewritten to state inputs
and outputs. Differs: nothing is rewritten; the source's words stay and what they leave out is added from the schemas.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from environments.core.embedding.lexical import split_words
from environments.core.sources.model import Operation, Schema, input_schema, named, success_response

MAX_FIELDS: Final = 12
MAX_INPUTS: Final = 60
MAX_LISTS: Final = 3
"""Lists of lists that are named as such."""

_RETURNS: Final = re.compile(
    r"\b(returns?|responds?|response|result|gives|outputs?|yields?|retrieves?|lists?|gets?)\b", re.IGNORECASE
)
_MARKUP: Final = re.compile(r"<[^<>]{1,200}>|\[([^\[\]]{1,200})\]\([^()]{1,500}\)")
_MARKS: Final = re.compile(r"[*`]{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|^\s{0,3}#{1,6}\s", re.MULTILINE)
"""Not the underscores inside names."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of some operations say what goes in and what comes out.

    Attributes:
        total: Operations looked at.
        inputs_before: Whose source names every required argument, or takes none.
        inputs_after: The same of the completed description.
        outputs_before: Whose source says what comes back.
        outputs_after: The same of the completed description.
    """

    total: int = 0
    inputs_before: int = 0
    inputs_after: int = 0
    outputs_before: int = 0
    outputs_after: int = 0

    def __add__(self, other: "Coverage") -> "Coverage":
        return Coverage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def complete_description(operation: Operation, definitions: Mapping[str, Schema]) -> tuple[str, Coverage]:
    """The description with inputs and outputs stated, and what was stated before and after."""
    said = plain_text(" ".join(filter(None, (operation.title, operation.description))))
    schema = input_schema(operation, definitions)
    answer = success_response(operation)
    result = named(answer.schema, definitions) if answer is not None and answer.schema is not None else {}
    fields = _fields(result, definitions)
    had_inputs, had_outputs = _names_inputs(said, schema), _says_output(said, fields)
    text = said or _from_name(operation)
    if text and text[-1] not in ".!?:":
        text += "."
    if not had_inputs:
        text += f" {_inputs(schema, definitions)}"
    elif not schema["properties"]:
        text += " It takes no input."
    if not had_outputs:
        text += f" {_outputs(result, fields, definitions, has_answer=answer is not None)}"
    has_inputs, has_outputs = _names_inputs(text, schema), _says_output(text, fields)
    return text.strip(), Coverage(1, int(had_inputs), int(has_inputs), int(had_outputs), int(has_outputs))


def plain_text(text: str) -> str:
    """Text without markup and line breaks."""
    without = _MARKUP.sub(lambda match: f" {match.group(1)} " if match.group(1) else " ", text)
    return re.sub(r"\s+", " ", _MARKS.sub(" ", without)).strip()


def _from_name(operation: Operation) -> str:
    words = split_words(operation.name) or split_words(operation.path)
    return " ".join(words).capitalize()


def _names_inputs(text: str, schema: Mapping[str, Any]) -> bool:
    if not schema["properties"]:
        return True
    words = _framed(text)
    mentioned = (_framed(name) in words if _framed(name).strip() else name in text for name in _asked_for(schema))
    # Where nothing must be given, the description still has to name something that may be.
    return all(mentioned) if schema["required"] else any(mentioned)


def _asked_for(schema: Mapping[str, Any]) -> list[str]:
    return list(schema["required"] or schema["properties"])[:MAX_INPUTS]


def _framed(text: str) -> str:
    """The words of a text or name, so that one can be sought in the other."""
    return f" {' '.join(split_words(text))} "


def _says_output(text: str, fields: tuple[str, ...]) -> bool:
    words = _framed(text)
    return bool(_RETURNS.search(text)) or any(
        _framed(name) in words for name in fields[:MAX_FIELDS] if _framed(name).strip()
    )


def _inputs(schema: Mapping[str, Any], definitions: Mapping[str, Schema]) -> str:
    required = set(schema["required"])
    names = sorted(schema["properties"], key=lambda name: name not in required)
    shown = [
        f"{name} ({_type_words(schema['properties'][name], definitions)}{', required' if name in required else ''})"
        for name in names[: min(max(MAX_FIELDS, len(required)), MAX_INPUTS)]
    ]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"Inputs: {', '.join(shown)}{more}."


def _outputs(result: Schema, fields: tuple[str, ...], definitions: Mapping[str, Schema], *, has_answer: bool) -> str:
    if not result:
        return "Returns nothing that its source describes." if has_answer else "Returns nothing."
    kind = _type_words(result, definitions)
    if not fields:
        return f"Returns {kind}."
    more = f" and {len(fields) - MAX_FIELDS} more" if len(fields) > MAX_FIELDS else ""
    return f"Returns {kind} with {', '.join(fields[:MAX_FIELDS])}{more}."


def _fields(result: Schema, definitions: Mapping[str, Schema]) -> tuple[str, ...]:
    """Names of an answer's fields, or of those of the objects that it lists."""
    if isinstance(result.get("items"), Mapping):
        result = named(result["items"], definitions)
    members = dict(result.get("properties") or {})
    for part in result.get("allOf") or ():
        members.update(named(part, definitions).get("properties") or {})
    return tuple(members)


def _type_words(schema: Schema, definitions: Mapping[str, Schema], depth: int = 0) -> str:
    whole = named(schema, definitions)
    kinds = whole.get("type")
    kind = next((each for each in kinds if each != "null"), "value") if isinstance(kinds, list) else kinds
    if kind == "array":
        inner = whole.get("items")
        if isinstance(inner, Mapping) and inner and depth < MAX_LISTS:
            return f"list of {_type_words(inner, definitions, depth + 1)}"
        return "list"
    if whole.get("enum"):
        return f"one of {len(whole['enum'])} values"
    if whole.get("format"):
        return f"{kind or 'value'}, {whole['format'][:40]}"
    return str(kind) if kind else "object" if whole.get("properties") or whole.get("allOf") else "value"
