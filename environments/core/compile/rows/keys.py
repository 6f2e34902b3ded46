"""Keys that no person chooses: numbers that count on, and opaque texts."""

from collections.abc import Sequence
from typing import Final

from environments.core.compile.rows.draws import Draws
from environments.core.compile.rows.making import id_prefix, like
from environments.core.compile.rows.senses import Sense
from environments.core.compile.rows.specs import Form, Spec
from environments.core.compile.semantics import Column, Generated

_CHARACTERS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_SEPARATORS: Final = "_-:./#"
"""Where the runtime ends the prefix of the ids that it makes."""
_LENGTH: Final = 14
_LONGEST_PREFIX: Final = 24
_MANY: Final = 1_000
"""Numbers from which ids have gaps, as they have in a large system."""


def next_integer(spec: Spec, used: Sequence[int], draws: Draws) -> int:
    """The number after those that are used; the first is 1, or what the document shows."""
    example = next((each for each in spec.examples if isinstance(each, int) and each > 0), 1)
    start = max(example, int(spec.low or 1), 1)
    highest = max(used, default=start - 1)
    return highest + 1 if start < _MANY else highest + draws.between(1, 9)


def opaque_key(column: Column, spec: Spec, draws: Draws) -> str | None:
    """An id that says nothing; None for a key that people give, or whose pattern takes no such id.

    All ids of a column begin alike, up to a separator, unless they are UUIDs.
    """
    if spec.schema.get("format") == "uuid" or (spec.sense is Sense.UUID and not spec.pattern):
        return draws.uuid()
    is_generated = column.generated is Generated.ID
    if not (is_generated or (spec.sense is Sense.ID and spec.form is Form.TEXT)):
        return None
    example = next((each for each in spec.examples if isinstance(each, str)), "")
    is_uuid = example.count("-") == 4
    cut = max((example.rfind(mark) for mark in _SEPARATORS), default=-1) + 1
    prefix = example[:cut] if 0 < cut <= _LONGEST_PREFIX and not is_uuid else ""
    if example and not prefix and not is_generated:
        made = like(example, draws)
        return made if spec.check is None or spec.check(made) else None
    prefix = prefix or id_prefix(spec.noun)
    length = min(_LENGTH, (spec.max_length or len(prefix) + _LENGTH) - len(prefix))
    if length < 4:
        prefix, length = prefix[-1:], max(1, (spec.max_length or _LENGTH) - 1)
    made = prefix + draws.text(max(length, spec.min_length - len(prefix)), _CHARACTERS)
    return made if not spec.pattern or spec.check is None or spec.check(made) else None
