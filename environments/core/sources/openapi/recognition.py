"""Whether bytes look like an OpenAPI document, without parsing them."""

import re
from typing import Final

_JSON: Final = re.compile(rb"""["'](?:openapi|swagger)["']\s*:\s*["']?[123]""")
_YAML: Final = re.compile(rb"""^["']?(?:openapi|swagger)["']?[ \t]*:[ \t]*["']?[123]""", re.MULTILINE)
_NO_KEY: Final = re.compile(rb"""^(?!["']?[\w$./-]+["']?[ \t]*:(\s|$)|[#}\]-]|---|%|\.\.\.)\S""", re.MULTILINE)
"""A line of a page's prose: everything that stands at the left edge of YAML is a key, a comment or a mark."""
_FLOW: Final = re.compile(rb"\{\s*(?:openapi|swagger)\s*:")


def looks_like_openapi(data: bytes) -> bool:
    """Whether a version of OpenAPI or Swagger is named where a document names it."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"{":
        return bool(_JSON.search(start) or _FLOW.match(start))
    found = _YAML.search(start)
    return found is not None and _NO_KEY.search(start[: found.start()]) is None
