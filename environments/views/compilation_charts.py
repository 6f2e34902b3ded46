"""Figures of a compilation as bars with their numbers: each chart is its own table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from environments.core.compile.report import REASONS, Distribution, Report
from environments.models import Compilation
from environments.templatetags.console import count
from environments.views.sources_funnel import reason_words

NUM_FAMILIES_SHOWN = 12
KIND_WORDS = {
    "list": gettext_lazy("List"),
    "list_keys": gettext_lazy("List of keys"),
    "get": gettext_lazy("Get"),
    "count": gettext_lazy("Count"),
    "sum": gettext_lazy("Sum"),
    "create": gettext_lazy("Create"),
    "replace": gettext_lazy("Replace"),
    "patch": gettext_lazy("Change"),
    "upsert": gettext_lazy("Create or replace"),
    "delete": gettext_lazy("Delete"),
    "transition": gettext_lazy("Move a state"),
    "link": gettext_lazy("Link"),
    "unlink": gettext_lazy("Unlink"),
}
READING = frozenset({"list", "list_keys", "get", "count", "sum"})


@dataclass(frozen=True, slots=True)
class Line:
    """One bar.

    Attributes:
        kind, key: How it is drawn, as in the funnel of sources.
        label: In a few words.
        num: How many.
        share: Of all, in percent.
        sentence: What the label means; may be empty.
        width: Of the bar as an SVG length.
    """

    kind: str
    key: str
    label: Any
    num: int
    share: float
    sentence: str = ""
    width: str = "0%"


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars over one unit.

    Attributes:
        title: What is shown.
        unit: What is counted.
        total: n.
        lines: The bars.
        notes: Mean, median and the like.
    """

    title: Any
    unit: Any
    total: int
    lines: Sequence[Line]
    notes: str = ""


def make_charts(report: Report) -> list[Chart]:
    """Sizes of environments, kinds of tools, families."""
    if not report.tools_of_each.num:
        return []
    environments = _("environments")
    families = [(each.name, each.num) for each in report.families]
    rest = families[NUM_FAMILIES_SHOWN:]
    if rest:
        families = [*families[:NUM_FAMILIES_SHOWN], (_("others"), sum(num for _name, num in rest))]
    return [
        _sizes(_("Tools of an environment"), environments, report.tools_of_each),
        _sizes(_("Tables of an environment"), environments, report.tables_of_each),
        _shares(
            _("What tools do"),
            _("tools"),
            (
                (KIND_WORDS.get(each.name, each.name), each.num, "read" if each.name in READING else "write")
                for each in report.kinds
            ),
        ),
        _shares(
            _("Conventions they follow"),
            environments,
            ((name.replace("_", " "), num, "read") for name, num in families),
        ),
    ]


def _sizes(title: Any, unit: Any, found: Distribution) -> Chart:
    most = max((num for _first, _last, num in found.bars), default=0)
    lines = [
        Line("effect", "read", _span(first, last), num, _percent(num, found.num), width=_width(num, most))
        for first, last, num in found.bars
        if num or _lies_within(first, found)
    ]
    notes = _("mean %(mean)s, median %(median)s, 10 %% up to %(p10)s, 90 %% up to %(p90)s, most %(most)s") % {
        "mean": f"{found.mean:.1f}", "median": count(found.median), "p10": count(found.p10), "p90": count(found.p90),
        "most": count(found.maximum),
    }  # fmt: skip
    return Chart(title, unit, found.num, lines, notes)


def _lies_within(first: int, found: Distribution) -> bool:
    return found.minimum <= first <= found.maximum


def _span(first: int, last: int) -> str:
    return str(first) if first == last else _("%(first)d to %(last)d") % {"first": first, "last": last}


def _shares(title: Any, unit: Any, counts: Iterable[tuple[Any, int, str]]) -> Chart:
    listed = list(counts)
    total = sum(num for _label, num, _key in listed)
    most = max((num for _label, num, _key in listed), default=0)
    lines = [
        Line("effect", key, label, num, _percent(num, total), width=_width(num, most)) for label, num, key in listed
    ]
    return Chart(title, unit, total, lines)


@dataclass(frozen=True, slots=True)
class CompilationFunnel:
    """What became of the operations that came in.

    Attributes:
        num_documents: They are of.
        read: Operations that came in.
        kept: That are tools.
        lines: Bars from the top.
        has_overlap: Never: an operation has one reason.
    """

    num_documents: int
    read: int
    kept: int
    lines: Sequence[Line]
    has_overlap: bool = False


def make_compilation_funnel(compilation: Compilation, report: Report, num_reasons: int) -> CompilationFunnel:
    """The funnel: what came in, the most frequent reasons, the rest of them together, what became tools."""
    total = report.operations

    def line(kind: str, key: str, label: Any, num: int, sentence: str = "") -> Line:
        share = _percent(num, total)
        return Line(kind, key, label, num, share, sentence, _width(num, total))

    reasons = report.reasons
    lines = [line("read", "", _("Came in"), total)]
    lines += [
        line("reason", each.name, reason_words(each.name), each.num, REASONS.get(each.name, ""))
        for each in reasons[:num_reasons]
    ]
    if reasons[num_reasons:]:
        rest = reasons[num_reasons:]
        lines.append(line("rest", "", _("%(num)d other reasons") % {"num": len(rest)}, sum(each.num for each in rest)))
    lines.append(line("kept", "", _("Tools"), report.tools))
    return CompilationFunnel(compilation.num_documents, total, report.tools, lines)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _width(num: int, most: int) -> str:
    """What is there at all can be seen."""
    return f"{max(_percent(num, most), 0.4) if num else 0:.1f}%"
