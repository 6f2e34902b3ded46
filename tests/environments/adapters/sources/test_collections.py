"""Collections: a stable order, going on behind a key, and indexes that are broken."""

import json
from pathlib import Path

import orjson
import pytest

from environments.adapters.fetching import FetchedPage, FetchPolicy
from environments.adapters.sources import Collection, FolderCollection, IndexCollection
from environments.adapters.sources import collections as module
from environments.core.errors import FetchFailedError, FetchRefusedError, UnreadableSourceError

POLICY = FetchPolicy()
INDEX = "https://list.example/v2/list.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    api = tmp_path / "package" / "api"
    for name in ("b.com.json", "a.com/z.json", "a.com/y.json", "a.com.json", "c.org/deep/x.yaml"):
        (api / name).parent.mkdir(parents=True, exist_ok=True)
        (api / name).write_text(json.dumps({"name": name}))
    (api.parent / "package.json").write_text("{}")
    (api / "read.me").write_text("")
    (tmp_path / "out.json").write_text("{}")
    (api / "d.json").symlink_to(tmp_path / "out.json")
    return api.parent


def keys(collection: Collection, after: str = "") -> list[str]:
    return [entry.key for entry in collection.entries(after)]


def test_folder_gives_the_same_order_each_time(folder: Path) -> None:
    collection = FolderCollection(folder)

    assert keys(collection) == ["a.com.json", "a.com/y.json", "a.com/z.json", "b.com.json", "c.org/deep/x.yaml"]
    assert keys(collection) == keys(FolderCollection(folder / "api"))
    assert [entry.provider for entry in collection.entries()] == ["a.com", "a.com", "a.com", "b.com", "c.org"]
    assert [entry.address for entry in collection.entries()] == [entry.load().address for entry in collection.entries()]
    assert next(collection.entries()).load().data == b'{"name": "a.com.json"}'


def test_folder_goes_on_behind_a_key_even_if_its_file_is_gone(folder: Path) -> None:
    collection = FolderCollection(folder)
    (folder / "api" / "a.com" / "z.json").unlink()

    assert keys(collection, "a.com/z.json") == ["b.com.json", "c.org/deep/x.yaml"]
    assert keys(collection, "c.org/deep/x.yaml") == []


def test_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSourceError, match="no such folder"):
        FolderCollection(tmp_path / "none")


def index(value: object) -> IndexCollection:
    data = value if isinstance(value, bytes) else orjson.dumps(value)

    def get(address: str, policy: FetchPolicy) -> FetchedPage:
        if address == INDEX:
            return FetchedPage(address, 200, "application/json", data)
        return FetchedPage(address, 200, "", f'{{"at": "{address}"}}'.encode())

    return IndexCollection(INDEX, POLICY, get=get)


def api(*addresses: object, preferred: object = "1") -> dict[str, object]:
    versions = {str(place): {"swaggerUrl": address} for place, address in enumerate(addresses)}
    return {"preferred": preferred, "versions": versions}


def test_index_gives_the_preferred_version_of_each_in_the_order_of_names() -> None:
    collection = index(
        {
            "b.com:pay": api("https://x.example/0.json", "https://x.example/1.json"),
            "a.com": api("../old.json", "../new.json"),
            "é.com": api("/e.json", preferred="none"),
        }
    )

    assert [(entry.key, entry.provider, entry.address) for entry in collection.entries()] == [
        ("a.com", "a.com", "https://list.example/new.json"),
        ("b.com:pay", "b.com", "https://x.example/1.json"),
        ("é.com", "é.com", "https://list.example/e.json"),
    ]
    assert next(collection.entries()).load().data == b'{"at": "https://list.example/new.json"}'
    assert keys(collection, "a.com") == ["b.com:pay", "é.com"]
    assert keys(collection, "b") == ["b.com:pay", "é.com"]


def test_index_passes_over_entries_that_name_no_document() -> None:
    broken = {
        "b": None, "c": 5, "d": [], "e": {}, "f": {"versions": []}, "g": {"versions": {}}, "h": {"versions": {"1": 3}},
        "i": api(None), "j": api(["x"]), "k": api("http://[bad"), "l": api("", preferred={"a": 1}),
    }  # fmt: skip

    assert keys(index({"a": api("a.json"), **broken})) == ["a"]


@pytest.mark.parametrize(
    "value",
    [b"", b"<html>", b"{", b'{"a": ' + b"[" * 100_000, b"\xff\xfe", b"[]", b"5", b"null", b"{}", b'{"a": 1}'],
)
def test_index_that_is_none_is_refused(value: bytes) -> None:
    with pytest.raises(FetchRefusedError, match=r"list\.example"):
        keys(index(value))


def test_index_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 3)
    with pytest.raises(FetchRefusedError, match="at most 3"):
        keys(index({str(n): api("a.json") for n in range(4)}))


def test_index_that_can_not_be_had_is_an_error() -> None:
    def get(address: str, policy: FetchPolicy) -> FetchedPage:
        raise FetchFailedError("late")

    with pytest.raises(FetchFailedError, match="late"):
        keys(IndexCollection(INDEX, POLICY, get=get))
