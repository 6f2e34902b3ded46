"""What is asked before a task or a pack is let in: required changes (sentences 2, 8, 15), moved counters (4)."""

import pytest

from environments.runtime.equality import StartState, check_required_changes, compare, find_id_copies
from environments.runtime.equality.errors import MalformedRequestError
from environments.runtime.equality.required import RequiredFault, RequiredFaultCode
from environments.runtime.tables import ForeignKey
from tests.environments.runtime.equality.graphs import EMPTY, graph, twisted
from tests.environments.runtime.equality.shop import line, mail, order, start
from tests.environments.runtime.equality.worlds import (
    ID,
    NOTE,
    Random,
    column,
    delete,
    insert,
    random_world,
    run_changes,
    table,
    update,
)

SHOP = start()
ORDER = {"id": 1}


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ([], []),
        ([order(5), mail(6)], []),
        ([delete("mails", {"id": 1})], []),
        ([update("orders", ORDER, status="paid", note="another note")], []),
        ([update("orders", ORDER, note="another note"), order(5)], []),
        ([update("orders", ORDER, customer_id=2)], []),
        ([update("orders", ORDER, note="another note")], [RequiredFault(RequiredFaultCode.ONLY_SEMANTIC)]),
        (
            [update("orders", ORDER, made_at="later"), order(5)],
            [RequiredFault(RequiredFaultCode.NOTHING_COMPARED, "orders", (1,))],
        ),
        (
            [update("orders", ORDER, note="One two three four five.", status="paid")],
            [RequiredFault(RequiredFaultCode.EQUALS_START, "orders", (1,), "note")],
        ),
        (
            [update("orders", ORDER, note="One two three four five.")],
            [
                RequiredFault(RequiredFaultCode.NOTHING_COMPARED, "orders", (1,)),
                RequiredFault(RequiredFaultCode.EQUALS_START, "orders", (1,), "note"),
            ],
        ),
    ],
)
def test_required_changes_are_checked(changes, faults):
    assert list(check_required_changes(SHOP, changes)) == faults


def test_required_row_in_an_allowed_table_is_refused():
    expected = (RequiredFault(RequiredFaultCode.ALLOWED_TABLE, "mails", (5,)),)
    assert check_required_changes(SHOP, [order(4), mail(5)], allowed_tables=["mails"]) == expected
    (fault,) = check_required_changes(SHOP, [order(4), update("mails", {"id": 1}, text="x")], allowed_tables=["mails"])
    assert (fault.code, fault.key) == (RequiredFaultCode.ALLOWED_TABLE, (1,))
    with pytest.raises(MalformedRequestError):
        check_required_changes(SHOP, [], allowed_tables=["orders"])


def test_inserted_row_of_free_text_alone_is_only_semantic():
    notes = StartState([table("notes", ID, NOTE)], {})
    (fault,) = check_required_changes(notes, [insert("notes", {"id": 1, "note": "a text"})])
    assert fault.code is RequiredFaultCode.ONLY_SEMANTIC


@pytest.mark.parametrize("copy", [column("note"), column("note", is_json=True), NOTE])
def test_id_copied_into_another_column_is_named(copy):
    """The renaming cannot follow such an id, validation finds its column."""
    world = StartState([table("logs", ID, column("kind"), copy)], {})

    def run(number):
        return [insert("logs", {"id": number + n, "kind": f"k{n}", "note": f"[{number + n}]"}) for n in range(3)]

    assert not compare(world, run(5), run(1_005)).is_equal
    (finding,) = find_id_copies(world, run(5), run(1_005))
    assert (finding.table, finding.column, finding.reference, finding.candidate) == ("logs", "note", "[5]", "[1005]")


def test_each_column_that_copies_an_id_is_named_once():
    world = StartState(
        [table("logs", ID, column("a"), column("b")), table("bills", column("number"), key=("number",))], {}
    )

    def run(number):
        rows = [insert("logs", {"id": number + n, "a": f"#{number}", "b": str(number + n)}) for n in range(5)]
        return [*rows, insert("bills", {"number": f"B-{number}"}, ("number",))]

    named = {(finding.table, finding.column) for finding in find_id_copies(world, run(5), run(1_005))}
    assert named == {("logs", "a"), ("logs", "b"), ("bills", "number")}


def test_honest_run_with_moved_counters_has_no_copies():
    def run(number):
        rows = [order(number), line(number, 1), order(number + 1, status="paid"), delete("orders", {"id": number + 1})]
        return [*rows, order(number + 2, note=f"see {number - number}"), update("orders", ORDER, status="sent")]

    assert find_id_copies(SHOP, run(5), run(1_005)) == ()


def test_id_copied_into_a_start_row_is_named():
    runs = ([order(n), update("orders", ORDER, status=f"merged into {n}")] for n in (5, 1_005))
    (finding,) = find_id_copies(SHOP, *runs)
    assert (finding.table, finding.key, finding.column) == ("orders", (1,), "status")


def test_runs_with_other_rows_are_named_by_row():
    (finding,) = find_id_copies(SHOP, [order(5)], [order(6), order(7)])
    assert (finding.table, finding.column) == ("orders", None)


def test_runs_that_the_search_cannot_decide_are_proven_in_order():
    size, edges = twisted(40, is_twisted=False)
    run = graph(size, edges, Random(1))

    def moved(row):
        return {name: value + 1_000 if isinstance(value, int) else value for name, value in row.items()}

    shifted = [insert(change.table, moved(change.after)) for change in run]
    assert find_id_copies(EMPTY, run, shifted) == ()


def test_other_routes_have_no_copies_either():
    for seed in range(60):
        rng = Random(seed)
        world = random_world(rng, 10)
        assert find_id_copies(world.start, run_changes(world, rng), run_changes(world, rng)) == ()


def test_id_in_a_foreign_key_is_no_copy():
    child = table("children", ID, column("up", "INTEGER"), foreign_keys=[ForeignKey(("up",), "logs", ("id",))])
    world = StartState([table("logs", ID), child], {})
    runs = ([insert("logs", {"id": n}), insert("children", {"id": n, "up": n})] for n in (5, 1_005))
    assert find_id_copies(world, *runs) == ()
