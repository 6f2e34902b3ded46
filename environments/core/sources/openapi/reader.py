"""Reads an OpenAPI document: its head, its named schemas and one operation for each path and method."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from environments.core.errors import UnreadableSourceError
from environments.core.licences import licence_of
from environments.core.sources.budget import Budget
from environments.core.sources.model import (
    Body,
    Document,
    Fetched,
    Location,
    Operation,
    Parameter,
    Problem,
    Response,
    Schema,
    SourceKind,
)
from environments.core.sources.openapi.media import choose, not_objects, preferred
from environments.core.sources.openapi.recognition import looks_like_openapi
from environments.core.sources.providers import provider_of
from environments.core.sources.references import MAX_HOPS, References, UnresolvedError
from environments.core.sources.schemas import MAX_PROBLEMS, Schemas
from environments.core.sources.text_values import clean_text, parse_text, scalar_text

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
MAX_OPERATIONS: Final = 50_000
MAX_PATH: Final = 1_000
"""Characters; the longest real one has 380, and a key longer than 2,700 bytes can't be indexed."""
MAX_LISTED: Final = 100
"""Servers, media types, tags or security requirements of one place."""
MAX_EXAMPLES: Final = 4

_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_NOT_ARGUMENTS: Final = frozenset({"accept", "authorization", "content-type"})
"""Headers that OpenAPI 3 leaves to content and security, and tells readers to ignore as parameters."""
_ABOUT_A_PARAMETER: Final = frozenset({"name", "in", "required", "description"})
"""Of Swagger 2.0, where a parameter is its own schema."""


class OpenApiReader:
    """Reads OpenAPI 3.0 to 3.2 and Swagger 2.0, JSON or YAML."""

    kind = SourceKind.OPENAPI

    def recognises(self, fetched: Fetched) -> bool:
        """Whether a version of OpenAPI or Swagger is named where a document names it."""
        return looks_like_openapi(fetched.data)

    def read(self, fetched: Fetched) -> Document:
        """The document.

        Raises:
            UnreadableSourceError: It is no OpenAPI document, names no paths, or breaks a limit.
        """
        root = parse_text(fetched.data)
        if not isinstance(root, Mapping):
            raise UnreadableSourceError("An OpenAPI document is an object; this is not one.")
        dialect = _dialect(root)
        paths = root.get("paths")
        if not isinstance(paths, Mapping) or not paths:
            extra = " It has webhooks only, which nobody can call." if root.get("webhooks") else ""
            raise UnreadableSourceError(f"The document has no paths.{extra}")
        if len(paths) > MAX_OPERATIONS:
            raise UnreadableSourceError(f"The document has more than {MAX_OPERATIONS:,} paths.")
        return _Reading(root, dialect, fetched).document()


def _dialect(root: Mapping[str, Any]) -> str:
    text = scalar_text(root.get("openapi", root.get("swagger")), 20)
    for known in ("3.2", "3.1", "3.0"):
        if "openapi" in root and text.startswith(known):
            return f"openapi {known}"
    if "swagger" in root and text.startswith("2"):
        return "swagger 2.0"
    raise UnreadableSourceError(
        f"OpenAPI 3.0 to 3.2 and Swagger 2.0 are read; this says {text!r}." if text else "It names no OpenAPI version."
    )


