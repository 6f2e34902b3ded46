"""Sets of tools that copy a benchmark, made from the data file or written by hand, and sets that only look alike."""

import json
from dataclasses import replace
from pathlib import Path

from environments.core.leak_guard import GuardData, GuardSubject, GuardTable, GuardTool, Member
from environments.core.leak_guard.building import written_sets
from environments.core.leak_guard.library import Entry

HERE = Path(__file__).parent


def innocent() -> list[GuardSubject]:
    """Look-alikes written by hand."""
    return written_sets(json.loads((HERE / "innocent.json").read_text()))


def paraphrased() -> dict[str, GuardSubject]:
    """Benchmarks said in other words, with other names and without arguments, by benchmark."""
    sets = written_sets(json.loads((HERE / "paraphrased.json").read_text()))
    return {subject.name: replace(subject, name="In other words") for subject in sets}


def same_names(entry: Entry) -> GuardSubject:
    """A benchmark's tool names, in another case, without anything else of it, beside tools of its own."""
    tools = [GuardTool(_camel(name)) for name in entry.tool_names]
    own = [GuardTool(f"water_bed_{number}", "Waters a bed.", (Member("bed"),)) for number in range(len(tools))]
    return GuardSubject("Same names", (*tools, *own))


def renamed(entry: Entry) -> GuardSubject:
    """A benchmark's argument lists under other tool names, in another order and case."""
    tools = [
        GuardTool(
            f"do_{number}", "", tuple(replace(member, name=_camel(member.name)) for member in reversed(arguments))
        )
        for number, arguments in enumerate(entry.arguments)
    ]
    return GuardSubject("Renamed", tuple(reversed(tools)))


def one_table_renamed(entry: Entry, number: int = 0) -> GuardSubject:
    """A benchmark's tables, one of them under another name, with tools of no benchmark."""
    tables = [
        GuardTable("something_else" if place == number else name, entry.columns[place])
        for place, name in enumerate(entry.table_names)
    ]
    return GuardSubject(
        "One table renamed", (GuardTool("water_bed", "Waters a bed.", (Member("bed"),)),), tuple(tables)
    )


def shipped_data() -> GuardData:
    """The data that the project ships."""
    path = HERE.parents[3] / "environments" / "data" / "leak_guard.json"
    return GuardData.from_json(json.loads(path.read_bytes()))


def _camel(name: str) -> str:
    first, *others = name.replace("-", "_").split("_")
    return first + "".join(other[:1].upper() + other[1:] for other in others)
