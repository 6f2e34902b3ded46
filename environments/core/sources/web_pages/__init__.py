"""Documentation pages, HTML or Markdown: what they say of operations, and where they link to something better."""

from environments.core.sources.web_pages.links import description_links
from environments.core.sources.web_pages.reader import WebPageReader

__all__ = ["WebPageReader", "description_links"]
