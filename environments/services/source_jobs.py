"""Jobs that bring sources in: one address, upload or server; a whole collection; and cleaning over many documents."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final

import orjson

from environments.adapters.sources import CollectionEntry, IndexCollection, fetch_source
from environments.core.errors import FieldError, InvalidInputError
from environments.core.jobs import COLLECT_STAGE, WAITING, JobContext, JobKind, Queue, Waiting
from environments.core.sources.model import SourceKind
from environments.models import LeakHit, SourceDocument, User
from environments.services.leak_guard import open_hits
from environments.services.source_imports import (
    STAGES,
    EntryOutcome,
    clean_collection,
    fetch_place,
    import_document,
    import_entries,
    import_shipped_document,
    shipped_documents,
    summarise,
)
from environments.services.sources import fetch_policy, store_document

ENTRIES_A_JOB: Final = 40
"""Documents of a collection that one job reads; the collection's own job waits for all of them."""
LOGGED_PROBLEMS: Final = 20
SHOWN_FAILURES: Final = 200


def run_import_source(context: JobContext) -> dict[str, Any]:
    """Fetches, reads, cleans and guards one source; each stage may be run again."""
    parameters = context.parameters
    context.progress("fetch", 0, len(STAGES))
    kind = SourceKind(parameters["kind"]) if "kind" in parameters else None
    if "document" in parameters:
        document = _find_document(parameters["document"])
    else:
        address, server = parameters.get("address", ""), parameters.get("server", "")
        fetched, kind = fetch_place(address=address, server=server, kind=kind)
        document, is_new = store_document(fetched=fetched, kind=kind, address=address, user=_user(context))
        context.log("info", f"{document.source.address}: {document.num_bytes:,} bytes, {_news(is_new)}")
    import_document(document=document, report=partial(_report, context))
    context.progress(STAGES[-1], len(STAGES), len(STAGES))
    hits = open_hits(document)
    _log_findings(context, document, hits)
    return {
        "source": str(document.source.code),
        "document": str(document.code),
        "title": document.title,
        "operations": document.num_operations,
        "kept": document.num_kept,
        "reasons": document.funnel["reasons"],
        "leak_hits": len(hits),
    }


