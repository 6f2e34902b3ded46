"""Where a `$ref` leads: inside the document, or into another file that was fetched with it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urljoin

from environments.core.errors import UnreadableSourceError
from environments.core.sources.text_values import parse_text

MAX_HOPS: Final = 32
MAX_REFERENCE: Final = 2_000
"""Characters: a longer one, followed from ten thousand places, would take hours."""

_PLAIN: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_SAYS_NOTHING: Final = frozenset({"schema", "items", "properties", "content"})
"""Last words of a pointer that name no schema."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a reference leads to.

    Attributes:
        file: Address of the file; empty for the document itself.
        pointer: JSON pointer in it.
        value: What is there.
    """

    file: str
    pointer: str
    value: Any


class UnresolvedError(Exception):
    """A reference that leads nowhere; caught by the reader, which notes it as a problem of what holds it."""


class References:
    """Resolves references of one document and its related files.

    Args:
        root: The document's value.
        address: Its address; relative references of other files are taken from theirs.
        related: Other files' bytes by address.
    """

    def __init__(self, root: Any, address: str, related: Mapping[str, bytes]) -> None:
        self._files: dict[str, Any] = {"": root}
        self._known: dict[tuple[str, str], Target | UnresolvedError] = {}
        self._unreadable: dict[str, str] = {}
        self._address = address
        self._related = related

    def add(self, file: str, value: Any) -> None:
        """Takes a value as a file of its own, so that references inside it stay there."""
        self._files[file] = value

    def follow(self, reference: Any, file: str, hops: int = 0) -> Target:
        """What a reference stands for, through references that are nothing else.

        Args:
            reference: The value of `$ref`.
            file: The file that holds it.
            hops: How many references led here.

        Raises:
            UnresolvedError: It leads nowhere, in a circle, or out of what was fetched.
        """
        if not isinstance(reference, str) or len(reference) > MAX_REFERENCE:
            raise UnresolvedError("a reference is not text, or too long")
        key = file, reference
        if key not in self._known:
            self._known[key] = UnresolvedError(f"{reference[:120]} leads in a circle")  # until it is known better
            try:
                self._known[key] = self._followed(reference, file, hops)
            except UnresolvedError as error:
                self._known[key] = error
        known = self._known[key]
        if isinstance(known, UnresolvedError):
            raise UnresolvedError(str(known))
        return known

    def _followed(self, reference: str, file: str, hops: int) -> Target:
        if hops > MAX_HOPS:
            raise UnresolvedError(f"{reference[:120]} leads on and on")
        address, _, fragment = reference.partition("#")
        file = self._file(address, file)
        if fragment and not fragment.startswith("/"):
            raise UnresolvedError(f"#{fragment[:120]} is no JSON pointer")
        target = Target(file, "", self._load(file))
        for part in fragment.split("/")[1:]:
            target = self._step(target, part, hops)
        if isinstance(target.value, Mapping) and isinstance(target.value.get("$ref"), str) and len(target.value) == 1:
            return self.follow(target.value["$ref"], target.file, hops + 1)
        return target

    def _step(self, target: Target, part: str, hops: int) -> Target:
        """What stands under a name; a reference on the way is followed, as those who bundle files expect."""
        name, value = _unescaped(part), target.value
        if isinstance(value, Mapping) and isinstance(value.get("$ref"), str) and not {name, part} & value.keys():
            target = self.follow(value["$ref"], target.file, hops + 1)
            value = target.value
        if isinstance(value, Mapping) and (name in value or part in value):
            own = name if name in value else part
            return Target(target.file, f"{target.pointer}/{part}", value[own])
        if isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            return Target(target.file, f"{target.pointer}/{part}", value[int(name)])
        raise UnresolvedError(f"{part[:120]!r} of a reference leads nowhere")

    def _file(self, address: str, file: str) -> str:
        if not address:
            return file
        try:
            whole = urljoin(file or self._address, address)
        except ValueError:
            raise UnresolvedError(f"{address[:120]} is no address") from None
        if whole == self._address:
            return ""
        # Files are named as the one that refers to them names them, or by their whole address.
        return address if address in self._related and whole not in self._related else whole

    def _load(self, file: str) -> Any:
        if file in self._unreadable:
            raise UnresolvedError(self._unreadable[file])
        if file not in self._files:
            if file not in self._related:
                raise UnresolvedError(f"{file[:200]} was not fetched")
            try:
                self._files[file] = parse_text(self._related[file])
            except UnreadableSourceError as error:
                self._unreadable[file] = f"{file[:200]}: {error}"
                raise UnresolvedError(self._unreadable[file]) from None
        return self._files[file]


def definition_name(target: Target) -> str:
    """The name of what a reference leads to, as a definition; another one may have it already."""
    parts = [_unescaped(part) for part in target.pointer.split("/") if part]
    own = parts[-1] if parts else target.file.rsplit("/", 1)[-1].split(".")[0]
    if own in _SAYS_NOTHING or own.isdigit():
        own = "_".join(part for part in parts[-4:] if part not in ("content", "schema")) or own
    return _PLAIN.sub("_", own).strip("_")[:120] or "schema"


def _unescaped(part: str) -> str:
    return unquote(part).replace("~1", "/").replace("~0", "~")
