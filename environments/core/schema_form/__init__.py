"""A JSON Schema as a form: what to draw for a value, and the value that was typed.

Pure: views draw the fields and hand back what the browser sent. The form only turns text into JSON values; whether they
are right is said by whoever takes them (a tool's input schema, a job kind's parameters), so that a form and a program
are never told different things. What typed text can't be, such as letters where a number is due, is handed on as text.

Names of controls: `v:` and a JSON pointer is a value's text, `s:` its state beside the text (`empty`, `null`, `given`),
`r:` the rows of an array, `k:` says that a part is written as JSON. In such a pointer a row goes by the token that its
`r:` gives it, not by its position, so that rows can come and go in the browser.
"""

from environments.core.schema_form.drawing import build_form
from environments.core.schema_form.reading import parse_typed_json, read_form
from environments.core.schema_form.rows import add_row, changed_rows, focused, messages_by_field, remove_row
from environments.core.schema_form.values import (
    ABSENT,
    MAX_FIELDS,
    MAX_ROWS,
    FormField,
    Problem,
    Reading,
    Unread,
)
from environments.core.schema_form.words import MAX_TABLE_ROWS, SchemaRow, json_text, schema_rows

__all__ = [
    "ABSENT",
    "MAX_FIELDS",
    "MAX_ROWS",
    "MAX_TABLE_ROWS",
    "FormField",
    "Problem",
    "Reading",
    "SchemaRow",
    "Unread",
    "add_row",
    "build_form",
    "changed_rows",
    "focused",
    "json_text",
    "messages_by_field",
    "parse_typed_json",
    "read_form",
    "remove_row",
    "schema_rows",
]
