"""A section of a page as an operation; what it does not say for certain is noted, with its own words."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from environments.core.sources.model import Body, Location, Operation, Parameter, Problem, Response
from environments.core.sources.openapi.reader import name_of
from environments.core.sources.text_values import clean_text
from environments.core.sources.web_pages.blocks import Code, Heading, Items, Table, Text
from environments.core.sources.web_pages.examples import schema_of_example
from environments.core.sources.web_pages.fields import (
    Field,
    columns_of,
    fields_of_items,
    fields_of_table,
    object_of,
)
from environments.core.sources.web_pages.sections import Section, is_call, path_names, shown

MAX_EXCERPT_LENGTH: Final = 6_000
MAX_EXAMPLE_LENGTH: Final = 100_000
_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"

_RESPONSE: Final = re.compile(r"\b(?:respon\w+|returns?|returned|outputs?|results?)\b", re.IGNORECASE)
_ROLES: Final = (
    (re.compile(r"\bheaders?\b", re.IGNORECASE), Location.HEADER),
    (re.compile(r"\b(?:path|url|uri)\b.*\b(?:param\w*|args?|arguments?|variables?)\b", re.IGNORECASE), Location.PATH),
    (re.compile(r"\bquery\b", re.IGNORECASE), Location.QUERY),
    (re.compile(r"\b(?:body|payload|form|data)\b|\brequest (?:fields|schema|object)\b", re.IGNORECASE), Location.BODY),
)
_INPUT: Final = re.compile(
    r"\b(?:param\w*|arguments?|args|inputs?|attributes?|fields?|options|request|body|payload|query)\b", re.IGNORECASE
)
_TITLE: Final = re.compile(r"^[^.!?]{1,100}:\s*$|^[^.:!?]{1,60}$")
_STATUS: Final = re.compile(r"\b([1-5]\d\d)\b")
_NOTHING_IN: Final = re.compile(
    r"\b(?:no (?:request )?(?:body|parameters?|arguments?|payload|input)"
    r"|(?:takes|requires|has|needs) (?:nothing|no \w+)"
    r"|parameters?:? none|(?:empty|without a) (?:request )?body)\b",
    re.IGNORECASE,
)
_NOTHING_OUT: Final = re.compile(
    r"\b(?:no (?:response )?(?:content|body|output)|(?:empty|without a) (?:response )?body|returns nothing)\b",
    re.IGNORECASE,
)
_DEPRECATED: Final = re.compile(r"\bdeprecated\b", re.IGNORECASE)
_FORM_WORDS: Final = re.compile(r"\bform\b|urlencoded", re.IGNORECASE)
_JSON_START: Final = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)
_QUOTED: Final = re.compile(
    r"""(?:-d|--data(?:-raw|-binary)?|--json)[\s=]{1,3}('([^']{0,50000})'|"((?:[^"\\]|\\.){0,50000})")"""
)
_STATUS_LINE: Final = re.compile(r"^HTTP/[0-9.]+\s+([1-5]\d\d)")


def operation_of(section: Section) -> Operation:
    """The operation that a section describes."""
    return _Reading(section).operation()


