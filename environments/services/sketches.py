"""Python sketches, listed in the locked worker; and the readers with what they need for that."""

from environments.core.errors import SandboxFailedError, UnreadableSourceError
from environments.core.sources import readers
from environments.core.sources.model import Document, Fetched, SourceKind
from environments.runtime.sandbox.errors import RequestError, SandboxError, SandboxUnavailableError
from environments.runtime.sandbox.sketching import MAX_SOURCE_BYTES
from environments.runtime.sketches import SketchListing
from environments.services.workers import worker_pool


def list_sketch(source: bytes) -> SketchListing:
    """What a Python source declares; nothing of it is run.

    Raises:
        UnreadableSourceError: It is no Python, breaks a limit, or brings the parser down.
        SandboxFailedError: No worker can be locked here.
    """
    if len(source) > MAX_SOURCE_BYTES:
        raise UnreadableSourceError(f"The source has {len(source) >> 10:,} KiB; {MAX_SOURCE_BYTES >> 10:,} are read.")
    try:
        return worker_pool().sketch(source)
    except RequestError as error:
        raise UnreadableSourceError(f"The source can't be read: {str(error).partition(': ')[2][:300]}.") from None
    except SandboxUnavailableError as error:
        raise SandboxFailedError(str(error)) from error
    except SandboxError as error:
        raise UnreadableSourceError(f"The source brings Python's parser down: {error.code}.") from error


def read_source(fetched: Fetched, kind: SourceKind | None = None) -> Document:
    """The document, by the reader of its kind or by whichever recognises it.

    Raises:
        UnreadableSourceError: It can't be read; nothing is half-read.
        SandboxFailedError: It is a Python sketch, and no worker can be locked here.
    """
    return readers.read(fetched, kind, list_sketch=list_sketch)
