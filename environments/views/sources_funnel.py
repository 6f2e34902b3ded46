"""The funnel as a picture: what came in, what was left out and why, what was kept; each bar beside its number."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from environments.core.cleaning import REASONS
from environments.models import Operation
from environments.services.sources import add_funnels

EFFECT_WORDS = {
    Operation.Effect.READ.value: _("Reads"),
    Operation.Effect.WRITE.value: _("Writes"),
    Operation.Effect.UNKNOWN.value: _("Not known"),
}


@dataclass(frozen=True, slots=True)
class FunnelLine:
    """One bar.

    Attributes:
        kind: `read`, `reason`, `kept`, `effect` or `coverage`; says how it is drawn.
        key: The reason's code or the effect.
        label: In a few words.
        sentence: In a sentence; empty where the label says all.
        num: How many operations.
        share: Of those that came in, in percent; for coverage of those that were kept.
    """

    kind: str
    key: str
    label: Any
    sentence: str
    num: int
    share: float

    @property
    def width(self) -> str:
        """Width of the bar as an SVG length; what is there at all can be seen."""
        return f"{max(self.share, 0.4) if self.num else 0:.1f}%"


@dataclass(frozen=True, slots=True)
class Funnel:
    """What came of some documents.

    Attributes:
        num_documents: Counted in it.
        read: Operations that came in.
        kept: Of these.
        lines: Bars from the top.
        coverage: What the descriptions of kept operations say: label, before and after.
    """

    num_documents: int
    read: int
    kept: int
    lines: Sequence[FunnelLine]
    coverage: Sequence[tuple[Any, FunnelLine, FunnelLine]]

    @property
    def has_overlap(self) -> bool:
        """Whether an operation has several reasons, so that they add up to more than what was left out."""
        return sum(line.num for line in self.lines if line.kind == "reason") > self.read - self.kept


def make_funnel(funnels: Iterable[Mapping[str, Any]]) -> Funnel:
    """The funnel of documents together, from what each row keeps of its own; one without a funnel is not counted."""
    total = add_funnels(dict(funnel) for funnel in funnels if funnel)
    read, kept = total["read"], total["kept"]

    def line(kind: str, key: str, label: Any, num: int, sentence: str = "") -> FunnelLine:
        return FunnelLine(kind, key, label, sentence, num, 100 * num / read if read else 0.0)

    lines = [line("read", "", _("Came in"), read)]
    lines += [
        line("reason", code, reason_words(code), num, REASONS.get(code, "")) for code, num in total["reasons"].items()
    ]
    lines.append(line("kept", "", _("Kept"), kept))
    lines += [
        line("effect", effect, words, total["effects"].get(effect, 0))
        for effect, words in EFFECT_WORDS.items()
        if total["effects"].get(effect)
    ]
    return Funnel(total["documents"], read, kept, lines, _coverage(total["coverage"]))


def _coverage(found: Mapping[str, int]) -> list[tuple[Any, FunnelLine, FunnelLine]]:
    total = found.get("total", 0)

    def line(key: str) -> FunnelLine:
        num = found.get(key, 0)
        return FunnelLine("coverage", key, "", "", num, 100 * num / total if total else 0.0)

    if not total:
        return []
    return [
        (_("Every required input"), line("inputs_before"), line("inputs_after")),
        (_("What comes back"), line("outputs_before"), line("outputs_after")),
    ]


def reason_words(code: str) -> str:
    """A reason code in words, for narrow places; the sentence is in `REASONS`."""
    return code.replace("_", " ")