class _Reading:
    """One document while it is read."""

    def __init__(self, root: Mapping[str, Any], dialect: str, fetched: Fetched) -> None:
        self._root = root
        self._dialect = dialect
        self._fetched = fetched
        self._is_swagger = dialect == "swagger 2.0"
        self._budget = Budget()
        self._references = References(root, fetched.address, fetched.related)
        keeps_siblings = dialect not in ("swagger 2.0", "openapi 3.0")
        self._schemas = Schemas(self._references, self._budget, keeps_siblings=keeps_siblings)
        self._problems: list[Problem] = []

    def document(self) -> Document:
        info = self._root.get("info")
        info = info if isinstance(info, Mapping) else {}
        servers = tuple(self._swagger_servers() if self._is_swagger else self._servers())
        operations = tuple(self._operations())
        return Document(
            kind=SourceKind.OPENAPI,
            dialect=self._dialect,
            title=scalar_text(info.get("title"), 300) or self._fetched.address,
            version=scalar_text(info.get("version"), 100),
            description=clean_text(info.get("description")),
            licence=licence_of(info.get("license")),
            provider=provider_of(info, servers, self._fetched.address),
            servers=servers,
            operations=operations,
            definitions=self._schemas.definitions,
            problems=(*self._problems, *self._schemas.problems),
        )

    def _swagger_servers(self) -> Iterator[str]:
        host = clean_text(self._root.get("host"), 300)
        if host:
            schemes = self._root.get("schemes")
            scheme = clean_text(schemes[0], 20) if isinstance(schemes, list) and schemes else ""
            yield f"{scheme or 'https'}://{host}{clean_text(self._root.get('basePath'), 200)}"

    def _servers(self) -> Iterator[str]:
        servers = self._root.get("servers")
        for server in servers[:MAX_LISTED] if isinstance(servers, list) else ():
            address = clean_text(server.get("url"), 500) if isinstance(server, Mapping) else ""
            if address:
                yield address

    def _operations(self) -> Iterator[Operation]:
        count = 0
        for path, item in self._root["paths"].items():
            place = f"/paths/{path.replace('~', '~0').replace('/', '~1')}"
            if path.startswith("x-"):
                continue
            if len(path) > MAX_PATH:
                self._problem(self._problems, "path_too_long", place, f"the path has {len(path)} characters")
                continue
            found, file = self._follow(item, "", place, self._problems)
            for method in METHODS if found is not None else ():
                if found is None or found.get(method) is None:
                    continue
                count += 1
                if count > MAX_OPERATIONS:
                    raise UnreadableSourceError(f"The document has more than {MAX_OPERATIONS:,} operations.")
                node = found[method]
                if isinstance(node, Mapping):
                    yield self._operation(path, method, node, found, file, f"{place}/{method}")
                else:
                    self._problem(
                        self._problems, "operation_not_an_object", f"{place}/{method}", "an operation is expected"
                    )

    def _operation(
        self, path: str, method: str, node: Mapping[str, Any], item: Mapping[str, Any], file: str, place: str
    ) -> Operation:
        self._budget.spend()
        problems: list[Problem] = []
        given = self._given_parameters(item.get("parameters"), node.get("parameters"), file, place, problems)
        if self._is_swagger:
            body = self._swagger_body(given, node, place, problems)
        else:
            body = self._body(node, file, place, problems)
        tags = node.get("tags")
        return Operation(
            key=f"{method.upper()} {path}",
            name=self._text(node.get("operationId"), 300) or name_of(method, path),
            title=self._text(node.get("summary"), 500),
            description=self._text(node.get("description")),
            method=method.upper(),
            path=path,
            parameters=tuple(self._parameters(given, place, problems)),
            body=body,
            responses=tuple(self._responses(node, file, place, problems)),
            tags=tuple(filter(None, (self._text(tag, 200) for tag in islice(_listed(tags), MAX_LISTED)))),
            is_deprecated=node.get("deprecated") is True,
            security=self._security(node),
            problems=tuple(problems),
        )

    def _given_parameters(
        self, shared: Any, own: Any, file: str, place: str, problems: list[Problem]
    ) -> dict[tuple[str, str], tuple[Mapping[str, Any], str]]:
        """(object, its file) of each parameter by name and place; an operation's own replace those of the path."""
        found: dict[tuple[str, str], tuple[Mapping[str, Any], str]] = {}
        for index, each in enumerate([*_listed(shared), *_listed(own)]):
            self._budget.spend()
            where = f"{place}/parameters/{index}"
            node, at = self._follow(each, file, where, problems)
            if node is None:
                continue
            name, location = scalar_text(node.get("name"), 300), node.get("in")
            if location in ("body", "formData") and self._is_swagger:
                # There is one body, whatever it is called.
                found["" if location == "body" else name, location] = node, at
            elif location not in ("path", "query", "header", "cookie"):
                self._problem(problems, "parameter_location_unknown", where, f"{str(location)[:100]!r} is no location")
            elif not name:
                self._problem(problems, "parameter_without_name", where, "a parameter has no name")
            elif self._is_swagger or location != "header" or name.lower() not in _NOT_ARGUMENTS:
                found[name, location] = node, at
        return found

    def _parameters(
        self, given: Mapping[tuple[str, str], tuple[Mapping[str, Any], str]], place: str, problems: list[Problem]
    ) -> Iterator[Parameter]:
        for (name, location), (node, file) in given.items():
            if location not in ("body", "formData"):
                yield Parameter(
                    name=name,
                    location=Location(location),
                    is_required=node.get("required") is True or location == "path",
                    schema=self._parameter_schema(node, file, f"{place}/parameters/{name}", problems),
                    description=self._text(node.get("description")),
                    is_deprecated=node.get("deprecated") is True,
                )

    def _parameter_schema(self, node: Mapping[str, Any], file: str, place: str, problems: list[Problem]) -> Schema:
        if "schema" in node:  # also in Swagger 2.0, where it does not belong
            schema = self._schemas.read(node["schema"], place, problems, file)
        elif self._is_swagger:
            self._budget.spend(8 * len(node))
            own = {key: value for key, value in node.items() if key not in _ABOUT_A_PARAMETER}
            schema = self._schemas.read(own, place, problems, file)
        else:
            _, media = self._media(node, place, problems)
            schema = self._schemas.read(media["schema"], place, problems, file) if media and "schema" in media else {}
        examples = list(self._examples(node, file)) if "examples" not in schema and "$ref" not in schema else []
        return {**schema, "examples": examples} if examples else schema

    def _body(self, node: Mapping[str, Any], file: str, place: str, problems: list[Problem]) -> Body | None:
        place = f"{place}/requestBody"
        if node.get("requestBody") is None:
            return None
        found, at = self._follow(node["requestBody"], file, place, problems)
        if found is None:
            return None
        media_type, media = self._media(found, place, problems)
        if media is None:
            self._problem(problems, "body_without_content", place, "the body has no content")
            return None
        return Body(
            media_type=clean_text(media_type, 200),
            schema=self._schemas.read(media.get("schema", {}), place, problems, at),
            is_required=found.get("required") is True,
            description=self._text(found.get("description")),
            examples=tuple(self._examples(media, at)),
        )

    def _swagger_body(
        self,
        given: Mapping[tuple[str, str], tuple[Mapping[str, Any], str]],
        node: Mapping[str, Any],
        place: str,
        problems: list[Problem],
    ) -> Body | None:
        place = f"{place}/parameters"
        media_type = clean_text(preferred(node.get("consumes", self._root.get("consumes"))), 200)
        body, file = given.get(("", "body"), (None, ""))
        if body is not None:
            schema = self._schemas.read(body.get("schema", {}), place, problems, file)
            description = self._text(body.get("description"))
            return Body(media_type or "application/json", schema, body.get("required") is True, description)
        fields = {name: field for (name, location), field in given.items() if location == "formData" and name}
        if not fields:
            return None
        properties: dict[str, Any] = {}
        for name, (field, at) in fields.items():
            self._budget.spend(8 * len(field))
            own = {key: value for key, value in field.items() if key not in ("name", "in", "required")}
            properties[name] = self._schemas.read(own, f"{place}/{name}", problems, at)
        required = [name for name, (field, _) in fields.items() if field.get("required") is True]
        has_file = any(field.get("type") == "file" for field, _ in fields.values())
        if "form" not in media_type:
            media_type = "multipart/form-data" if has_file else "application/x-www-form-urlencoded"
        whole = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        return Body(media_type, whole, bool(required))

    def _responses(self, node: Mapping[str, Any], file: str, place: str, problems: list[Problem]) -> Iterator[Response]:
        responses = node.get("responses")
        for status, each in responses.items() if isinstance(responses, Mapping) else ():
            self._budget.spend()
            if status.startswith("x-"):
                continue
            where = f"{place}/responses/{status}"
            found, at = self._follow(each, file, where, problems)
            if found is None:
                continue
            media_type, media = self._answer(found, node, where, problems)
            yield Response(
                status="default" if status == "default" else clean_text(status, 20).upper(),
                media_type=clean_text(media_type, 200) if media is not None else None,
                schema=self._schemas.read(media["schema"], where, problems, at)
                if media and "schema" in media
                else None,
                description=self._text(found.get("description"), 4_000),
                examples=tuple(self._examples(media, at)) if media is not None else (),
            )

    def _media(
        self, node: Mapping[str, Any], place: str, problems: list[Problem]
    ) -> tuple[str, Mapping[str, Any] | None]:
        """The media type and media object that are read of an object's `content`."""
        content = node.get("content")
        for kind, value in not_objects(content):
            self._problem(
                problems, "media_not_an_object", f"{place}/content/{kind}",
                f"a media type is described by an object, not {type(value).__name__}",
            )  # fmt: skip
        return choose(content)

    def _answer(
        self, found: Mapping[str, Any], node: Mapping[str, Any], place: str, problems: list[Problem]
    ) -> tuple[str, Mapping[str, Any] | None]:
        """The media type and media object of a response, made into one where Swagger 2.0 has none."""
        if not self._is_swagger:
            return self._media(found, place, problems)
        if "schema" not in found:
            return "", None
        media_type = preferred(node.get("produces", self._root.get("produces"))) or "application/json"
        given = found.get("examples")
        examples = islice(given.items(), MAX_EXAMPLES) if isinstance(given, Mapping) else ()
        return media_type, {
            "schema": found["schema"], "examples": {kind: {"value": value} for kind, value in examples}
        }  # fmt: skip

    def _examples(self, media: Mapping[str, Any], file: str) -> Iterator[Any]:
        if media.get("example") is not None:
            yield self._budget.keep(media["example"])
        examples = media.get("examples")
        for each in islice(examples.values(), MAX_EXAMPLES) if isinstance(examples, Mapping) else ():
            found, _ = self._follow(each, file, "examples", [])
            if found is not None and found.get("value") is not None:
                yield self._budget.keep(found["value"])

    def _security(self, node: Mapping[str, Any]) -> tuple[str, ...]:
        given = node.get("security", self._root.get("security"))
        needs = (each for each in islice(_listed(given), MAX_LISTED) if isinstance(each, Mapping))
        return tuple(dict.fromkeys(self._text(name, 200) for each in needs for name in islice(each, MAX_LISTED)))

    def _text(self, value: Any, limit: int = 20_000) -> str:
        return self._budget.keep(clean_text(value, limit))

    def _follow(
        self, node: Any, file: str, place: str, problems: list[Problem]
    ) -> tuple[Mapping[str, Any] | None, str]:
        """The object at a place, through references if it is one, and the file that it is in."""
        for _ in range(MAX_HOPS):
            if not isinstance(node, Mapping):
                self._problem(problems, "not_an_object", place, f"an object is expected, not {type(node).__name__}")
                return None, file
            if not isinstance(node.get("$ref"), str):
                return node, file
            try:
                target = self._references.follow(node["$ref"], file)
            except UnresolvedError as error:
                self._problem(problems, "reference_unresolved", place, str(error))
                return None, file
            node, file = target.value, target.file
        self._problem(problems, "reference_unresolved", place, "it leads in a circle")
        return None, file

    def _problem(self, problems: list[Problem], code: str, place: str, message: str) -> None:
        self._budget.spend()
        if len(problems) < MAX_PROBLEMS:
            problems.append(Problem(code, place[:300], message[:300]))


def name_of(method: str, path: str) -> str:
    """A name for an operation that has none: `get_pets_by_id` for `GET /pets/{id}`."""
    words = [method.lower()]
    for part in re.split(r"[/?#]", path):
        inner = _WORD.findall(part)
        if inner:
            words += [*(["by"] if part.startswith("{") else []), *inner]
    return "_".join(words)[:300].lower()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
