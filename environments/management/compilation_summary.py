"""A compilation's report as tables for a terminal: what `compile_environments` and `bench_corpus` print."""

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from environments.core.compile.report import MAX_OF_ONE_PROVIDER, PROBE, REASONS, Counted, Distribution, Report

MAX_REASONS: Final = 40


def print_summary(console: Console, report: Report, *, with_probe: bool = False) -> None:
    """Prints what came in, what was kept, what was left out and why, and how large environments are."""
    console.print(_funnel(report))
    console.print(_bars(report, with_probe=with_probe))
    console.print(_sizes(report, with_probe=with_probe))
    console.print(_shares("Kinds of tools", "Tools", report.kinds))
    console.print(_shares("Families of conventions", "Environments", report.families))
    if report.repeated_names:
        console.print(f"Names that several providers' environments have: {', '.join(report.repeated_names[:20])}")


def _funnel(report: Report) -> Table:
    table = Table("What", title="Operations", title_justify="left")
    table.add_column("Operations", justify="right")
    table.add_column("Share", justify="right")
    total = report.operations

    def row(words: str, count: int) -> None:
        table.add_row(words, f"{count:,}", f"{count / total:.1%}" if total else "")

    row("Came in", total)
    for each in report.reasons[:MAX_REASONS]:
        row(f"  {each.name}{f': {REASONS[each.name]}' if each.name in REASONS else ''}", each.num)
    rest = report.reasons[MAX_REASONS:]
    if rest:
        row(f"  {len(rest)} other reasons", sum(each.num for each in rest))
    row("Tools of environments", report.tools)
    return table


def _bars(report: Report, *, with_probe: bool) -> Table:
    table = Table("Environments", title="What counts", title_justify="left")
    heads = ["Five tools, reads and writes", "Whole story and refusal", *(["Earlier probe"] if with_probe else [])]
    for head in heads:
        table.add_column(head, justify="right")
    probe: Mapping[str, float] = {
        "all": PROBE["environments"], "distinct": PROBE["distinct"], "others": PROBE["others"],
        "providers": PROBE["providers"], "tools": PROBE["tools"],
    }  # fmt: skip
    lines = {
        "all": "All that were verified",
        "distinct": "Without near copies and older versions",
        "others": "Of these outside the four largest families",
        "others_capped": f"The same, at most {MAX_OF_ONE_PROVIDER} of one provider",
        "providers": "Providers",
        "tools": "Tools in them",
    }
    for name, words in lines.items():
        cells = [f"{getattr(bar, name):,}" for bar in (report.loose, report.strict)]
        if with_probe:
            cells.append(f"{probe[name]:,.0f}" if name in probe else "")
        table.add_row(words, *cells)
    return table


def _sizes(report: Report, *, with_probe: bool) -> Table:
    table = Table("Of each environment", title="Sizes of distinct environments", title_justify="left")
    heads = ["Mean", "10 %", "Median", "90 %", "Most", *(["Probe: 10 %, median, 90 %"] if with_probe else [])]
    for head in heads:
        table.add_column(head, justify="right")
    rows: Mapping[str, Distribution] = {
        "Tools": report.tools_of_each,
        "Tables": report.tables_of_each,
        "Columns": report.columns_of_each,
        "Foreign keys": report.keys_of_each,
        "Rows": report.rows_of_each,
        "Cases": report.cases_of_each,
        "Tools that share a table": report.tools_per_table,
    }
    for words, size in rows.items():
        cells = [f"{size.mean:,.1f}", f"{size.p10:,}", f"{size.median:,}", f"{size.p90:,}", f"{size.maximum:,}"]
        name = words.lower()
        if with_probe:
            known = [PROBE.get(f"{name}_{part}") for part in ("p10", "median", "p90")]
            cells.append(", ".join(f"{value:,.0f}" for value in known if value is not None))
        table.add_row(words, *cells)
    table.add_section()
    table.add_row("Share with a state transition", f"{report.transitions_share:.1%}")
    table.add_row("Mean suspicion; environments from 0.25", f"{report.suspicion_mean:.3f}; {report.suspicious:,}")
    table.add_row("Tools that verification dropped", f"{report.dropped:,}")
    for each in report.repetitions:
        table.add_row(f"Not counted: {each.name.replace('_', ' ')}", f"{each.num:,}")
    return table


def _shares(title: str, unit: str, counts: Sequence[Counted]) -> Table:
    table = Table("", title=title, title_justify="left")
    table.add_column(unit, justify="right")
    table.add_column("Share", justify="right")
    total = sum(each.num for each in counts)
    for each in counts:
        table.add_row(each.name.replace("_", " "), f"{each.num:,}", f"{each.num / total:.1%}")
    return table
