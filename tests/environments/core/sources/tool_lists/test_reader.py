import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.core.errors import UnreadableSourceError
from environments.core.sources.model import Document, Fetched, Hints, Operation, SourceKind, input_schema
from environments.core.sources.tool_lists import McpServerReader, ToolListReader
from tests.environments.core.sources.openapi.test_properties import KEYS, VALUES, check_document, places, replaced

ENVFACTORY = {
    "class_name": "PostOffice",
    "description": "Parcels and letters",
    "tools": [
        {
            "name": "sendParcel",
            "description": "Sends a parcel.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "from": {"type": "string", "description": "Who sends it"},
                    "@odata.nextLink": {"type": "string"},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "size": {"type": "array"},
                    "extra": {"description": "anything"},
                    "speed": {"type": "string", "enum": ["slow", "fast"], "default": "slow"},
                },
            },
            "output_schema": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}},
        },
        {"name": "list_parcels", "description": "Lists them.", "input_schema": {"type": "object"}, "output_schema": {}},
    ],
}
TOOLBENCH = {
    "tool_name": "Word Finder",
    "tool_description": "Finds words",
    "home_url": "https://words.example.com/home",
    "api_list": [
        {
            "name": "Find Words",
            "url": "https://words.example.com/find",
            "description": "Words that match a pattern.",
            "method": "GET",
            "required_parameters": [{"name": "pattern", "type": "STRING", "description": "With ?", "default": "c?t"}],
            "optional_parameters": [
                {"name": "limit", "type": "NUMBER", "description": "", "default": "10"},
                {"name": "mode", "type": "ENUM", "default": ""},
                {"name": "", "type": "STRING"},
                "broken",
            ],
            "schema": {"type": "object", "properties": {"words": {"type": "array", "items": {"type": "string"}}}},
        },
        {"name": "Ping", "method": "POST", "required_parameters": 7, "optional_parameters": None},
    ],
}
TOOLBENCH_ROW = {
    "query": "find words",
    "api_list": [
        {
            "category_name": "Text", "tool_name": "Word Finder", "api_name": "Find Words",
            "api_description": "Words that match.", "method": "GET",
            "required_parameters": [{"name": "pattern", "type": "STRING", "description": "", "default": ""}],
            "optional_parameters": [], "template_response": {"words": ["str"]},
        }
    ],
}  # fmt: skip
XLAM_TOOLS = [
    {
        "name": "nearby_places",
        "description": "Places near one.",
        "parameters": {
            "lat": {"description": "Latitude", "type": "float"},
            "kinds": {"description": "Of place", "type": "List[str], optional"},
            "radius": {"description": "In km", "type": "int", "default": 5},
            "note": {"description": "Any", "type": "str", "default": ""},
            "type": {"description": "Which", "type": "str, optional", "default": "any"},
        },
    },
    {"name": "now", "description": "The time.", "parameters": {}},
]
XLAM = [
    {"id": 1, "query": "where", "tools": json.dumps(XLAM_TOOLS), "answers": "[]"},
    {"id": 2, "query": "again", "tools": json.dumps(XLAM_TOOLS[:1]), "answers": "[]"},
]
TOOLACE = {
    "system": "You are an expert. Here is a list of functions [{broken] you can invoke:\n"
    + json.dumps([{"name": "newAddress", "description": "Sets an address", "parameters": {
        "type": "dict", "required": ["city"], "properties": {
            "city": {"type": "string", "description": "c"}, "floor": {"type": "int", "default": 1},
            "tags": {"type": "list", "items": {"type": "str"}}}}, "required": None}])
    + "\nShould you call one, put it as [name(a=1)].",
    "conversations": [{"from": "user", "value": "hi"}],
}  # fmt: skip
WEATHER = {"type": "object", "properties": {"city": {"type": ["string", "null"]}}, "required": ["city"]}
OPENAI_NEW: dict[str, Any] = {
    "tools": [
        {
            "type": "function",
            "function": {"name": "get_weather", "description": "The weather", "strict": True, "parameters": WEATHER},
        }
    ]
}
OPENAI_RESPONSES = [{"type": "function", "name": "get_weather", "description": "The weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]  # fmt: skip
OPENAI_OLD = {"functions": [{"name": "get_weather", "description": "The weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}}}]}  # fmt: skip
ANTHROPIC = [{"name": "get_weather", "description": "The weather", "input_schema": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]  # fmt: skip
MCP_TOOLS = [
    {
        "name": "move_file",
        "title": "Move a file",
        "description": "Moves it.",
        "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"source": {"$ref": "#/$defs/Place"}, "target": {"$ref": "#/$defs/Place"}},
            "required": ["source", "target"],
            "$defs": {
                "Place": {"type": "object", "properties": {"path": {"type": "string"}, "in": {"$ref": "#/$defs/Place"}}}
            },
        },
        "outputSchema": {"type": "object", "properties": {"done": {"type": "boolean"}}},
        "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": "yes"},
    },
    {
        "name": "find_file",
        "description": "Finds it.",
        "inputSchema": {
            "type": "object",
            "properties": {"place": {"$ref": "#/definitions/Place"}, "lost": {"$ref": "#/$defs/None"}},
            "definitions": {"Place": {"type": "string"}},
        },
        "annotations": {"title": "Find a file", "readOnlyHint": True},
    },
]
MCP_SERVER = {
    "server": {"name": "files", "version": "2.1", "websiteUrl": "https://files.example.net"},
    "protocolVersion": "2025-06-18",
    "instructions": "Work with files.",
    "tools": MCP_TOOLS,
}


def fetched(value: Any) -> Fetched:
    data = value if isinstance(value, bytes) else json.dumps(value).encode("utf-8", "surrogatepass")
    return Fetched("https://lists.example.org/tools.json", data)


def read(value: Any) -> Document:
    found = fetched(value)
    assert ToolListReader().recognises(found)
    return ToolListReader().read(found)


def shape(operation: Operation) -> list[tuple[str, bool, Any]]:
    return [(each.name, each.is_required, each.schema.get("type")) for each in operation.parameters]


def test_envfactory_metadata_is_read_when_it_has_its_oddities() -> None:
    document = read(ENVFACTORY)
    send, listing = document.operations
    assert (document.dialect, document.title, document.description) == (
        "envfactory",
        "PostOffice",
        "Parcels and letters",
    )
    assert send.aliases == ("PostOffice-sendParcel",)
    assert shape(send) == [
        ("from", False, "string"), ("@odata.nextLink", False, "string"), ("labels", False, "object"),
        ("size", False, "array"), ("extra", False, None), ("speed", False, "string"),
    ]  # fmt: skip
    assert send.parameters[0].description == "Who sends it"
    assert send.parameters[2].schema == {"type": "object", "additionalProperties": {"type": "string"}}
    assert send.parameters[5].schema["default"] == "slow"
    assert send.responses[0].schema is not None
    assert send.responses[0].schema["type"] == "array"
    assert (listing.parameters, listing.body) == ((), None)
    assert [each.schema for each in listing.responses] == [{}]


def test_toolbench_tools_are_read_when_they_stand_in_their_own_file() -> None:
    document = read(TOOLBENCH)
    find, ping = document.operations
    assert (document.dialect, document.title, document.provider) == ("toolbench", "Word Finder", "example.com")
    assert find.aliases == ("Find Words_for_Word Finder",)
    assert shape(find) == [("pattern", True, "string"), ("limit", False, "number"), ("mode", False, "string")]
    assert find.parameters[0].schema["examples"] == ["c?t"]
    assert find.parameters[1].schema["default"] == "10"
    assert find.hints == Hints(read_only=True)
    assert list((find.responses[0].schema or {})["properties"]) == ["words"]
    assert (ping.parameters, ping.hints) == ((), Hints(read_only=False))


def test_toolbench_rows_are_read_when_they_are_json_lines() -> None:
    document = read("\n".join(json.dumps(TOOLBENCH_ROW) for _ in range(3)).encode())
    (find,) = document.operations
    assert (find.name, find.tags, find.description) == ("Find Words", ("Text",), "Words that match.")
    assert find.responses == ()


def test_xlam_tools_are_read_when_their_list_is_a_text() -> None:
    document = read(XLAM)
    places_near, now = document.operations
    assert document.dialect in ("xlam", "openai")
    assert shape(places_near) == [
        ("lat", True, "number"), ("kinds", False, "array"), ("radius", False, "integer"), ("note", True, "string"),
        ("type", False, "string"),
    ]  # fmt: skip
    assert places_near.parameters[1].schema["items"] == {"type": "string"}
    assert places_near.parameters[2].schema["default"] == 5
    assert "default" not in places_near.parameters[3].schema
    assert now.parameters == ()


def test_toolace_tools_are_read_when_they_stand_in_a_system_prompt() -> None:
    (tool,) = read([TOOLACE, TOOLACE]).operations
    assert tool.name == "newAddress"
    assert shape(tool) == [("city", True, "string"), ("floor", False, "integer"), ("tags", False, "array")]
    assert tool.parameters[2].schema["items"] == {"type": "string"}


@pytest.mark.parametrize(
    ("value", "dialect", "is_required"),
    [
        (OPENAI_NEW, "openai", True),
        (OPENAI_RESPONSES, "openai", True),
        (OPENAI_OLD, "openai", False),
        (ANTHROPIC, "anthropic", True),
        (OPENAI_NEW["tools"][0], "openai", True),
        ({"tools": OPENAI_NEW["tools"][0]}, "openai", True),
    ],
)
def test_functions_are_read_when_they_are_written_for_a_model(value: Any, dialect: str, is_required: bool) -> None:
    document = read(value)
    (tool,) = document.operations
    assert document.dialect == dialect
    assert (tool.key, tool.description) == ("get_weather", "The weather")
    assert [(each.name, each.is_required) for each in tool.parameters] == [("city", is_required)]


@pytest.mark.parametrize("value", [{"tools": MCP_TOOLS}, {"jsonrpc": "2.0", "id": 1, "result": {"tools": MCP_TOOLS}}])
def test_mcp_tools_are_read_when_a_listing_or_its_answer_is_given(value: Any) -> None:
    document = read(value)
    move, find = document.operations
    assert (document.kind, document.dialect) == (SourceKind.TOOL_LIST, "mcp")
    assert (move.title, move.hints) == ("Move a file", Hints(False, True, None))
    assert (find.title, find.hints) == ("Find a file", Hints(True, None, None))
    assert (move.responses[0].status, move.responses[0].schema) == (
        "result", {"type": "object", "properties": {"done": {"type": "boolean"}}},
    )  # fmt: skip


def test_definitions_of_tools_have_names_of_their_own_when_two_tools_use_one_name() -> None:
    document = read({"tools": MCP_TOOLS})
    move, find = document.operations
    assert [each.schema for each in move.parameters] == [{"$ref": "#/definitions/Place"}] * 2
    assert [each.schema for each in find.parameters] == [{"$ref": "#/definitions/Place_2"}, {}]
    assert document.definitions == {
        "Place": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "in": {"$ref": "#/definitions/Place"}},
        },
        "Place_2": {"type": "string"},
    }
    assert [each.code for each in find.problems] == ["reference_unresolved"]


def test_a_servers_own_listing_is_read_when_the_kind_is_mcp_server() -> None:
    found = fetched(MCP_SERVER)
    assert McpServerReader().recognises(found)
    assert not McpServerReader().recognises(fetched({"tools": MCP_TOOLS}))
    document = McpServerReader().read(found)
    assert (document.kind, document.dialect, document.title) == (SourceKind.MCP_SERVER, "mcp", "files")
    assert (document.version, document.description) == ("2.1", "Work with files.")
    assert document.provider == "example.net"
    assert len(document.operations) == 2


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"$ref": "#/$defs/All", "$defs": {"All": {"type": "object", "properties": {"a": {}}}}}, ["a"]),
        ({"anyOf": [{"type": "object", "properties": {"a": {}}}]}, ["body"]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, ["body"]),
        ({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}]}, ["a"]),
        ({"type": ["object", "null"], "properties": {"a": {}}}, ["a"]),
        ({"type": "object", "properties": {"a": "string"}}, ["a"]),
        ({}, []),
        (None, []),
    ],
)
def test_arguments_are_kept_when_the_root_is_no_plain_object(schema: Any, arguments: list[str]) -> None:
    document = read({"tools": [{"name": "t", "description": "d", "inputSchema": schema}]})
    (tool,) = document.operations
    assert tool.problems == ()
    whole = input_schema(tool, document.definitions)
    assert list(whole["properties"]) == arguments
    assert jsonschema_rs.meta.is_valid(whole)


