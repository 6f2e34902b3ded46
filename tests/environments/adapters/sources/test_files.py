"""Files and folders of the machine's owner, with links, devices, pipes and files that are too large."""

import os
import time
from pathlib import Path

import pytest

from environments.adapters.sources import files, find_files, read_files
from environments.core.errors import UnreadableSourceError


def names(path: Path) -> list[str]:
    return [entry.key for entry in find_files(path)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "inside"
    (made / "deep").mkdir(parents=True)
    (made / "b.json").write_bytes(b"{}")
    (made / "a.yaml").write_bytes(b"a: 1")
    (made / "deep" / "c.PY").write_bytes(b"def f(): ...")
    (made / "notes.txt").write_bytes(b"no document")
    (tmp_path / "secret.json").write_bytes(b'{"secret": 1}')
    return made


def test_folder_is_read_in_the_order_of_paths(folder: Path) -> None:
    assert names(folder) == ["a.yaml", "b.json", "deep/c.PY"]
    assert [fetched.data for fetched in read_files(folder)] == [b"a: 1", b"{}", b"def f(): ..."]
    assert [entry.address for entry in find_files(folder)] == [fetched.address for fetched in read_files(folder)]


def test_links_out_of_the_folder_are_passed_over(folder: Path) -> None:
    (folder / "out.json").symlink_to(folder.parent / "secret.json")
    (folder / "up").symlink_to(folder.parent)
    (folder / "up.json").symlink_to(folder.parent)
    (folder / "ring.json").symlink_to(folder / "ring.json")
    (folder / "self").symlink_to(folder)
    (folder / "inside.json").symlink_to(folder / "b.json")

    assert names(folder) == ["a.yaml", "b.json", "deep/c.PY", "inside.json"]


def test_pipes_and_devices_are_passed_over_and_never_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.json")
    (folder / "null.json").symlink_to("/dev/null")
    started = time.monotonic()

    assert names(folder) == ["a.yaml", "b.json", "deep/c.PY"]
    for path in (folder / "pipe.json", Path("/dev/zero"), Path("/dev/null"), folder.parent / "none.json"):
        with pytest.raises(UnreadableSourceError):
            list(read_files(path))
        with pytest.raises(UnreadableSourceError):
            files.read_bytes(path)
    assert time.monotonic() - started < 2.0


def test_large_file_does_not_hold_up_the_others(folder: Path) -> None:
    with (folder / "aa.json").open("wb") as file:
        file.truncate(files.MAX_BYTES + 1)  # a hole, which takes no space
    entries = list(find_files(folder))

    assert [entry.key for entry in entries] == ["a.yaml", "aa.json", "b.json", "deep/c.PY"]
    with pytest.raises(UnreadableSourceError, match="larger than 96 MiB"):
        entries[1].load()
    assert entries[2].load().data == b"{}"


def test_file_that_has_no_size_is_bounded() -> None:
    with pytest.raises(UnreadableSourceError, match="larger than"):
        files.read_bytes(Path("/proc/kallsyms"), 1_000)


def test_file_alone_is_read(folder: Path) -> None:
    (fetched,) = read_files(folder / "notes.txt")
    assert (fetched.data, fetched.address) == (b"no document", (folder / "notes.txt").resolve().as_uri())


def test_referred_files_are_read_from_below_the_folder_only(folder: Path) -> None:
    (folder / "o.json").write_bytes(
        b'[{"$ref": "deep/x y.json"}, {"$ref": "deep/x%20y.json#/a"}, {"$ref": "../secret.json"}, {"$ref": "b.json"},'
        b'{"$ref": "file:///etc/hostname.json"}, {"$ref": "http://example.com/q.json"}, {"$ref": "o.json"},'
        b'{"$ref": "deep/../../secret.json"}, {"$ref": "a%00.json"}, {"$ref": "link.json"}, {"$ref": "file://h/b.json"}]'
    )
    (folder / "deep" / "x y.json").write_bytes(b'{"$ref": "../a.yaml"}')
    (folder / "link.json").symlink_to(folder.parent / "secret.json")

    found = {entry.key: entry.load() for entry in find_files(folder)}["o.json"]

    related = {address.rpartition("/inside/")[2]: data for address, data in found.related.items()}
    assert related == {"deep/x%20y.json": b'{"$ref": "../a.yaml"}', "b.json": b"{}", "a.yaml": b"a: 1"}


def test_nothing_at_a_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSourceError, match="no such file or folder"):
        list(find_files(tmp_path / "none"))
