"""What agents see of a version: hints that its verification saw, and results that are the observation's bytes."""

import json
from dataclasses import replace

import pytest

from environments.api.mcp.tools import call_result, tool_list, unstorable_result
from environments.core.errors import FieldError
from environments.models import VerificationRun
from environments.runtime.records import CallRecord, CallStatus
from tests.factories.registry import shipped_version

RECORD = CallRecord(0, "x", {}, CallStatus.SUCCESS, None, '{"a":1}')


def hints(version):
    found = {}
    for tool in tool_list(version.pk)["tools"]:
        hint = tool["annotations"]
        found[tool["name"]] = tuple(hint[name] for name in ("readOnlyHint", "destructiveHint", "idempotentHint"))
    return found


def add_run(version, number, outcome, effects):
    return VerificationRun.objects.create(
        code=f"00000000-0000-4000-8000-{number:012}", version=version, number=number, verifier_version="1",
        outcome=outcome, effects=effects,
    )  # fmt: skip


@pytest.mark.django_db
def test_hints_are_cautious_when_nothing_was_verified():
    found = hints(shipped_version("repair_cafe"))
    assert found["find_visitor"] == (True, False, True)
    assert found["register_visitor"] == (False, True, False)


@pytest.mark.django_db
def test_hints_follow_the_newest_run_that_passed():
    version = shipped_version("repair_cafe")
    seen = {"is_destructive": False, "is_idempotent": True}
    add_run(version, 1, "passed", {"register_visitor": {"is_destructive": True, "is_idempotent": True}})
    add_run(version, 2, "passed", {"register_visitor": seen})
    add_run(version, 3, "failed", {"register_visitor": {"is_destructive": True, "is_idempotent": False}})
    found = hints(version)
    assert found["register_visitor"] == (False, False, True)
    assert found["register_item"] == (False, True, False)  # the run says nothing of it
    add_run(version, 4, "passed", {})
    assert hints(version)["register_visitor"] == (False, True, False)


@pytest.mark.django_db
def test_tools_of_the_simulated_user_are_not_the_agents(django_assert_num_queries):
    version = shipped_version("repair_cafe")
    names = {tool["name"] for tool in tool_list(version.pk)["tools"]}
    users = set(version.tools.filter(audience="user").values_list("name", flat=True))
    assert users
    assert not names & (users | {"reset", "snapshot", "restore", "state"})
    with django_assert_num_queries(1):
        tool_list(version.pk)


@pytest.mark.parametrize(
    "observation", ['{"a":1}', '{"a":123456789012345678901234567890}', '{"a":0.1,"b":1e22}', '{"a":"\\u0000 é 🙂"}']
)
def test_a_success_is_the_observation_twice_when_it_is_a_value(observation):
    result = call_result(replace(RECORD, observation=observation))
    assert result["content"] == [{"type": "text", "text": observation}]
    assert result["structuredContent"] == json.loads(observation)
    assert "isError" not in result


@pytest.mark.parametrize("status", [status for status in CallStatus if status != CallStatus.SUCCESS])
def test_everything_else_is_an_error_with_the_text_alone(status):
    observation = '{"error":{"code":"x","message":"y"}}'
    result = call_result(replace(RECORD, status=status, code="x", observation=observation))
    assert result["isError"]
    assert result["content"] == [{"type": "text", "text": observation}]
    assert "structuredContent" not in result


def test_arguments_that_no_record_can_keep_are_pointed_at():
    result = unstorable_result((FieldError("/calls/0/arguments/na\udfffme", "invalid", "holds a lone surrogate"),))
    details = json.loads(result["content"][0]["text"])["error"]["details"]
    assert details == [{"pointer": "/na?me", "message": "holds a lone surrogate"}]