@pytest.mark.parametrize("schema", [7, [], "x", {"type": "array"}, {"type": "string"}])
def test_a_tool_has_a_problem_when_its_arguments_are_no_object(schema: Any) -> None:
    (tool,) = read({"tools": [{"name": "t", "description": "d", "inputSchema": schema}]}).operations
    assert [each.code for each in tool.problems] == ["schema_unreadable"]


def test_tools_of_one_name_are_kept_apart_when_their_arguments_differ() -> None:
    def tool(*names: str, kind: str = "string", **more: Any) -> dict[str, Any]:
        return {"name": "t", "parameters": {"type": "object", "properties": {n: {"type": kind} for n in names}}, **more}

    document = read([tool("a"), tool("a"), tool("a", description="again"), tool("b"), tool("a", kind="integer")])
    assert [each.key for each in document.operations] == ["t", "t (2)", "t (3)"]
    assert [each.name for each in document.operations] == ["t"] * 3


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b'{"tools": ', "no YAML"),
        ({"tools": []}, "No tool"),
        ({"tools": "[{"}, "No tool"),
        ({"tools": [7, None, {"function": {}}, {"name": 7, "parameters": {}}]}, "No tool"),
        ([[{"name": "t", "parameters": {}}]], "No tool"),
        ({"system": "no list", "conversations": []}, "No tool"),
        ({"tools": "[" * 500 + "]" * 500}, "nested deeper"),
    ],
)
def test_a_clear_error_is_raised_when_no_tool_is_found(value: Any, message: str) -> None:
    with pytest.raises(UnreadableSourceError, match=message):
        ToolListReader().read(fetched(value))


