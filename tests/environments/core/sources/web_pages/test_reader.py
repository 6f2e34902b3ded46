"""Documentation pages as operations: what they say for certain, and what is left to whoever reads the words."""

import json

import pytest

from environments.core.cleaning import clean
from environments.core.errors import UnreadableSourceError
from environments.core.sources import readers
from environments.core.sources.model import Document, Fetched, Location, Operation, SourceKind, input_schema
from environments.core.sources.web_pages import WebPageReader

MARKDOWN = """# Shelf API

Version 2.1. Books of a library, with _user_id_ and `snake_case` names. Base URL: `https://api.shelf.example/v2`

| Method | Path | Description |
|---|---|---|
| GET | `/ping` | Says pong |
| GET | `/books` | All books |

## Books

### List books

`GET /books?limit=20`

Lists *all* books, see [the guide](guide.md).

**Query parameters**

| Name | Type | Required | Description | Default |
|---|---|---|---|---|
| `page` | integer | no | Which page | 1 |
| `sort` | string | no | One of: `title`, `year` | |
| `shelf_id` | string (uuid) | **yes** | The shelf | |

**Response**

```json
[{"id": 1, "title": "Emma", "tags": ["a"]}, {"id": 2, "price": 2.5}]
```

### `POST /books` - Add a book

#### Body

- `title` (string, required): The title
- `year` (integer): The year
- `owner.name` (string) - Who
- `authors[].id` (integer)

#### Returns

| Field | Type | Description |
|--|--|--|
| id | integer | Its key |
| tags | array of strings | Words |

#### 404 Not found

```json
{"error": "no such shelf"}
```

### DELETE /books/:id

Removes it. No content.

### PUT /books/{id}

Changes some fields.

## Deprecated: GET /old/<shelf name>

Takes no parameters.

```
HTTP/1.1 200 OK
Content-Type: application/json

{"ok": true}
```
"""

HTML = """<!DOCTYPE html><html><head><title>Tides &amp; gauges</title>
<link rel="license" href="https://creativecommons.org/licenses/by/4.0/"></head>
<body><nav><ul><li>GET /not-this</li></ul></nav>
<h1>Tide gauges</h1><p>Water levels.
<section><h2><span class="verb">GET</span> <code>/gauges/{gaugeId}/levels</code></h2>
<p>Levels of a gauge,<br>newest first.</p>
<h3>Parameters</h3>
<table><thead><tr><th>Parameter<th>In<th>Type<th>Required<th>Description<th>Allowed values</thead>
<tr><td><code>gaugeId</code><td>path<td>integer<td>Yes<td>The gauge.<td>
<tr><td>unit <td>query<td>string<td>No<td>Unit of length.<td>m, ft
<tr><td>X-Trace<td>header<td>string<td>-<td>For logs.<td></table>
<h3>Response 200</h3><pre><code class="json">{"levels": [{"at": "2026-01-01", "metres": 1.5}],
 "next": null}</code></pre>
<h3>Status codes</h3><table><tr><th>Status<th>Description</tr><tr><td>404<td>No such gauge.<tr><td>200<td>Fine.</table>
</section>
<script>document.write("<h2>GET /scripted</h2>")</script>
<h2>Create a gauge</h2>
<pre>curl -X POST https://tides.example/api/gauges -H 'A: b' -d '{"name": "Pier", "depth": 3}'</pre>
<h3>Body parameters</h3>
<dl><dt>name<dd>string, required. Its name.<dt>depth</dt><dd>number. In metres.</dd></dl>
<h3>Returns</h3><ul><li><code>id</code> (integer): Its key.</li></ul>
</body></html>"""


def read(text: str, address: str = "https://shelf.example/docs.md", media_type: str = "") -> Document:
    return WebPageReader().read(Fetched(address, text.encode(), media_type))


def by_key(document: Document) -> dict[str, Operation]:
    return {operation.key: operation for operation in document.operations}


def test_markdown_page_is_read() -> None:
    document = read(MARKDOWN)
    found = by_key(document)

    assert (document.kind, document.dialect, document.title) == (SourceKind.WEB_PAGE, "markdown", "Shelf API")
    assert (document.version, document.servers, document.provider) == (
        "2.1", ("https://api.shelf.example/v2",), "shelf.example",
    )  # fmt: skip
    assert document.description.startswith("Version 2.1. Books of a library, with user_id and snake_case names.")
    assert list(found) == [
        "GET /books", "POST /books", "DELETE /books/{id}", "PUT /books/{id}", "GET /old/{shelf_name}", "GET /ping",
    ]  # fmt: skip
    assert [operation.key for operation in document.operations if not operation.problems] == [
        "GET /books", "POST /books", "DELETE /books/{id}", "GET /old/{shelf_name}",
    ]  # fmt: skip


