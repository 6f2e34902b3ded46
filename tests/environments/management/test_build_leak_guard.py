import json

import pytest
from django.core.management import CommandError, call_command

from environments.core.embedding import LexicalEmbedder
from environments.core.leak_guard import GuardData
from environments.management.commands import build_leak_guard
from tests.environments.core.leak_guard.checkouts import write_checkouts
from tests.factories.sources import PETS


class _SmallModel(LexicalEmbedder):
    """Stands for MiniLM, which the base install has not."""

    name = "all-MiniLM-L6-v2"

    @staticmethod
    def is_installed() -> bool:
        return True


@pytest.fixture
def folders(tmp_path):
    for name in ("checkouts", "background", "examples"):
        (tmp_path / name).mkdir()
    write_checkouts(tmp_path / "checkouts")
    for number in range(6):
        (tmp_path / "background" / f"{number}.json").write_text(json.dumps(PETS))
    (tmp_path / "background" / "broken.json").write_text("{")
    (tmp_path / "examples" / "innocent.json").write_text(json.dumps({"Bees": {"feed": ["Feeds bees.", "hive!"]}}))
    (tmp_path / "examples" / "paraphrased.json").write_text(json.dumps({"tau/airline": {"a": ["Weighs fruit.", ""]}}))
    return tmp_path


def _build(folders, *arguments: str) -> GuardData:
    call_command(
        "build_leak_guard", "--from", folders / "checkouts", "--examples", folders / "examples", "--output",
        folders / "out.json", *arguments,
    )  # fmt: skip
    return GuardData.from_json(json.loads((folders / "out.json").read_bytes()))


def test_file_is_made_from_checkouts_and_the_same_again(folders, monkeypatch, capsys):
    monkeypatch.setattr(build_leak_guard, "MiniLMEmbedder", _SmallModel)

    data = _build(folders, "--background", str(folders / "background"), "--commit", "tau-bench=abc")
    text = (folders / "out.json").read_text()
    again = _build(folders)

    assert {source["name"]: source["commit"] for source in data.sources}["tau-bench"] == "abc"
    assert "tau2/airline" in {benchmark.entry.name for benchmark in data.benchmarks}
    assert data.weights.num_documents == 6
    assert data.weights.counts["species"] == 6
    assert again.weights == data.weights
    assert set(data.vector_thresholds) == {"lexical-1", "all-MiniLM-L6-v2"}
    assert "Weighs a crate" not in text
    assert "planted" in capsys.readouterr().out


def test_missing_checkout_model_or_counts_are_named(folders, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(build_leak_guard.MiniLMEmbedder, "is_installed", staticmethod(lambda: False))
        with pytest.raises(CommandError, match="EXTRAS=embed"):
            _build(folders)
    monkeypatch.setattr(build_leak_guard, "MiniLMEmbedder", _SmallModel)
    with pytest.raises(CommandError, match="--background"):
        _build(folders)
    (folders / "checkouts" / "gorilla").rename(folders / "elsewhere")
    with pytest.raises(CommandError, match=r"no checkout in .*gorilla"):
        _build(folders)
