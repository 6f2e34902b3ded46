"""The table of the attack suite, printed at the end of a run."""

from collections import Counter

import pytest

from tests.environments.runtime.sandbox.attacks.groups import COLUMNS, GROUPS

CELL, NOTE = "attack_cell", "attack_note"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints group by mode by user from what each cell's test reported (also under xdist)."""
    cells: dict[tuple[int, str, str], str] = {}
    reasons: dict[tuple[int, str, str], str] = {}
    notes: set[tuple[int, str, str, str]] = set()
    for outcome, word in (("passed", "passed"), ("failed", "FAILED"), ("skipped", "n/a")):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in getattr(report, "user_properties", []):
                if name == NOTE:
                    notes.add(tuple(value))
                if name == CELL and getattr(report, "when", "call") in ("call", "setup"):
                    group, mode, user = value
                    cells[group, mode, user] = word
                    if outcome == "skipped" and isinstance(report.longrepr, tuple):
                        reasons[group, mode, user] = report.longrepr[2].removeprefix("Skipped: ")
    if not cells:
        return
    terminalreporter.section("sandbox attacks: group by mode by user")
    heads = [f"{mode} {user}" for mode, user in COLUMNS]
    terminalreporter.write_line(f"{'':52}" + "".join(f"{head:>19}" for head in heads))
    for group, title in GROUPS.items():
        row = "".join(f"{cells.get((group, mode, user), '-'):>19}" for mode, user in COLUMNS)
        terminalreporter.write_line(f"{group:>3} {title[:48]:48}" + row)
    counted = Counter(cells.values())
    terminalreporter.write_line(", ".join(f"{count} {word}" for word, count in sorted(counted.items())))
    for (group, mode, user), reason in sorted(reasons.items()):
        terminalreporter.write_line(f"  n/a {group} {mode} {user}: {reason}")
    for group, mode, user, note in sorted(notes):
        terminalreporter.write_line(f"  in part {group} {mode} {user}: {note}")
