"""Reason codes: each rule looks at one operation and says why it is left out, if it is.

Reference: AgentScaler (Fang et al., 2025, arXiv 2509.13311), section 2.1, drops low-quality APIs without saying what
those are. Differs: the rules are ours, each with its code, and none drops what merely lacks a description but says by
method and path what it does.
"""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

import jsonschema_rs

from environments.core.embedding.lexical import split_words
from environments.core.sources.model import (
    Document,
    Location,
    Operation,
    Schema,
    input_schema,
    named,
    success_response,
)

REASONS: Final[dict[str, str]] = {
    "no_description": "Nothing says what it does: no title, no description, and no method and path either.",
    "no_inputs_and_outputs": "It takes nothing and describes no answer.",
    "schema_unreadable": "A schema or reference of its own can't be read, or its arguments' schema is not valid.",
    "duplicate": "Name, arguments and answer are those of another operation that is kept.",
    "deprecated": "Its source advises against it.",
    "test_or_demo": "It is there for tests, demonstrations or monitoring.",
    "binary": "It uploads or downloads files.",
    "auth_only": "It only logs in, logs out or handles tokens.",
    "method": "HEAD, OPTIONS and TRACE are for machines.",
    "unclear": "What it takes and gives could not be read from the page for certain.",
}

FATAL: Final = frozenset({
    "reference_unresolved", "schema_not_an_object", "parameter_without_name", "parameter_location_unknown",
    "not_an_object", "schema_unreadable",
})  # fmt: skip
_MACHINE_METHODS: Final = frozenset({"HEAD", "OPTIONS", "TRACE"})
_DEMO: Final = frozenset({
    "ping", "echo", "health", "healthcheck", "healthz", "livez", "readyz", "liveness", "readiness", "heartbeat",
    "helloworld", "demo", "dummy", "foo", "foobar",
})  # fmt: skip
_DEMO_TITLE: Final = re.compile(
    r"^\s*(test|demo|dummy|sample|example) (endpoint|operation|api|call|method|tool)\b|\bhello,? world\b", re.IGNORECASE
)
_AUTH: Final = frozenset({
    "login", "logout", "signin", "signout", "signon", "signoff", "oauth", "oauth2", "oauth20", "authorize",
    "authenticate", "accesstoken", "accesstokens", "refreshtoken", "jwt",
})  # fmt: skip
_AUTH_PAIRS: Final = frozenset({
    ("log", "in"), ("log", "out"), ("sign", "in"), ("sign", "out"), ("access", "token"), ("access", "tokens"),
    ("refresh", "token"), ("check", "login"), ("login", "status"), ("auth", "token"), ("auth", "tokens"),
    ("request", "token"),
})  # fmt: skip
_MAYBE_AUTH: Final = frozenset({"token", "tokens", "session", "sessions", "introspect", "auth", "authentication"})
"""Logins in most APIs; coins, chats or conferences in the others, so that the text has to say which."""
_AUTH_TEXT: Final = re.compile(
    r"\b(oauth\w*|authenticate[sd]?|log(s|ged|ging)?[ -]?(in|out|on|off)|sign(s|ed|ing)?[ -]?(in|out|on)|bearer|jwt|"
    r"credentials?|passwords?|(access|refresh|api|session|security)[ _-]?tokens?|api[ -]?keys?)\b",
    re.IGNORECASE,
)
_FILLERS: Final = frozenset({
    "get", "post", "put", "delete", "create", "new", "check", "status", "refresh", "revoke", "access", "api", "user",
    "users", "rest", "by", "id", "the", "a", "is", "in", "out", "log", "sign", "client", "request", "generate", "issue",
    "exchange", "verify", "validate", "grant", "auth", "me", "current",
})  # fmt: skip
_VERSION: Final = re.compile(r"v?[0-9]+")
_BINARY_MEDIA: Final = re.compile(
    r"^(image|audio|video|font)/|octet-stream|/pdf|/zip|gzip|x-tar|msword|ms-excel|openxmlformats|x-7z|/vnd\.android"
)


def reasons_of(operation: Operation, document: Document) -> tuple[str, ...]:
    """Every reason against an operation, duplicates apart, in the order of the rules; none means that it is kept."""
    return tuple(code for code, rule in _RULES if rule(operation, document.definitions))


