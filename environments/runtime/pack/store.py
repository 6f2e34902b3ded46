"""Packs as folders and as zips; whatever comes from outside is refused by name before it costs anything."""

import errno
import io
import os
import re
import stat
import struct
import zipfile
import zlib
from pathlib import Path

from environments.runtime.faults import Fault
from environments.runtime.pack.documents import (
    CASES,
    ENVIRONMENT,
    SCENARIOS,
    SCHEMA,
    TOOLS,
    pack_files,
    pack_from_files,
)
from environments.runtime.pack.errors import PackError
from environments.runtime.pack.limits import (
    MAX_FILE_BYTES,
    MAX_PACK_BYTES,
    MAX_SCENARIO_BYTES,
    MAX_SCENARIOS,
    MAX_ZIP_BYTES,
    MAX_ZIP_RATIO,
    MIN_RATIO_BYTES,
)
from environments.runtime.pack.model import Pack

_ROOT_FILES = (ENVIRONMENT, SCHEMA, TOOLS, CASES)
_SCENARIO_NAME = re.compile(r"scenarios/[A-Za-z0-9_.-]+\.json")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*/?")
_MAX_ENTRIES = MAX_SCENARIOS + 16
_MAX_DIRECTORY_BYTES = _MAX_ENTRIES * 256
"""Central directory of a zip; read before Python's reader builds an object for each entry."""
_END_OF_DIRECTORY = b"PK\5\6"
_END_BYTES = 22
_ZIP64_LOCATOR = b"PK\6\7"
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)


def read_pack(path: Path) -> Pack:
    """The pack in a folder or a zip.

    Raises:
        PackError: It is no pack, or not one that can be read; every fault has its place.
    """
    if path.is_dir():
        return pack_from_files(_read_folder(path))
    if not path.is_file():
        raise _error("pack_missing", str(path), "there is no such folder or file")
    if path.stat().st_size > MAX_ZIP_BYTES:
        raise _error("zip_too_large", path.name, f"larger than {MAX_ZIP_BYTES} bytes")
    return unzip_pack(path.read_bytes())


