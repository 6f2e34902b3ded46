"""Source code of a pack as text: found by its lines, never compiled or parsed."""

import re
from dataclasses import dataclass

_STATEMENT = re.compile(
    r"@|(async def|def|class|import|from|if|for|while|with|try)\b|[A-Za-z_]\w*\s*(:|=|\()", re.ASCII
)


@dataclass(frozen=True, slots=True)
class SourceText:
    """Some lines of a file.

    Attributes:
        first_line: Number of the first, from 1.
        text: The lines.
    """

    first_line: int
    text: str

    @property
    def numbers(self) -> range:
        """The lines' numbers."""
        return range(self.first_line, self.first_line + self.text.count("\n") + 1)


def function_text(source: str, name: str) -> SourceText | None:
    """The lines of a function at the top of a file, with its decorators, up to the next statement at the top.

    Args:
        source: The file's text.
        name: The function's name.

    Returns:
        None if no line at the margin begins it.
    """
    lines = source.splitlines()
    begins = re.compile(rf"def {re.escape(name)}\s*\(", re.ASCII)
    found = next((position for position, line in enumerate(lines) if begins.match(line)), None)
    if found is None:
        return None
    first = found
    while first and lines[first - 1].startswith("@"):
        first -= 1
    last = next((p for p in range(found + 1, len(lines)) if _STATEMENT.match(lines[p])), len(lines))
    # Comments at the margin belong to what comes after them.
    while last > found + 1 and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
        last -= 1
    return SourceText(first + 1, "\n".join(lines[first:last]))
