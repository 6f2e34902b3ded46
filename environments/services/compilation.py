"""Compilations: documents in, verified environments in the registry and a ledger of every operation out.

A compilation is cut into batches of one provider's documents. A batch stores each environment with its part of the
ledger at once, under unique keys: a killed worker loses at most the environment in hand, and the same content finds the
version that it already is.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from environments.core.compile.apis import Batch, DocumentSize, make_batches, share_of
from environments.core.compile.report import EnvironmentFacts, find_repetitions, make_report
from environments.core.compile.semantics import LeftOut, SourcedOperation, SourceFacts
from environments.core.errors import FieldError, InvalidInputError, InvalidPackError, UnreadableSourceError
from environments.core.seeds import content_code
from environments.models import (
    Compilation,
    CompiledEnvironment,
    CompiledOperation,
    EnvironmentVersion,
    Job,
    SourceDocument,
    User,
)
from environments.runtime.pack.shapes import to_json
from environments.services.compiled_names import claim_name
from environments.services.compiled_packs import (
    COMPILER_VERSION,
    Made,
    Prove,
    make_environment,
    plan_environments,
    prove_pack,
    source_operations,
)
from environments.services.document_use import document_use
from environments.services.registry import import_pack
from environments.services.source_imports import SHIPPED_COLLECTION, read_licence_file, shipped_documents
from environments.services.sources import parse_document
from environments.services.verification import record_verification

logger = logging.getLogger(__name__)

BATCH_ROWS: Final = 1000
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
Outcome = CompiledEnvironment.Outcome
Status = EnvironmentVersion.Status
Report = Callable[[str, int, int | None], None]
"""Called with the stage and with how many of its units are done; what it raises ends the work."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which documents are compiled: those to which all that is given applies.

    Attributes:
        provider: Only its documents.
        collection: Only its documents.
        documents: Only these (codes), newest reading or not.
        shipped: Only documents that ship with the project.
    """

    provider: str = ""
    collection: str = ""
    documents: tuple[str, ...] = ()
    shipped: bool = False


def quiet(stage: str, done: int, total: int | None) -> None:
    """Reports to nobody."""


# --- What is compiled -------------------------------------------------------------------------------------------------


def find_documents(scope: Scope) -> list[SourceDocument]:
    """The documents of a scope that were read, by address, without their bytes.

    Raises:
        InvalidInputError: A code names no document, or there is none at all.
    """
    rows = SourceDocument.objects.select_related("source").without_data()
    if scope.documents:
        rows = rows.filter(code__in=[code for code in scope.documents if _UUID.fullmatch(code)])
        known = {str(code) for code in rows.values_list("code", flat=True)}
        unknown = sorted(code for code in scope.documents if code.lower() not in known)
        if unknown:
            fault = FieldError("/parameters/documents", "unknown", f"No document has the code {unknown[0]}.")
            raise InvalidInputError(fault.detail, fields=(fault,))
    else:
        rows = rows.latest()
    if scope.provider:
        rows = rows.filter(source__provider=scope.provider)
    if scope.collection:
        rows = rows.filter(source__collection=scope.collection)
    if scope.shipped:
        addresses = [read_licence_file(name)["Address"] for name in shipped_documents()]
        rows = rows.filter(source__collection=SHIPPED_COLLECTION, source__address__in=addresses)
    found = list(rows.filter(status=SourceDocument.Status.READ).order_by("source__address", "pk"))
    if not found:
        fault = FieldError("/parameters", "empty", "No document that was read fits: import or read some first.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    return found


def open_compilation(
    *, scope: Scope, seed: int = 0, target_tools: int | None = None, job: Job | None = None, user: User | None = None
) -> tuple[Compilation, tuple[Batch, ...]]:
    """The row of a run and its batches; the ledger gets what is left out before anything is compiled.

    A job that is run again finds its row.

    Raises:
        InvalidInputError: The scope names what is not there.
    """
    documents = find_documents(scope)
    key = str(job.code) if job is not None else f"{timezone.now().isoformat()} {scope}"
    compilation, _ = Compilation.objects.get_or_create(
        code=content_code("compilation", seed, key),
        defaults={
            "job": job, "compiler_version": COMPILER_VERSION, "seed": seed, "target_tools": target_tools,
            "scope": asdict(scope) | {"documents": list(scope.documents)},
            "created_by": job.created_by if job is not None else user,
        },
    )  # fmt: skip
    open_documents, seen = [], set()
    for document in documents:
        obstacles = [code for code in document_use(document).obstacles if code != "terms"]
        if obstacles:
            _leave_out(compilation, document, "document_blocked", ", ".join(obstacles))
        elif document.sha256 in seen:
            _leave_out(compilation, document, "duplicate_document", "")
        else:
            seen.add(document.sha256)
            open_documents.append(document)
    batches = make_batches(
        DocumentSize(str(document.code), document.source.provider, document.source.address, document.num_kept)
        for document in open_documents
    )
    _update(compilation, num_documents=len(documents), num_batches=len(batches))
    return compilation, batches


def _leave_out(compilation: Compilation, document: SourceDocument, reason: str, detail: str) -> None:
    rows = document.operations.kept().order_by("position").values_list("key", "code")
    _append(
        CompiledOperation(
            compilation=compilation, batch="", document=document, key=key, operation_code=code, reason=reason,
            detail=detail,
        )
        for key, code in rows
    )  # fmt: skip


# --- One batch --------------------------------------------------------------------------------------------------------


def compile_batch(
    *,
    compilation: Compilation,
    batch: str,
    documents: Sequence[str],
    part: int = 1,
    num_parts: int = 1,
    prove: Prove = prove_pack,
    user: User | None = None,
    report: Report = quiet,
) -> dict[str, Any]:
    """Compiles, verifies and stores the environments of one batch; what an earlier run stored stays as it is.

    Args:
        compilation: The run.
        batch: The batch's key.
        documents: Codes of its documents.
        part: Which share of the environments that are planned is this batch's.
        num_parts: Of how many.
        prove: What verifies a pack and drops what fails.
        user: Who asked for it.
        report: Called as it goes on.

    Returns:
        How many environments came of it by outcome, and how many tools they have.

    Raises:
        SandboxFailedError: The workers can't be had.
    """
    operations, rows = _read_batch(compilation, batch, documents, report)
    report("compile", 0, None)
    plan = plan_environments(operations, target_tools=compilation.target_tools)
    blueprints = share_of(plan.blueprints, part, num_parts)
    done = set(compilation.environments.filter(batch=batch).values_list("name", flat=True))
    for place, blueprint in enumerate(blueprints):
        report("verify", place, len(blueprints))
        if blueprint.name not in done:
            made = make_environment(blueprint, seed=compilation.seed, prove=prove)
            _store(compilation, batch, made, rows, user)
    report("verify", len(blueprints), len(blueprints))
    if part == 1:
        _append_left_out(compilation, batch, plan.left_out, rows)
    return _summary(compilation, batch)


@dataclass(frozen=True, slots=True)
class _Row:
    """An operation's row as the ledger names it."""

    document_id: int
    code: UUID


