"""What of the lock can be had here, layer by layer, and what to do about the rest."""

import dataclasses
from dataclasses import dataclass

from environments.runtime.sandbox import attestation
from environments.runtime.sandbox.errors import SandboxUnavailableError
from environments.runtime.sandbox.host import Worker
from environments.runtime.sandbox.layers import RULES
from environments.runtime.sandbox.limits import Limits
from environments.runtime.sandbox.policy import Policy


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the lock, here and now.

    Attributes:
        name: Its name in the worker's hello.
        purpose: What it stops.
        state: `on`, or `missing`.
        detail: What was reached, or why not.
        is_required: Whether nothing runs without it.
        remedy: What to do where it is missing; empty where it is on.
    """

    name: str
    purpose: str
    state: str
    detail: str
    is_required: bool
    remedy: str


def sandbox_report(policy: Policy | None = None, limits: Limits | None = None) -> tuple[Layer, ...]:
    """The state of each layer; starts two processes, half a second.

    The first is started as workers are; only if it is refused does a second, which never sees a pack, tell what each
    layer reached by itself.
    """
    policy = policy or Policy()
    refused: dict[str, str] = {}
    reached: dict[str, str] = {}
    wanted = dataclasses.replace(policy, allow_unsafe=False)
    try:
        with Worker("warm", limits, wanted) as worker:
            reached = {**worker.hello.layers, "process": f"python {worker.hello.python}, sqlite {worker.hello.sqlite}"}
            reached["self_test"] = "every probe was refused"
    except SandboxUnavailableError as error:
        refused["process"] = str(error)
        reached, refused = _look_closer(limits, refused)
    return tuple(_layer(name, reached, refused, policy) for name in RULES)


def _look_closer(limits: Limits | None, refused: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What an unlocked worker reaches, layer by layer."""
    try:
        with Worker("warm", limits, Policy(allow_unsafe=True, is_production=False)) as worker:
            layers = worker.hello.layers
            missing = {name: state for name, state in layers.items() if state.startswith("missing")}
            missing |= dict(attestation.find_missing(worker.process_id, may_fork=False))
            if worker.hello.holes:
                missing["self_test"] = ", ".join(worker.hello.holes)
            reached = {**layers, "process": f"python {worker.hello.python}", "self_test": "every probe was refused"}
            return {name: state for name, state in reached.items() if name not in missing}, missing
    except (SandboxUnavailableError, OSError) as error:
        return {}, refused | {"process": str(error)}


def _layer(name: str, reached: dict[str, str], refused: dict[str, str], policy: Policy) -> Layer:
    rule = RULES[name]
    is_required = rule.is_required or (name == "landlock" and policy.require_landlock)
    detail = refused.get(name) or reached.get(name, "not reached")
    is_on = name in reached and name not in refused and not detail.startswith(("missing", "stays root"))
    return Layer(name, rule.purpose, "on" if is_on else "missing", detail, is_required, "" if is_on else rule.remedy)


def is_available(layers: tuple[Layer, ...]) -> bool:
    """Whether packs can run: every required layer is on."""
    return all(layer.state == "on" for layer in layers if layer.is_required)
