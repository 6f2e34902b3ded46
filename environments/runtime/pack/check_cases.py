"""Checks of verification cases that JSON, names and schemas can show; the case runner executes them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from environments.runtime.faults import Fault
from environments.runtime.pack.check_rows import check_rows
from environments.runtime.pack.check_tools import SchemaFaults, declared_codes
from environments.runtime.pack.limits import MAX_CASE_CALLS, MAX_CASES
from environments.runtime.pack.model import Case, Expectation, Pack, Tool
from environments.runtime.pack.names import RESERVED_CODES, check_name, check_text
from environments.runtime.records import CallStatus, ChangeKind, RowChange
from environments.runtime.references import REFERENCE, may_hold_references
from environments.runtime.schema.validators import ArgumentValidator

_INVALID_CODES = {"unknown_tool", "invalid_arguments"}


def check_cases(pack: Pack, schemas: Sequence[SchemaFaults]) -> Iterator[Fault]:
    """Faults of the cases.

    Args:
        pack: The pack.
        schemas: One for each of its tools, up to a limit; arguments and results of the others are not looked at.
    """
    if len(pack.cases) > MAX_CASES:
        yield Fault("too_many", "cases", f"more than {MAX_CASES}")
        return
    validators = {
        tool.name: ArgumentValidator(tool)
        for tool, faults in zip(pack.tools, schemas, strict=False)
        if not faults.input and not faults.output
    }
    seen: set[str] = set()
    for case in pack.cases:
        place = f"cases/{case.name}"
        if case.name in seen:
            yield Fault("case_duplicate", place, "two cases have this name")
        seen.add(case.name)
        found = [check_name("case", case.name, place), check_text(case.author, f"{place}/author", 60)]
        yield from filter(None, found)
        yield from _check_case(pack, case, place, validators)


def check_coverage(pack: Pack) -> Iterator[Fault]:
    """A fault for each tool and kind of case that is missing, and for each declared code never rejected with."""
    for tool in pack.tools:
        cases = [case for case in pack.cases if case.tool == tool.name]
        kinds = {case.kind for case in cases}
        for kind in ("success", "boundary", "rejection"):
            if kind not in kinds:
                yield Fault("case_coverage", f"tools/{tool.name}", f"it has no case of kind {kind}")
        met = {
            expect.code
            for case in cases
            for call, expect in zip(case.calls, case.expect, strict=False)
            if call.tool == tool.name and expect.status is CallStatus.REJECTION
        }
        for code in sorted(declared_codes(tool) - met):
            yield Fault("case_coverage", f"tools/{tool.name}", f"no case is rejected with {code}")


def references(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Each `{"$result": ...}` in a JSON value with its place."""
    if isinstance(value, Mapping):
        if REFERENCE in value:
            yield place, value
            return
        for key, entry in value.items():
            yield from references(entry, f"{place}/{key}")
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from references(entry, f"{place}/{index}")


def _check_case(pack: Pack, case: Case, place: str, validators: Mapping[str, ArgumentValidator]) -> Iterator[Fault]:
    if (case.scenario is None) == (case.rows is None):
        yield Fault("case_scenario", place, "either a scenario or rows are expected")
    elif case.rows is not None:
        yield from check_rows(pack, case.rows, f"{place}/rows")
    elif pack.scenario(case.scenario or "") is None:
        yield Fault("case_scenario", f"{place}/scenario", f"there is no scenario {case.scenario!r}")
    if not 0 < len(case.calls) <= MAX_CASE_CALLS:
        yield Fault("too_many", f"{place}/calls", f"1 to {MAX_CASE_CALLS} calls are expected")
    if len(case.expect) != len(case.calls):
        yield Fault("case_expectations", place, f"{len(case.calls)} calls, {len(case.expect)} expectations")
        return
    if all(call.tool != case.tool for call in case.calls) or pack.tool(case.tool) is None:
        yield Fault("case_tool_unknown", place, f"no call of {case.tool!r}, or no such tool")
    for index, expect in enumerate(case.expect):
        yield from _check_call(pack, case, index, expect, f"{place}/calls/{index}", validators)
    yield from _check_kind(case, place)
    for index, change in enumerate(case.changes):
        where = f"{place}/changes/{index}"
        yield from _check_change(pack, change, where)
        for image in (change.key, change.before, change.after):
            yield from _check_references(image, where, len(case.calls))


