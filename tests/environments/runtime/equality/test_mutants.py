"""Whether the tests would notice: small wrong changes to the package, each of which one test file must kill."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[4]
PACKAGE = Path("environments/runtime/equality")
TESTS = Path("tests/environments/runtime/equality")


class Mutant(NamedTuple):
    """One wrong change and the test file that must notice."""

    module: str
    right: str
    wrong: str
    killer: str


MUTANTS = {
    # values
    "tolerance is absolute": Mutant("values", "tolerance * max(abs(one), abs(other))", "tolerance", "values"),
    "tolerance of the smaller": Mutant("values", "tolerance * max(", "tolerance * min(", "values"),
    "infinity equals large numbers": Mutant(
        "values", "if math.isinf(one) or math.isinf(other):", "if False:", "values"
    ),
    "null equals null-like": Mutant("values", "if reference is None or candidate is None:", "if False:", "values"),
    "numbers are words": Mutant("values", "if reference.numbers != candidate.numbers:", "if False:", "values"),
    "negation is a word": Mutant(
        "values",
        "if reference.negations(self._language) != candidate.negations(self._language):",
        "if False:",
        "values",
    ),
    "lenient always": Mutant(
        "values", "if is_lenient and exact_rule is Rule.NORMALISED", "if exact_rule is Rule.NORMALISED", "values"
    ),
    "tolerance always": Mutant(
        "values", "if is_lenient and isinstance(reference, float)", "if isinstance(reference, float)", "values"
    ),
    "integers are rounded": Mutant(
        "values", 'if column.type == "INTEGER" and value.is_integer():', 'if column.type == "INTEGER":', "values"
    ),
    "NaN is a number": Mutant("values", " and not math.isnan(value)", "", "values"),
    "text is free of charge": Mutant(
        "values", "return TEXT_STEPS + num_characters // CHARACTERS_PER_STEP", "return 1", "values"
    ),
    "F1 of 0.75": Mutant("text", "5 * common >= 2 *", "16 * common >= 6 *", "values"),
    "F1 over sets": Mutant("text", "sum(min(count, larger[token])", "sum(1", "values"),
    "symbols are removed": Mutant("text", 'in "PZC" else', 'in "PZCS" else', "values"),
    "marks of numbers are lost": Mutant("text", "_MARK.join(", '"".join(', "values"),
    "no case folding": Mutant("text", "return text.casefold()", "return text", "values"),
    "raised numbers stick": Mutant("text", '== "No"', '== "Xx"', "values"),
    "Han by words": Mutant("text", 'if match["unspaced"] and len(run) > 1:', "if False:", "values"),
    "Han numerals are words": Mutant("numerals", "(?P<han>{_HAN})|", "(?P<han>\\\\Z\\\\A)|", "values"),
    "signs are dropped": Mutant("numerals", "(?:(?<!\\w)[-+\\u2212])?\\d+", "\\d+", "values"),
    "100 and 5 is 105": Mutant("numerals", "last_place != 10 and not is_after_zero", "False", "values"),
    "ordinary words negate": Mutant("negation", 'if match.groupdict().get("other") is None:', "if True:", "values"),
    "JSON names may repeat": Mutant("json_text", "if name == next_name:", "if False:", "values"),
    "JSON objects have order": Mutant("json_text", "sorted(zip(", "list(zip(", "values"),
    "JSON numbers as written": Mutant(
        "json_text", 'return _number(lexeme) if kind == "number" else', "return", "values"
    ),
    "JSON without limit of depth": Mutant("json_text", "if len(stack) > MAX_DEPTH:", "if False:", "values"),
    # changes
    "back to the start is a change": Mutant("changes", "if image != originals[row_id]}", "}", "changes"),
    "before is not checked": Mutant("changes", "        if unlike:", "        if False:", "changes"),
    "keys may change": Mutant("changes", "if table.key_of(after) != key:", "if False:", "changes"),
    "inserts replace": Mutant(
        "changes", "if is_insert != (before is None):", "if not is_insert and before is None:", "changes"
    ),
    "semantic keys": Mutant("changes", 'if column.comparison != "hard" or', "if", "changes"),
    # sides
    "changed as written": Mutant("sides", "if old != new", "if row[column.name] != before[column.name]", "compare"),
    "foreign keys in the start only": Mutant(
        "sides", "        if values in index:\n            return index[values]\n", "", "compare"
    ),
    "deleted targets stay": Mutant(
        "sides", "return None if key is None or (name, key) in self._images else key", "return key", "compare"
    ),
    "allowed rows are compared": Mutant(
        "sides", "if row is None or name in self._left_out:", "if row is None:", "compare"
    ),
    "allowed rows are coloured by id": Mutant(
        "sides", 'targets.append(("left_out", ()))', 'targets.append(("left_out", key))', "compare"
    ),
    "dangling values are alike": Mutant("sides", '"dangling", values))', '"dangling", ()))', "compare"),
    # search
    "small edits pass": Mutant(
        "search", "node.changed is None or column in node.changed for node", "True for node", "compare"
    ),
    "no exact pass": Mutant(
        "search", "judge, steps, is_exact=True).run()", "judge, steps, is_exact=False).run()", "graphs"
    ),
    "no second pass": Mutant("search", "if pairs is None and any(", "if False and any(", "compare"),
    "no count before the search": Mutant(
        "search", "if _count_rows(reference) != _count_rows(candidate):", "if False:", "graphs"
    ),
    "looking ahead at nothing": Mutant(
        "search", "return any(self._match(cell) is None for", "return any(False for", "graphs"
    ),
    "no order of values": Mutant(
        "search", "if left not in self._known and are_alike(left, right):", "if False:", "graphs"
    ),
    "pins are ignored": Mutant(
        "search",
        "node.values, node.targets, node.pins\n\n\ndef _coarse",
        "node.values, node.targets\n\n\ndef _coarse",
        "compare",
    ),
    "directions are one": Mutant("search", "(2 * label + 1, index)", "(2 * label, index)", "graphs"),
    "foreign keys are alike": Mutant(
        "search", "append((2 * label, target + offset))", "append((0, target + offset))", "graphs"
    ),
    "no looking ahead": Mutant("search", "self._is_careful = True", "self._is_careful = False", "graphs"),
    "no earlier matching": Mutant("search", "self._known.get(first, -1), 0", "-1, 0", "graphs"),
    "first try only": Mutant(
        "search", "        yield from (right for right in rights if right != chosen)\n", "", "graphs"
    ),
    "no undo": Mutant("partition", "        while len(self._trail) > mark:", "        while False:", "graphs"),
    "balance is not checked": Mutant(
        "partition", "if not all(map(self.is_balanced, fragments)):", "if False:", "graphs"
    ),
    "largest fragment looked at": Mutant(
        "partition", "largest = fragments.pop()\n", "largest = fragments.pop(0)\n", "graphs"
    ),
    "no budget": Mutant("partition", "if self.used > self._budget:", "if False:", "graphs"),
    "greedy matching": Mutant("matching", "queue.append(owner[right])", "pass", "parts"),
    "closure of exact forms only": Mutant("closure", "self._join(near, text)", "pass", "parts"),
    "closure forgets normal forms": Mutant(
        "closure", "self._join(first_of.setdefault(", "print(first_of.setdefault(", "graphs"
    ),
    "prefix filter too narrow": Mutant("closure", "// 3 + 1]", "// 3]", "parts"),
    "path is not turned": Mutant(
        "matching", "partner[item], owner[right] = right, item", "owner[right] = item", "parts"
    ),
    "closure too narrow": Mutant(
        "closure",
        "_WIDER_TOLERANCE = RELATIVE_TOLERANCE * 1.001",
        "_WIDER_TOLERANCE = RELATIVE_TOLERANCE / 2",
        "compare",
    ),
    # findings and the rest
    "start rows decide nothing": Mutant("findings", "(missing if is_required else unexpected)", "missing", "compare"),
    "unrequired matches": Mutant("findings", "            elif is_required:", "            else:", "compare"),
    "links are not read": Mutant(
        "findings", "if is_equal and target is not None and other_target is not None:", "if False:", "compare"
    ),
    "answers without a row": Mutant(
        "comparison",
        "is_same = left is right and key == candidate_key and reference.is_start_row((table, key))",
        "is_same = key == candidate_key",
        "compare",
    ),
    "any table may be allowed": Mutant(
        "comparison", 'if table.info.role != "log" or table.is_referenced:', "if False:", "changes"
    ),
    "undecided is different": Mutant(
        "comparison", "outcome = Outcome.UNDECIDED", "outcome = Outcome.DIFFERENT", "graphs"
    ),
    "no alignment": Mutant("alignment", "        alignment.run()", "        pass", "compare"),
    "alignment by values only": Mutant(
        "alignment", "        for column in one.table.compared:\n", "        for column in ():\n", "report"
    ),
    "infinity is lost": Mutant("report", "if isinstance(value, float) and math.isinf(value):", "if False:", "report"),
    "copies are not looked for": Mutant("shifted", "if findings.is_clean:", "if True:", "validation"),
    "trifles are required": Mutant("required", "if not node.changed:", "if False:", "validation"),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package and its tests, apart from the project: no settings, no services."""
    root = tmp_path_factory.mktemp("mutants")
    for folder in (Path("environments/runtime"), TESTS):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "environments/__init__.py").touch()
    (root / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\nmarkers = slow\n")
    return root


def run_tests(root, name):
    command = [
        sys.executable,
        "-B",
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:django",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
    ]
    return subprocess.run(
        [*command, "-m", "not slow", str(root / TESTS / f"test_{name}.py")],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.parametrize("killer", sorted({mutant.killer for mutant in MUTANTS.values()}))
def test_unchanged_package_passes(copy, killer):
    result = run_tests(copy, killer)
    assert result.returncode == 0, result.stdout[-2_000:]


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_killed(copy, name):
    mutant = MUTANTS[name]
    path = copy / PACKAGE / f"{mutant.module}.py"
    source = path.read_text(encoding="utf-8")
    assert source.count(mutant.right) == 1, "the table must follow the source"
    path.write_text(source.replace(mutant.right, mutant.wrong), encoding="utf-8")
    try:
        result = run_tests(copy, mutant.killer)
    finally:
        path.write_text(source, encoding="utf-8")
    assert result.returncode == 1, f"survived, or did not run: {result.stdout[-2_000:]}{result.stderr[-500:]}"
