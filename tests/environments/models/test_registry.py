"""Versions as rows: nothing is lost between rows and pack, content never changes, status moves step by step."""

import dataclasses
import threading

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.models import Environment, EnvironmentVersion, StatusChange
from environments.runtime.pack import content_sha256, encode_pack, read_pack, unzip_pack, zip_pack
from environments.runtime.pack.model import Case, CaseCall, Column, Expectation, Licence, Origin, Provenance, Scenario
from environments.runtime.records import CallStatus, ChangeKind, RowChange
from environments.services.registry import PACKS
from tests.factories.little_pack import TABLES, TOOL_LIST
from tests.factories.registry import finished_run, little_pack, little_version, shipped_version, unchecked_version

pytestmark = pytest.mark.django_db
Status = EnvironmentVersion.Status
SHIPPED = ("repair_cafe", "seed_bank", "tide_gauges")


# --- Rows and pack ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_pack_comes_back_byte_for_byte(name):
    pack = read_pack(PACKS / name)

    version = EnvironmentVersion.objects.get(pk=shipped_version(name, status=Status.DRAFT).pk)
    again = version.to_core()

    assert again == pack
    assert zip_pack(again) == zip_pack(pack)
    assert encode_pack(again) == encode_pack(pack)
    assert content_sha256(again) == version.content_sha256 == content_sha256(pack)
    assert unzip_pack(zip_pack(again)) == pack
    counts = [len(pack.tools), len(pack.tables), len(pack.scenarios), len(pack.cases)]
    assert [version.num_tools, version.num_tables, version.num_scenarios, version.num_cases] == counts
    assert counts == [part.count() for part in (version.tools, version.tables, version.scenarios, version.cases)]


def test_pack_is_read_in_as_many_queries_as_it_has_kinds_of_parts(django_assert_num_queries):
    version = EnvironmentVersion.objects.select_related("environment").get(pk=shipped_version("tide_gauges").pk)

    with django_assert_num_queries(5):
        version.to_core()


def in_row(value):
    return stored_value(value, lambda pack: pack.scenarios[0].rows["t"][0]["c"], rows=True)


def stored_value(value, read, *, rows=False):
    if rows:
        pack = little_pack(scenarios=(Scenario("odd", "simple", "2026-03-02T09:00:00Z", 0, {"t": ({"c": value},)}),))
    else:
        tool = dataclasses.replace(TOOL_LIST[0], input_schema={"type": "object", "default": value})
        pack = little_pack(tools=(tool, *TOOL_LIST[1:]))
    return read(unchecked_version(pack).to_core())


AWKWARD = [
    1e22, 1.0, -0.0, 0.1 + 0.2, 5e-324, 1.7976931348623157e308, 1e16, 123456789012345680.0, 2**53, -(2**53), 0, "",
    " ", "\u0000", "\u2028\u2029", "é", "e\u0301", "\U0001f600", "\x7f", "<script>", '"\\', "1e22", None,
]  # fmt: skip


@pytest.mark.parametrize("value", AWKWARD, ids=repr)
def test_awkward_value_keeps_its_type_and_its_digits(value):
    for found in (in_row(value), stored_value(value, lambda pack: pack.tools[0].input_schema["default"])):
        assert (type(found), repr(found)) == (type(value), repr(value))


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(AWKWARD)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), JSON, max_size=4)
PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
VALUES = SCALARS.filter(lambda value: not isinstance(value, bool))
ROW = st.dictionaries(st.sampled_from(["id", "title", "copies", "weight"]), VALUES, max_size=4)
LICENCES = st.builds(Licence, st.none() | PLAIN, st.none() | PLAIN, st.none() | PLAIN)
CHANGES = st.builds(
    RowChange, st.sampled_from(["books", "loans"]), ROW, st.sampled_from(ChangeKind), st.none() | ROW, st.none() | ROW
)
CASES = st.builds(
    Case,
    name=st.just("drawn"),
    tool=st.just("draw"),
    kind=st.sampled_from(["success", "boundary", "rejection"]),
    calls=st.lists(st.builds(CaseCall, st.just("draw"), OBJECTS), max_size=3).map(tuple),
    expect=st.lists(st.builds(Expectation, st.sampled_from(CallStatus), st.none() | PLAIN, JSON), max_size=3).map(
        tuple
    ),
    changes=st.lists(CHANGES, max_size=3).map(tuple),
    author=PLAIN,
    scenario=st.none() | st.just("small"),
    rows=st.none() | st.dictionaries(st.just("books"), st.lists(ROW, max_size=2).map(tuple), max_size=1),
)
ORIGINS = st.none() | st.builds(
    Origin, st.none() | PLAIN, st.none() | PLAIN, st.sampled_from(["compiler", "model", "person"])
)
SOURCES = st.builds(
    Provenance, PLAIN, PLAIN, st.just("a" * 64), st.just("2026-03-02T09:00:00Z"), st.none() | PLAIN,
    st.none() | LICENCES,
)  # fmt: skip