class _Reading:
    """One section while it is read."""

    def __init__(self, section: Section) -> None:
        self._section = section
        self._context = ""
        self._words: list[str] = []
        self._inputs: list[Field] = []
        self._outputs: dict[str, list[Field]] = {}
        self._examples_in: list[Any] = []
        self._examples_out: dict[str, list[Any]] = {}
        self._statuses: dict[str, str] = {}
        self._unclear: list[str] = []
        self._has_form = False
        self._has_input_section = False

    def operation(self) -> Operation:
        section = self._section
        for block in section.blocks:
            match block:
                case Heading():
                    self._context = block.text
                    self._note_context()
                case Text():
                    self._read_text(block.text)
                case Code():
                    self._read_code(block.text)
                case Items():
                    self._read_items(block)
                case Table():
                    self._read_table(block)
        parameters = tuple(self._parameters())
        body = self._body()
        responses = tuple(self._responses())
        description = clean_text("\n\n".join(self._words))
        whole = f"{section.place} {section.title} {description[:2_000]}"
        self._find_gaps(parameters, body, responses, whole)
        problems: tuple[Problem, ...] = ()
        if self._unclear:
            excerpt = f"{section.place}\n\n{shown(section.blocks, MAX_EXCERPT_LENGTH)}".strip()[:MAX_EXCERPT_LENGTH]
            problems = (Problem("unclear", section.place[:200], "; ".join(self._unclear)[:1_000], excerpt),)
        return Operation(
            key=f"{section.method} {section.path}",
            name=name_of(section.method, section.path),
            title=clean_text(section.title, 500),
            description=description,
            method=section.method,
            path=section.path,
            parameters=parameters,
            body=body,
            responses=responses,
            is_deprecated=bool(_DEPRECATED.search(whole)),
            problems=problems,
        )

    # Blocks

    def _note_context(self) -> None:
        status = _STATUS.search(self._context)
        if status and not _RESPONSE.search(self._context) and len(self._context) < 60:
            self._context = f"Response {self._context}"
        if not self._is_output() and _INPUT.search(self._context):
            self._has_input_section = True
        self._has_form = self._has_form or (not self._is_output() and bool(_FORM_WORDS.search(self._context)))

    def _is_output(self) -> bool:
        return bool(_RESPONSE.search(self._context))

    def _status(self) -> str:
        status = _STATUS.search(self._context)
        return status[1] if status else "200"

    def _read_text(self, text: str) -> None:
        if _TITLE.match(text) and (_INPUT.search(text) or _RESPONSE.search(text)):
            self._context = text
            self._note_context()
        elif not is_call(text):
            self._words.append(text)

    def _read_table(self, table: Table) -> None:
        head = columns_of(table.rows[0]) if table.rows else {}
        if "status" in head and "type" not in head and self._add_statuses(table, head):
            return
        fields = fields_of_table(table)
        if fields is None:
            if len(table.rows) > 1:
                self._unclear.append(f"a table ({', '.join(table.rows[0])[:100]}) could not be read")
            return
        self._add(fields)

    def _add_statuses(self, table: Table, head: Mapping[str, int]) -> bool:
        described_at = head.get("description", head.get("name"))
        is_read = False
        for row in table.rows[1:]:
            status = _STATUS.search(row[head["status"]]) if head["status"] < len(row) else None
            if status:
                is_read = True
                words = row[described_at] if described_at is not None and described_at < len(row) else ""
                self._statuses.setdefault(status[1], words)
        return is_read

    def _read_items(self, block: Items) -> None:
        is_known = self._is_output() or bool(_INPUT.search(self._context))
        fields = fields_of_items(block, is_certain=is_known)
        if fields is not None:
            self._add(fields)
            return
        if is_known and all(_STATUS.match(item.lstrip("` ")) for item in block.items):
            for item in block.items:
                status, _, words = item.lstrip("` ").partition(" ")
                self._statuses.setdefault(status[:3], words.strip(" -\u2013\u2014:`"))
            return
        self._words.append("\n".join(f"- {item}" for item in block.items))

    def _add(self, fields: Iterable[Field]) -> None:
        if self._is_output():
            self._outputs.setdefault(self._status(), []).extend(fields)
            return
        role = next((location for pattern, location in _ROLES if pattern.search(self._context)), None)
        for each in fields:
            self._inputs.append(each if each.location or role is None else replace(each, location=role))

    def _read_code(self, text: str) -> None:
        found, status = _json_of(text)
        if found is None:
            return
        is_request = bool(_QUOTED.search(text)) or bool(
            re.match(r"\s*(?:POST|PUT|PATCH|DELETE|GET)\s+\S+\s+HTTP/", text)
        )
        if status or (self._is_output() and not is_request):
            self._examples_out.setdefault(status or self._status(), []).append(found)
        elif is_request or _INPUT.search(self._context):
            self._examples_in.append(found)
        elif self._section.method in ("GET", "DELETE"):
            self._examples_out.setdefault("200", []).append(found)
        else:
            self._unclear.append("an example stands under no heading that says whether it is sent or received")

    # What comes of them

    def _location(self, each: Field) -> Location:
        if each.name.strip("{}:") in path_names(self._section.path):
            return Location.PATH
        if each.location is not None and each.location != Location.PATH:
            return each.location
        if each.name in self._section.query or self._section.method in ("GET", "DELETE", "HEAD", "OPTIONS"):
            return Location.QUERY
        return Location.BODY

    def _parameters(self) -> Iterable[Parameter]:
        given = {
            (name := each.name.strip("{}:"), self._location(each)): replace(each, name=name) for each in self._inputs
        }
        names = path_names(self._section.path)
        for name in names:
            if (name, Location.PATH) not in given:
                yield Parameter(name, Location.PATH, True, {"type": "string"})
        for (name, location), each in given.items():
            if location != Location.BODY:
                is_required = location == Location.PATH or each.is_required is True
                yield Parameter(clean_text(name, 300), location, is_required, each.schema, each.description)
        for name in self._section.query:
            if all((name, location) not in given for location in Location):
                yield Parameter(name, Location.QUERY, False, {"type": "string"})

    def _body(self) -> Body | None:
        fields = [each for each in self._inputs if self._location(each) == Location.BODY]
        examples = tuple(self._examples_in[:4])
        if not fields and not examples:
            return None
        schema = object_of(fields) if fields else schema_of_example(examples[0])
        is_form = self._has_form and not examples
        return Body(_FORM if is_form else _JSON, schema, bool(schema.get("required")), examples=examples)

    def _responses(self) -> Iterable[Response]:
        for status in sorted({*self._statuses, *self._outputs, *self._examples_out}):
            examples = tuple(self._examples_out.get(status, ())[:4])
            fields = self._outputs.get(status)
            schema = object_of(fields) if fields else schema_of_example(examples[0]) if examples else None
            if fields and examples and isinstance(examples[0], list):
                schema = {"type": "array", "items": schema or {}}
            yield Response(
                status, _JSON if schema is not None else None, schema, clean_text(self._statuses.get(status), 4_000),
                examples,
            )  # fmt: skip

    def _find_gaps(
        self, parameters: Sequence[Parameter], body: Body | None, responses: Sequence[Response], words: str
    ) -> None:
        untyped = [each.name for each in self._inputs if not each.schema]
        untyped += [each.name for fields in self._outputs.values() for each in fields if not each.schema]
        if untyped:
            self._unclear.append(f"no known type is given for {', '.join(dict.fromkeys(untyped))}"[:300])
        takes_nothing = bool(_NOTHING_IN.search(words))
        if self._has_input_section and not self._inputs and not self._examples_in and not takes_nothing:
            self._unclear.append("what it takes is in no table or list that could be read")
        elif (
            body is None and self._section.method in ("POST", "PUT", "PATCH") and not self._inputs and not takes_nothing
        ):
            self._unclear.append("what the request carries is not said")
        gives_nothing = bool(_NOTHING_OUT.search(words)) or any(each.status in ("204", "205") for each in responses)
        if not gives_nothing and not any(each.schema for each in responses if each.status[:1] == "2"):
            self._unclear.append("what it gives back is not said")


def _json_of(text: str) -> tuple[Any, str]:
    """The JSON value in an example (alone, behind HTTP headers, or what curl sends), and the status that it shows."""
    short = text[:MAX_EXAMPLE_LENGTH].strip()
    status = _STATUS_LINE.match(short)
    if quoted := _QUOTED.search(short):
        short = quoted[2] if quoted[2] is not None else quoted[3].replace('\\"', '"')
    elif short[:1] not in "{[":
        start = _JSON_START.search(short)
        is_call = status or re.match(r"(?:POST|PUT|PATCH|DELETE|GET)\s", short)
        if start is None or not is_call:
            return None, ""
        short = short[start.start() :].strip()
    try:
        value = orjson.loads(short)
    except orjson.JSONDecodeError:
        return None, ""
    return (value, status[1] if status else "") if isinstance(value, dict | list) else (None, "")
