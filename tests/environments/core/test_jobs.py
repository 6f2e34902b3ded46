import pytest

from environments.core import jobs
from environments.core.errors import InvalidInputError, UnknownJobKindError
from environments.core.jobs import JobKind, Queue, job_kind, register_job_kind

SCHEMA = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 1, "default": 5},
        "names": {"type": "array", "items": {"type": "object", "properties": {"a/b": {"type": "string"}}}},
    },
    "additionalProperties": False,
}


def make_kind(**changes):
    values = {
        "name": "example",
        "title": "Example",
        "description": "",
        "queue": Queue.DEFAULT,
        "parameters": SCHEMA,
        "run": lambda context: None,
    }
    return JobKind(**{**values, **changes})


def test_defaults_are_filled_in_when_absent():
    assert make_kind().check_parameters({}) == {"count": 5}
    assert make_kind().check_parameters({"count": 2}) == {"count": 2}


@pytest.mark.parametrize(
    ("parameters", "pointer"),
    [
        ({"count": 0}, "/parameters/count"),
        ({"count": "5"}, "/parameters/count"),
        ({"names": [{"a/b": 1}]}, "/parameters/names/0/a~1b"),
        ({"other": 1}, "/parameters/other"),
        ({"names": [{}, {"must": 1}], "count": 1.5}, "/parameters/count"),
        ({"names": [{"x": "\x00"}]}, "/parameters/names/0/x"),
        ({"names": [{"x": "\ud800"}]}, "/parameters/names/0/x"),
    ],
)
def test_fault_points_at_the_field(parameters, pointer):
    with pytest.raises(InvalidInputError) as caught:
        make_kind().check_parameters(parameters)

    assert [field.pointer for field in caught.value.fields] == [pointer]


def test_every_fault_is_named_when_there_are_several():
    with pytest.raises(InvalidInputError) as caught:
        make_kind().check_parameters({"count": 0, "names": 1})

    assert {field.pointer for field in caught.value.fields} == {"/parameters/count", "/parameters/names"}


def test_hard_limit_must_be_above_the_soft_one():
    with pytest.raises(ValueError, match="hard_seconds"):
        make_kind(soft_seconds=10, hard_seconds=10)


def test_second_kind_of_a_name_is_refused(monkeypatch):
    monkeypatch.setattr(jobs, "_KINDS", {})
    kind = make_kind()
    register_job_kind(kind)
    register_job_kind(kind)

    with pytest.raises(ValueError, match="twice"):
        register_job_kind(make_kind(title="Another"))
    assert job_kind("example") is kind


def test_unknown_kind_names_the_known_ones():
    with pytest.raises(UnknownJobKindError, match=r"Known kinds: .*self_check"):
        job_kind("no_such_kind")
