"""Compilations in the database, as tests of pages and the API need them, without anything being compiled."""

from typing import Any

from django.utils import timezone

from environments import services
from environments.core.compile.report import (
    DocumentFacts,
    EnvironmentFacts,
    Suspicion,
    ToolFacts,
    make_report,
)
from environments.core.seeds import content_code
from environments.models import (
    Compilation,
    CompiledEnvironment,
    CompiledOperation,
    EnvironmentVersion,
    SourceDocument,
)
from environments.runtime.pack.shapes import to_json
from tests.factories.registry import little_pack
from tests.factories.sources import guarded_document


def tool_facts(name: str, kind: str = "list", table: str = "books", **changes: Any) -> ToolFacts:
    """A tool in figures."""
    fields: dict[str, Any] = {
        "arguments": ("limit",), "num_optional": 1, "dropped": (), "source": "5" * 64, "operation": f"TOOL {name}",
        **changes,
    }  # fmt: skip
    return ToolFacts(name, kind, table, **fields)


def facts(name: str = "library", provider: str = "example.org", **changes: Any) -> EnvironmentFacts:
    """An environment in figures: five tools of every common kind."""
    tools = (
        tool_facts("list_books"), tool_facts("get_book", "get", arguments=("book_id",), num_optional=0),
        tool_facts("join", "create", "members"), tool_facts("lend", "create", "loans"),
        tool_facts("give_back", "transition", "loans"),
    )  # fmt: skip
    fields: dict[str, Any] = {
        "title": "Lending library", "family": "plain",
        "documents": (DocumentFacts("5" * 64, f"{provider} api", "1.0", f"https://{provider}/api.json", "API"),),
        "tools": tools, "failed": (), "tables": ("books", "loans", "members"), "num_link_tables": 0, "num_columns": 12,
        "num_foreign_keys": 2, "num_checks": 1, "num_rows": 40, "num_cases": 9, "suspicion": Suspicion(),
        "meets_bar": True, **changes,
    }  # fmt: skip
    return EnvironmentFacts(provider=provider, name=name, **fields)


def a_compilation(*, is_finished: bool = True, **changes: Any) -> Compilation:
    """A compilation of one document: one operation is a tool, one was dropped, one left out; one plan discarded."""
    document: SourceDocument = guarded_document()
    compilation = Compilation.objects.create(
        code=content_code("compilation", 0, str(Compilation.objects.count())), compiler_version="compiler/1", seed=7,
        scope={"provider": "example.org", "collection": "", "documents": [], "shipped": False}, num_documents=1,
        num_batches=1, **changes,
    )  # fmt: skip
    origin = EnvironmentVersion.Origin.COMPILED
    version = services.import_pack(pack=little_pack(), origin=origin, user=None).version
    operations = {row.key: row for row in document.operations.all()}
    kept, dropped, left = operations["GET /pets"], operations["POST /pets"], operations["GET /pets/{petId}"]
    found = facts(
        tools=(tool_facts("list_books", source=document.sha256, operation=kept.key,
                          dropped=(("species", "no_column"),)),),
        failed=(("join", "tool_failed"),),
        documents=(DocumentFacts(document.sha256, "shelter api", "1.2", document.address, document.title),),
        suspicion=Suspicion(keyless_lists=1.0, dropped_filters=0.5),
    )  # fmt: skip
    row = CompiledEnvironment.from_core(
        found, compilation, batch="shelter", version=version, outcome="verified", seconds=0.8
    )
    row.save(force_insert=True)
    lost = CompiledEnvironment.from_core(
        facts("lost_library", tools=()), compilation, batch="shelter", outcome="discarded",
        reason="environment_discarded", detail="cases: list_pets: it answers nothing", seconds=0.4,
    )  # fmt: skip
    lost.save(force_insert=True)
    same = {"compilation": compilation, "batch": "shelter", "document": document}
    CompiledOperation.objects.bulk_create([
        CompiledOperation(**same, key=kept.key, operation_code=kept.code, environment=row, tool="list_books",
                          kind="list", table="books"),
        CompiledOperation(**same, key=dropped.key, operation_code=dropped.code, environment=row, tool="join",
                          kind="create", table="members", reason="tool_failed", detail="a case did not hold"),
        CompiledOperation(**same, key=left.key, operation_code=left.code, reason="resource_has_no_key",
                          detail="pets"),
    ])  # fmt: skip
    if is_finished:
        reasons = {"tool_failed": 1, "resource_has_no_key": 1}
        report = make_report([found], reasons)
        Compilation.objects.filter(pk=compilation.pk).update(
            status="finished", finished_at=timezone.now(), num_operations=3, num_tools=1, num_environments=2,
            num_verified=1, num_distinct=1, report=to_json(report),
        )  # fmt: skip
        compilation.refresh_from_db()
    return compilation
