"""The worker's half of reading Python sketches: text to a listing, by `ast` alone.

Python's parser is the reason why this is done in the locked worker: it is C code that some texts keep busy for hours
and that others have crashed. Nothing is compiled or run.
"""

import ast
import json
import warnings
from collections.abc import Iterable, Iterator
from typing import Final

from environments.runtime.sketches import (
    ArgumentKind,
    SketchArgument,
    SketchClass,
    SketchFunction,
    SketchListing,
)

MAX_SOURCE_BYTES: Final = 1 << 20
MAX_FUNCTIONS: Final = 2_000
MAX_CLASSES: Final = 500
MAX_ARGUMENTS: Final = 100
MAX_DECORATORS: Final = 20
MAX_BLOCK_DEPTH: Final = 20
MAX_NODES: Final = 200
"""Of an annotation or a default; a larger one is passed over."""
MAX_ANNOTATION_LENGTH: Final = 500
MAX_DEFAULT_LENGTH: Final = 2_000
MAX_DOCSTRING_LENGTH: Final = 20_000

Function = ast.FunctionDef | ast.AsyncFunctionDef


class UnreadableSketchError(ValueError):
    """A text that is no Python, or that breaks a limit."""


def list_sketch(source: bytes) -> SketchListing:
    """What a source declares.

    Args:
        source: UTF-8.

    Raises:
        UnreadableSketchError: It is no Python of this version, or breaks a limit.
    """
    if len(source) > MAX_SOURCE_BYTES:
        raise UnreadableSketchError(f"more than {MAX_SOURCE_BYTES >> 10} KiB")
    try:
        text = source.removeprefix(b"\xef\xbb\xbf").decode()  # the codec utf-8-sig would have to be imported
    except UnicodeDecodeError as error:
        raise UnreadableSketchError(f"byte {error.start} is not UTF-8") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes in texts; showing one would open a file
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise UnreadableSketchError(f"line {error.lineno or 1}: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise UnreadableSketchError(f"it can't be parsed ({type(error).__name__})") from None
    functions: list[SketchFunction] = []
    classes: list[SketchClass] = []
    for node in _declarations(tree.body, 0):
        if isinstance(node, ast.ClassDef):
            if len(classes) >= MAX_CLASSES:
                raise UnreadableSketchError(f"more than {MAX_CLASSES} classes")
            classes.append(_class(node))
            functions.extend(
                _function(each, node.name) for each in _declarations(node.body, 0) if not isinstance(each, ast.ClassDef)
            )
        else:
            functions.append(_function(node, ""))
        if len(functions) > MAX_FUNCTIONS:
            raise UnreadableSketchError(f"more than {MAX_FUNCTIONS:,} functions")
    return SketchListing(_docstring(tree), tuple(functions), tuple(classes))


def _declarations(body: Iterable[ast.stmt], depth: int) -> Iterator[Function | ast.ClassDef]:
    """Functions and classes, also those under a condition."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef):
            yield node
        elif depth < MAX_BLOCK_DEPTH and isinstance(node, ast.If | ast.Try):
            yield from _declarations([*node.body, *node.orelse], depth + 1)


def _function(node: Function, class_name: str) -> SketchFunction:
    return SketchFunction(
        name=_text(node.name, 300),
        class_name=_text(class_name, 300),
        line=node.lineno,
        is_async=isinstance(node, ast.AsyncFunctionDef),
        arguments=tuple(_arguments(node.args)),
        returns=_annotation(node.returns),
        docstring=_docstring(node),
        decorators=_names(node.decorator_list),
    )


def _arguments(node: ast.arguments) -> Iterator[SketchArgument]:
    plain: list[tuple[ast.arg, ArgumentKind]] = [(each, "positional_only") for each in node.posonlyargs]
    plain += [(each, "positional") for each in node.args]
    count = len(plain) + len(node.kwonlyargs)
    if count > MAX_ARGUMENTS:
        raise UnreadableSketchError(f"a function has more than {MAX_ARGUMENTS} arguments")
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(node.defaults))
    for (argument, kind), default in zip(plain, [*defaults, *node.defaults], strict=True):
        yield _argument(argument.arg, kind, argument.annotation, default)
    if node.vararg is not None:
        yield _argument(node.vararg.arg, "var_positional", node.vararg.annotation, None)
    for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        yield _argument(argument.arg, "keyword_only", argument.annotation, default)
    if node.kwarg is not None:
        yield _argument(node.kwarg.arg, "var_keyword", node.kwarg.annotation, None)


def _argument(name: str, kind: ArgumentKind, annotation: ast.expr | None, default: ast.expr | None) -> SketchArgument:
    return SketchArgument(_text(name, 300), kind, _annotation(annotation), default is not None, _literal(default))


def _class(node: ast.ClassDef) -> SketchClass:
    fields = [
        _argument(each.target.id, "keyword_only", each.annotation, each.value)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    return SketchClass(
        _text(node.name, 300),
        _names(node.bases),
        _docstring(node),
        tuple(fields[:MAX_ARGUMENTS]),
        _names(node.decorator_list),
    )


def _names(nodes: list[ast.expr]) -> tuple[str, ...]:
    """Dotted names of decorators and bases; what is no name is passed over."""
    found = []
    for node in nodes[:MAX_DECORATORS]:
        parts: list[str] = []
        inner = node.func if isinstance(node, ast.Call) else node
        while isinstance(inner, ast.Attribute) and len(parts) < 10:
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            found.append(_text(".".join([inner.id, *reversed(parts)]), 300))
    return tuple(found)


def _is_small(node: ast.AST) -> bool:
    return all(place < MAX_NODES for place, _ in enumerate(ast.walk(node)))


def _annotation(node: ast.expr | None) -> str | None:
    if node is None or not _is_small(node):
        return None
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):
        return None
    return _text(text, MAX_ANNOTATION_LENGTH) if len(text) <= MAX_ANNOTATION_LENGTH else None


def _literal(node: ast.expr | None) -> str | None:
    if node is None or not _is_small(node):
        return None
    try:
        text = json.dumps(ast.literal_eval(node), allow_nan=False)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return text if len(text) <= MAX_DEFAULT_LENGTH else None


def _docstring(node: ast.Module | ast.ClassDef | Function) -> str:
    return _text(ast.get_docstring(node, clean=False) or "", MAX_DOCSTRING_LENGTH)


def _text(value: str, limit: int) -> str:
    """Text that a frame can carry: half surrogates are replaced."""
    return value[:limit].encode("utf-8", "replace").decode()
