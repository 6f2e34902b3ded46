"""Small OpenAPI documents written shortly, read as any other and compiled."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from environments.core.compile.inference import compile_operations
from environments.core.compile.semantics import (
    Blueprint,
    Column,
    Compilation,
    Meaning,
    PlannedTool,
    SourcedOperation,
    SourceFacts,
    Table,
)
from environments.core.sources.model import Fetched
from environments.core.sources.readers import read

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
REAL = {"type": "number"}
FLAG = {"type": "boolean"}
TIME = {"type": "string", "format": "date-time"}

Paths = Mapping[str, Mapping[str, Any]]
Schema = dict[str, Any]


def obj(required: tuple[str, ...] = (), **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def array(items: Any) -> Schema:
    return {"type": "array", "items": items}


def enum(*values: Any, **more: Any) -> Schema:
    return {"type": "integer" if isinstance(values[0], int) else "string", "enum": list(values), **more}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def op(
    answer: Any = None,
    *,
    body: Any = None,
    query: Mapping[str, Any] | None = None,
    required: tuple[str, ...] = (),
    path: Mapping[str, Any] | None = None,
    says: Mapping[str, str] | None = None,
    status: str = "200",
    name: str = "",
    summary: str = "",
) -> dict[str, Any]:
    """One operation: its success answer, its inputs, its words; path parameters are texts unless `path` says more."""
    says = says or {}
    parameters = [{"name": each, "in": "path", "required": True, "schema": path[each]} for each in path or {}]
    parameters += [
        {"name": each, "in": "query", "required": each in required, "schema": schema, "description": says.get(each, "")}
        for each, schema in (query or {}).items()
    ]
    content = {"content": {"application/json": {"schema": answer}}} if answer is not None else {}
    made: dict[str, Any] = {"parameters": parameters, "responses": {status: {"description": "Done.", **content}}}
    if body is not None:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    if name:
        made["operationId"] = name
    if summary:
        made["summary"] = summary
    return made


def crud(path: str, schema: Any, body: Any = None, *, key: str = "id", key_schema: Any = None) -> dict[str, Any]:
    """List, create, get, update and delete of a collection: enough for an environment."""
    keys = {key: key_schema or TEXT}
    item = f"{path}/{{{key}}}"
    body = body if body is not None else obj(("name",), name=TEXT)
    changes = {each: body[each] for each in body if each != "required"}
    return {
        f"GET {path}": op(array(schema)),
        f"POST {path}": op(schema, body=body, status="201"),
        f"GET {item}": op(schema, path=keys),
        f"PATCH {item}": op(schema, body=changes, path=keys),
        f"DELETE {item}": op(path=keys, status="204"),
    }


def sourced(
    paths: Paths,
    schemas: Mapping[str, Any] | None = None,
    *,
    title: str = "Shop",
    version: str = "1.0.0",
    provider: str = "shop.example",
    address: str = "",
) -> list[SourcedOperation]:
    """The operations of a document whose paths are written `GET /orders/{id}`."""
    given: dict[str, dict[str, Any]] = {}
    for key, operation in paths.items():
        method, _, path = key.partition(" ")
        named = {each["name"] for each in operation["parameters"]}
        bare = path.replace("{+", "{")
        missing = [part.split("}")[0] for part in bare.split("{")[1:]]
        extra = [
            {"name": each, "in": "path", "required": True, "schema": TEXT} for each in missing if each not in named
        ]
        given.setdefault(path, {})[method.lower()] = {**operation, "parameters": [*operation["parameters"], *extra]}
    data = json.dumps(
        {
            "openapi": "3.0.3",
            "info": {"title": title, "version": version},
            "paths": given,
            "components": {"schemas": schemas or {}},
        }
    ).encode()
    address = address or f"https://{provider}/{title}.json"
    document = read(Fetched(address, data, "application/json"))
    facts = SourceFacts(
        sha256=hashlib.sha256(data).hexdigest(),
        kind="openapi",
        address=address,
        retrieved_at="2026-01-01T00:00:00Z",
        title=document.title,
        provider=provider,
        version=document.version,
        definitions=document.definitions,
    )
    return [SourcedOperation(each, facts) for each in document.operations]


def compile_document(
    paths: Paths, schemas: Mapping[str, Any] | None = None, *, target: int | None = None, **given: Any
) -> Compilation:
    return compile_operations(sourced(paths, schemas, **given), target_tools=target)


def blueprint_of(paths: Paths, schemas: Mapping[str, Any] | None = None, **given: Any) -> Blueprint:
    """The one environment that a document gives."""
    made = compile_document(paths, schemas, **given)
    assert len(made.blueprints) == 1, reasons(made)
    return made.blueprints[0]


def reasons(made: Compilation) -> dict[str, str]:
    """Reason by operation, of what became no tool."""
    return {each.operation: each.reason for each in made.left_out}


def table_of(paths: Paths, schemas: Mapping[str, Any] | None = None, name: str = "", **given: Any) -> Table:
    """A table of the one environment: by its name, or its first."""
    blueprint = blueprint_of(paths, schemas, **given)
    return blueprint.table(name) if name else blueprint.tables[0]


def names_of(tables: Any) -> set[str]:
    return {each.name for each in tables}


def columns_of(table: Table) -> dict[str, Column]:
    return {column.name: column for column in table.columns}


def tool_of(blueprint: Blueprint, operation: str) -> PlannedTool:
    """The tool that an operation became."""
    return next(tool for tool in blueprint.tools if tool.operation == operation)


def meaning_of(blueprint: Blueprint, operation: str) -> Meaning:
    return tool_of(blueprint, operation).meaning


def arguments_of(meaning: Meaning) -> dict[str, str]:
    """Role by argument."""
    return {argument.name: argument.role.value for argument in meaning.arguments}


TEAM_SCHEMAS = {
    "User": obj(("id", "login"), id=NUMBER, login=TEXT, bio=TEXT),
    "Team": obj(("id", "name"), id=TEXT, name=TEXT, lead=ref("User"), status=enum("active", "archived")),
}
TEAM_PATHS = {
    **crud("/users", ref("User"), obj(("login",), login=TEXT, bio=TEXT), key="username"),
    **crud("/teams", ref("Team"), obj(("name",), name=TEXT), key="team_id"),
    "PUT /teams/{team_id}/members/{username}": op(status="204"),
    "DELETE /teams/{team_id}/members/{username}": op(status="204"),
    "GET /teams/{team_id}/members": op(array(ref("User")), query={"page": NUMBER}),
    "POST /teams/{team_id}/archive": op(ref("Team")),
    "GET /moods": op(array(obj(a=TEXT, b=TEXT))),
}
"""A service with a table of people, one of teams that refers to it, pairs of both, and a list of nothing."""