def test_parameter_table_becomes_parameters() -> None:
    operation = by_key(read(MARKDOWN))["GET /books"]

    assert (operation.title, operation.description) == ("List books", "Lists all books, see the guide.")
    assert operation.name == "get_books"
    assert [(each.name, each.location, each.is_required) for each in operation.parameters] == [
        ("page", Location.QUERY, False), ("sort", Location.QUERY, False), ("shelf_id", Location.QUERY, True),
        ("limit", Location.QUERY, False),
    ]  # fmt: skip
    schemas = {each.name: each.schema for each in operation.parameters}
    assert schemas == {
        "page": {"type": "integer", "default": 1}, "sort": {"type": "string", "enum": ["title", "year"]},
        "shelf_id": {"type": "string", "format": "uuid"}, "limit": {"type": "string"},
    }  # fmt: skip
    assert operation.parameters[0].description == "Which page"


def test_example_becomes_a_schema() -> None:
    (response,) = by_key(read(MARKDOWN))["GET /books"].responses

    assert response.schema == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"}, "title": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}}, "price": {"type": "number"},
            },
        },
    }  # fmt: skip
    assert len(response.examples[0]) == 2


def test_list_of_members_becomes_a_body() -> None:
    operation = by_key(read(MARKDOWN))["POST /books"]

    assert operation.body is not None
    assert operation.body.is_required
    assert operation.body.schema == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "The title"},
            "year": {"type": "integer", "description": "The year"},
            "owner": {"properties": {"name": {"type": "string", "description": "Who"}}, "type": "object"},
            "authors": {
                "type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}},
            },
        },
        "required": ["title"],
    }  # fmt: skip
    assert input_schema(operation, {})["required"] == ["title"]
    assert [(each.status, each.schema) for each in operation.responses] == [
        ("200", {"type": "object", "properties": {
            "id": {"type": "integer", "description": "Its key"},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Words"},
        }}),
        ("404", {"type": "object", "properties": {"error": {"type": "string"}}}),
    ]  # fmt: skip


def test_gap_is_a_problem_with_the_words_of_its_section() -> None:
    (problem,) = by_key(read(MARKDOWN))["PUT /books/{id}"].problems

    assert (problem.code, problem.place) == ("unclear", "PUT /books/{id}")
    assert problem.message == "what the request carries is not said; what it gives back is not said"
    assert problem.excerpt == "PUT /books/{id}\n\nChanges some fields."


def test_unclear_operation_is_left_out_by_cleaning_and_a_clear_one_kept() -> None:
    document = read(MARKDOWN)
    reasons = {each.key: each.reasons for each in clean(document).operations}

    assert "unclear" in reasons["PUT /books/{id}"]
    assert "unclear" not in reasons["POST /books"]
    assert "deprecated" in reasons["GET /old/{shelf_name}"]


def test_nothing_is_a_gap_where_the_page_says_that_there_is_nothing() -> None:
    found = by_key(read(MARKDOWN))

    assert found["DELETE /books/{id}"].responses == ()
    assert [each.name for each in found["DELETE /books/{id}"].parameters] == ["id"]
    assert found["GET /old/{shelf_name}"].responses[0].examples == ({"ok": True},)


def test_html_page_is_read() -> None:
    document = read(HTML, "https://tides.example/docs")
    found = by_key(document)

    assert (document.dialect, document.title, document.licence.spdx) == ("html", "Tide gauges", "CC-BY-4.0")
    assert document.servers == ("https://tides.example",)
    assert list(found) == ["GET /gauges/{gaugeId}/levels", "POST /api/gauges"]
    levels = found["GET /gauges/{gaugeId}/levels"]
    assert not levels.problems
    assert levels.description == "Levels of a gauge,\n\nnewest first."
    assert [(each.name, each.location, each.is_required, each.schema) for each in levels.parameters] == [
        ("gaugeId", Location.PATH, True, {"type": "integer"}),
        ("unit", Location.QUERY, False, {"type": "string", "enum": ["m", "ft"]}),
        ("X-Trace", Location.HEADER, False, {"type": "string"}),
    ]
    assert [(each.status, each.description) for each in levels.responses] == [
        ("200", "Fine."),
        ("404", "No such gauge."),
    ]
    assert levels.responses[0].schema == {
        "type": "object",
        "properties": {
            "levels": {
                "type": "array",
                "items": {"type": "object", "properties": {"at": {"type": "string"}, "metres": {"type": "number"}}},
            },
            "next": {},
        },
    }


