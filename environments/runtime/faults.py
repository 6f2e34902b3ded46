"""Every way in which a pack can be wrong, by a stable name, and what to do about each.

A `Fault` is raised inside `PackError` when a pack cannot be read at all, and listed by `check_pack` (host half) and by
the engine in the locked worker (worker half) when it can be read but does not make sense. The verification report
stores code, place and message; the console and `docs/runtime.md` show the remedy from `FAULT_KINDS`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Half = Literal["file", "host", "worker"]
"""Who finds it: reading the files, the host's checks of JSON and names, or the worker's checks of SQL and source."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One fault code.

    Attributes:
        code: Its stable name.
        half: Who finds it.
        remedy: What the pack's author does about it.
    """

    code: str
    half: Half
    remedy: str


def _kinds(half: Half, table: Iterable[tuple[str, str]]) -> dict[str, FaultKind]:
    return {code: FaultKind(code, half, remedy) for code, remedy in table}


_FILE = _kinds(
    "file",
    (
        ("pack_missing", "Name a folder or a zip that exists."),
        ("file_missing", "Add the file: environment.json, schema.sql and tools.py are always needed."),
        ("file_unknown", "Remove the file; a pack holds only the files of docs/contracts.md, C2."),
        ("file_link", "Replace the link, device or pipe by a plain file."),
        ("file_too_large", "Shorten the file; the limits are in pack/limits.py."),
        ("text_encoding", "Save the file as UTF-8 without a byte order mark and with \\n line ends."),
        ("json_syntax", "Correct the JSON at the line and column given."),
        ("json_duplicate_key", "Keep one of the two entries."),
        ("json_number", "Write a finite number; NaN, Infinity and numbers past a double's range are not JSON."),
        ("json_too_deep", "Flatten the nesting."),
        ("format_unknown", 'Set "format" to "envfactory-pack/1" or convert the pack.'),
        ("key_unknown", "Remove the key or correct its spelling."),
        ("key_missing", "Add the key."),
        ("type_wrong", "Write a value of the type named."),
        ("zip_invalid", "Make the zip again; it is damaged or no zip."),
        ("zip_name", "Use relative names of letters, digits, '.', '_', '-' and '/' without '..'."),
        ("zip_link", "Store plain files only."),
        ("zip_duplicate", "Store each name once; names that differ only in case count as the same."),
        ("zip_encrypted", "Store the files without a password."),
        ("zip_method", "Compress with deflate or store the files."),
        ("zip_too_large", "Make the pack smaller; the limits are in pack/limits.py."),
        ("zip_too_many", "Store fewer files."),
        ("zip_ratio", "The file unpacks to far more than it holds; store it with less compression."),
    ),
)

_HOST = _kinds(
    "host",
    (
        ("name_pattern", "Use a name that fits the pattern given; '__' is kept for joined environments."),
        ("name_reserved", "Choose another name; this one means something else to SQLite, Python or the runtime."),
        ("text_empty", "Write the text; an agent, a reviewer or a policy reads it."),
        ("text_length", "Shorten the text."),
        ("integer_range", "Keep integers within 2^53 either way, so that every JSON reader sees the same number."),
        ("time_form", "Write the time as YYYY-MM-DDTHH:MM:SSZ, a moment that exists."),
        ("value_wrong", "Use a value in the range given."),
        ("too_many", "Use fewer entries."),
        ("table_missing", "Describe at least one table."),
        ("table_without_columns", "Describe the table's columns."),
        ("tool_missing", "Add at least one tool."),
        ("tool_duplicate", "Rename one of the tools."),
        ("scenario_missing", "Add at least one scenario."),
        ("scenario_duplicate", "Rename one of the scenarios; names that differ only in case are the same file."),
        ("scenario_file_name", "Name the file scenarios/<name>.json after the scenario in it."),
        ("case_duplicate", "Rename one of the cases."),
        ("schema_too_large", "Shorten the schema to 64 KiB of JSON."),
        ("schema_too_deep", "Flatten the schema to depth 16."),
        ("schema_keyword", "Remove the keyword; the accepted ones are listed in schema/keywords.py."),
        ("schema_value", "Correct the keyword's value to the form JSON Schema 2020-12 gives it."),
        ("schema_pattern", "Write the pattern without look-around and back-references, and small enough to compile."),
        ("schema_format", "Use a format that is really checked (listed in schema/keywords.py) or a pattern."),
        ("schema_reference_remote", "Copy the schema into $defs; only '#/$defs/...' is followed."),
        ("schema_reference_missing", "Define what the $ref points to."),
        ("schema_reference_cycle", "Break the cycle of $ref that never looks into a smaller value."),
        ("schema_reference_cost", "Reuse fewer schemas inside one another; expanded, this one is too large."),
        ("schema_not_object", 'Give the schema "type": "object"; arguments and results are objects.'),
        ("schema_open_input", 'Add "additionalProperties": false to the input schema.'),
        ("schema_required_unknown", "List only names of properties in required."),
        ("schema_default", "Give a default that the schema accepts, to an optional property."),
        ("argument_name", "Give the Python name of each argument whose JSON name is none; each different and free."),
        ("argument_name_unknown", "Map only names of the input schema's properties, and only where they differ."),
        ("code_duplicate", "Declare each code once in a tool."),
        ("code_reserved", "Choose another code; this one is the runtime's own."),
        ("condition_form", "Write one SELECT with named parameters (:name)."),
        (
            "condition_parameter",
            "Use only :argument (by its JSON or Python name), :before_<capture>, and in post-conditions :result.",
        ),
        ("capture_unused", "Remove the capture or compare with it in a post-condition."),
        ("column_generated_class", "Leave out the class of a generated column or make it exempt."),
        ("column_format", "A uuid is text that is no time or number: generated null or id, never semantic."),
        ("generated_id_duplicate", "Let one column of the table be its generated id."),
        ("provenance_sha256", "Write the SHA-256 as 64 lower-case hexadecimal digits."),
        ("provenance_missing", "Say where the pack comes from; a hand-written one has kind 'person'."),
        ("origin_source", "Point to the sha256 of an entry in provenance."),
        ("licence_missing", "Name the licence by SPDX identifier or by name and address."),
        ("address_form", "Write a full http(s) address or a urn."),
        ("scenario_table", "Use only tables of environment.json."),
        ("scenario_column", "Give every column of the table and no other in each row."),
        ("scenario_order", "Sort the rows by primary key, each key once."),
        ("scenario_uuid", "Write uuid columns as lower-case hexadecimal groups of 8-4-4-4-12."),
        ("case_tool_unknown", "Call tools of this pack, and the case's own tool at least once."),
        ("case_scenario", "Give a case either the name of a scenario or rows of its own."),
        ("case_expectations", "Give one expectation for each call."),
        ("case_status", "A rejection case expects a rejection, a success case success; failure is never expected."),
        ("case_code", "Expect a code that the tool declares, and none for success."),
        ("case_result_reference", 'Point {"$result": [index, "/pointer"]} to an earlier call\'s result.'),
        ("case_arguments", "Correct the arguments; only a case that expects 'invalid' breaks the input schema."),
        ("case_result", "Expect only properties that the output schema has."),
        ("case_changes", "Write changes of known tables and columns, with the images their kind needs."),
        ("case_coverage", "Add the missing case: each tool needs its kinds, each declared code a rejection."),
    ),
)

_WORKER = _kinds(
    "worker",
    (
        ("source_syntax", "Correct the Python of tools.py."),
        ("source_forbidden", "Remove the construct; tools use ctx and the listed modules only."),
        ("source_statement", "Keep only imports, constants, plain classes and functions at the top of tools.py."),
        ("function_missing", "Write the function in tools.py or remove the tool."),
        ("function_unknown", "Declare the tool or let the function's name begin with an underscore."),
        ("signature", "Write def name(ctx, *, arguments) with exactly the input schema's properties."),
        ("reject_undeclared", "Declare the code among the tool's rejections."),
        ("rejection_unused", "Remove the declared code; nothing in the tool raises it."),
        ("tool_sql", "Correct the SQL text of the tool; it is prepared over the empty state without being run."),
        ("sql_syntax", "Correct schema.sql."),
        ("sql_statement", "Keep only CREATE TABLE ... STRICT and CREATE INDEX in schema.sql."),
        ("sql_type", "Use INTEGER, REAL or TEXT."),
        ("table_not_strict", "Add STRICT to the table."),
        ("table_without_key", "Give the table a primary key."),
        ("table_undescribed", "Describe the table in environment.json."),
        ("table_unknown", "Create the table in schema.sql or remove its description."),
        ("column_undescribed", "Describe the column in environment.json."),
        ("column_unknown", "Create the column in schema.sql or remove its description."),
        (
            "column_without_class",
            "Give the column a comparison class; only foreign keys and generated columns have none.",
        ),
        ("column_class_foreign_key", "Leave out the class of a foreign-key column; its row is compared."),
        ("column_class_key", "Make a column of a key, UNIQUE constraint or referenced by a foreign key hard."),
        ("column_class_json", "Make a JSON column hard or exempt."),
        ("column_class_text", "Make only text columns semantic."),
        ("generated_id_key", "Use generated id on a single-column primary key only."),
        ("generated_type", "Let a generated column have the type of what fills it."),
        ("foreign_key_target", "Refer to a table and to its primary key or UNIQUE columns."),
        ("foreign_key_log", "Do not refer to a log table; extra log rows must not matter."),
        ("condition_sql", "Correct the condition; it is prepared over the empty state under a read-only authorizer."),
        ("condition_forbidden", "Only read the state; the clock, randomness and extensions are not for conditions."),
        ("condition_columns", "Select exactly one column."),
        ("scenario_rows", "Correct the row; the state refuses it."),
        ("scenario_foreign_keys", "Add the row that is referred to."),
        ("scenario_key_order", "Sort the rows by primary key."),
    ),
)

FAULT_KINDS: dict[str, FaultKind] = {**_FILE, **_HOST, **_WORKER}
"""Every code there is."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a pack.

    Attributes:
        code: A key of `FAULT_KINDS`.
        place: Where, as a path: "tools/borrow/input_schema/properties/id", "scenarios/medium/rows/beds/3".
        message: What is wrong there, for people.
    """

    code: str
    place: str
    message: str

    def __post_init__(self) -> None:
        if self.code not in FAULT_KINDS:
            raise ValueError(f"{self.code} is not a fault code")

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return FAULT_KINDS[self.code].remedy

    def __str__(self) -> str:
        return f"{self.place}: {self.message} [{self.code}]"