_Rows = dict[tuple[str, str], _Row]
"""By sha256 of the document and key of the operation."""


def _read_batch(
    compilation: Compilation, batch: str, documents: Sequence[str], report: Report
) -> tuple[list[SourcedOperation], _Rows]:
    operations: list[SourcedOperation] = []
    rows: _Rows = {}
    for place, code in enumerate(documents):
        report("read", place, len(documents))
        document = SourceDocument.objects.select_related("source").get(code=code)
        kept = dict(document.operations.kept().order_by("position").values_list("key", "code"))
        rows |= {(document.sha256, key): _Row(document.pk, found) for key, found in kept.items()}
        try:
            parsed = parse_document(document)
        except UnreadableSourceError as error:
            lost = [LeftOut(document.sha256, key, "document_unreadable", str(error)[:1000]) for key in kept]
            _append_left_out(compilation, batch, lost, rows)
            continue
        facts = source_facts(document, parsed.definitions)
        operations += source_operations(parsed, facts, list(kept))
    return operations, rows


def source_facts(document: SourceDocument, definitions: Any) -> SourceFacts:
    """What the compiler needs to know of a document."""
    return SourceFacts(
        sha256=document.sha256,
        kind=document.source.kind,
        address=document.source.address,
        retrieved_at=document.retrieved_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        title=document.title,
        provider=document.source.provider or document.source.address,
        version=document.version,
        description=document.description,
        licence_spdx=document.licence_spdx,
        licence_name=document.licence_name,
        licence_address=document.licence_address,
        definitions=definitions,
    )


