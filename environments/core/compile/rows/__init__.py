"""Rows for planned tables: four states that obey every constraint and read like somebody's data.

Values come from the document's enums and examples first, then from what a column's name means, then from the words of
the name itself. Everything is drawn from the seed, each table apart.
"""

from environments.core.compile.rows.errors import RowsError
from environments.core.compile.rows.scenarios import LEVELS, make_scenarios
from environments.core.compile.rows.values import plausible_argument, plausible_value

__all__ = ["LEVELS", "RowsError", "make_scenarios", "plausible_argument", "plausible_value"]
