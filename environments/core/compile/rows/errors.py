"""Raised where no row can be made; whoever compiles leaves the table's tools out and says why."""


class RowsError(ValueError):
    """A required column has a schema that no value was found for: a contradiction, or a pattern that is not understood.

    Attributes:
        table: Name of the table.
        column: Name of the column.
    """

    code = "rows_impossible"

    def __init__(self, table: str, column: str) -> None:
        super().__init__(f"no value found for the required column {table}.{column}")
        self.table = table
        self.column = column
