"""How large a pack and its parts may be; every limit is far above what the shipped packs need."""

MAX_FILE_BYTES = {"environment.json": 2 << 20, "schema.sql": 256 << 10, "tools.py": 512 << 10, "cases.json": 8 << 20}
MAX_SCENARIO_BYTES = 8 << 20
MAX_SCENARIOS = 200
MAX_PACK_BYTES = 48 << 20
"""All files together, unpacked."""
MAX_ZIP_BYTES = 16 << 20
MAX_ZIP_RATIO = 200
"""Unpacked to packed size of one file; rows of a scenario reach about 30."""
MIN_RATIO_BYTES = 64 << 10
"""Files smaller than this are not held to the ratio."""
MAX_JSON_DEPTH = 64
MAX_INTEGER = 1 << 53
"""Beyond it, JSON readers that use doubles see another number."""

MAX_TABLES = 64
MAX_COLUMNS = 64
MAX_TOOLS = 128
MAX_ARGUMENTS = 40
MAX_CONDITIONS = 32
MAX_ROWS = 20_000
"""Rows of one scenario."""
MAX_CASES = 5_000
MAX_CASE_CALLS = 50
MAX_TITLE = 120
MAX_DESCRIPTION = 4_000
MAX_MESSAGE = 400
MAX_ADDRESS = 2_000
MAX_LICENCE = 200
MAX_LANGUAGE = 35
MAX_CONDITION_SQL = 8_000
MAX_FAULTS = 200
"""A check stops listing faults here: a person reads them."""