def test_curl_call_below_a_heading_names_the_operation() -> None:
    operation = by_key(read(HTML, "https://tides.example/docs"))["POST /api/gauges"]

    assert operation.title == "Create a gauge"
    assert operation.body is not None
    assert operation.body.examples == ({"name": "Pier", "depth": 3},)
    assert operation.body.schema["required"] == ["name"]
    assert set(operation.body.schema["properties"]) == {"name", "depth"}
    assert operation.body.schema["properties"]["depth"]["type"] == "number"
    assert not operation.problems


@pytest.mark.parametrize(
    ("cell", "schema"),
    [
        ("string", {"type": "string"}), ("String (optional)", {"type": "string"}), ("int64", {}),
        ("integer <int64>", {"type": "integer", "format": "int64"}),
        ("array of integers", {"type": "array", "items": {"type": "integer"}}),
        ("string[]", {"type": "array", "items": {"type": "string"}}),
        ("list[dict]", {"type": "array", "items": {"type": "object"}}), ("date", {"type": "string", "format": "date"}),
        ("boolean, default false", {"type": "boolean"}), ("Widget", {}), ("", {}),
    ],
)  # fmt: skip
def test_type_of_a_cell_is_a_schema(cell: str, schema: dict[str, object]) -> None:
    page = f"# GET /a\n\n## Parameters\n\n| Name | Type |\n|---|---|\n| `x` | {cell} |\n\nNo content."
    (operation,) = read(page).operations

    assert operation.parameters[0].schema == schema
    assert [problem.code for problem in operation.problems] == ([] if schema else ["unclear"])


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("# GET /a\n\n## Parameters\n\n| Foo | Bar |\n|---|---|\n| 1 | 2 |\n\nNo content.", "a table (Foo, Bar)"),
        ("# GET /a\n\n## Parameters\n\nSee elsewhere.\n\nNo content.", "what it takes is in no table"),
        ("# POST /a\n\n```json\n{\"a\": 1}\n```\n\nNo content.", "whether it is sent or received"),
        ("# GET /a\n\nWords.", "what it gives back is not said"),
        ("# PATCH /a/{id}\n\nReturns nothing.", "what the request carries is not said"),
    ],
)  # fmt: skip
def test_what_stays_unclear_is_named(page: str, words: str) -> None:
    (operation,) = read(page).operations
    (problem,) = operation.problems
    assert words in problem.message
    assert problem.excerpt


def test_link_to_a_description_is_told() -> None:
    document = read("# GET /a\n\nNo content. See [OpenAPI](/openapi.json).")
    assert [(each.code, each.message) for each in document.problems] == [
        ("description_linked", "The page links to a description: https://shelf.example/openapi.json")
    ]
    with pytest.raises(UnreadableSourceError, match=r"can be read: https://shelf\.example/openapi\.json"):
        read("# Docs\n\nSee [OpenAPI](/openapi.json).")


@pytest.mark.parametrize(
    ("address", "media_type", "data", "is_page"),
    [
        ("https://a.example/", "", b"<!doctype HTML><html>", True), ("https://a.example/", "text/html", b"words", True),
        ("https://a.example/", "", b"\xef\xbb\xbf <!-- x --> <HTML>", True), ("file:///README.md", "", b"words", True),
        ("upload:x", "", b"# GET /a\n", True), ("upload:x", "text/markdown", b"x", True),
        ("upload:x", "", b"words", False), ("https://a.example/a.md", "", b'{"a": 1}', False), ("", "", b"", False),
        ("", "", b"<" * 100_000, False), ("", "", b"\0\xff", False),
    ],
)  # fmt: skip
def test_page_is_recognised(address: str, media_type: str, data: bytes, is_page: bool) -> None:
    assert WebPageReader().recognises(Fetched(address, data, media_type)) is is_page


def test_readers_ask_for_pages_last() -> None:
    listing = json.dumps({"tools": [{"name": "a", "description": "b", "inputSchema": {"type": "object"}}]})

    assert readers.kind_of(Fetched("https://a.example/tools.md", listing.encode())) == SourceKind.TOOL_LIST
    assert readers.kind_of(Fetched("https://a.example/x", HTML.encode())) == SourceKind.WEB_PAGE
    assert readers.read(Fetched("https://a.example/x", HTML.encode())).kind == SourceKind.WEB_PAGE


def test_page_without_an_operation_is_unreadable() -> None:
    for page in ("<html><h1>Words</h1>", "# Words", "<html>", "<!doctype html>"):
        with pytest.raises(UnreadableSourceError, match="No section of the page"):
            read(page)
