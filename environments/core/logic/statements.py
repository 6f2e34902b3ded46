"""What one SQL statement of a pack says: which tables and columns it uses, and what meets what in it.

Only read, never run: the text is parsed by sqlglot and prepared by nobody.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from environments.core.logic.model import ToolUse
from environments.runtime.records import ColumnRef
from environments.runtime.tables import TableInfo

COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_SCOPES = (exp.Select, exp.Update, exp.Delete, exp.Insert)
_ROW_IDS = frozenset({"rowid", "oid", "_rowid_"})


@dataclass(frozen=True, slots=True)
class Meeting:
    """A column and what it is compared with or set to.

    Attributes:
        column: Table and column.
        other: The name of a parameter, another column, or a literal.
        is_set: Whether it is written.
        is_equal: Whether the two must be equal, or the other is written.
    """

    column: ColumnRef
    other: "Parameter | Literal | ColumnRef"
    is_set: bool = False
    is_equal: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a statement."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal of a statement."""

    value: str | int | float


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, analysed.

    Attributes:
        tree: What sqlglot made of it; None if it could not.
        use: Tables and columns that it uses.
        inserts: Tables that it may add rows to.
        unknown: Names in it that no table has.
        meetings: Where columns meet something else.
    """

    tree: exp.Expr | None
    use: ToolUse = field(default_factory=ToolUse)
    inserts: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()
    meetings: tuple[Meeting, ...] = ()


@lru_cache(maxsize=4096)
def parse(sql: str) -> exp.Expr | None:
    """The statement's tree, which nobody may change; None for what sqlglot cannot read."""
    try:
        return sqlglot.parse_one(sql, read="sqlite")
    except (SqlglotError, RecursionError):
        return None


