"""Names, texts and times: which are accepted where."""

import keyword
import re
from datetime import datetime

from environments.runtime.faults import Fault

_PATTERNS = {
    "pack": re.compile(r"[a-z][a-z0-9_]{2,23}"),
    "tool": re.compile(r"[a-z][a-z0-9_]{0,37}"),
    "table": re.compile(r"[a-z][a-z0-9_]{0,47}"),
    "column": re.compile(r"[a-z][a-z0-9_]{0,47}"),
    "argument": re.compile(r"[a-z_][a-z0-9_]{0,47}"),
    "capture": re.compile(r"[a-z][a-z0-9_]{0,37}"),
    "code": re.compile(r"[a-z][a-z0-9_]{1,47}"),
    "scenario": re.compile(r"[a-z][a-z0-9_]{0,47}"),
    "case": re.compile(r"[a-z][a-z0-9_]{0,95}"),
}
_WITHOUT_DOUBLE_UNDERSCORE = {"pack", "tool"}
RESERVED_CODES = frozenset({"unknown_tool", "invalid_arguments", "internal_error"})
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SHA256 = re.compile(r"[0-9a-f]{64}")
ADDRESS = re.compile(r"(https?://[^\s\0/]+(/[^\s\0]*)?|urn:[a-z0-9][a-z0-9-]+:[^\s\0]+)")
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def check_name(kind: str, name: str, place: str) -> Fault | None:
    """The fault of a name.

    Args:
        kind: "pack", "tool", "table", "column", "argument" (its Python name), "capture", "code", "scenario", "case".
        name: The name.
        place: Where it stands.
    """
    if not _PATTERNS[kind].fullmatch(name):
        return Fault("name_pattern", place, f"{name[:60]!r} is not {_PATTERNS[kind].pattern}")
    if kind in _WITHOUT_DOUBLE_UNDERSCORE and "__" in name:
        return Fault("name_pattern", place, f"{name!r} holds '__'")
    if _is_reserved(kind, name):
        return Fault("name_reserved", place, f"{name!r} means something else")
    if kind == "code" and name in RESERVED_CODES:
        return Fault("code_reserved", place, f"{name!r} is a code of the runtime")
    return None


def check_text(text: str, place: str, limit: int, *, may_be_empty: bool = False) -> Fault | None:
    """The fault of a text for people."""
    if not text.strip() and not may_be_empty:
        return Fault("text_empty", place, "a text is expected")
    if len(text) > limit:
        return Fault("text_length", place, f"{len(text)} characters, not {limit}")
    if "\0" in text:
        return Fault("text_encoding", place, "it holds a NUL")
    return None


def is_time(text: str) -> bool:
    """Whether it is a moment in the one accepted form."""
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.strptime(text, TIME_FORMAT)  # noqa: DTZ007 - only the form is asked for
    except ValueError:
        return False
    return True


def _is_reserved(kind: str, name: str) -> bool:
    if kind in {"table", "column"}:
        return name.startswith("sqlite_") or name in {"rowid", "oid", "_rowid_"}
    if kind == "tool":
        return keyword.iskeyword(name)
    if kind == "argument":
        # `before_` and `result` are parameters of conditions, `ctx` is the tool's first argument
        return keyword.iskeyword(name) or name in {"ctx", "result"} or name.startswith("before_")
    return False