def _find_document(code: str) -> SourceDocument:
    document = SourceDocument.objects.select_related("source").filter(code=code).first()
    if document is None:
        fault = FieldError("/parameters/document", "unknown", "No document has this code.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    return document


def _user(context: JobContext) -> User | None:
    return User.objects.filter(jobs__code=context.job_code).first()


def _news(is_new: bool) -> str:
    return "new" if is_new else "as before"


def _report(context: JobContext, stage: str) -> None:
    context.progress(stage, STAGES.index(stage), len(STAGES))


def _log_findings(context: JobContext, document: SourceDocument, hits: Sequence[LeakHit]) -> None:
    for problem in document.problems[:LOGGED_PROBLEMS]:
        place = f" at {problem['place']}" if problem["place"] else ""
        context.log("warning", f"{problem['code']}{place}: {problem['message']}"[:1000])
    if len(document.problems) > LOGGED_PROBLEMS:
        context.log("warning", f"… and {len(document.problems) - LOGGED_PROBLEMS} more; the document's page has all.")
    context.log("info", f"{document.num_operations} operations read, {document.num_kept} kept")
    for hit in hits:
        context.log("warning", f"resembles {hit.benchmark}: {hit.rule} {hit.score:.2f} (limit {hit.threshold:.2f})")


# --- A collection -----------------------------------------------------------------------------------------------------


def run_import_collection(context: JobContext) -> dict[str, Any] | Waiting:
    """Lists a collection, gives its documents to jobs of some each, then finds what repeats across all of them."""
    name = context.parameters["name"]
    if context.stage == COLLECT_STAGE:
        return _collect(context, name)
    collection = IndexCollection(context.parameters["address"], fetch_policy(), name)
    limit = context.parameters["limit"]
    batch: list[dict[str, str]] = []
    count = 0
    for entry in collection.entries():
        if limit and count >= limit:
            break
        count += 1
        batch.append({"key": entry.key, "provider": entry.provider, "address": entry.address})
        if len(batch) == ENTRIES_A_JOB:
            _spawn(context, batch)
            batch = []
            context.progress("list", count, None)
    if batch:
        _spawn(context, batch)
    context.progress("list", count, count)
    return WAITING if count else {"outcomes": {}, "failures": {}}


def _spawn(context: JobContext, batch: Sequence[Mapping[str, str]]) -> None:
    parameters = {"collection": context.parameters["name"], "refresh": context.parameters["refresh"]}
    # Its content names the job: a second listing finds it again, and a list that changed meanwhile loses nothing.
    content = sha256(orjson.dumps(batch)).hexdigest()[:16]
    context.spawn(
        IMPORT_DOCUMENTS.name, {**parameters, "entries": list(batch)}, key=f"{batch[0]['key'][:100]} {content}"
    )


def run_import_documents(context: JobContext) -> dict[str, Any]:
    """Reads some documents of a collection; what was read before and one that fails do not hold up the others."""
    given, policy = context.parameters["entries"], fetch_policy()
    entries = [CollectionEntry(**each, load=partial(fetch_source, each["address"], policy)) for each in given]
    outcomes: list[EntryOutcome] = []
    context.progress("import", 0, len(entries))
    imported = import_entries(
        entries, collection=context.parameters["collection"], kind=SourceKind.OPENAPI,
        refresh=context.parameters["refresh"], user=_user(context),
    )  # fmt: skip
    for outcome in imported:
        outcomes.append(outcome)
        if outcome.is_failure:
            context.log("warning", f"{outcome.key}: {outcome.outcome}: {outcome.message}"[:1000])
        context.progress("import", len(outcomes), len(entries))
    return summarise(outcomes)


def _collect(context: JobContext, name: str) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    failures: dict[str, str] = {}
    for child in context.children():
        if child.result is None:
            failures[child.key] = f"{child.status}: {child.error_code}"
            counts["batches that failed"] += 1
        else:
            counts.update(child.result["outcomes"])
            failures |= child.result["failures"]
    context.log("info", ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return {
        "outcomes": dict(sorted(counts.items())),
        "failures": dict(sorted(failures.items())[:SHOWN_FAILURES]),
        "funnel": _clean(context, name),
    }


def _clean(context: JobContext, collection: str) -> dict[str, Any]:
    return clean_collection(collection, lambda done, total: context.progress("clean", done, total))


def run_clean_operations(context: JobContext) -> dict[str, Any]:
    """Cleans again, over a collection or over everything, so that what repeats is found across documents."""
    return _clean(context, context.parameters["collection"])


def run_import_shipped_documents(context: JobContext) -> dict[str, Any]:
    """Brings in the documents that ship with the project."""
    names = context.parameters["names"] or shipped_documents()
    user = _user(context)
    found: dict[str, Any] = {}
    for done, name in enumerate(names):
        context.progress("import", done, len(names))
        document = import_shipped_document(name=name, user=user)
        found[name] = {"operations": document.num_operations, "kept": document.num_kept}
        context.log("info", f"{name}: {document.num_operations} operations read, {document.num_kept} kept")
    context.progress("import", len(names), len(names))
    return found


# --- Kinds ------------------------------------------------------------------------------------------------------------

_KINDS: Final = [kind.value for kind in SourceKind]
_NAME: Final = "^[a-z][a-z0-9-]{1,40}$"

IMPORT_SOURCE: Final = JobKind(
    name="import_source",
    title="Import source",
    description="Reads a description of tools from an address, an upload or a configured MCP server, and cleans it.",
    queue=Queue.DEFAULT,
    parameters={
        "type": "object",
        "properties": {
            "address": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "An http(s) address."},
            "document": {"type": "string", "format": "uuid", "description": "Code of an uploaded document."},
            "server": {
                "type": "string", "minLength": 1, "maxLength": 100,
                "description": "Name of a server of MCP_STDIO_SERVERS.",
            },
            "kind": {"type": "string", "enum": _KINDS, "description": "Its form; by default that is recognised."},
        },
        "oneOf": [{"required": ["address"]}, {"required": ["document"]}, {"required": ["server"]}],
        "additionalProperties": False,
    },
    run=run_import_source,
    soft_seconds=600,
    hard_seconds=660,
)  # fmt: skip

IMPORT_COLLECTION: Final = JobKind(
    name="import_collection",
    title="Import collection",
    description="Reads every document that a list names (in the form of APIs.guru), then finds what repeats.",
    queue=Queue.DEFAULT,
    parameters={
        "type": "object",
        "properties": {
            "address": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "Address of the list."},
            "name": {
                "type": "string", "pattern": _NAME, "default": "openapi-directory",
                "description": "Under which name its sources are kept.",
            },
            "limit": {"type": "integer", "minimum": 0, "default": 0, "description": "At most so many; 0 is all."},
            "refresh": {
                "type": "boolean", "default": False, "description": "Fetches again what was read before.",
            },
        },
        "required": ["address"],
        "additionalProperties": False,
    },
    run=run_import_collection,
    soft_seconds=7200,
    hard_seconds=7300,
)  # fmt: skip

IMPORT_DOCUMENTS: Final = JobKind(
    name="import_documents",
    title="Import documents of a collection",
    description="Reads some documents of a collection.",
    queue=Queue.BUILD,
    parameters={
        "type": "object",
        "properties": {
            "collection": {"type": "string"},
            "refresh": {"type": "boolean"},
            "entries": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {name: {"type": "string"} for name in ("key", "provider", "address")},
                    "required": ["key", "provider", "address"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["collection", "refresh", "entries"],
        "additionalProperties": False,
    },
    run=run_import_documents,
    soft_seconds=7200,
    hard_seconds=7300,
    is_startable=False,
)

CLEAN_OPERATIONS: Final = JobKind(
    name="clean_operations",
    title="Clean operations",
    description="Decides again which operations are kept, and finds those that repeat across documents.",
    queue=Queue.BUILD,
    parameters={
        "type": "object",
        "properties": {
            "collection": {"type": "string", "default": "", "description": "Only its sources; empty means all."}
        },
        "additionalProperties": False,
    },
    run=run_clean_operations,
    soft_seconds=7200,
    hard_seconds=7300,
)

IMPORT_SHIPPED_DOCUMENTS: Final = JobKind(
    name="import_shipped_documents",
    title="Import shipped documents",
    description="Reads the API descriptions that ship with EnvFactory, each under a free licence.",
    queue=Queue.DEFAULT,
    parameters={
        "type": "object",
        "properties": {
            "names": {
                "type": "array",
                "items": {"type": "string"},
                "uniqueItems": True,
                "default": [],
                "description": "Names of shipped documents; none means all.",
            }
        },
        "additionalProperties": False,
    },
    run=run_import_shipped_documents,
    soft_seconds=600,
    hard_seconds=660,
)

KINDS: Final = (IMPORT_SOURCE, IMPORT_COLLECTION, IMPORT_DOCUMENTS, CLEAN_OPERATIONS, IMPORT_SHIPPED_DOCUMENTS)
