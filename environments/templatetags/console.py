"""Template tags and filters of the console: icons, short codes, times, durations and counts."""

import json
from datetime import UTC, datetime, timedelta
from functools import cache

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from environments.models import Job

register = template.Library()

ICON_SPRITE = "icons/bootstrap-icons-1.13.2.svg"
SHORT_CODE_LENGTH = 8
NOTHING = "—"
THEME_ORDER = ["system", "light", "dark"]


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return the icon `name` of the sprite, hidden from screen readers: a word always stands beside it."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', _sprite(), name)


@cache
def _sprite() -> str:
    """The sprite's address, looked up once: a list asks for a hundred icons."""
    return static(ICON_SPRITE)


@register.simple_tag
def short_code(code: object) -> SafeString:
    """Return the first eight characters of `code` as a button that copies the whole of it."""
    text = str(code)
    return format_html(
        '<button type="button" class="short-code" data-copy="{}" title="{}">{}{}</button>',
        text,
        _("Copy %(code)s") % {"code": text},
        text[:SHORT_CODE_LENGTH],
        icon("copy"),
    )


@register.simple_tag
def local_time(moment: datetime | None) -> SafeString | str:
    """Return a `<time>` in UTC, which `times.js` rewrites to local time; a dash when there is none."""
    if moment is None:
        return NOTHING
    moment = moment.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-local>{}</time>', moment.isoformat(), date_format(moment, "Y-m-d H:i:s") + " UTC"
    )


@register.filter
def duration(value: timedelta | float | None) -> str:
    """Return a span of time, given as a timedelta or in seconds, in its two largest units, as `3 min 12 s`."""
    if value is None or value == "":
        return NOTHING
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if seconds < 1:
        return _("%(count)d ms") % {"count": round(seconds * 1000)}
    if seconds < 10:
        return _("%(count)s s") % {"count": number_format(seconds, decimal_pos=1)}
    minutes, whole_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return _("%(days)d d %(hours)d h") % {"days": days, "hours": hours}
    if hours:
        return _("%(hours)d h %(minutes)02d min") % {"hours": hours, "minutes": minutes}
    if minutes:
        return _("%(minutes)d min %(seconds)02d s") % {"minutes": minutes, "seconds": whole_seconds}
    return _("%(seconds)d s") % {"seconds": whole_seconds}


@register.filter
def count(value: int | str | None) -> str:
    """Return a whole number with its thousands grouped, as `1,240`; a dash when there is none."""
    if value is None or value == "":
        return NOTHING
    return number_format(value, decimal_pos=0, force_grouping=True)


@register.filter
def rate(value: float | None) -> str:
    """Return a number per second with three significant digits at most; a dash when there is none."""
    if value is None:
        return NOTHING
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return number_format(value, decimal_pos=decimals, force_grouping=True)


@register.filter
def next_theme(theme: str) -> str:
    """Return the theme that the switch sets next: system, light, dark and again."""
    return THEME_ORDER[(THEME_ORDER.index(theme) + 1) % len(THEME_ORDER)]


@register.filter
def as_json(value: object) -> str:
    """Return a value as indented JSON, for a `<pre>`; autoescape still applies."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@register.filter
def is_plain(value: object) -> bool:
    """Return whether a JSON value reads well on one line: no object, and no list that holds one."""
    if isinstance(value, list):
        return bool(value) and not any(isinstance(part, dict | list) for part in value)
    return not isinstance(value, dict)


@register.filter
def plain_text(value: object) -> str:
    """Return a plain JSON value, or a list of them, as people write it."""
    if isinstance(value, list):
        return ", ".join(plain_text(part) for part in value)
    if value is None or value == "":
        return NOTHING
    return value if isinstance(value, str) else json.dumps(value)


@register.filter
def took(job: Job) -> timedelta | None:
    """Return how long the job has run, or ran; None when it has not begun."""
    if job.started_at is None:
        return None
    return (job.finished_at or timezone.now()) - job.started_at
