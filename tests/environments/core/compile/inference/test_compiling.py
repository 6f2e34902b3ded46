"""What holds of every document: nothing gets lost, order says nothing, nothing crashes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.core.compile.inference import compile_operations
from tests.environments.core.compile.inference.consistency import faults_of
from tests.environments.core.compile.inference.documents import (
    FLAG,
    NUMBER,
    REAL,
    TEAM_PATHS,
    TEAM_SCHEMAS,
    TEXT,
    TIME,
    array,
    compile_document,
    crud,
    enum,
    obj,
    op,
    ref,
    sourced,
)

ROOT = Path(__file__).resolve().parents[5]
SCRIPT = """
from environments.core.compile.inference import compile_operations
from tests.environments.core.compile.inference.documents import TEAM_PATHS, TEAM_SCHEMAS, sourced
made = compile_operations(sourced(TEAM_PATHS, TEAM_SCHEMAS))
print(made.blueprints, made.left_out)
"""


def test_nothing_is_made_when_there_are_no_operations() -> None:
    made = compile_operations([])

    assert (made.blueprints, made.left_out) == ((), ())


def test_a_whole_document_is_planned_when_all_is_certain() -> None:
    operations = sourced(TEAM_PATHS, TEAM_SCHEMAS)

    made = compile_operations(operations)

    assert [each.operation for each in made.left_out] == ["GET /moods"]
    assert faults_of(made, operations) == []


def test_the_order_of_operations_says_nothing_when_documents_are_the_same() -> None:
    operations = [
        *sourced(TEAM_PATHS, TEAM_SCHEMAS),
        *sourced(crud("/shops", TEAM_SCHEMAS["Team"]), TEAM_SCHEMAS, title="Other"),
    ]

    there, back = compile_operations(operations), compile_operations(operations[::-1])

    assert there.blueprints == back.blueprints
    assert set(there.left_out) == set(back.left_out)


def test_the_hash_seed_changes_nothing_when_another_process_compiles() -> None:
    made = compile_document(TEAM_PATHS, TEAM_SCHEMAS)
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == f"{made.blueprints} {made.left_out}\n"


# --- Documents that nobody wrote --------------------------------------------------------------------------------------

NOUNS = ("orders", "order", "users", "teams", "3d-models", "statuses", "series", "order_items",
         "team-members", "Straße", "class", "search", "data", "价格", "a.b", "orderStates", "folders")  # fmt: skip
MEMBERS = ("id", "name", "status", "state", "orderId", "user_id", "team", "class", "价格", "数量", "@type",
           "created_at",
           "updatedAt", "is_open", "archived", "parent_id", "arn", "login", "properties", "data", "items", "-", "Id",
           "2fa", "order", "key", "before_x", "ctx", "total", "a_very_long_name_of_a_member_that_is_no_use_at_all_",
           "id_", "ID", "type", "user")  # fmt: skip
QUERIES = ("q", "page", "limit", "cursor", "sort", "direction", "starting_after", "status", "user_id", "name", "ids",
           "created_after", "filter[status]", "价格", "offset", "class", "-", "id")  # fmt: skip
VERBS = ("cancel", "archive", "search", "count", "close", "update", "delete", "create", "start", "launch", "ids")
LEAVES = (TEXT, NUMBER, REAL, FLAG, TIME, enum("open", "closed", "cancelled"), enum("one"), {}, array(TEXT),
          obj(a=TEXT, b=NUMBER), obj(id=TEXT, name=TEXT), TEXT | {"writeOnly": True}, TEXT | {"readOnly": True},
          NUMBER | {"default": 3}, ref("Order"), array(ref("User")), TEXT | {"nullable": True},
          {"type": "object", "additionalProperties": TEXT}, enum("asc", "desc"), enum("name", "-name"))  # fmt: skip
PROVIDERS = ("shop.example", "azure.com", "amazonaws.com", "stripe.com", "googleapis.com", "apple.com", "")


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Any]:
    members = draw(st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=7, unique=True))
    properties = {name: draw(st.sampled_from(LEAVES)) for name in members}
    required = draw(st.lists(st.sampled_from(members), max_size=2, unique=True))
    if draw(st.integers(0, 3)):
        properties.setdefault("id", draw(st.sampled_from((TEXT, NUMBER))))
    return {"type": "object", "properties": properties, "required": required}


@st.composite
def paths(draw: st.DrawFn) -> str:
    made, taken = "", 0
    for depth in range(draw(st.integers(1, 3))):
        made += f"/{draw(st.sampled_from(NOUNS))}"
        if draw(st.booleans()):
            taken += 1
            name = draw(st.sampled_from(("id", "name", "order_id", "user_id", "key", "teamArn", "价")))
            made += f"/{{{name}}}" if f"{{{name}}}" not in made else f"/{{{name}{depth}}}"
    return made


@st.composite
def documents(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], str]:
    schemas = {name: draw(shapes()) for name in ("Order", "User", "Team")}
    kinds = st.sampled_from([ref(name) for name in schemas])
    answers = st.one_of(
        kinds,
        kinds.map(array),
        kinds.map(lambda each: obj(data=array(each), total=NUMBER, next_cursor=TEXT, has_more=FLAG)),
        kinds.map(lambda each: obj(success=FLAG, data=each)),
        st.sampled_from((None, array(TEXT), obj(count=NUMBER), TEXT, {})),
    )
    made: dict[str, Any] = {}
    for _ in range(draw(st.integers(0, 2))):
        made |= crud(
            f"/{draw(st.sampled_from(NOUNS))}", draw(kinds), draw(shapes()), key=draw(st.sampled_from(MEMBERS))
        )
    for _ in range(draw(st.integers(2, 10))):
        path = draw(paths()) + (f"/{draw(st.sampled_from(VERBS))}" if not draw(st.integers(0, 3)) else "")
        method = draw(st.sampled_from(("GET", "GET", "POST", "PUT", "PATCH", "DELETE")))
        query = draw(st.lists(st.sampled_from(QUERIES), max_size=4, unique=True))
        made[f"{method} {path}"] = op(
            draw(answers),
            body=draw(st.one_of(shapes(), kinds, kinds.map(array)))
            if method != "GET" and draw(st.booleans())
            else None,
            query={name: draw(st.sampled_from(LEAVES)) for name in query},
            required=tuple(query[:1]) if not draw(st.integers(0, 3)) else (),
            status=draw(st.sampled_from(("200", "201", "202"))),
            path={},
        )
    return made, schemas, draw(st.sampled_from(PROVIDERS))


@settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(documents())
def test_any_document_is_read_to_the_end_and_planned_without_a_fault(
    document: tuple[dict[str, Any], dict[str, Any], str],
) -> None:
    given_paths, schemas, provider = document
    operations = sourced(given_paths, schemas, provider=provider, address="https://x.example/a.json")

    made = compile_operations(operations)

    assert faults_of(made, operations) == []


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(documents(), st.randoms(use_true_random=False))
def test_any_document_is_planned_alike_when_its_operations_come_in_another_order(
    document: tuple[dict[str, Any], dict[str, Any], str], draws: Any
) -> None:
    given_paths, schemas, provider = document
    operations = sourced(given_paths, schemas, provider=provider, address="https://x.example/a.json")
    shuffled = list(operations)
    draws.shuffle(shuffled)

    one, other = compile_operations(operations), compile_operations(shuffled)

    assert one.blueprints == other.blueprints
    assert sorted(map(str, one.left_out)) == sorted(map(str, other.left_out))


def test_targets_change_sizes_and_nothing_else_when_they_are_given() -> None:
    plain, aimed = compile_document(TEAM_PATHS, TEAM_SCHEMAS), compile_document(TEAM_PATHS, TEAM_SCHEMAS, target=5)

    assert {tool.operation for each in plain.blueprints for tool in each.tools} == {
        tool.operation for each in aimed.blueprints for tool in each.tools
    }
