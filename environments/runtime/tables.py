"""What a table of a pack looks like, as plain values.

The engine reads it from the database it made of schema.sql (never from the text) and adds the meaning that
environment.json gives each column; equality, fuzzing and checks work from it without touching SQLite.
"""

from dataclasses import dataclass
from typing import Literal

ColumnType = Literal["INTEGER", "REAL", "TEXT"]
Comparison = Literal["hard", "semantic", "exempt"]
Generated = Literal["id", "now", "random"]
Role = Literal["entity", "link", "log"]


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """One column.

    Attributes:
        name: Its name.
        type: Its declared type; tables are STRICT, so every value but NULL has it.
        is_nullable: Whether it may hold NULL; never for a column of the primary key.
        comparison: Its class (docs/contracts.md, C6); a foreign-key column without a class of its own is `hard` here
            and compared by the row it points to.
        generated: What fills it, None for what callers give.
        format: `uuid` for version-4-shaped generated ids.
        is_json: Whether a CHECK says that it holds JSON.
    """

    name: str
    type: ColumnType
    is_nullable: bool
    comparison: Comparison = "hard"
    generated: Generated | None = None
    format: Literal["uuid"] | None = None
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """One foreign key: the columns, the table they point to and the columns there, pairwise."""

    columns: tuple[str, ...]
    table: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableInfo:
    """One table.

    Attributes:
        name: Its name.
        role: What its rows are; only `log` tables may be left out of a comparison.
        columns: In the order of the CREATE TABLE.
        primary_key: Its columns in the order of the key.
        foreign_keys: By their columns.
        unique: Columns of each UNIQUE constraint or whole unique index, the primary key left out.
    """

    name: str
    role: Role
    columns: tuple[ColumnInfo, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()

    def column(self, name: str) -> ColumnInfo:
        """The column of that name.

        Raises:
            KeyError: There is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def generated_id(self) -> str | None:
        """The column that `ctx.new_id` fills, None for natural keys."""
        return next((column.name for column in self.columns if column.generated == "id"), None)
