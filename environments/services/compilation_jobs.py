"""Jobs that compile: one over a scope of documents, which gives batches of one provider's documents to others."""

from typing import Any, Final

from environments.core.compile.semantics import MAX_TOOLS
from environments.core.errors import FieldError, InvalidInputError
from environments.core.jobs import COLLECT_STAGE, WAITING, JobContext, JobKind, Queue, Waiting
from environments.models import Compilation, Job, User
from environments.services.compilation import Scope, close_compilation, compile_batch, open_compilation


def run_compile_environments(context: JobContext) -> dict[str, Any] | Waiting:
    """Opens a compilation, spawns a job for each batch, and makes the report once all have ended."""
    job = Job.objects.select_related("created_by").get(code=context.job_code)
    if context.stage == COLLECT_STAGE:
        return _collect(context, Compilation.objects.get(job=job))
    parameters = context.parameters
    context.progress("open", 0, None)
    scope = Scope(
        parameters["provider"], parameters["collection"], tuple(parameters["documents"]), parameters["shipped"]
    )
    compilation, batches = open_compilation(
        scope=scope, seed=parameters["seed"], target_tools=parameters["target"] or None, job=job
    )
    for place, batch in enumerate(batches):
        context.progress("spawn", place, len(batches))
        context.spawn(
            COMPILE_PROVIDER.name,
            {
                "compilation": str(compilation.code),
                "batch": batch.key,
                "documents": list(batch.documents),
                "part": batch.part,
                "num_parts": batch.num_parts,
            },
            key=batch.key[:200],
        )
    context.progress("spawn", len(batches), len(batches))
    if not batches:
        return _collect(context, compilation)
    return WAITING


def _collect(context: JobContext, compilation: Compilation) -> dict[str, Any]:
    failures = {
        child.key: f"{child.status}: {child.error_code}" for child in context.children() if child.result is None
    }
    for key, words in sorted(failures.items()):
        context.log("warning", f"{key}: {words}")
    close_compilation(compilation=compilation, failures=failures)
    context.log(
        "info",
        f"{compilation.num_operations:,} operations, {compilation.num_tools:,} tools in {compilation.num_verified:,} "
        f"verified environments of {compilation.num_environments:,} planned",
    )
    return {
        "compilation": str(compilation.code),
        "operations": compilation.num_operations,
        "tools": compilation.num_tools,
        "environments": compilation.num_environments,
        "verified": compilation.num_verified,
        "distinct": compilation.num_distinct,
        "failures": failures,
    }


def run_compile_provider(context: JobContext) -> dict[str, Any]:
    """Compiles one batch; what it stored before it was cut off stays."""
    parameters = context.parameters
    compilation = Compilation.objects.filter(code=parameters["compilation"]).first()
    if compilation is None:
        fault = FieldError("/parameters/compilation", "unknown", "No compilation has this code.")
        raise InvalidInputError(fault.detail, fields=(fault,))
    summary = compile_batch(
        compilation=compilation,
        batch=parameters["batch"],
        documents=parameters["documents"],
        part=parameters["part"],
        num_parts=parameters["num_parts"],
        user=User.objects.filter(jobs__code=context.job_code).first(),
        report=context.progress,
    )
    counts = ", ".join(f"{count} {outcome}" for outcome, count in summary["environments"].items()) or "no environment"
    context.log("info", f"{counts}; {summary['tools']} tools")
    return summary


COMPILE_ENVIRONMENTS: Final = JobKind(
    name="compile_environments",
    title="Compile environments",
    description="Compiles documents into environments without a model, verifies each in locked workers, and keeps a "
    "ledger of what became of every operation.",
    queue=Queue.BUILD,
    parameters={
        "type": "object",
        "properties": {
            "provider": {
                "type": "string", "maxLength": 200, "default": "", "description": "Only its documents; empty means all."
            },
            "collection": {
                "type": "string", "maxLength": 64, "default": "", "description": "Only its documents; empty means all."
            },
            "documents": {
                "type": "array", "items": {"type": "string", "format": "uuid"}, "uniqueItems": True, "default": [],
                "description": "Codes of documents; none means the newest of every source.",
            },
            "shipped": {
                "type": "boolean", "default": False, "description": "Only the documents that ship with EnvFactory.",
            },
            "target": {
                "type": "integer", "minimum": 0, "maximum": MAX_TOOLS, "default": 0,
                "description": "Tools of an environment to aim at; 0 leaves the size to the resources.",
            },
            "seed": {
                "type": "integer", "minimum": 0, "maximum": 2**53 - 1, "default": 0,
                "description": "Of rows and cases.",
            },
        },
        "additionalProperties": False,
    },
    run=run_compile_environments,
    soft_seconds=3600,
    hard_seconds=3660,
)  # fmt: skip

COMPILE_PROVIDER: Final = JobKind(
    name="compile_provider",
    title="Compile documents of a provider",
    description="Compiles, verifies and stores the environments of some documents that belong together.",
    queue=Queue.BUILD,
    parameters={
        "type": "object",
        "properties": {
            "compilation": {"type": "string", "format": "uuid"},
            "batch": {"type": "string"},
            "documents": {"type": "array", "items": {"type": "string", "format": "uuid"}},
            "part": {"type": "integer", "minimum": 1},
            "num_parts": {"type": "integer", "minimum": 1},
        },
        "required": ["compilation", "batch", "documents", "part", "num_parts"],
        "additionalProperties": False,
    },
    run=run_compile_provider,
    soft_seconds=7200,
    hard_seconds=7300,
    is_startable=False,
)

KINDS: Final = (COMPILE_ENVIRONMENTS, COMPILE_PROVIDER)
