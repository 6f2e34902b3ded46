"""What a version's page says of how it was compiled: what was kept, what was left and why, source beside tool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.http import Http404
from django.utils.translation import gettext as _

from environments.core.compile.report import REASONS, SUSPICIOUS, ToolFacts
from environments.core.schema_form import schema_rows
from environments.core.source_text import function_text
from environments.core.sources.model import Schema, named, success_response
from environments.models import (
    CompiledEnvironment,
    CompiledOperation,
    EnvironmentVersion,
    LatePaginator,
    Operation,
    SourceDocument,
)
from environments.views.compilation_page import PAGE_SIZE, OperationLine
from environments.views.facets import Choice, address_maker
from environments.views.sources_funnel import reason_words
from environments.views.sources_operation import MAX_READ_BYTES, cut_json, definitions_of, parameter_line, schema_view
from environments.web import HtmxHttpRequest


def newest_record(version: EnvironmentVersion) -> CompiledEnvironment | None:
    """The newest compilation's record of the version; None if no compilation made it."""
    rows = CompiledEnvironment.objects.filter(version=version)
    return rows.select_related("compilation").order_by("-id").first()


def _record(version: EnvironmentVersion) -> CompiledEnvironment:
    found = newest_record(version)
    if found is None:
        raise Http404("No compilation has made this version.")
    return found


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A tool beside its operation.

    Attributes:
        line: The ledger's row in words.
        num_arguments: That the tool has.
        dropped: Parameters of the operation that it has not: name, and why in a few words.
    """

    line: OperationLine
    num_arguments: int
    dropped: Sequence[tuple[str, str]]


def compiled_context(request: HtmxHttpRequest, version: EnvironmentVersion) -> dict[str, Any]:
    """Kept tools, dropped tools, and what of the same documents is in no environment."""
    record = _record(version)
    facts = record.to_core()
    tools = {tool.name: tool for tool in facts.tools}
    rows = list(record.operations.select_related("document__source").defer(*_heavy("document")).order_by("id"))
    documents = SourceDocument.objects.filter(sha256__in=[each.sha256 for each in facts.documents])
    documents = documents.select_related("source").without_data()
    left = CompiledOperation.objects.filter(
        compilation=record.compilation_id, document__in=documents, environment=None
    ).left_out()
    elsewhere = CompiledOperation.objects.filter(compilation=record.compilation_id, document__in=documents)
    counted = list(left.order_by().values_list("reason").annotate(num=Count("pk")))
    reason = request.GET.get("reason", "")
    chosen = left.filter(reason=reason) if reason else left
    narrow = chosen.select_related("document__source").defer(*_heavy("document"))
    page = LatePaginator(narrow.order_by("id"), PAGE_SIZE).get_page(request.GET.get("page"))
    return {
        "record": record,
        "facts": facts,
        "is_suspicious": record.suspicion >= SUSPICIOUS,
        "documents": list(documents.order_by("source__address", "pk")[:PAGE_SIZE]),
        "kept": [_kept(row, tools[row.tool]) for row in rows if row.tool in tools],
        "dropped": [OperationLine.of(row) for row in rows if row.tool not in tools],
        "reasons": _choices(request, counted, reason),
        "page": page,
        "lines": [OperationLine.of(row) for row in page.object_list],
        "num_left": sum(num for _code, num in counted),
        "num_elsewhere": elsewhere.exclude(environment=None).exclude(environment=record.pk).count(),
    }


def _heavy(document: str) -> tuple[str, ...]:
    return tuple(f"{document}__{column}" for column in SourceDocument.WIDE_COLUMNS)


def _kept(row: CompiledOperation, tool: ToolFacts) -> KeptLine:
    return KeptLine(
        OperationLine.of(row), len(tool.arguments), [(name, reason_words(code)) for name, code in tool.dropped]
    )


def _choices(request: HtmxHttpRequest, counted: Sequence[tuple[str, int]], current: str) -> list[tuple[Choice, str]]:
    address = address_maker(request.GET, "reason")
    ordered = sorted(counted, key=lambda each: (-each[1], each[0]))
    return [
        (Choice(reason_words(code), num, address("" if code == current else code), code == current),
         REASONS.get(code, ""))
        for code, num in ordered
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A member of a schema, alike on both sides.

    Attributes:
        name: Of the property; `[ ]` for the items of an array.
        depth: How deep it is nested, from 0.
        type_words: What the value is; empty where only a definition says it.
        reference: Name of the definition that says what it, or what each of its items, is.
        is_required: Whether it must be given; None where that makes no sense.
        constraints: What else is asked of it, and its default.
        description: The schema's words.
    """

    name: str
    depth: int
    type_words: str
    reference: str
    is_required: bool | None
    constraints: Sequence[str]
    description: str