def write_pack(pack: Pack, folder: Path) -> None:
    """Write the pack's files; files of the format that the pack no longer has are removed, others stay."""
    files = pack_files(pack)
    (folder / SCENARIOS).mkdir(parents=True, exist_ok=True)
    for old in (folder / SCENARIOS).glob("*.json"):
        if f"{SCENARIOS}{old.name}" not in files:
            old.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def zip_pack(pack: Pack) -> bytes:
    """The pack as a zip; equal packs give equal bytes with one version of zlib."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(pack_files(pack).items()):
            entry = zipfile.ZipInfo(name, _FIXED_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix on every platform, so that the bytes are the same
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


def unzip_pack(data: bytes) -> Pack:
    """The pack in a zip; nothing is written to disk.

    Raises:
        PackError: A trick or a limit (codes `zip_*`), or the files are not a pack.
    """
    return pack_from_files(_read_zip(data))


def _error(code: str, place: str, message: str) -> PackError:
    return PackError([Fault(code, place, message)])


def _max_bytes(name: str) -> int:
    return MAX_FILE_BYTES.get(name, MAX_SCENARIO_BYTES)


def _read_folder(folder: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    names = sorted(path.relative_to(folder).as_posix() for path in folder.iterdir())
    if "scenarios" in names:
        names.remove("scenarios")
        if (folder / SCENARIOS).is_symlink() or not (folder / SCENARIOS).is_dir():
            raise _error("file_link", "scenarios", "a folder is expected")
        names += sorted(path.relative_to(folder).as_posix() for path in (folder / SCENARIOS).iterdir())
    if len(names) > _MAX_ENTRIES:
        raise _error("too_many", SCENARIOS, f"more than {MAX_SCENARIOS} scenarios")
    for name in names:
        if name not in _ROOT_FILES and not _SCENARIO_NAME.fullmatch(name):
            raise _error("file_unknown", name, "the format has no such file")
        files[name] = _read_file(folder / name, name)
        if len(files[name]) > _max_bytes(name):
            raise _error("file_too_large", name, f"larger than {_max_bytes(name)} bytes")
    if sum(map(len, files.values())) > MAX_PACK_BYTES:
        raise _error("file_too_large", ".", f"larger than {MAX_PACK_BYTES} bytes together")
    return files


def _read_file(path: Path, name: str) -> bytes:
    try:
        # Neither follows a link nor waits for the writer of a pipe, whatever the name has become since it was listed.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise _error("file_link", name, "not a plain file") from None
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _error("file_link", name, "not a plain file")
        return stream.read(_max_bytes(name) + 1)


def _read_zip(data: bytes) -> dict[str, bytes]:
    _check_end(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            _check_entries(entries)
            files: dict[str, bytes] = {}
            for entry in entries:
                if not entry.is_dir():
                    with archive.open(entry) as stream:
                        files[entry.filename] = stream.read(_max_bytes(entry.filename) + 1)
                    if len(files[entry.filename]) != entry.file_size:
                        raise _error("zip_invalid", entry.filename, "its size is not the one it states")
            return files
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, OverflowError) as error:
        raise _error("zip_invalid", "zip", str(error)[:200]) from None
    except NotImplementedError as error:
        raise _error("zip_method", "zip", str(error)[:200]) from None


def _check_end(data: bytes) -> None:
    """Refuse what would let two readers see two different directories, or one cost much."""
    if len(data) > MAX_ZIP_BYTES:
        raise _error("zip_too_large", "zip", f"larger than {MAX_ZIP_BYTES} bytes")
    end = len(data) - _END_BYTES
    if end < 0 or data[end : end + 4] != _END_OF_DIRECTORY or data[-2:] != b"\0\0":
        raise _error("zip_invalid", "zip", "it does not end with a zip's directory (comments are not accepted)")
    if data[max(0, end - 20) : end].startswith(_ZIP64_LOCATOR):
        raise _error("zip_too_large", "zip", "a pack needs no zip64")
    num_entries, directory_bytes, offset = struct.unpack("<HII", data[end + 10 : end + 20])
    if num_entries > _MAX_ENTRIES or directory_bytes > _MAX_DIRECTORY_BYTES:
        raise _error("zip_too_many", "zip", f"more than {_MAX_ENTRIES} files")
    if offset + directory_bytes != end:
        raise _error("zip_invalid", "zip", "something stands before or between its parts")


def _check_entries(entries: list[zipfile.ZipInfo]) -> None:
    if sum(entry.file_size for entry in entries) > MAX_PACK_BYTES:
        raise _error("zip_too_large", "zip", f"it unpacks to more than {MAX_PACK_BYTES} bytes")
    seen: set[str] = set()
    for entry in entries:
        name = entry.filename
        shown = ascii(entry.orig_filename)[1:-1][:80]
        if entry.orig_filename != name or not _SAFE_NAME.fullmatch(name) or {".", ".."} & set(name.split("/")):
            raise _error("zip_name", shown, "not a plain relative name")
        if name.casefold() in seen:
            raise _error("zip_duplicate", shown, "the name is there twice")
        seen.add(name.casefold())
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _error("zip_link", shown, "not a plain file")
        if entry.flag_bits & 0x41:
            raise _error("zip_encrypted", shown, "the file is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _error("zip_method", shown, "only stored and deflated files are read")
        if entry.is_dir():
            if name != SCENARIOS or entry.file_size:
                raise _error("file_unknown", shown, "the format has no such folder")
            continue
        if name not in _ROOT_FILES and not _SCENARIO_NAME.fullmatch(name):
            raise _error("file_unknown", shown, "the format has no such file")
        if entry.file_size > _max_bytes(name):
            raise _error("zip_too_large", shown, f"it unpacks to more than {_max_bytes(name)} bytes")
        if entry.file_size > MIN_RATIO_BYTES and entry.file_size > MAX_ZIP_RATIO * max(1, entry.compress_size):
            raise _error("zip_ratio", shown, f"it unpacks to more than {MAX_ZIP_RATIO} times its size")
