"""Files and folders of the machine's owner; only commands read them, never the console or the API."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from environments.adapters.sources.address import MAX_RELATED, MAX_RELATED_BYTES, named_files
from environments.adapters.sources.entries import CollectionEntry
from environments.core.errors import UnreadableSourceError
from environments.core.sources.model import Fetched
from environments.core.sources.text_values import MAX_BYTES

SUFFIXES: Final = frozenset({".json", ".jsonl", ".yaml", ".yml", ".py", ".html", ".htm", ".md"})


def find_files(path: Path) -> Iterator[CollectionEntry]:
    """A file, or every file of a known kind below a folder, in the order of paths.

    Links that lead out of the folder, devices and pipes are passed over. An entry's file is read when it is loaded,
    so that one that can't be read does not hold up the others.

    Raises:
        UnreadableSourceError: There is no such file or folder.
    """
    if path.is_dir():
        root = path.resolve()
        found = (each for each in root.rglob("*") if each.suffix.lower() in SUFFIXES and is_inside(each, root))
        for each in sorted(found):
            yield CollectionEntry(each.relative_to(root).as_posix(), "", each.as_uri(), _loader(each, root))
        return
    if not path.is_file():
        kind = "neither a file nor a folder" if path.exists() else "no such file or folder"
        raise UnreadableSourceError(f"{path}: {kind}.")
    whole = path.resolve()
    yield CollectionEntry(whole.name, "", whole.as_uri(), _loader(whole, whole.parent))


def read_files(path: Path) -> Iterator[Fetched]:
    """The files of `find_files`, read.

    Raises:
        UnreadableSourceError: There is no such file, or one of them is too large.
    """
    for entry in find_files(path):
        yield entry.load()


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path is an ordinary file that is really below a folder, whatever links say."""
    try:
        return path.resolve().is_relative_to(root) and path.is_file()
    except (OSError, RuntimeError):  # a link that leads in a circle
        return False


def _loader(path: Path, root: Path) -> Callable[[], Fetched]:
    return lambda: read_file(path, root)


def read_file(path: Path, root: Path) -> Fetched:
    """A file with those below `root` that it refers to.

    Raises:
        UnreadableSourceError: It can't be read, is no ordinary file, or is too large.
    """
    data = read_bytes(path)
    address = path.as_uri()
    related: dict[str, bytes] = {}
    seen = {address}
    num_bytes = 0
    waiting = named_files(address, data)
    while waiting and len(related) < MAX_RELATED and num_bytes < MAX_RELATED_BYTES:
        following = waiting.pop(0)
        other = _path_of(following)
        if following in seen or other is None or not is_inside(other, root):
            continue
        seen.add(following)
        try:
            part = read_bytes(other, MAX_RELATED_BYTES - num_bytes)
        except UnreadableSourceError:
            continue
        related[following] = part
        num_bytes += len(part)
        waiting.extend(named_files(following, part))
    return Fetched(address, data, "", related)


def _path_of(address: str) -> Path | None:
    parts = urlsplit(address)
    if parts.scheme != "file" or parts.netloc or "\0" in unquote(parts.path):
        return None
    return Path(unquote(parts.path))


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """An ordinary file's bytes; a device, a pipe or a file that grows is never waited for.

    Raises:
        UnreadableSourceError: It is none, can't be read, or is larger than the limit.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableSourceError(f"{path}: it is no ordinary file.")
            parts = []
            left = limit + 1
            while left > 0 and (part := file.read(min(left, 1 << 20))):
                parts.append(part)
                left -= len(part)
    except OSError as error:
        raise UnreadableSourceError(f"{path}: {error.strerror}.") from None
    if left <= 0:
        raise UnreadableSourceError(f"{path}: larger than {limit >> 20} MiB.")
    return b"".join(parts)