def _store(compilation: Compilation, batch: str, made: Made, rows: _Rows, user: User | None) -> None:
    """The version, its verification, and everything that the ledger says of the environment, all at once."""
    with transaction.atomic():
        version = _version_of(made, user)
        outcome, reason, detail = _outcome(made, version)
        environment = CompiledEnvironment.from_core(
            made.facts, compilation, batch=batch, version=version, outcome=outcome, reason=reason,
            detail=_clean(detail), seconds=made.seconds,
        )  # fmt: skip
        environment.save(force_insert=True)
        _append(_tool_rows(compilation, batch, made, environment, rows))


def _version_of(made: Made, user: User | None) -> EnvironmentVersion | None:
    """What was proven, in the registry; what was not is there, too, so that a person can see why; None without a pack.

    The same content is the version that it was before, with the status that it has. What it is called in the registry
    differs from the plan's name if something else is called that.
    """
    pack = made.pack or made.draft
    if pack is None or made.found is None:
        return None
    try:
        with transaction.atomic():  # a name that nothing was put under is let go again
            named = replace(pack, name=claim_name(made.facts))
            version = import_pack(pack=named, origin=EnvironmentVersion.Origin.COMPILED, user=user).version
    except InvalidPackError:  # its findings are in the ledger
        return None
    if version.status == Status.DRAFT or (made.pack is not None and version.may_become(Status.VERIFIED)):
        record_verification(version=version, found=made.found, may_drop=made.pack is None)
        version.refresh_from_db(fields=["status"])
    return version


def _outcome(made: Made, version: EnvironmentVersion | None) -> tuple[Outcome, str, str]:
    """Outcome, reason and detail of a planned environment."""
    if made.reason == "undecided":
        return Outcome.UNDECIDED, made.reason, made.detail
    if made.reason or version is None:
        return Outcome.DISCARDED, made.reason or "environment_discarded", made.detail
    if version.status == Status.VERIFIED:
        return Outcome.VERIFIED, "", ""
    if version.may_become(Status.VERIFIED):
        return Outcome.REJECTED, "environment_discarded", "A rate is below 100 %."
    return Outcome.REJECTED, "version_out_of_use", f"The version is {version.status}."


def _tool_rows(
    compilation: Compilation, batch: str, made: Made, environment: CompiledEnvironment, rows: _Rows
) -> Iterable[CompiledOperation]:
    is_lost = environment.outcome != Outcome.VERIFIED
    for tool in made.blueprint.tools:
        row = rows[tool.source, tool.operation]
        reason, detail = made.failed.get(tool.name, ""), made.details.get(tool.name, "")
        if is_lost and not reason:
            reason, detail = environment.reason, environment.detail
        yield CompiledOperation(
            compilation=compilation, batch=batch, document_id=row.document_id, key=tool.operation,
            operation_code=row.code, environment=environment, tool=tool.name, kind=tool.meaning.kind.value,
            table=tool.meaning.table, reason=reason, detail=_clean(detail),
        )  # fmt: skip