def _check_kind(case: Case, place: str) -> Iterator[Fault]:
    statuses = {expect.status for expect in case.expect}
    if statuses & {CallStatus.FAILURE, CallStatus.INFRASTRUCTURE}:
        yield Fault("case_status", place, "failure and infrastructure are never expected")
    refused = statuses & {CallStatus.REJECTION, CallStatus.INVALID}
    if case.kind == "success" and refused:
        yield Fault("case_status", place, "a success case expects only success")
    if case.kind == "rejection" and not refused:
        yield Fault("case_status", place, "a rejection case expects a rejection or an invalid call")


def _check_call(
    pack: Pack, case: Case, index: int, expect: Expectation, place: str, validators: Mapping[str, ArgumentValidator]
) -> Iterator[Fault]:
    call = case.calls[index]
    tool = pack.tool(call.tool)
    is_invalid = expect.status is CallStatus.INVALID
    if tool is None:
        if not is_invalid or expect.code != "unknown_tool":
            yield Fault("case_tool_unknown", f"{place}/tool", f"there is no tool {call.tool!r}")
        return
    found = may_hold_references(call.arguments) and list(references(call.arguments, f"{place}/arguments"))
    yield from _check_references(call.arguments, f"{place}/arguments", index)
    if tool.name in validators and not found:
        errors = validators[tool.name].errors(dict(call.arguments))
        if bool(errors) != is_invalid:
            message = f"{errors[0]['pointer']}: {errors[0]['message']}" if errors else "they fit the input schema"
            yield Fault("case_arguments", f"{place}/arguments", message)
    if tool.name in validators:
        yield from _check_expectation(tool, expect, place)
    yield from _check_references(expect.result, f"{place}/result", index + 1)


def _check_expectation(tool: Tool, expect: Expectation, place: str) -> Iterator[Fault]:
    codes: set[str | None] = {None}
    if expect.status is CallStatus.REJECTION:
        codes = set(declared_codes(tool))
    elif expect.status is CallStatus.INVALID:
        codes = set(_INVALID_CODES)
    elif expect.status is CallStatus.FAILURE:
        codes = set(RESERVED_CODES)
    if expect.code not in codes:
        yield Fault("case_code", f"{place}/code", f"{expect.code!r} is not a code that {tool.name} gives then")
    if expect.result is None:
        return
    properties = tool.output_schema.get("properties", {})
    if not isinstance(expect.result, Mapping) or expect.status is not CallStatus.SUCCESS:
        yield Fault("case_result", f"{place}/result", "an object is expected, of a successful call")
    elif tool.output_schema.get("additionalProperties") is False and expect.result.keys() - properties.keys():
        odd = ", ".join(sorted(expect.result.keys() - properties.keys()))
        yield Fault("case_result", f"{place}/result", f"the output schema has no {odd[:200]}")


def _check_references(value: Any, place: str, limit: int) -> Iterator[Fault]:
    for where, item in references(value, place) if may_hold_references(value) else ():
        target = item[REFERENCE]
        is_good = (
            len(item) == 1
            and isinstance(target, list | tuple)
            and len(target) == 2
            and type(target[0]) is int
            and 0 <= target[0] < limit
            and isinstance(target[1], str)
            and (not target[1] or target[1].startswith("/"))
        )
        if not is_good:
            yield Fault("case_result_reference", where, "it points to no earlier call")


def _check_change(pack: Pack, change: RowChange, place: str) -> Iterator[Fault]:
    table = pack.tables.get(change.table)
    if table is None:
        yield Fault("case_changes", f"{place}/table", f"there is no table {change.table!r}")
        return
    columns = table.columns.keys()
    images = {"before": change.before, "after": change.after}
    wanted = {
        ChangeKind.INSERT: {"after"},
        ChangeKind.DELETE: {"before"},
        ChangeKind.UPDATE: {"before", "after"},
    }[change.kind]
    if {name for name, image in images.items() if image is not None} != wanted:
        yield Fault("case_changes", place, f"{change.kind} has exactly {' and '.join(sorted(wanted))}")
        return
    if not change.key or change.key.keys() - columns:
        yield Fault("case_changes", f"{place}/key", "not columns of the table")
    for name in sorted(wanted):
        image = images[name] or {}
        if image.keys() - columns or (change.kind is not ChangeKind.UPDATE and image.keys() != columns):
            yield Fault("case_changes", f"{place}/{name}", "every column of the row is expected, and no other")
    if change.kind is ChangeKind.UPDATE and (change.before or {}).keys() != (change.after or {}).keys():
        yield Fault("case_changes", place, "before and after of an update have the same columns")
