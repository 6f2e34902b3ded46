"""`manage.py bench_mutants`: whether the cases of compiled packs would notice a wrong tool.

Packs are drawn by a seed from a folder that `bench_corpus --keep` has filled; each gets seeded faults, one at a time,
and its own cases are run against it. Post-conditions are taken away first, so that only cases can notice.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from django.core.management.base import CommandError, CommandParser

from environments.core.compile.mutation import Mutant, Operator, mutants, score
from environments.management.benchmarks import BenchCommand, Figure
from environments.management.corpus import Folder
from environments.runtime.cases import run_cases
from environments.runtime.pack import Pack, check_pack, content_sha256
from environments.runtime.sandbox.errors import SandboxError
from environments.runtime.sandbox.pool import PoolSettings, WorkerPool
from environments.runtime.session import Environment
from environments.services.sandbox import sandbox_policy

EQUIVALENT: Final = Path(__file__).resolve().parents[2] / "data" / "equivalent_mutants.json"
"""Survivors that a person found to be no fault at all, each with the reason."""
NUM_PACKS: Final = 20
NUM_QUICK_PACKS: Final = 2
MAX_PER_OPERATOR: Final = 12
MAX_QUICK: Final = 2
TARGET_ALL: Final = 95.0
TARGET_OPERATOR: Final = 90.0
UNDECIDED_TRIES: Final = 2


@dataclass(frozen=True, slots=True)
class Trial:
    """One mutant and what became of it.

    Attributes:
        pack: Name of its pack.
        sha256: Of the pack without the fault.
        mutant: The fault.
        is_caught: Whether the cases noticed it.
        reason: Why it is no fault, if a person found that.
    """

    pack: str
    sha256: str
    mutant: Mutant
    is_caught: bool
    reason: str = ""


class Command(BenchCommand):
    help = "Seeds faults into compiled packs of a folder of bench_corpus, and counts those that their cases notice."

    def add_arguments(self, parser: CommandParser) -> None:
        """Adds the folder and how much is drawn."""
        super().add_arguments(parser)
        parser.add_argument("folder", type=Path, help="What bench_corpus --keep has filled.")
        parser.add_argument("--packs", type=int, default=0, help=f"How many; by default {NUM_PACKS}.")
        parser.add_argument("--seed", type=int, default=0, help="Of packs and faults.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Measures and reports."""
        self._options = options
        super().handle(*args, **options)

    def measure(self, *, is_quick: bool, say: Callable[[str], None]) -> list[Figure]:
        """Tries every mutant of the packs that are drawn."""
        folder, seed = Folder(self._options["folder"]), self._options["seed"]
        names = folder.packs()
        if not names:
            raise CommandError(f"{folder.path} has no packs: fill it by bench_corpus --keep {folder.path}.")
        wanted = self._options["packs"] or (NUM_QUICK_PACKS if is_quick else NUM_PACKS)
        rng = np.random.default_rng(seed)
        drawn = sorted(names[place] for place in rng.permutation(len(names))[:wanted])
        equivalent = read_equivalent()
        trials: list[Trial] = []
        for name in drawn:
            found = list(try_pack(name, folder.read_pack(name), seed, MAX_QUICK if is_quick else MAX_PER_OPERATOR))
            trials += [_judged(each, equivalent) for each in found]
            say(f"{name}: {sum(each.is_caught for each in found)} of {len(found)} caught")
        survivors = [each for each in trials if not each.is_caught]
        for each in survivors:
            words = f"equivalent: {each.reason}" if each.reason else "survived"
            say(f"{each.pack} ({each.sha256[:12]}), {each.mutant.operator} in {each.mutant.tool} at "
                f"{each.mutant.place}: {words}")  # fmt: skip
        return _figures(len(drawn), trials, survivors)


def try_pack(name: str, pack: Pack, seed: int, max_per_operator: int) -> Iterator[Trial]:
    """Every drawn mutant of a pack, each run against the pack's own cases.

    Raises:
        CommandError: The cases do not hold for the pack itself.
    """
    sha256 = content_sha256(pack)
    with WorkerPool(PoolSettings(policy=sandbox_policy(), max_packs=2, num_spares=2)) as pool:
        if is_noticed(pack, "", pool):
            raise CommandError(f"{name}: its cases do not hold as it is.")
        for mutant in mutants(pack, seed, max_per_operator):
            yield Trial(name, sha256, mutant, is_noticed(mutant.pack, mutant.tool, pool))


def is_noticed(pack: Pack, tool: str, pool: WorkerPool) -> bool:
    """Whether the pack's checks or cases find something wrong with it.

    Args:
        pack: With a fault.
        tool: Where it is: cases of that tool are run first.
        pool: The workers.

    Raises:
        CommandError: The machinery loses calls again and again, so that nothing can be said.
    """
    if check_pack(pack):
        return True
    try:
        environment = Environment(pack, pool)
        described = pool.describe(environment.encoded, environment.content_sha256)
        if described.faults:
            return True
        first = [case for case in pack.cases if case.tool == tool]
        rest = [case for case in pack.cases if case.tool != tool]
        for cases in (first, rest):
            for _ in range(UNDECIDED_TRIES):
                lost = [each for each in run_cases(environment, described.tables, cases).cases if not each.holds]
                if not lost:
                    break
                if not all(each.is_infrastructure for each in lost):
                    return True
            else:
                raise CommandError(f"{pack.name}: the machinery lost calls of its cases.")
    except SandboxError:  # the fault broke its worker
        return True
    return False


# --- Equivalent ones --------------------------------------------------------------------------------------------------

Key = tuple[str, str, str, str]


def read_equivalent(place: Path = EQUIVALENT) -> dict[Key, str]:
    """By pack, operator, tool and place, why a mutant is no fault."""
    listed: list[Mapping[str, str]] = json.loads(place.read_text(encoding="utf-8"))
    return {(each["sha256"], each["operator"], each["tool"], each["place"]): each["reason"] for each in listed}


def _judged(trial: Trial, equivalent: Mapping[Key, str]) -> Trial:
    mutant = trial.mutant
    reason = equivalent.get((trial.sha256, mutant.operator.value, mutant.tool, mutant.place), "")
    return Trial(trial.pack, trial.sha256, mutant, trial.is_caught, "" if trial.is_caught else reason)


def _figures(num_packs: int, trials: Sequence[Trial], survivors: Sequence[Trial]) -> list[Figure]:
    counted = [each for each in trials if not each.reason]
    caught = sum(each.is_caught for each in counted)
    scores = score((each.mutant, each.is_caught) for each in counted)
    return [
        Figure("Packs", num_packs, "packs"),
        Figure("Mutants", len(trials), "mutants"),
        Figure("Of these, equivalent by hand", len(trials) - len(counted), "mutants"),
        Figure("Caught, without equivalent ones", 100 * caught / max(len(counted), 1), "%", TARGET_ALL, is_floor=True),
        Figure(
            "Caught, all counted", 100 * sum(each.is_caught for each in trials) / max(len(trials), 1), "%"
        ),
        *(
            Figure(f"Caught: {each.operator.value} ({each.num_caught} of {each.num_mutants})",
                   100 * each.caught_ratio, "%", TARGET_OPERATOR, is_floor=True)
            for each in scores
        ),
        *(Figure(f"No mutant: {operator.value}", 0, "mutants")
          for operator in Operator if operator not in {each.operator for each in scores}),
        *(Figure(f"Survivor: {each.pack}, {each.mutant.operator.value}, {each.mutant.tool}, {each.mutant.place}",
                 1, "mutant") for each in survivors if not each.reason),
    ]  # fmt: skip
