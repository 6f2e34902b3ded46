"""`python -m environments.runtime check PATH`: what is wrong with a pack, and what to do about it."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from environments.runtime.conformance import Finding, check_environment
from environments.runtime.faults import Fault
from environments.runtime.pack import Pack, PackError, check_pack, content_sha256, read_pack
from environments.runtime.sandbox.errors import SandboxError
from environments.runtime.sandbox.policy import Policy
from environments.runtime.sandbox.pool import PoolSettings, WorkerPool
from environments.runtime.session import Environment

GOOD, FAULTY, NOT_CHECKED = 0, 1, 2
"""Exit codes; 2 also stands for a wrong command line, as argparse has it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    options = _parser().parse_args(arguments)
    pack: Pack | None = None
    problem: str | None = None
    findings: Sequence[Finding] = ()
    try:
        pack = read_pack(options.path)
    except PackError as error:
        faults: Sequence[Fault] = error.faults
    except OSError as error:
        faults, problem = (), str(error)
    else:
        faults = check_pack(pack, require_cases=True)
        if not faults and not options.host_only:
            try:
                faults, findings = _try_in_worker(pack)
            except SandboxError as error:
                problem = f"{error.code}: {error}"
    identity = content_sha256(pack) if pack and not faults and not findings else None
    if options.json:
        _print_json(pack, identity, faults, findings, problem)
    else:
        _print_text(pack, identity, faults, findings, problem, is_whole=not options.host_only)
    if problem:
        return NOT_CHECKED
    return FAULTY if faults or findings else GOOD


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m environments.runtime", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser(
        "check",
        help="list what is wrong with a pack",
        description="Exit code 0: nothing, 1: something, 2: could not be checked.",
    )
    check.add_argument("path", type=Path, help="a pack's folder or zip")
    check.add_argument(
        "--host-only",
        action="store_true",
        help="leave out what runs in a locked worker: SQL, source, cases, conformance",
    )
    check.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _try_in_worker(pack: Pack) -> tuple[Sequence[Fault], Sequence[Finding]]:
    """The worker's half of validation, then conformance; the pack's SQL and source never come into this process."""
    policy = Policy.from_environment(os.environ, is_production=True)
    with WorkerPool(PoolSettings(num_spares=0, policy=policy)) as pool:
        environment = Environment(pack, pool)
        described = pool.describe(environment.encoded, environment.content_sha256)
        if described.faults:
            return described.faults, ()
        return (), check_environment(environment, described).findings


def _print_json(
    pack: Pack | None,
    identity: str | None,
    faults: Sequence[Fault],
    findings: Sequence[Finding],
    problem: str | None,
) -> None:
    report = {
        "name": pack.name if pack else None,
        "content_sha256": identity,
        "faults": [
            {"code": item.code, "place": item.place, "message": item.message, "remedy": item.remedy} for item in faults
        ],
        "findings": [asdict(finding) for finding in findings],
        "problem": problem,
    }
    sys.stdout.write(json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def _print_text(
    pack: Pack | None,
    identity: str | None,
    faults: Sequence[Fault],
    findings: Sequence[Finding],
    problem: str | None,
    *,
    is_whole: bool,
) -> None:
    lines = [line for fault in faults for line in (str(fault), f"    {fault.remedy}")]
    lines += [
        f"{finding.place or pack.name if pack else ''}: {finding.code}: {finding.message}" for finding in findings
    ]
    if pack:
        num_calls = f"{len(pack.tools)} tools, {len(pack.tables)} tables, {len(pack.scenarios)} scenarios"
        lines.append(f"{pack.name}: {num_calls}, {len(pack.cases)} cases")
    if problem:
        lines.append(f"Not everything was checked. {problem}")
    elif faults:
        lines.append(f"{len(faults)} fault{'s' if len(faults) > 1 else ''}")
    elif findings:
        lines.append(f"does not conform: {len(findings)} finding{'s' if len(findings) > 1 else ''}")
    else:
        lines.append(f"no faults{', conforms' if is_whole else ' in the host half'}, content_sha256 {identity}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