def test_a_problem_is_noted_when_one_of_several_tools_has_no_name() -> None:
    document = read({"tools": [{"description": "d", "inputSchema": {}}, {"name": "t", "inputSchema": {}}]})
    assert [each.key for each in document.operations] == ["t"]
    assert [each.code for each in document.problems] == ["no_tool"]


def test_prompts_end_in_time_when_lists_begin_in_them_again_and_again() -> None:
    row = {"system": '[{"a":' * 30_000, "conversations": []}
    with pytest.raises(UnreadableSourceError, match="No tool"):
        ToolListReader().read(fetched([row]))


BASES: list[Any] = [
    ENVFACTORY,
    TOOLBENCH,
    TOOLBENCH_ROW,
    XLAM,
    [TOOLACE],
    OPENAI_NEW,
    OPENAI_OLD,
    ANTHROPIC,
    MCP_SERVER,
]


@settings(max_examples=200, deadline=5_000)
@given(base=st.sampled_from(BASES), data=st.data())
def test_reading_ends_well_when_any_value_stands_in_any_place(base: Any, data: st.DataObject) -> None:
    value = base
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(places(value), key=repr)))
        value = replaced(value, path, data.draw(VALUES))
    check(value)


@settings(max_examples=100, deadline=5_000)
@given(schema=st.dictionaries(KEYS, VALUES, max_size=4))
def test_reading_ends_well_when_the_schema_of_a_tool_is_anything(schema: Any) -> None:
    check({"tools": [{"name": "t", "inputSchema": schema, "outputSchema": schema}]})
    check([{"name": "t", "description": "d", "parameters": schema}])


def check(value: Any) -> None:
    try:
        document = ToolListReader().read(fetched(value))
    except UnreadableSourceError:
        return
    check_document(document)