def _append_left_out(compilation: Compilation, batch: str, left_out: Iterable[LeftOut], rows: _Rows) -> None:
    _append(
        CompiledOperation(
            compilation=compilation, batch=batch, document_id=rows[each.source, each.operation].document_id,
            key=each.operation, operation_code=rows[each.source, each.operation].code, reason=each.reason,
            detail=_clean(each.detail),
        )
        for each in left_out
    )  # fmt: skip


def _append(rows: Iterable[CompiledOperation]) -> None:
    """A batch that is run again says the same again; what is there stays."""
    CompiledOperation.objects.bulk_create(rows, batch_size=BATCH_ROWS, ignore_conflicts=True)


def _clean(text: str) -> str:
    return text[:2000].replace("\0", "\\0")


def _summary(compilation: Compilation, batch: str) -> dict[str, Any]:
    environments = compilation.environments.filter(batch=batch)
    outcomes = Counter(environments.values_list("outcome", flat=True))
    tools = CompiledOperation.objects.filter(compilation=compilation, batch=batch, reason="").count()
    return {"environments": dict(sorted(outcomes.items())), "tools": tools}


# --- The whole --------------------------------------------------------------------------------------------------------


def close_compilation(*, compilation: Compilation, failures: dict[str, str] | None = None) -> Compilation:
    """Makes the report from the ledger; may be done again.

    Args:
        compilation: The run.
        failures: Batches that did not come to an end, each with the reason.
    """
    verified = compilation.environments.verified().order_by("batch", "name")
    environments: list[EnvironmentFacts] = [row.to_core() for row in verified.iterator(chunk_size=200)]
    counted = CompiledOperation.objects.filter(compilation=compilation).left_out().values_list("reason")
    reasons: dict[str, int] = dict(counted.order_by("reason").annotate(num=Count("pk")))
    repetitions = find_repetitions(environments)
    report = make_report(environments, reasons, repetitions)
    copies = [
        {"environment": list(key), "kind": each.kind.value, "of": list(each.of), "alike": each.alike}
        for key, each in sorted(repetitions.items())
    ]
    _update(
        compilation,
        status=Compilation.Status.FINISHED,
        finished_at=timezone.now(),
        num_operations=report.operations,
        num_tools=report.tools,
        num_environments=compilation.environments.count(),
        num_verified=len(environments),
        num_distinct=len(environments) - len(repetitions),
        report=to_json(report),
        copies=copies,
        failures=failures or {},
    )
    return compilation


def compile_environments(
    *,
    scope: Scope,
    seed: int = 0,
    target_tools: int | None = None,
    user: User | None = None,
    prove: Prove = prove_pack,
    report: Report = quiet,
) -> Compilation:
    """A whole compilation in this process, batch after batch.

    Args:
        scope: Which documents.
        seed: Of rows and cases.
        target_tools: Size that environments should come close to; by default what suits each service.
        user: Who asked for it.
        prove: What verifies a pack and drops what fails.
        report: Called with each batch's key.

    Raises:
        InvalidInputError: The scope names what is not there.
        SandboxFailedError: The workers can't be had.
    """
    compilation, batches = open_compilation(scope=scope, seed=seed, target_tools=target_tools, user=user)
    for place, batch in enumerate(batches):
        report(batch.key, place, len(batches))
        compile_batch(
            compilation=compilation, batch=batch.key, documents=batch.documents, part=batch.part,
            num_parts=batch.num_parts, prove=prove, user=user,
        )  # fmt: skip
    report("", len(batches), len(batches))
    return close_compilation(compilation=compilation)


def _update(compilation: Compilation, **changes: Any) -> None:
    Compilation.objects.filter(pk=compilation.pk).update(**changes)
    for name, value in changes.items():
        setattr(compilation, name, value)
