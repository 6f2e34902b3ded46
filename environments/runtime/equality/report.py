"""A comparison as JSON, for storage and other programs, and as short sentences, for people.

`format = "envfactory-comparison/1"`: `{format, outcome, num_steps, matched, missing, unexpected, renaming}`. A finding
is `{table, key, candidate_key, column, reference, candidate, rule}` with keys as lists, a renaming `[table, key,
candidate_key]`. One comparison has one text: sorted names, no spaces, UTF-8; an infinite REAL, which JSON has no
number for, is `{"$real": "inf"}`.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from environments.runtime.equality.changes import Key
from environments.runtime.equality.comparison import Comparison, Outcome
from environments.runtime.equality.errors import MalformedReportError
from environments.runtime.equality.findings import Finding
from environments.runtime.equality.values import Rule

FORMAT = "envfactory-comparison/1"
_LISTS = ("matched", "missing", "unexpected")
_FINDING_NAMES = {"table", "key", "candidate_key", "column", "reference", "candidate", "rule"}
_INFINITIES = {"inf": math.inf, "-inf": -math.inf}
_MAX_CHARACTERS = 80


def to_json(comparison: Comparison) -> bytes:
    """The one JSON text of a comparison."""
    document = {
        "format": FORMAT,
        "outcome": comparison.outcome.value,
        "num_steps": comparison.num_steps,
        "renaming": [[table, key, other] for (table, key), other in comparison.renaming.items()],
        **{name: [_finding_document(finding) for finding in getattr(comparison, name)] for name in _LISTS},
    }
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def from_json(text: bytes | str) -> Comparison:
    """The comparison that `to_json` wrote.

    Raises:
        MalformedReportError: It is none of this format.
    """
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise MalformedReportError(f"a report of format {document['format']!r}, not {FORMAT}")
        if set(document) != {"format", "outcome", "num_steps", "renaming", *_LISTS}:
            raise MalformedReportError("a report with names that this format has not, or without one it has")
        matched, missing, unexpected = (tuple(map(_read_finding, document[name])) for name in _LISTS)
        return Comparison(
            outcome=Outcome(document["outcome"]),
            matched=matched,
            missing=missing,
            unexpected=unexpected,
            renaming={(str(table), _read_key(key)): _read_key(other) for table, key, other in document["renaming"]},
            num_steps=int(document["num_steps"]),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, MalformedReportError):
            raise
        raise MalformedReportError(f"a text that is no report: {error!r}") from error


def _finding_document(finding: Finding) -> dict[str, Any]:
    return {
        "table": finding.table,
        "key": finding.key,
        "candidate_key": finding.candidate_key,
        "column": finding.column,
        "reference": _encode(finding.reference),
        "candidate": _encode(finding.candidate),
        "rule": finding.rule.value,
    }


def _read_finding(document: Mapping[str, Any]) -> Finding:
    if set(document) != _FINDING_NAMES:
        raise MalformedReportError("a finding with names that this format has not, or without one it has")
    column, candidate_key = document["column"], document["candidate_key"]
    return Finding(
        table=str(document["table"]),
        key=_read_key(document["key"]),
        column=None if column is None else str(column),
        reference=_decode(document["reference"]),
        candidate=_decode(document["candidate"]),
        rule=Rule(document["rule"]),
        candidate_key=None if candidate_key is None else _read_key(candidate_key),
    )


def _read_key(parts: list[Any]) -> Key:
    return tuple(_decode(part) for part in parts)


def _encode(value: Any) -> Any:
    """A value, a list of values or a row; two levels at most."""
    if isinstance(value, float) and math.isinf(value):
        return {"$real": str(value)}
    if isinstance(value, Mapping):
        return {name: _encode(item) for name, item in value.items()}
    return [_encode(item) for item in value] if isinstance(value, (list, tuple)) else value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"$real"}:
            return _INFINITIES[value["$real"]]
        return {name: _decode(item) for name, item in value.items()}
    return [_decode(item) for item in value] if isinstance(value, list) else value


def explain(comparison: Comparison) -> tuple[str, ...]:
    """Short sentences for people: the outcome, then one for each missing, unexpected and fuzzy finding."""
    return (
        _explain_outcome(comparison),
        *(_explain_difference(finding, is_required=True) for finding in comparison.missing),
        *(_explain_difference(finding, is_required=False) for finding in comparison.unexpected),
        *(_explain_fuzzy(finding) for finding in comparison.fuzzy),
    )


def _explain_outcome(comparison: Comparison) -> str:
    if comparison.outcome is Outcome.UNDECIDED:
        return f"Undecided after {comparison.num_steps} steps; what follows is a guess."
    if comparison.outcome is Outcome.DIFFERENT:
        return f"Different: {len(comparison.missing)} missing, {len(comparison.unexpected)} unexpected."
    if not comparison.matched:
        return "Equal: nothing changed."
    nearly = f", {len(comparison.fuzzy)} of them only nearly" if comparison.fuzzy else ""
    return f"Equal: {len(comparison.matched)} as required{nearly}."


def _explain_difference(finding: Finding, *, is_required: bool) -> str:
    row = _name_row(finding.table, finding.key)
    reference, candidate = _show(finding.reference), _show(finding.candidate)
    if finding.rule is Rule.SAME_ROW:
        return f"The answer should be {row}, and is {_name_row(finding.table, finding.candidate_key or ())}."
    if finding.column is None and finding.reference is None:
        return f"{row} should not be there: {candidate}."
    if finding.column is None and finding.candidate is None:
        is_gone = finding.candidate_key is not None
        return f"{row} should not be deleted." if is_gone else f"{row} is missing: {reference}."
    if finding.rule is Rule.FOREIGN_KEY:
        return f"{row} points by {finding.column} to {candidate} and should point to {reference}."
    reason = _REASONS.get(finding.rule, "")
    change = (
        f"should be {reference} and is {candidate}" if is_required else f"should stay {reference} and is {candidate}"
    )
    return f"{row}: {finding.column} {change}{reason}."


_REASONS = {
    Rule.TOLERANCE: " (further apart than the tolerance)",
    Rule.NUMBERS: " (the numbers differ)",
    Rule.NEGATION: " (the negations differ)",
    Rule.FUZZY: " (too few words agree)",
    Rule.FUZZY_UNCHECKED: " (too few words agree)",
}


def _explain_fuzzy(finding: Finding) -> str:
    row = _name_row(finding.table, finding.key)
    ask = "; have a person look, negation is not checked" if finding.rule is Rule.FUZZY_UNCHECKED else ""
    reference, candidate = _show(finding.reference), _show(finding.candidate)
    return f"{row}: {finding.column} {candidate} counts as {reference}{ask}."


def _name_row(table: str, key: Key) -> str:
    return f"{table} {', '.join(_show(part) for part in key)}"


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return _shorten(_join(f"{name} {_show(item)}" for name, item in value.items()))
    if isinstance(value, (list, tuple)):
        return _join(_show(item) for item in value)
    return "nothing" if value is None else _shorten(f'"{value}"') if isinstance(value, str) else str(value)


def _join(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_CHARACTERS else f"{flat[: _MAX_CHARACTERS - 3]}..."
