"""Template tags of the replay: sizes, signs of calls, exact JSON on many lines, found words marked."""

import re
from collections.abc import Iterator

import orjson
from django import template
from django.utils.formats import number_format
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from environments.models import ToolCall
from environments.templatetags.records import visible

register = template.Library()

SIGNS = {
    ToolCall.Status.SUCCESS.value: ("✓", "pass"),
    ToolCall.Status.REJECTION.value: ("!", "undecided"),
    ToolCall.Status.INVALID.value: ("!", "undecided"),
    ToolCall.Status.FAILURE.value: ("✗", "fail"),
    ToolCall.Status.INFRASTRUCTURE.value: ("✗", "fail"),
}
CULPRITS = {
    ToolCall.Status.INVALID.value: "agent",
    ToolCall.Status.FAILURE.value: "environment",
    ToolCall.Status.INFRASTRUCTURE.value: "infrastructure",
}
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
"""Strings, punctuation, and everything else that JSON can hold."""


@register.filter
def size(num_bytes: int | None) -> str:
    """Return a size in its largest whole unit, as `412 B`, `3.1 KB` or `5.0 MB`."""
    if num_bytes is None:
        return ""
    if num_bytes < 1024:
        return f"{num_bytes} B"
    for unit, step in (("KB", 1 << 10), ("MB", 1 << 20)):
        if num_bytes < step * 1024 or unit == "MB":
            return f"{number_format(round(num_bytes / step, 1), decimal_pos=1)} {unit}"
    raise AssertionError


@register.filter
def call_sign(status: str) -> str:
    """Return the sign of a call's status."""
    return SIGNS[status][0]


@register.filter
def call_verdict(status: str) -> str:
    """Return the verdict whose colour a call's status has: pass, undecided or fail."""
    return SIGNS[status][1]


@register.filter
def call_culprit(status: str) -> str:
    """Return whose fault a call that gave no result is; nothing for a success and for a tool's own refusal."""
    return CULPRITS.get(status, "")


@register.filter
def on_lines(text: str) -> str:
    """Return JSON over many lines with every name, number and string as it stands; what is no JSON as it is."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return "".join(_indented(text))


def _indented(text: str) -> Iterator[str]:
    depth = 0
    before = ""
    for part in _TOKENS.findall(text):
        if part in ("}", "]"):
            depth -= 1
            if before not in ("{", "["):
                yield "\n" + "  " * depth
        elif before in ("{", "[", ","):
            yield "\n" + "  " * depth
        if part in ("{", "["):
            depth += 1
        yield ": " if part == ":" else part
        before = part


@register.filter
def with_marks(text: str, words: str) -> SafeString | str:
    """Return text from outside, made visible, with the words that were searched for marked."""
    if not words:
        return visible(text)
    parts = re.split(f"({re.escape(words)})", text, flags=re.IGNORECASE)
    marked = (
        format_html("<mark>{}</mark>", visible(part)) if place % 2 else conditional_escape(visible(part))
        for place, part in enumerate(parts)
    )
    return mark_safe("".join(marked))  # noqa: S308 - each part is escaped


@register.filter
def compared_word(word: str) -> str:
    """Return the sign and the word for how a fork's call compares with the record's."""
    words = {
        "same": _("= same"),
        "differs": _("≠ differs"),
        "edited": _("≠ edited"),
        "added": _("+ added"),
    }
    return words.get(word, "")
