"""The one place where two values of a column are judged (docs/contracts.md, C6.2; C6, sentences 8 to 13).

| column | equal by | if lenient, also by |
| --- | --- | --- |
| INTEGER, TEXT | type and value | |
| REAL | value | a difference of at most 1e-6 of the larger magnitude (0 equals only 0) |
| JSON | parsed JSON | |
| semantic TEXT | normal form | the same numbers, the same negation words and a token F1 of 0.8 |

NULL equals only NULL. Exempt columns, fresh ids and foreign keys never come here: the first are not compared, the
others are compared by the rows they mean. "Lenient" rules are not transitive, so the search treats them apart.
"""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from environments.runtime.equality.errors import MalformedValueError
from environments.runtime.equality.json_text import canonical_json
from environments.runtime.equality.negation import has_negations
from environments.runtime.equality.text import NormalForm, Text, is_f1_enough
from environments.runtime.records import Value
from environments.runtime.tables import ColumnInfo

RELATIVE_TOLERANCE = 1e-6
TEXT_STEPS = 5
CHARACTERS_PER_STEP = 1_000

Canonical = str | int | float | NormalForm | None
"""Equal canonical values are equal by an exact, transitive rule; hashable."""


class Rule(StrEnum):
    """What decided that two values are equal or not."""

    EXACT = "exact"
    TOLERANCE = "tolerance"
    JSON = "json"
    NORMALISED = "normalised"
    NUMBERS = "numbers"
    NEGATION = "negation"
    FUZZY = "fuzzy"
    FUZZY_UNCHECKED = "fuzzy_unchecked"
    """Fuzzy in a language without a list of negation words: a person has to look."""
    FOREIGN_KEY = "foreign_key"
    ROW = "row"
    SAME_ROW = "same_row"


class Ruling(NamedTuple):
    """Whether two values are equal, and by which rule."""

    is_equal: bool
    rule: Rule


def is_soft(column: ColumnInfo) -> bool:
    """Whether the column has a lenient rule."""
    return column.type == "REAL" or is_free_text(column)


def is_free_text(column: ColumnInfo) -> bool:
    """Whether the column is judged as free text."""
    return column.comparison == "semantic" and column.type == "TEXT" and not column.is_json


def cast(column: ColumnInfo, value: object) -> Value:
    """The value in the column's declared type, as a trip through JSON may have lost it; nothing is rounded.

    Raises:
        MalformedValueError: The value cannot be of that type.
    """
    if value is None:
        return None
    if isinstance(value, str):
        if column.type == "TEXT":
            if not value.isascii():
                _check_encodes(column, value)
            return value
    elif isinstance(value, int):  # booleans too
        if column.type == "INTEGER":
            return int(value)
        if column.type == "REAL":
            try:
                return float(value)
            except OverflowError:
                pass
    elif isinstance(value, float) and not math.isnan(value):
        if column.type == "REAL":
            return value
        if column.type == "INTEGER" and value.is_integer():
            return int(value)
    raise MalformedValueError(f"{type(value).__name__} in column {column.name} of type {column.type}")


def _check_encodes(column: ColumnInfo, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MalformedValueError(f"half a character in column {column.name}") from error


class Judge:
    """Judges values of one comparison; the texts it has read are forgotten with it.

    Args:
        language: The pack's, for negation words.
    """

    def __init__(self, language: str = "en") -> None:
        self._language = language
        self._fuzzy_rule = Rule.FUZZY if has_negations(language) else Rule.FUZZY_UNCHECKED
        self._texts: dict[str, Text] = {}
        self._json: dict[str, str] = {}

    def canonical(self, column: ColumnInfo, value: Value) -> Canonical:
        """The exact form of a value that `cast` gave.

        Raises:
            MalformedValueError: A JSON column holds no JSON that can be compared.
        """
        if not isinstance(value, str):
            return value
        if column.is_json:
            form = self._json.get(value)
            if form is None:
                form = self._json[value] = canonical_json(value)
            return form
        return self.text(value).normal_form if is_free_text(column) else value

    def text(self, value: str) -> Text:
        """A text as read."""
        text = self._texts.get(value)
        if text is None:
            text = self._texts[value] = Text(value)
        return text

    def judge(self, column: ColumnInfo, reference: Value, candidate: Value, *, is_lenient: bool = True) -> Ruling:
        """Whether two values that `cast` gave are equal, and by which rule; the order of the two does not matter.

        Args:
            column: Whose values they are.
            reference: One value.
            candidate: The other value.
            is_lenient: Whether tolerance and fuzzy text count.
        """
        if reference == candidate:
            return Ruling(True, Rule.EXACT)
        exact_rule = Rule.JSON if column.is_json else Rule.NORMALISED if is_free_text(column) else Rule.EXACT
        if reference is None or candidate is None:
            return Ruling(False, exact_rule)
        if exact_rule is not Rule.EXACT and self.canonical(column, reference) == self.canonical(column, candidate):
            return Ruling(True, exact_rule)
        if is_lenient and isinstance(reference, float) and isinstance(candidate, float):
            return Ruling(is_within_tolerance(reference, candidate), Rule.TOLERANCE)
        if is_lenient and exact_rule is Rule.NORMALISED:
            return self._judge_texts(self.text(str(reference)), self.text(str(candidate)))
        return Ruling(False, exact_rule)

    def _judge_texts(self, reference: Text, candidate: Text) -> Ruling:
        if reference.numbers != candidate.numbers:
            return Ruling(False, Rule.NUMBERS)
        if reference.negations(self._language) != candidate.negations(self._language):
            return Ruling(False, Rule.NEGATION)
        return Ruling(is_f1_enough(reference.tokens, candidate.tokens), self._fuzzy_rule)


def is_within_tolerance(one: float, other: float, tolerance: float = RELATIVE_TOLERANCE) -> bool:
    """Whether two numbers differ by at most `tolerance` of the larger magnitude; an infinity equals only itself."""
    if math.isinf(one) or math.isinf(other):
        return one == other
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def judging_steps(column: ColumnInfo, reference: Value, candidate: Value) -> int:
    """What judging a pair costs: 1, for free text 5 and 1 more for every 1,000 characters."""
    if not is_free_text(column):
        return 1
    num_characters = sum(len(value) for value in (reference, candidate) if isinstance(value, str))
    return TEXT_STEPS + num_characters // CHARACTERS_PER_STEP


def judge(
    column: ColumnInfo, reference: object, candidate: object, *, is_lenient: bool = True, language: str = "en"
) -> Ruling:
    """Casts and judges one pair of values by itself.

    Raises:
        MalformedValueError: A value is not of the column's type.
    """
    values = cast(column, reference), cast(column, candidate)
    return Judge(language).judge(column, *values, is_lenient=is_lenient)


def canonical_row(judge: Judge, columns: tuple[ColumnInfo, ...], row: Mapping[str, Value]) -> tuple[Canonical, ...]:
    """The exact forms of these columns of a row."""
    return tuple(judge.canonical(column, row[column.name]) for column in columns)
