"""Links of pages to machine-readable descriptions."""

import pytest

from environments.core.sources.model import Fetched
from environments.core.sources.web_pages import description_links

ADDRESS = "https://docs.shelf.example/api/index.html"
HERE = "https://docs.shelf.example"


def links(page: str, address: str = ADDRESS) -> list[str]:
    return description_links(Fetched(address, page.encode()))


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ('<link rel="service-desc" href="/v1/spec">', f"{HERE}/v1/spec"),
        ("<link rel='alternate' type='application/vnd.oai.openapi+json' href=o>", f"{HERE}/api/o"),
        ('<redoc spec-url="../openapi.yaml"></redoc>', f"{HERE}/openapi.yaml"),
        ('<elements-api apiDescriptionUrl="o.yaml">', f"{HERE}/api/o.yaml"),
        ('<script id="api-reference" data-url="/o.json"></script>', f"{HERE}/o.json"),
        ('<script>const ui = SwaggerUIBundle({url: "/v3/api-docs", dom_id: "#x"})</script>', f"{HERE}/v3/api-docs"),
        ("<script>SwaggerUIBundle({ 'url' : 'https://x.example/swagger.json?v=1' })</script>",
         "https://x.example/swagger.json?v=1"),
        ("<script>Redoc.init('openapi.json', {})</script>", f"{HERE}/api/openapi.json"),
        ('<a href="swagger.json">raw</a>', f"{HERE}/api/swagger.json"),
        ('<a href="/files/shelf.yaml">our <b>OpenAPI</b> file</a>', f"{HERE}/files/shelf.yaml"),
        ('<base href="/deep/"><link rel="service-desc" href="o">', f"{HERE}/deep/o"),
        ('<link rel="service-desc" href="o&amp;p=1">', f"{HERE}/api/o&p=1"),
    ],
)  # fmt: skip
def test_link_is_found_in_html(markup: str, found: str) -> None:
    assert links(f"<!doctype html><html><body>{markup}</body></html>") == [found]


@pytest.mark.parametrize(
    "markup",
    [
        '<a href="openapi.html">OpenAPI</a>', '<a href="data.json">numbers</a>', "<a>OpenAPI</a>",
        '<script>fetch("/config.json"); x = {url: "/home"}</script>', '<!-- <link rel="service-desc" href="/o"> -->',
        '<link rel="stylesheet" href="openapi.css">', '<link rel="service-desc" href="javascript:alert(1)">',
        '<link rel="service-desc" href="file:///etc/passwd">', '<link rel="service-desc" href="http://[">',
        '<script>{url: "https://petstore.swagger.io/v2/swagger.json"}</script>',
        f'<link rel="service-desc" href="{ADDRESS}">',
    ],
)  # fmt: skip
def test_other_links_are_passed_over(markup: str) -> None:
    assert links(f"<!doctype html><html><body>{markup}</body></html>") == []


def test_the_most_certain_link_comes_first() -> None:
    page = """<html><a href="openapi.json">x</a><script>x = {url: "swagger.yaml"}</script>
    <link rel="service-desc" href="/o"></html>"""

    assert links(page) == [f"{HERE}/o", f"{HERE}/api/swagger.yaml", f"{HERE}/api/openapi.json"]


def test_link_is_found_in_markdown() -> None:
    page = (
        "# API\n\nSee [the OpenAPI file](../shelf.yaml), [openapi](https://x.example/openapi.json 'raw'), [a](b.json)."
    )

    assert links(page, "https://docs.shelf.example/api/read.md") == [
        f"{HERE}/shelf.yaml", "https://x.example/openapi.json",
    ]  # fmt: skip


def test_nothing_is_looked_for_in_what_is_no_page() -> None:
    assert links('{"openapi": "3.0.0", "x": "[OpenAPI](a.json)"}') == []
    assert links("") == []
