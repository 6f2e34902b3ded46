"""The state at any step, against a copy that applies the changes one by one."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.core.timeline import START, Timeline
from environments.runtime.net_changes import NetChanges
from environments.runtime.records import ChangeKind, RowChange

COLUMNS = {"books": ("id", "title", "copies"), "shelf": ("room", "place", "book")}
KEYS = {"books": ("id",), "shelf": ("room", "place")}
START_ROWS: dict[str, list[dict[str, Any]]] = {
    "books": [{"id": 1, "title": "Moss", "copies": 2}, {"id": 2, "title": "Fern", "copies": 0}],
    "shelf": [{"room": "east", "place": 1, "book": 1}],
}


def insert(table: str, row: Mapping[str, Any]) -> RowChange:
    return RowChange(table, {name: row[name] for name in KEYS[table]}, ChangeKind.INSERT, None, dict(row))


def update(table: str, row: Mapping[str, Any], **values: Any) -> RowChange:
    key = {name: row[name] for name in KEYS[table]}
    return RowChange(table, key, ChangeKind.UPDATE, {name: row[name] for name in values}, values)


def delete(table: str, row: Mapping[str, Any]) -> RowChange:
    return RowChange(table, {name: row[name] for name in KEYS[table]}, ChangeKind.DELETE, dict(row), None)


MOSS, FERN = START_ROWS["books"]
IVY = {"id": 3, "title": "Ivy", "copies": 1}


def timeline(*steps: Sequence[RowChange]) -> Timeline:
    return Timeline(COLUMNS, KEYS, START_ROWS, steps)


class TestState:
    def test_is_the_start_before_the_first_step(self) -> None:
        assert timeline([insert("books", IVY)]).state(START) == START_ROWS

    def test_has_inserted_updated_and_deleted_rows_in_key_order(self) -> None:
        line = timeline([insert("books", IVY)], [update("books", MOSS, copies=1)], [delete("books", FERN)])

        assert line.rows("books", 2) == [{**MOSS, "copies": 1}, IVY]
        assert line.rows("books", 1) == [{**MOSS, "copies": 1}, FERN, IVY]

    def test_keeps_the_order_of_the_columns_when_a_row_was_inserted_in_another(self) -> None:
        line = timeline([insert("books", {"copies": 1, "title": "Ivy", "id": 3})])

        assert list(line.rows("books", 0)[-1]) == ["id", "title", "copies"]

    @pytest.mark.parametrize(
        "change", [insert("books", MOSS), update("books", IVY, copies=2), delete("books", IVY), insert("books", FERN)]
    )
    def test_refuses_changes_that_do_not_fit(self, change: RowChange) -> None:
        with pytest.raises(ValueError, match="step 0"):
            timeline([change])

    def test_refuses_a_table_that_there_is_not(self) -> None:
        with pytest.raises(ValueError, match="no table"):
            timeline([RowChange("nothing", {"id": 1}, ChangeKind.INSERT, None, {"id": 1})])


class TestChangedFirst:
    def test_lists_what_the_step_wrote_then_what_differs_then_the_rest(self) -> None:
        line = timeline([insert("books", IVY)], [update("books", FERN, copies=9)])

        found = line.changed_first("books", 1)

        assert [(row.key, row.kind, row.here is not None) for row in found] == [
            ((2,), ChangeKind.UPDATE, True),
            ((3,), ChangeKind.INSERT, False),
            ((1,), None, False),
        ]

    def test_keeps_a_removed_row_with_its_last_values(self) -> None:
        line = timeline([update("books", FERN, copies=9)], [delete("books", {**FERN, "copies": 9})], [])

        (first, *_), (later, *_) = line.changed_first("books", 1), line.changed_first("books", 2)

        assert first.row == later.row == {**FERN, "copies": 9}
        assert first.is_removed
        assert later.is_removed
        assert (first.here is not None, later.here is not None) == (True, False)

    def test_forgets_a_row_that_came_and_went_but_shows_it_where_it_goes(self) -> None:
        line = timeline([insert("books", IVY)], [delete("books", IVY)], [])

        assert [row.key for row in line.changed_first("books", 1)] == [(3,), (1,), (2,)]
        assert line.changed_first("books", 1)[0].is_removed
        assert [row.key for row in line.changed_first("books", 2)] == [(1,), (2,)]

    def test_says_nothing_of_a_row_that_has_its_old_values_again(self) -> None:
        line = timeline([update("books", FERN, copies=9)], [update("books", {**FERN, "copies": 9}, copies=0)], [])

        assert line.changed_first("books", 2)[1].kind is None
        assert line.counts(2)[0].num_changed == 0
        assert line.last_writer("books", (2,), "copies", 2) == 1


class TestBlame:
    def test_names_the_last_step_that_wrote_the_cell(self) -> None:
        line = timeline([insert("books", IVY)], [update("books", IVY, copies=5)], [update("books", FERN, title="Fir")])

        assert line.last_writer("books", (3,), "copies", 2) == 1
        assert line.last_writer("books", (3,), "title", 2) == 0
        assert line.last_writer("books", (3,), "copies", 0) == 0
        assert line.last_writer("books", (2,), "title", 1) is None
        assert line.last_writer("books", (1,), "title", 2) is None

    def test_counts_rows_by_what_became_of_them(self) -> None:
        line = timeline([insert("books", IVY), delete("books", FERN)], [update("books", MOSS, copies=7)])

        books, shelf = line.counts(1)

        assert (books.num_rows, books.num_added, books.num_removed, books.num_changed, books.num_here) == (
            2,
            1,
            1,
            1,
            1,
        )
        assert books.is_changed
        assert not shelf.is_changed


# --- Against a copy that applies the changes one by one ---------------------------------------------------------------


class Copy:
    """Plain dictionaries: what the state is, and who wrote each cell."""

    def __init__(self) -> None:
        self.rows = {table: {self.key(table, row): dict(row) for row in rows} for table, rows in START_ROWS.items()}
        self.writers: dict[tuple[str, Any, str], int] = {}

    @staticmethod
    def key(table: str, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in KEYS[table])

    def apply(self, step: int, change: RowChange) -> None:
        key = self.key(change.table, change.key)
        if change.kind is ChangeKind.DELETE:
            written = list(self.rows[change.table].pop(key))
        else:
            self.rows[change.table].setdefault(key, {}).update(change.after or {})
            written = list(change.after or {})
        self.writers.update({(change.table, key, column): step for column in written})

    def state(self) -> dict[str, list[dict[str, Any]]]:
        return {table: [rows[key] for key in sorted(rows)] for table, rows in self.rows.items()}


@st.composite
def episodes(draw: st.DrawFn) -> list[list[RowChange]]:
    """Calls that fit one another, few keys so that they meet often."""
    copy, steps = Copy(), []
    for step in range(draw(st.integers(0, 12))):
        changes = {}
        for _ in range(draw(st.integers(0, 3))):
            table = draw(st.sampled_from(sorted(COLUMNS)))
            row = (
                {"id": draw(st.integers(1, 4)), "title": draw(st.sampled_from("ab")), "copies": draw(st.integers(0, 2))}
                if table == "books"
                else {"room": draw(st.sampled_from(["é", "z"])), "place": draw(st.integers(1, 2)), "book": None}
            )
            key = copy.key(table, row)
            if (table, key) in changes:
                continue
            before = copy.rows[table].get(key)
            if before is None:
                change = insert(table, row)
            elif draw(st.booleans()):
                change = delete(table, before)
            else:
                differing = {name: row[name] for name in COLUMNS[table] if row[name] != before[name]}
                if not differing:
                    continue
                change = update(table, before, **differing)
            changes[table, key] = change
        for change in changes.values():
            copy.apply(step, change)
        steps.append(list(changes.values()))
    return steps


@given(episodes())
def test_every_state_and_every_writer_are_those_of_a_copy(steps: list[list[RowChange]]) -> None:
    line, copy, net = timeline(*steps), Copy(), NetChanges()

    for at in range(START, len(steps)):
        for change in steps[at] if at >= 0 else ():
            copy.apply(at, change)
        net.add(steps[at] if at >= 0 else ())

        assert line.state(at) == copy.state()
        assert line.since_start(at) == net.sorted()
        for table, rows in copy.rows.items():
            for key, row in rows.items():
                assert [line.last_writer(table, key, name, at) for name in row] == [
                    copy.writers.get((table, key, name)) for name in row
                ]


@given(episodes())
def test_rows_listed_are_those_there_and_those_removed(steps: list[list[RowChange]]) -> None:
    line = timeline(*steps)

    for at in range(START, len(steps)):
        for count in line.counts(at):
            found = line.changed_first(count.name, at)
            there = [row.row for row in found if not row.is_removed]
            assert sorted(there, key=repr) == sorted(line.rows(count.name, at), key=repr)
            assert len(there) == count.num_rows
            kinds = [row.kind for row in found]
            assert kinds.count(ChangeKind.INSERT) == count.num_added
            assert kinds.count(ChangeKind.DELETE) == count.num_removed
            assert kinds.count(ChangeKind.UPDATE) == count.num_changed
            assert sum(row.here is not None for row in found) == count.num_here


def test_state_at_any_of_800_steps_takes_a_fraction_of_a_second() -> None:
    rows = [{"id": number, "title": f"Book {number}", "copies": 0} for number in range(5000)]
    steps = [[update("books", {**rows[step % 50], "copies": step // 50}, copies=step // 50 + 1)] for step in range(800)]
    line = Timeline(COLUMNS, KEYS, {"books": rows}, steps)

    began = time.perf_counter()
    for at in (0, 399, 799):
        line.changed_first("books", at)
        line.counts(at)
    took = (time.perf_counter() - began) / 3

    assert took < 0.2 * 3  # 20 ms where nothing else runs