@st.composite
def mutated_packs(draw):
    tool = dataclasses.replace(
        TOOL_LIST[2],
        input_schema=draw(OBJECTS),
        output_schema=draw(OBJECTS),
        argument_names=draw(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)),
        captures=draw(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)),
        preconditions=draw(st.just(()) | st.just(TOOL_LIST[2].preconditions)),
        rejections=draw(st.just(()) | st.just(TOOL_LIST[0].rejections)),
        origin=draw(ORIGINS),
    )
    tables = {name: TABLES[name] for name in draw(st.permutations(list(TABLES)))}
    first = next(iter(tables))
    columns = {name: Column(description=draw(st.text(max_size=5))) for name in draw(st.permutations(["b", "a", "c"]))}
    tables[first] = dataclasses.replace(tables[first], columns=draw(st.just({}) | st.just(columns)))
    rows = {name: tuple(draw(st.lists(ROW, max_size=2))) for name in draw(st.permutations(["books", "members"]))}
    return little_pack(
        title=draw(PLAIN),
        description=draw(PLAIN),
        licence=draw(LICENCES),
        tables=tables,
        tools=tuple(draw(st.permutations([tool, TOOL_LIST[0], TOOL_LIST[1]]))),
        scenarios=(Scenario("small", "simple", "2026-03-02T09:00:00Z", draw(st.integers(0, 2**53)), rows),),
        cases=tuple(draw(st.lists(CASES, max_size=1))),
        provenance=tuple(draw(st.lists(SOURCES, max_size=2))),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pack=mutated_packs())
def test_any_pack_comes_back_byte_for_byte(pack):
    with transaction.atomic():
        again = unchecked_version(pack).to_core()
        transaction.set_rollback(True)

    assert encode_pack(again) == encode_pack(pack)
    assert zip_pack(again) == zip_pack(pack)


def test_codes_come_from_content_alone():
    version = little_version()
    codes = [row.code for part in (version.tools, version.scenarios) for row in part.all()]

    assert version.code == EnvironmentVersion.code_of(content_sha256(little_pack()))
    assert version.environment.code == Environment.code_of("library")
    assert len(set(codes)) == len(codes)
    other = little_version(title="Another library")
    assert not set(codes) & {row.code for part in (other.tools, other.scenarios) for row in part.all()}


# --- What the database refuses ----------------------------------------------------------------------------------------

CONTENT = sorted(field.column for field in EnvironmentVersion._meta.concrete_fields if field.name != "status")
PARTS = ("tables", "tools", "scenarios", "cases", "provenance", "runs", "history")


def refused(statement, *parameters):
    with pytest.raises(IntegrityError) as caught, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
    return str(caught.value)


OTHER_VALUES = {
    "IntegerField": "{0} + 1", "PositiveIntegerField": "{0} + 1", "BigAutoField": "{0} + 1",
    "ForeignKey": "coalesce({0}, 0) + 1", "DateTimeField": "{0} + interval '1 second'",
    "UUIDField": "gen_random_uuid()",
    "CharField": "'x' || coalesce(left({0}, 3), '')", "TextField": "coalesce({0}, '') || 'x'",
}  # fmt: skip


@pytest.mark.parametrize("status", [Status.DRAFT, Status.VERIFIED])
@pytest.mark.parametrize("column", CONTENT)
def test_content_of_a_version_is_never_changed_by_sql(column, status):
    version = little_version()
    if status != Status.DRAFT:
        version.move(status)
    field = next(field for field in EnvironmentVersion._meta.concrete_fields if field.column == column)
    value = OTHER_VALUES[field.get_internal_type()].format(column)

    message = refused(f"UPDATE environments_environmentversion SET {column} = {value} WHERE id = %s", version.pk)

    assert "never changes" in message


def test_version_is_never_deleted_by_sql():
    version = little_version()
    assert "never deleted" in refused("DELETE FROM environments_environmentversion WHERE id = %s", version.pk)


@pytest.mark.parametrize("part", PARTS)
def test_rows_of_a_version_are_never_changed_or_deleted_by_sql(part):
    version = little_version()
    finished_run(version)
    row = getattr(version, part).all()[0]
    table = row._meta.db_table

    refused(f"UPDATE {table} SET version_id = version_id WHERE id = %s", row.pk)
    refused(f"DELETE FROM {table} WHERE id = %s", row.pk)

    assert getattr(version, part).filter(pk=row.pk).exists()


def test_results_of_cases_are_never_changed_or_deleted_by_sql():
    result = finished_run(little_version()).case_results.get()

    refused("UPDATE environments_caseresult SET holds = NOT holds WHERE id = %s", result.pk)
    refused("DELETE FROM environments_caseresult WHERE id = %s", result.pk)