class StatementReader:
    """Analyses statements over the tables of one pack."""

    def __init__(self, tables: Mapping[str, TableInfo]) -> None:
        self.tables = tables
        self._columns = {name: frozenset(column.name for column in table.columns) for name, table in tables.items()}
        self._read: dict[str, Statement] = {}

    def read(self, sql: str) -> Statement:
        """What the statement says."""
        found = self._read.get(sql)
        if found is None:
            tree = parse(sql)
            found = self._read[sql] = Statement(None) if tree is None else self._analyse(tree)
        return found

    def _analyse(self, tree: exp.Expr) -> Statement:
        unknown: dict[str, None] = {}
        named = {cte.alias_or_name for cte in tree.find_all(exp.CTE)}
        read_tables: set[str] = set()
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Identifier) and table.name not in named:
                (read_tables.add if table.name in self.tables else unknown.setdefault)(table.name)
        targets = dict(self._targets(tree))
        reads: set[ColumnRef] = set()
        for column in tree.find_all(exp.Column):
            found = self.resolve(column)
            if isinstance(found, tuple):
                reads.add(found)
            elif found is False:
                unknown.setdefault(column.sql())
        writes: set[ColumnRef] = set()
        meetings = list(self._comparisons(tree))
        for kind, target in targets.items():
            if target not in self.tables:
                continue
            for column_name, value in self._set(tree, kind):
                if column_name not in self._columns[target]:
                    unknown.setdefault(f"{target}.{column_name}")
                    continue
                writes.add((target, column_name))
                other = self._side(value) if value is not None else None
                if other is not None:
                    meetings.append(Meeting((target, column_name), other, is_set=True, is_equal=True))
        written = frozenset(targets.values()) & self.tables.keys()
        is_plain_write = isinstance(tree, exp.Insert) and tree.find(exp.Select) is None
        read = frozenset(read_tables - written if is_plain_write else read_tables)
        inserts = frozenset(name for kind, name in targets.items() if kind == "insert") & written
        use = ToolUse(frozenset(reads), frozenset(writes), read, written)
        return Statement(tree, use, inserts, tuple(unknown), tuple(meetings))

    # Names

    def sources(self, scope: exp.Expr) -> tuple[dict[str, str], bool]:
        """Tables of a SELECT, UPDATE, DELETE or INSERT by their names in it, and whether it has others."""
        found: dict[str, str] = {}
        is_open = False
        nodes: list[exp.Expr] = []
        if isinstance(scope, exp.Select):
            start = scope.args.get("from_") or scope.args.get("from")
            nodes = [start.this] if start is not None else []
            nodes += [join.this for join in scope.args.get("joins") or ()]
        elif isinstance(scope.this, exp.Schema):
            nodes = [scope.this.this]
        elif scope.this is not None:
            nodes = [scope.this]
        for node in nodes:
            if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and node.name in self.tables:
                found[node.alias_or_name] = node.name
            else:
                is_open = True
        if isinstance(scope, exp.Insert) and found:
            found["excluded"] = next(iter(found.values()))
        return found, is_open

    def resolve(self, column: exp.Column) -> ColumnRef | bool:
        """The table and column that a name stands for; True if it is something else, False if it is nothing."""
        name, qualifier = column.name, column.table
        scope = column.find_ancestor(*_SCOPES)
        is_open = scope is None
        while scope is not None:
            sources, has_others = self.sources(scope)
            is_open = is_open or has_others
            if qualifier:
                if qualifier in sources:
                    table = sources[qualifier]
                    return (table, name) if name in self._columns[table] else name in _ROW_IDS
            else:
                for table in sources.values():
                    if name in self._columns[table]:
                        return table, name
                if isinstance(scope, exp.Select) and name in {part.alias for part in scope.selects}:
                    return True
            scope = scope.find_ancestor(*_SCOPES)
        # SQLite takes "text" in double quotes that names nothing as a text.
        return is_open or name in _ROW_IDS or bool(column.this.args.get("quoted"))

    # What meets what

    def _side(self, value: exp.Expr) -> Parameter | Literal | ColumnRef | None:
        while isinstance(value, exp.Paren):
            value = value.this
        if isinstance(value, exp.Placeholder):
            return Parameter(value.name)
        if isinstance(value, exp.Column):
            found = self.resolve(value)
            return found if isinstance(found, tuple) else None
        constant = literal(value)
        return Literal(constant) if constant is not None else None

    def _comparisons(self, tree: exp.Expr) -> Iterator[Meeting]:
        for node in tree.find_all(*COMPARISONS, exp.In, exp.Between):
            if _is_assignment(node):
                continue
            if isinstance(node, exp.In):
                others = list(node.expressions)
            elif isinstance(node, exp.Between):
                others = [node.args["low"], node.args["high"]]
            else:
                others = [node.expression]
            is_equal = isinstance(node, exp.EQ | exp.NullSafeEQ)
            first = self._side(node.this)
            for other in others:
                second = self._side(other)
                if isinstance(first, tuple) and second is not None:
                    yield Meeting(first, second, is_equal=is_equal)
                elif isinstance(second, tuple) and first is not None:
                    yield Meeting(second, first, is_equal=is_equal)

    def _targets(self, tree: exp.Expr) -> Iterator[tuple[str, str]]:
        if isinstance(tree, exp.Insert | exp.Update | exp.Delete):
            node = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
            if isinstance(node, exp.Table):
                yield type(tree).__name__.lower(), node.name

    def _set(self, tree: exp.Expr, kind: str) -> Iterator[tuple[str, exp.Expr | None]]:
        if kind == "insert":
            names = [one.name for one in tree.this.expressions] if isinstance(tree.this, exp.Schema) else []
            source = tree.expression
            rows = source.expressions if isinstance(source, exp.Values) else []
            values = rows[0].expressions if len(rows) == 1 and isinstance(rows[0], exp.Tuple) else []
            if not values and isinstance(source, exp.Select):
                values = source.selects
            for position, name in enumerate(names):
                yield name, values[position] if len(values) == len(names) else None
            conflict = tree.args.get("conflict")
            for one in conflict.expressions if conflict is not None else ():
                if isinstance(one, exp.EQ):
                    yield one.this.name, one.expression
        elif kind == "update":
            for one in tree.expressions:
                if isinstance(one, exp.EQ):
                    yield one.this.name, one.expression


def literal(value: exp.Expr) -> str | int | float | None:
    """The value of a literal; None for anything else, NULL too."""
    if isinstance(value, exp.Neg):
        number = literal(value.this)
        return -number if isinstance(number, int | float) else None
    if isinstance(value, exp.Boolean):
        return int(bool(value.this))
    if not isinstance(value, exp.Literal):
        return None
    if value.is_string:
        return str(value.this)
    try:
        return int(value.this)
    except ValueError:
        return float(value.this)


def _is_assignment(node: exp.Expr) -> bool:
    parent = node.parent
    is_set = isinstance(parent, exp.Update) and node.arg_key == "expressions"
    return is_set or isinstance(parent, exp.OnConflict)


def column_values(schema_sql: str) -> dict[ColumnRef, tuple[str | int | float, ...]]:
    """The only values of columns for which a CHECK of schema.sql lists them."""
    found: dict[ColumnRef, tuple[str | int | float, ...]] = {}
    for text in schema_sql.split(";"):
        tree = parse(text.strip()) if "CREATE TABLE" in text.upper() and " IN" in text.upper() else None
        if tree is None or not isinstance(tree, exp.Create) or not isinstance(tree.this, exp.Schema):
            continue
        table = tree.this.this.name
        for check in tree.find_all(exp.CheckColumnConstraint, exp.Check):
            rule = check.this
            while isinstance(rule, exp.Paren):
                rule = rule.this
            if isinstance(rule, exp.In) and isinstance(rule.this, exp.Column):
                values = [literal(one) for one in rule.expressions]
                if values and None not in values:
                    found[table, rule.this.name] = tuple(value for value in values if value is not None)
    return found
