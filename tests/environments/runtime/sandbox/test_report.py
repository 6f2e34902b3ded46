"""What the report says where everything is to be had, and the policy that decides."""

import logging
import platform
import sys

import pytest

from environments.runtime.sandbox import host
from environments.runtime.sandbox.errors import SandboxUnavailableError
from environments.runtime.sandbox.layers import RULES
from environments.runtime.sandbox.policy import Policy
from environments.runtime.sandbox.report import is_available, sandbox_report


def test_every_required_layer_is_on_here() -> None:
    layers = sandbox_report()
    assert [layer.name for layer in layers] == list(RULES)
    assert is_available(layers), layers
    for layer in layers:
        assert (layer.remedy == "") == (layer.state == "on")


def test_report_names_the_layer_when_no_interpreter_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    layers = {layer.name: layer for layer in sandbox_report()}
    assert layers["process"].state == "missing"
    assert "/nonexistent/python" in layers["process"].detail
    assert not is_available(tuple(layers.values()))


def test_other_systems_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    with pytest.raises(SandboxUnavailableError, match="Darwin has none"):
        host.Worker()


@pytest.mark.parametrize(
    ("asked", "is_production", "is_unsafe"),
    [("1", False, True), ("1", True, False), ("0", False, False), ("", False, False)],
)
def test_unsafe_is_honoured_only_outside_production(asked: str, is_production: bool, is_unsafe: bool) -> None:
    policy = Policy.from_environment({"SANDBOX_ALLOW_UNSAFE": asked}, is_production=is_production)
    assert policy.is_unsafe is is_unsafe


def test_unsafe_is_not_the_default() -> None:
    assert not Policy().is_unsafe
    assert not Policy.from_environment({}, is_production=False).is_unsafe


def test_unsafe_with_every_layer_on_is_locked_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), host.Worker(policy=Policy(allow_unsafe=True, is_production=False)) as worker:
        assert worker.hello.layers["seccomp"].endswith("instructions")
    assert "UNSAFE" not in caplog.text