@pytest.mark.parametrize(
    ("statement", "constraint"),
    [
        ("UPDATE environments_environmentversion SET status = 'perfect' WHERE id = {pk}", "version_status_known"),
        ("UPDATE environments_environment SET name = 'No Name' WHERE id = {environment}", "environment_name_form"),
    ],
)
def test_words_that_the_registry_does_not_know_are_refused(statement, constraint):
    version = little_version()
    assert constraint in refused(statement.format(pk=version.pk, environment=version.environment_id))


def test_number_and_content_are_unique():
    version = little_version()
    copy = EnvironmentVersion.objects.get(pk=version.pk)
    copy.pk, copy.code = None, EnvironmentVersion.code_of("0" * 64)
    copy.number = 9
    with pytest.raises(IntegrityError, match="content_sha256"), transaction.atomic():
        copy.save(force_insert=True)
    copy.number, copy.content_sha256 = version.number, "0" * 64
    with pytest.raises(IntegrityError, match="number_unique"), transaction.atomic():
        copy.save(force_insert=True)


# --- Status -----------------------------------------------------------------------------------------------------------

ROUTES = {
    Status.DRAFT: (),
    Status.VERIFIED: (Status.VERIFIED,),
    Status.REJECTED: (Status.REJECTED,),
    Status.RETIRED: (Status.VERIFIED, Status.RETIRED),
    Status.DISCARDED: (Status.DISCARDED,),
}
ALLOWED = {
    (Status.DRAFT, Status.VERIFIED), (Status.DRAFT, Status.REJECTED), (Status.DRAFT, Status.DISCARDED),
    (Status.REJECTED, Status.VERIFIED), (Status.REJECTED, Status.DISCARDED),
    (Status.VERIFIED, Status.REJECTED), (Status.VERIFIED, Status.RETIRED),
}  # fmt: skip


def version_that_is(status, **changes):
    version = little_version(**changes)
    for step in ROUTES[status]:
        assert version.move(step)
    return version


@pytest.mark.parametrize("after", Status)
@pytest.mark.parametrize("before", Status)
def test_version_moves_only_along_the_machine(before, after, reviewer):
    version = version_that_is(before)
    past = list(version.history.values_list("pk", flat=True))

    moved = version.move(after, reason="why", actor=reviewer)

    assert moved is ((before, after) in ALLOWED)
    found = EnvironmentVersion.objects.get(pk=version.pk)
    assert found.status == version.status == (after if moved else before)
    added = version.history.exclude(pk__in=past)
    if moved:
        step = added.get()
        assert (step.before, step.after, step.reason, step.actor) == (before, after, "why", reviewer)
    else:
        assert not added.exists()


def test_move_is_refused_when_the_row_has_moved_meanwhile():
    version = little_version()
    late = EnvironmentVersion.objects.get(pk=version.pk)
    assert version.move(Status.REJECTED)

    assert late.move(Status.VERIFIED) is False

    assert late.status == Status.DRAFT
    assert EnvironmentVersion.objects.get(pk=version.pk).status == Status.REJECTED
    assert [step.after for step in version.history.all()] == [Status.REJECTED, Status.DRAFT]


@pytest.mark.django_db(transaction=True)
def test_one_of_many_concurrent_moves_wins():
    version = little_version()
    targets = [Status.VERIFIED, Status.REJECTED, Status.DISCARDED] * 2
    barrier, outcomes = threading.Barrier(len(targets)), []

    def move(target):
        mine = EnvironmentVersion.objects.get(pk=version.pk)
        barrier.wait()
        try:
            outcomes.append((mine.move(target), target))
        finally:
            connection.close()

    threads = [threading.Thread(target=move, args=[target]) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (winner,) = [target for won, target in outcomes if won]
    assert len(outcomes) == len(targets)
    assert EnvironmentVersion.objects.get(pk=version.pk).status == winner
    assert StatusChange.objects.filter(version=version).count() == 2


def test_environment_points_at_its_newest_and_its_newest_verified_version():
    first = version_that_is(Status.VERIFIED)
    second = version_that_is(Status.VERIFIED, title="Second")
    third = version_that_is(Status.REJECTED, title="Third")
    environment = Environment.objects.get()

    assert (environment.latest_version, environment.verified_version) == (third, second)
    second.move(Status.RETIRED)
    environment.refresh_from_db()
    assert environment.verified_version == first
    first.move(Status.REJECTED)
    environment.refresh_from_db()
    assert (environment.latest_version, environment.verified_version) == (third, None)
    assert not Environment.objects.verified().exists()
    third.move(Status.VERIFIED)
    assert Environment.objects.verified().get().verified_version == third


def test_only_a_verified_version_is_usable():
    usable = [status for status in Status if version_that_is(status, title=str(status.label)).is_usable]

    assert usable == [Status.VERIFIED]
    assert {version.status for version in EnvironmentVersion.objects.verified()} == {Status.VERIFIED}
