import pytest

from environments.core.leak_guard import python_code
from environments.core.leak_guard.checkouts import REPOSITORIES, Found
from tests.environments.core.leak_guard.checkouts import write_checkouts


@pytest.fixture
def found(tmp_path) -> dict[str, Found]:
    write_checkouts(tmp_path)
    every = {}
    for repository in REPOSITORIES:
        base = tmp_path / repository.name
        paths = {path for pattern in repository.paths for path in base.glob(pattern)}
        files = {path.relative_to(base).as_posix(): path.read_text() for path in paths}
        every |= {each.subject.name: each for each in repository.read(files)}
    return every


def _tools(found: Found) -> dict[str, tuple[str, list[tuple[str, str, bool]]]]:
    return {
        tool.name: (tool.text, [(each.name, each.kind, each.is_required) for each in tool.arguments])
        for tool in found.subject.tools
    }


def test_tools_of_every_layout_are_read(found):
    assert _tools(found["tau/airline"]) == {
        "weigh_crate": ("Weighs a crate of apples.", [("crate_no", "string", True), ("tare_kg", "number", False)])
    }
    assert _tools(found["tau2/airline"]) == {
        "stack_crates": (
            "Stacks crates.",
            [
                ("crates", "array", True),
                ("height", "number", False),
                ("crate_no", "string", True),
                ("apples", "array", False),
            ],
        )
    }
    assert _tools(found["bfcl/press_api"]) == {"press_apples": ("Presses apples.", [("crate_no", "string", True)])}
    assert _tools(found["vitabench/ota"]) == {"ota_jar": ("Shows a jar.", [("jar_no", "string", True)])}
    assert _tools(found["acebench/travel"]) == {
        "wash": ("Washes crates.", [("crate_no", "string", False), ("hot", "boolean", False)])
    }
    assert _tools(found["mcp_atlas/servers"]) == {"list_jars": ("", [("shelf", "number", True)])}


def test_tables_and_texts_are_read(found):
    tables = {table.name: [column.name for column in table.columns] for table in found["tau2/airline"].subject.tables}
    state = {table.name: [column.name for column in table.columns] for table in found["bfcl/press_api"].subject.tables}

    assert tables == {"Crate": ["crate_no", "apples"], "rows": ["row_no", "trees"]}
    assert state == {"presses": ["press_no", "is_clean"]}
    assert found["tau/airline"].subject.texts == ("Crates are weighed in the morning.", "You want a crate weighed.")
    assert found["tau2/airline"].subject.texts == ("Crates are to be stacked.",)
    assert found["bfcl/press_api"].subject.texts == ("Press.",)
    assert found["acebench/travel"].subject.texts == ("Wash them.",)
    assert found["mcp_atlas/servers"].keywords == ("cellar",)


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        ("str", "string"),
        ("Optional[int]", "number"),
        ("list[str] | None", "array"),
        ("Literal['a']", "string"),
        ("Union[None, Dict[str, int]]", "object"),
        ("Crate", "any"),
    ],
)
def test_kind_of_an_annotation(annotation, kind):
    source = f"class Tools:\n    def use(self, it: {annotation}): ...\n"
    classes = python_code.classes_of(source)

    (tool,) = python_code.tools(classes["Tools"], classes, marked_only=False)

    assert tool.arguments[0].kind == kind
