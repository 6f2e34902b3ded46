"""The modules that tools may import, and copies of them that hold only their public names.

All are imported here, with what they load lazily, because nothing can be opened once the worker is locked. The copies
are tidiness, not a boundary: the process is the boundary, and the gate names what a tool should not do.
"""

import base64
import collections
import collections.abc
import contextlib
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import itertools
import json
import math
import operator
import re
import statistics
import string
import textwrap
import types
import typing
import unicodedata
import uuid
from collections.abc import Mapping

# Loaded on first use by strptime, int(str), str.encode and others; a locked worker could not load them then.
import _strptime  # type: ignore[import-not-found]  # noqa: F401  # isort: skip
import encodings.ascii  # isort: skip
import encodings.idna  # isort: skip
import encodings.latin_1  # isort: skip
import encodings.utf_8  # isort: skip
import encodings.utf_16  # isort: skip
import encodings.unicode_escape  # noqa: F401  # isort: skip
import random  # noqa: F401, TID251 - ctx.rng is one, seeded  # isort: skip
import stringprep  # noqa: F401  # isort: skip
import zoneinfo  # noqa: F401  # isort: skip

with contextlib.suppress(ImportError):  # Python 3.11 has none
    import _pylong  # type: ignore[import-not-found]  # noqa: F401  # isort: skip

_MODULES: tuple[types.ModuleType, ...] = (
    base64,
    collections,
    collections.abc,
    dataclasses,
    datetime,
    decimal,
    enum,
    fractions,
    functools,
    hashlib,
    itertools,
    json,
    math,
    operator,
    re,
    statistics,
    string,
    textwrap,
    typing,
    unicodedata,
    uuid,
)

HIDDEN: Mapping[str, frozenset[str]] = {
    # What asks the clock, the machine, the file system or chance, or keeps state from one call to the next.
    "functools": frozenset({"cache", "lru_cache", "cached_property", "singledispatch", "singledispatchmethod"}),
    "hashlib": frozenset({"file_digest", "algorithms_available"}),
    "uuid": frozenset({"uuid1", "uuid4", "uuid6", "uuid7", "uuid8", "getnode", "main"}),
    "decimal": frozenset({"setcontext", "DefaultContext", "BasicContext", "ExtendedContext"}),
    "operator": frozenset({"attrgetter", "methodcaller"}),
    "string": frozenset({"Formatter", "Template"}),
    "typing": frozenset({"get_type_hints"}),
    "dataclasses": frozenset({"make_dataclass"}),
    "json": frozenset({"load", "dump", "codecs"}),
    "base64": frozenset({"encode", "decode", "main", "test"}),
}
"""Public names that a tool must not use, by module."""

IMPORTABLE: frozenset[str] = frozenset(module.__name__ for module in _MODULES)
"""What `import` and `from ... import` may name in tools.py."""


def module_copies() -> dict[str, types.ModuleType]:
    """New modules with the public names of the importable ones, hidden ones and other modules left out."""
    copies: dict[str, types.ModuleType] = {}
    for module in _MODULES:
        hidden = HIDDEN.get(module.__name__, frozenset())
        copy = types.ModuleType(module.__name__)
        copy.__dict__.update(
            {
                name: value
                for name, value in vars(module).items()
                if not name.startswith("_") and name not in hidden and not isinstance(value, types.ModuleType)
            }
        )
        copies[module.__name__] = copy
    copies["collections"].__dict__["abc"] = copies["collections.abc"]
    return copies


datetime.datetime.strptime("2026-01-01", "%Y-%m-%d")  # noqa: DTZ007 - only to load what strptime loads lazily
unicodedata.normalize("NFKC", "a")
