"""The files that browsers get: what is vendored is what its manifest says, and templates name only what exists."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import django
import pytest

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "static"
BASES = (ROOT / "templates", Path(django.__file__).parent / "contrib/admin/templates")
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLE_SHEETS = sorted((STATIC / "css").glob("*.css"))
SCRIPTS = sorted((STATIC / "js").glob("*.js"))
MANIFESTS = {
    STATIC / "vendor" / "manifest.json": STATIC,
    ROOT / "tests/e2e/vendor/manifest.json": ROOT / "tests/e2e/vendor",
}

STATIC_TAG = re.compile(r"{%\s*static\s+'([^']+)'\s*%}")
INCLUDE_TAG = re.compile(r"""{%\s*(?:include|extends)\s+["']([^"'#]+)""")
ICON_TAG = re.compile(r'{%\s*icon\s+"([^"]+)"')
LENGTH_OR_COLOUR = re.compile(
    r"(?<![\w-])\d*\.?\d+(?:px|rem|em|pt)\b|#[0-9a-f]{3,8}\b|\b(?:oklch|rgb|hsl)a?\(", re.IGNORECASE
)


def entries() -> list[tuple[Path, dict[str, Any]]]:
    return [(base, entry) for file, base in MANIFESTS.items() for entry in json.loads(file.read_text())["files"]]


@pytest.mark.parametrize(
    ("base", "entry"), entries(), ids=lambda value: value["file"] if isinstance(value, dict) else ""
)
def test_file_has_the_bytes_version_and_licence_of_its_manifest(base: Path, entry: dict[str, Any]) -> None:
    content = (base / entry["file"]).read_bytes()

    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert entry["version"] in entry["file"]
    assert (base / entry["licence_file"]).is_file()
    assert entry["licence"] in {"0BSD", "MIT", "OFL-1.1", "MPL-2.0"}


def test_every_vendored_file_is_in_a_manifest() -> None:
    listed = {base / entry["file"] for base, entry in entries()} | set(MANIFESTS)
    folders = [STATIC / "vendor", STATIC / "fonts", ROOT / "tests/e2e/vendor"]
    present = {file for folder in folders for file in folder.rglob("*") if file.is_file()}
    present |= {file for file in (STATIC / "icons").iterdir() if file.name != "envfactory.svg"}

    assert present == listed


def test_no_file_refers_to_a_source_map_that_is_not_here() -> None:
    for file in (STATIC / "vendor").glob("*.*s"):
        assert "sourceMappingURL" not in file.read_text(encoding="utf-8"), file.name


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_template_names_only_files_and_icons_that_exist(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    sprite = (STATIC / "icons/bootstrap-icons-1.13.2.svg").read_text(encoding="utf-8")

    assert [name for name in STATIC_TAG.findall(text) if not (STATIC / name).is_file()] == []
    assert [name for name in INCLUDE_TAG.findall(text) if not any((base / name).is_file() for base in BASES)] == []
    assert [name for name in ICON_TAG.findall(text) if f'id="{name}"' not in sprite] == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_template_holds_nothing_that_the_content_security_policy_stops(template: Path) -> None:
    text = template.read_text(encoding="utf-8")

    assert not re.search(r"\sstyle\s*=", text), "style attribute"
    assert "<style" not in text
    assert not re.search(r"<script(?![^>]*\ssrc=)", text), "inline script"
    assert not re.search(r"\shx-on[:=-]|\son[a-z]+\s*=", text), "inline handler"
    assert not re.search(r"""hx-trigger=["'][^"']*\[""", text), "trigger filter, which needs eval"
    assert not re.search(r"""hx-[a-z:]+=["']js:""", text), "js: value, which needs eval"
    assert "//" not in re.sub(r"{#.*?#}", "", text).replace("http-equiv", ""), "address of another host"


@pytest.mark.parametrize(
    "sheet", [file for file in STYLE_SHEETS if file.name != "tokens.css"], ids=lambda path: path.name
)
def test_colours_and_sizes_are_written_in_the_tokens_only(sheet: Path) -> None:
    text = re.sub(
        r"/\*.*?\*/|@media[^{]*|unicode-range:[^;]*|url\([^)]*\)",
        "",
        sheet.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )

    assert LENGTH_OR_COLOUR.findall(text) == []


def test_every_token_that_is_used_is_defined() -> None:
    texts = [file.read_text(encoding="utf-8") for file in [*STYLE_SHEETS, *SCRIPTS]]
    defined = {name for text in texts for name in re.findall(r"(--[\w-]+)\s*:", text)}
    used = {name for text in texts for name in re.findall(r"var\((--[\w-]+)", text)}

    assert used - defined == set()
