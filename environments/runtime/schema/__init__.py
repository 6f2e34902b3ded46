"""The accepted part of JSON Schema, its checks and its validators."""

from environments.runtime.schema.check import check_input_schema, check_output_schema, check_schema
from environments.runtime.schema.compiled import SchemaError
from environments.runtime.schema.validators import ArgumentValidator, ResultValidator

__all__ = [
    "ArgumentValidator",
    "ResultValidator",
    "SchemaError",
    "check_input_schema",
    "check_output_schema",
    "check_schema",
]
