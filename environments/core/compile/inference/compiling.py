"""From operations with their documents to planned environments: every operation ends in a tool or has a reason."""

from collections.abc import Sequence

from environments.core.compile.inference.blueprints import Left, make_blueprint
from environments.core.compile.inference.bundles import Document, documents_of, newest, services
from environments.core.compile.inference.columns import add_columns, align_references
from environments.core.compile.inference.drafts import LeftOutError, Service
from environments.core.compile.inference.keys import add_scopes, choose_keys, finish_keys
from environments.core.compile.inference.links import plan_links
from environments.core.compile.inference.plans import Plan, plan_call
from environments.core.compile.inference.resources import find_tables
from environments.core.compile.inference.settling import settle
from environments.core.compile.inference.splitting import Cluster, clusters_of, pack, pool
from environments.core.compile.reading.calls import Call
from environments.core.compile.reading.errors import UnreadOperationError
from environments.core.compile.reading.families import family_of
from environments.core.compile.reading.reading import read_call
from environments.core.compile.reading.shapes import Shapes
from environments.core.compile.semantics import Blueprint, Compilation, LeftOut, SourcedOperation


def compile_operations(operations: Sequence[SourcedOperation], *, target_tools: int | None = None) -> Compilation:
    """Plans environments for operations of any number of documents and providers.

    Args:
        operations: With their documents; their order does not matter.
        target_tools: Size that environments should come close to; by default what suits each service.

    Returns:
        Environments in the order of their providers and titles, and every operation that is in none, with its reason.
        Deterministic; time in line with the number of operations.
    """
    blueprints: list[Blueprint] = []
    left: list[LeftOut] = []
    taken: set[str] = set()
    by_provider: dict[str, list[Document]] = {}
    for document in documents_of(operations):
        by_provider.setdefault(document.facts.provider, []).append(document)
    for provider, documents in by_provider.items():
        kept, older = newest(documents)
        for document, other in older:
            detail = f"{other.facts.title} {other.facts.version}".strip()
            left += [
                LeftOut(document.facts.sha256, each.operation.key, "older_version", detail)
                for each in document.operations
            ]
        _compile_provider(provider, kept, target_tools, blueprints, left, taken)
    return Compilation(tuple(blueprints), tuple(left))


def _compile_provider(
    provider: str,
    documents: Sequence[Document],
    target: int | None,
    blueprints: list[Blueprint],
    left: list[LeftOut],
    taken: set[str],
) -> None:
    clusters: list[Cluster] = []
    shapes: dict[str, Shapes] = {}
    fallen: Left = []
    for title, members in services(documents):
        service = _read(members, left)
        shapes.update(service.shapes)
        plans = _plan(service, fallen)
        clusters += pack(clusters_of(title, service.tables, plans), target)
    facts = {document.facts.sha256: document.facts for document in documents}
    for cluster in pool(clusters):
        blueprint = make_blueprint(cluster, provider, shapes, facts, taken, fallen)
        if blueprint is not None:
            blueprints.append(blueprint)
    left += [LeftOut(call.source, call.operation.key, error.reason, error.detail) for call, error in fallen]


def _read(documents: Sequence[Document], left: list[LeftOut]) -> Service:
    """Reads the operations of one service."""
    calls: list[Call] = []
    shapes = {document.facts.sha256: Shapes(document.facts.definitions) for document in documents}
    largest = max(documents, key=lambda each: (len(each.operations), each.facts.sha256))
    family = family_of(
        largest.facts.provider, [each.operation for each in largest.operations], largest.facts.definitions
    )
    for document in documents:
        sha256 = document.facts.sha256
        for each in document.operations:
            try:
                calls.append(read_call(each.operation, sha256, family, shapes[sha256]))
            except UnreadOperationError as error:
                left.append(LeftOut(sha256, each.operation.key, error.reason, error.detail))
    return Service(calls, shapes, family)


def _plan(service: Service, fallen: Left) -> list[Plan]:
    """Tables of a service, and what its operations mean among them."""
    find_tables(service)
    add_columns(service)
    choose_keys(service)
    align_references(service)
    add_scopes(service)
    finish_keys(service)
    plans, failed = plan_links(service)
    fallen += failed
    done = {id(plan.call) for plan in plans} | {id(call) for call, _ in failed}
    for call in service.calls:
        if id(call) in done:
            continue
        try:
            plans.append(plan_call(call, service))
        except LeftOutError as error:
            fallen.append((call, error))
    plans, failed = settle(service.tables, plans)
    fallen += failed
    return plans
