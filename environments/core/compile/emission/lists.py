"""Lists: which rows, in which order, which page of them, and what the envelope says of it."""
# ruff: noqa: S608 - names are quoted, values are parameters or literals

from collections.abc import Sequence
from typing import Final

from environments.core.compile.emission.names import listed, quoted, unused
from environments.core.compile.emission.python_text import Dict, Expression, Group, Sql, text_literal
from environments.core.compile.emission.sql import Subject, order_text, where
from environments.core.compile.emission.statements import Statements
from environments.core.compile.emission.views import ShownView
from environments.core.compile.semantics import Answer, Argument, ArgumentRole, Order, PageFact

NEXT_FACTS: Final = frozenset({PageFact.HAS_MORE, PageFact.NEXT_CURSOR, PageFact.NEXT_AFTER, PageFact.NEXT_PAGE})
"""What must know whether rows follow."""
TOTAL_FACTS: Final = frozenset({PageFact.TOTAL, PageFact.NUM_PAGES})


class ListBody(Statements):
    """Statements of a tool that lists rows or their keys."""

    def __init__(self, subject: Subject, view: ShownView | None) -> None:
        super().__init__(subject)
        self._view = view if self.meaning.result.form is Answer.ROWS else None
        self._facts = {fact for _, fact in self.meaning.result.page_facts}
        self._size = self._page_size()
        self._skip = self._skipped()
        self._total = ""
        self._filters = ""
        self._more = "False"
        self._rows = self._read()
        self._give()

    # Page

    def _page_size(self) -> str:
        """Rows of a page as a Python expression; empty if a page is the whole list."""
        argument = self.subject.one(ArgumentRole.SIZE)
        if argument is None:
            return "" if self.meaning.page_size is None else str(self.meaning.page_size)
        if not self.subject.is_given(argument):
            raise ValueError(f"{argument.name} may be absent, and nothing says how many rows a page then has")
        return self.subject.python(argument)

    def _skipped(self) -> str:
        """Rows before the page as a Python expression; empty if there are none."""
        page = self.subject.one(ArgumentRole.PAGE)
        if page is not None and self._size:
            number = self.subject.python(page)
            first = self.meaning.first_page
            before = f"({number} - {first})" if first else number
            return self._assign_skip(f"{before} * {self._size}")
        if (offset := self.subject.one(ArgumentRole.OFFSET)) is not None:
            return self.subject.python(offset)
        if (cursor := self.subject.one(ArgumentRole.CURSOR)) is not None:
            name = self.subject.python(cursor)
            return self._assign_skip(f"int({name})" if self.subject.is_given(cursor) else f"int({name} or 0)")
        return ""

    def _assign_skip(self, value: str) -> str:
        skip = self.local("skip")
        self.write(f"{skip} = ", value)
        self.bind(skip, skip)
        return skip

    # Rows

    def _read(self) -> str:
        """Writes the queries; gives the name of the rows."""
        after = self.subject.one(ArgumentRole.AFTER)
        clause = where(self.subject.filters())
        shared = Dict(())
        if self._facts & TOTAL_FACTS:
            clause, shared = self._count(clause)
        counts_rest = bool(self._facts & NEXT_FACTS and self._size and (not self._total or after is not None))
        before, source, order = "", quoted(self.subject.table.name), self._order()
        if after is not None:
            before, source, order, condition = self._behind(after, order)
            if before and not self._total:
                clause = where(self.subject.filters(without=self._scope()))  # the ranks are within the scope already
            clause += f"{' AND' if clause else ' WHERE'} {condition}"
        sql = f"{before}SELECT {self._selected()} FROM {source}{clause}"
        sql += f" ORDER BY {order}" if order else ""
        sql += self._limit(one_more=counts_rest)
        query = self.query("all", sql, besides=self._filters, known=shared)
        rows = self.local("rows")
        if counts_rest:
            found = self.local("found")
            self.write(f"{found} = ", query)
            self.write(f"{rows} = ", f"{found}[:{self._size}]")
            self._more = f"len({found}) > {self._size}"
        else:
            self.write(f"{rows} = ", query)
            if self._total and self._size:
                here = f"{self._skip} + len({rows})" if self._skip else f"len({rows})"
                self._more = f"{here} < {self._total}"
        return rows

    def _count(self, clause: str) -> tuple[str, Dict]:
        """Writes the count of all rows; gives the clause and the values that both queries share."""
        shared = self.values_of(clause)
        if shared.entries:
            self._filters = self.local("filters")
            self.write(f"{self._filters} = ", shared)
        if clause:
            name = self.local("where")
            self.write(f"{name} = ", Sql(clause))
            clause = f"{{{{{name}}}}}"
        self._total = self.local("total")
        sql = f"SELECT count(*) AS total FROM {quoted(self.subject.table.name)}{clause}"
        query = self.query("one", sql, besides=self._filters, known=shared, ending='["total"]')
        self.write(f"{self._total} = ", query)
        return clause, shared

    def _selected(self) -> str:
        key = self.subject.table.key
        if self._view is None:
            return quoted(key)
        return self._view.selected([key] if PageFact.NEXT_AFTER in self._facts else [])

    def _limit(self, *, one_more: bool) -> str:
        if not self._size:
            return f" LIMIT -1 OFFSET :{self._skip}" if self._skip else ""
        if self._size.isdecimal():
            size = str(int(self._size) + 1) if one_more else self._size
        else:
            size = f":{self._size} + 1" if one_more else f":{self._size}"
        return f" LIMIT {size}{f' OFFSET :{self._skip}' if self._skip else ''}"

    # Order

    def _order(self) -> str:
        """What stands behind ORDER BY: SQL, or the slot of a local variable that the arguments decide."""
        fixed = self._scope() if self.subject.one(ArgumentRole.AFTER) is not None else None
        default = order_text(self.subject.order(fixed=fixed))
        sort = self.subject.one(ArgumentRole.SORT)
        if sort is None:
            return default
        direction = self.subject.one(ArgumentRole.DIRECTION)
        entries: list[tuple[str, Expression]] = []
        for value, column in self.meaning.sorts:
            up, down = (
                text_literal(order_text(self.subject.order(Order(column, is_descending), fixed)))
                for is_descending in (False, True)
            )
            if direction is not None:
                entries += [(f"({text_literal(value)}, False)", up), (f"({text_literal(value)}, True)", down)]
            else:
                entries.append((text_literal(value), up))
                if "-" in self.meaning.descending_values:
                    entries.append((text_literal(f"-{value}"), down))
        wanted = self.subject.python(sort)
        if direction is not None:
            wanted = f"({wanted}, {self._is_descending(self.subject.python(direction))})"
        order = self.local("order")
        self.write(f"{order} = ", Group(tuple(entries), f".get({wanted}, {text_literal(default)})"))
        return f"{{{{{order}}}}}"

    def _is_descending(self, name: str) -> str:
        values = [text_literal(value) for value in self.meaning.descending_values]
        return f"{name} == {values[0]}" if len(values) == 1 else f"{name} in ({', '.join(values)})"

    def _scope(self) -> dict[str, str]:
        """Columns of the primary key that the call fixes, and the parameters that hold them."""
        return {
            column: self.subject.python(argument)
            for column, argument in self.subject.fixed.items()
            if column in self.subject.table.primary_key
        }

    def _behind(self, argument: Argument, order: str) -> tuple[str, str, str, str]:
        """How the page begins behind a row: what precedes SELECT, the source, the order and the condition."""
        table, parameter = self.subject.table, f":{self.subject.python(argument)}"
        key, name = quoted(table.key), quoted(table.name)
        if order in (key, f"{key} DESC"):
            behind = f"{key} {'>' if order == key else '<'} {parameter}"
            before, source = "", name
        else:
            columns = [column.name for column in table.columns]
            place, ranked = unused("place", columns), unused("ranked", [table.name])
            scope = where([f"{quoted(column)} = :{value}" for column, value in self._scope().items()])
            keys = listed(table.primary_key)
            rank = f"row_number() OVER (ORDER BY {order}) AS {place}"
            before = f"WITH {ranked} AS (SELECT {keys}, {rank} FROM {name}{scope}) "
            source, order = f"{name} JOIN {ranked} USING ({keys})", place
            behind = f"{place} > (SELECT {place} FROM {ranked} WHERE {key} = {parameter})"
        is_given = self.subject.is_given(argument)
        return before, source, order, behind if is_given else f"({parameter} IS NULL OR {behind})"

    # Answer

    def _give(self) -> None:
        uses = sum(fact in NEXT_FACTS for _, fact in self.meaning.result.page_facts)
        if uses > 1 and self._more != "False":
            has_more = self.local("has_more")
            self.write(f"{has_more} = ", self._more)
            self._more = has_more
        row = self.local("row")
        if self._view is None:
            shown = f"[{row}[{text_literal(self.subject.table.key)}] for {row} in {self._rows}]"
        elif self._view.is_plain:
            shown = self._rows
        else:
            shown = f"[{self._view.shown(row)} for {row} in {self._rows}]"
        facts = [(path, self._fact(fact)) for path, fact in self.meaning.result.page_facts]
        self.give([(self.meaning.result.place, shown), *facts])

    def _fact(self, fact: PageFact) -> str:
        if fact is PageFact.TOTAL:
            return self._total
        if fact is PageFact.HERE:
            return f"len({self._rows})"
        if fact is PageFact.HAS_MORE:
            return self._more
        if fact is PageFact.SIZE:
            return self._size or "None"
        if fact is PageFact.OFFSET:
            return self._skip or "0"
        if fact is PageFact.PAGE:
            return self._page()
        if fact is PageFact.NUM_PAGES:
            return f"-(-{self._total} // {self._size})" if self._size else f"int({self._total} > 0)"
        if self._more == "False":
            return "None"
        return f"{self._next(fact)} if {self._more} else None"

    def _page(self) -> str:
        argument = self.subject.one(ArgumentRole.PAGE)
        return str(self.meaning.first_page) if argument is None else self.subject.python(argument)

    def _next(self, fact: PageFact) -> str:
        """What the next page is called."""
        if fact is PageFact.NEXT_PAGE:
            page = self._page()
            return str(int(page) + 1) if page.isdecimal() else f"{page} + 1"
        if fact is PageFact.NEXT_CURSOR:
            return f"str({_sum([self._skip, self._size])})"
        if self._view is None:
            return f"{self._rows}[-1][{text_literal(self.subject.table.key)}]"
        return self._view.key_of(f"{self._rows}[-1]")


def _sum(parts: Sequence[str]) -> str:
    return " + ".join(part for part in parts if part)