@dataclass(frozen=True, slots=True)
class ComparedSchema:
    """A schema of one side.

    Attributes:
        words: What it is as a whole, if it has no members.
        lines: Its members.
        text: As JSON.
        is_cut: Whether the JSON is longer than what is shown.
    """

    words: str
    lines: Sequence[ComparedLine]
    text: str
    is_cut: bool


def compiled_tool_context(version: EnvironmentVersion, name: str) -> dict[str, Any]:
    """One tool beside the operation that it was made of."""
    record = _record(version)
    row = record.operations.select_related("document__source").filter(tool=name).first()
    tool = version.tools.filter(name=name).first()
    if row is None or tool is None:
        raise Http404(f"The compilation of this version has no tool {name!r}.")
    facts = next((each for each in record.to_core().tools if each.name == name), None)
    source: str = EnvironmentVersion.objects.values_list("tools_py", flat=True).get(pk=version.pk)
    names = list(record.operations.filter(reason="").order_by("id").values_list("tool", flat=True))
    place = names.index(name) if name in names else 0
    return {
        "record": record,
        "row": row,
        "tool": tool,
        "line": OperationLine.of(row),
        "arguments": _of_tool(tool.input_schema),
        "results": _of_tool(tool.output_schema),
        "source_text": function_text(source, name),
        "dropped": [] if facts is None else [(each, reason_words(code)) for each, code in facts.dropped],
        "previous": names[place - 1] if place > 0 else None,
        "next": names[place + 1] if place + 1 < len(names) else None,
        "place": place + 1,
        "num_tools": len(names),
        **_operation(row),
    }


def _operation(row: CompiledOperation) -> Mapping[str, Any]:
    """The operation as its document has it; nothing if a newer reader no longer reads it."""
    operation = Operation.objects.filter(code=row.operation_code).first()
    if operation is None:
        return {"operation": None}
    found = operation.to_core()
    answer = success_response(found)
    document = SourceDocument.objects.select_related("source").without_data().get(pk=row.document_id)
    # A large document takes seconds to read; its definitions are on the operation's own page when a person asks.
    definitions = definitions_of(document) if document.num_bytes <= MAX_READ_BYTES else {}
    return {
        "operation": operation,
        "found": found,
        "parameters": [parameter_line(parameter) for parameter in found.parameters],
        "body": None if found.body is None else _shown(found.body.schema, definitions),
        "answer": answer,
        "answer_schema": (
            _shown(answer.schema, definitions) if answer is not None and answer.schema is not None else None
        ),
    }


def _of_tool(schema: Any) -> ComparedSchema:
    lines = [
        ComparedLine(
            row.name, row.depth, row.type_words, "", row.is_required,
            [*row.constraints, *([] if row.default is None else [_("%(value)s by default") % {"value": row.default}])],
            row.description,
        )
        for row in schema_rows(schema)
    ]  # fmt: skip
    text, is_cut = cut_json(schema)
    return ComparedSchema("", lines, text, is_cut)


def _shown(schema: Schema, definitions: Mapping[str, Schema]) -> ComparedSchema:
    """A schema with the definitions that itself, its items or its members' items stand for, one level deep."""

    def opened(part: Any) -> Any:
        if not isinstance(part, Mapping):
            return part
        whole = named(part, definitions) or part
        return {**whole, "items": opened(whole["items"])} if isinstance(whole.get("items"), Mapping) else whole

    whole = opened(schema)
    members = whole.get("properties") if isinstance(whole, Mapping) else None
    if isinstance(members, Mapping):
        lists = {
            name: opened(part)
            for name, part in members.items()
            if isinstance(part, Mapping) and part.get("type") == "array"
        }
        whole = {**whole, "properties": {**members, **lists}}
    view = schema_view(whole)
    lines = [
        ComparedLine(
            line.name, line.depth, line.type_words, line.reference, line.is_required, line.constraints,
            line.description,
        )
        for line in view.lines
    ]  # fmt: skip
    return ComparedSchema(view.head.type_words or view.head.reference, lines, view.text, view.is_cut)