def _no_description(operation: Operation, _: Mapping[str, Schema]) -> bool:
    return not (operation.title or operation.description or (operation.method and operation.path))


def _no_inputs_and_outputs(operation: Operation, definitions: Mapping[str, Schema]) -> bool:
    if operation.parameters or operation.body is not None:
        return False
    answer = success_response(operation)
    return answer is None or answer.schema is None or not named(answer.schema, definitions)


def _schema_unreadable(operation: Operation, definitions: Mapping[str, Schema]) -> bool:
    if any(problem.code in FATAL for problem in operation.problems):
        return True
    try:
        return not jsonschema_rs.meta.is_valid({"$schema": _DRAFT, **input_schema(operation, definitions)})
    except ValueError:  # nested deeper than it looks
        return True


_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def _test_or_demo(operation: Operation, _: Mapping[str, Schema]) -> bool:
    if _DEMO_TITLE.search(operation.title or operation.description[:200]):
        return True
    if operation.body is not None or _has_key(operation):  # the health of something, or a ping sent to it
        return False
    last = operation.path.rstrip("/").rsplit("/", 1)[-1] if operation.path else operation.name
    words = split_words(last)
    return bool(words) and ("".join(words) in _DEMO or set(words) <= _DEMO)


def _binary(operation: Operation, definitions: Mapping[str, Schema]) -> bool:
    body = operation.body
    if body is not None:
        content = named(body.schema, definitions)
        if _BINARY_MEDIA.search(body.media_type) or _is_binary(content):
            return True
        members = {name: named(part, definitions) for name, part in content.get("properties", {}).items()}
        binary = {name for name, part in members.items() if _is_file(part, definitions)}
        # A file that may be left out is an attachment; one that is all there is to give is the point.
        if binary and (binary & set(content.get("required", ())) or len(binary) == len(members)):
            return True
    if any(_is_binary(parameter.schema) for parameter in operation.parameters):
        return True
    answer = success_response(operation)
    if answer is None or answer.media_type is None:
        return False
    return bool(_BINARY_MEDIA.search(answer.media_type)) or _is_binary(named(answer.schema or {}, definitions))


def _is_file(schema: Schema, definitions: Mapping[str, Schema]) -> bool:
    items = schema.get("items")
    return _is_binary(schema) or (isinstance(items, Mapping) and _is_binary(named(items, definitions)))


def _is_binary(schema: Schema) -> bool:
    kinds = schema.get("type")
    is_text = "string" in kinds if isinstance(kinds, list) else kinds in ("string", None)
    media_type = schema.get("contentMediaType")
    is_named = isinstance(media_type, str) and bool(_BINARY_MEDIA.search(media_type))
    return is_text and (schema.get("format") == "binary" or is_named)


def _auth_only(operation: Operation, _: Mapping[str, Schema]) -> bool:
    """All that its path or name is about is a login or a token, and it takes no resource's key."""
    if _has_key(operation):
        return False
    words = [word for word in split_words(operation.path or operation.name) if not _VERSION.fullmatch(word)]
    if set(words) - _AUTH - _MAYBE_AUTH - _FILLERS:
        return False
    if _AUTH & set(words) or _AUTH_PAIRS & set(pairwise(words)):
        return True
    return bool(_MAYBE_AUTH & set(words)) and bool(
        _AUTH_TEXT.search(f"{operation.name} {operation.title} {operation.description[:500]}")
    )


def _has_key(operation: Operation) -> bool:
    return any(parameter.location == Location.PATH for parameter in operation.parameters)


_RULES: Final[tuple[tuple[str, Callable[[Operation, Mapping[str, Schema]], bool]], ...]] = (
    ("no_description", _no_description),
    ("no_inputs_and_outputs", _no_inputs_and_outputs),
    ("schema_unreadable", _schema_unreadable),
    ("deprecated", lambda operation, _: operation.is_deprecated),
    ("test_or_demo", _test_or_demo),
    ("binary", _binary),
    ("auth_only", _auth_only),
    ("method", lambda operation, _: operation.method in _MACHINE_METHODS),
    ("unclear", lambda operation, _: any(problem.code == "unclear" for problem in operation.problems)),
)
