import json

import pytest
from django.core.management import call_command

from environments.runtime.sandbox.report import Layer, sandbox_report
from environments.services import sandbox


@pytest.fixture(autouse=True)
def forget_report(monkeypatch):
    monkeypatch.setattr(sandbox, "_report", None)


def without(*names):
    def report(policy):
        return tuple(
            Layer(each.name, each.purpose, "missing", "taken away", each.is_required, "put it back")
            if each.name in names
            else each
            for each in sandbox_report(policy)
        )

    return report


def test_machine_can_lock_tool_code_in():
    assert sandbox.check_sandbox() == "7 of 7 layers"


def test_missing_required_layer_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setattr(sandbox, "sandbox_report", without("seccomp"))

    with pytest.raises(RuntimeError, match=r"seccomp.*sandbox_check"):
        sandbox.check_sandbox()


def test_missing_second_lock_is_said_and_does_not_stop(monkeypatch):
    monkeypatch.setattr(sandbox, "sandbox_report", without("landlock"))

    assert sandbox.check_sandbox() == "6 of 7 layers, without landlock"


def test_report_is_made_once_and_a_bad_one_is_made_again_soon(monkeypatch):
    made = []

    def report(policy):
        made.append(policy)
        return without("seccomp")(policy) if len(made) == 1 else sandbox_report(policy)

    monkeypatch.setattr(sandbox, "sandbox_report", report)
    with pytest.raises(RuntimeError):
        sandbox.check_sandbox()
    with pytest.raises(RuntimeError):
        sandbox.check_sandbox()
    assert len(made) == 1

    monkeypatch.setattr(sandbox, "BAD_SECONDS", 0)
    sandbox.check_sandbox()
    sandbox.check_sandbox()
    assert len(made) == 2


def test_unlocked_workers_are_for_debugging_only(settings):
    settings.SANDBOX_ALLOW_UNSAFE = True
    settings.DEBUG = False
    assert not sandbox.sandbox_policy().is_unsafe

    settings.DEBUG = True
    assert sandbox.sandbox_policy().is_unsafe


def test_command_prints_every_layer(capsys):
    call_command("sandbox_check", "--json")

    report = json.loads(capsys.readouterr().out)
    assert (report["is_available"], report["is_unsafe"]) == (True, False)
    assert {layer["name"] for layer in report["layers"]} >= {"process", "rlimits", "seccomp", "landlock", "self_test"}


def test_command_fails_and_gives_the_remedy_when_a_layer_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("environments.management.commands.sandbox_check.sandbox_report", without("rlimits"))

    with pytest.raises(SystemExit) as ended:
        call_command("sandbox_check")

    assert ended.value.code == 1
    shown = capsys.readouterr().out
    assert "put it back" in shown
    assert "can't be run here" in shown
