"""What the admin's pages share: rows that can only be looked at, and how their values are shown."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.db import models
from django.db.models.functions import Left, Length
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _

if TYPE_CHECKING:  # generic to the type checker only
    ModelAdmin = admin.ModelAdmin[models.Model]
else:
    ModelAdmin = admin.ModelAdmin

PREVIEW_CHARACTERS: Final = 20_000
"""How much of a long text the page of a row shows; a whole scenario or result may have megabytes."""
NOTHING: Final = "-"
"""Shown where there is no value, as Django's admin does."""
VERSION_CONTENT: Final = ("version__schema_sql", "version__tools_py")
SECTION_ROWS: Final = 20
"""Rows of another table that a page lists; the rest is behind a link."""


class ReadOnlyAdmin(ModelAdmin):
    """Rows that can be looked at only."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody may."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody may."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody may."""
        return False


@dataclass(frozen=True, slots=True)
class Section:
    """Some rows of another table on the page of a row.

    Attributes:
        title: What they are.
        head: Words above the columns.
        rows: Their cells.
        total: How many there are in all.
        address: Where the rest is; empty if there is no such list.
        empty: Said instead of a table without rows.
    """

    title: Any
    head: tuple[Any, ...]
    rows: Sequence[Sequence[Any]]
    total: int
    address: str = ""
    empty: Any = ""


@dataclass(frozen=True, slots=True)
class PageLink:
    """A button above a page."""

    label: Any
    address: str


class RegistryAdmin(ReadOnlyAdmin):
    """Rows of the registry: long columns are never read by a list, and on a row's own page only their start is."""

    wide: ClassVar[tuple[str, ...]] = ()
    """Columns that may hold megabytes; `preview(name)` shows them."""
    unread: ClassVar[tuple[str, ...]] = ()
    """Long columns of the rows beside, which are never read."""

    show_full_result_count = False
    list_per_page = 50
    actions_selection_counter = False
    change_form_template = "admin/environments/row.html"

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Without long columns; for a row's own page with their start and length."""
        rows: models.QuerySet[Any] = super().get_queryset(request).defer(*self.wide, *self.unread)
        if isinstance(self.list_select_related, list):
            rows = rows.select_related(*self.list_select_related)
        if not is_of_one_row(request):
            return rows
        starts = {f"{name}_start": Left(name, PREVIEW_CHARACTERS) for name in self.wide}
        lengths = {f"{name}_length": Length(name) for name in self.wide}
        return cast("models.QuerySet[Any]", rows.annotate(**starts, **lengths))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any] | tuple[Any, ...]:
        """All that the page names."""
        return flatten_fieldsets(self.get_fieldsets(request, obj))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """What the class states; fields are not asked of a form, for there is none."""
        return self.fieldsets or [(None, {"fields": self.fields or ()})]

    def sections(self, request: HttpRequest, row: Any) -> Iterable[Section]:
        """Rows of other tables that belong to the row."""
        return ()

    def page_links(self, request: HttpRequest, row: Any) -> Iterable[PageLink]:
        """Buttons above the row's page."""
        return ()

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **more: Any
    ) -> HttpResponse:
        """The row's page with its sections and buttons."""
        row = more["obj"] if "obj" in more else args[-1]
        context |= {"sections": list(self.sections(request, row)), "page_links": list(self.page_links(request, row))}
        return super().render_change_form(request, context, *args, **more)


def is_of_one_row(request: HttpRequest) -> bool:
    """Whether the page is a row's own."""
    return request.resolver_match is not None and "object_id" in request.resolver_match.kwargs


# --- Values -----------------------------------------------------------------------------------------------------------


def row_address(row: models.Model) -> str:
    """The admin page of a row."""
    options = row._meta
    return reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[row.pk])


def list_address(model: type[models.Model], **wanted: Any) -> str:
    """The admin list of a table, narrowed by lookups."""
    options = model._meta
    address = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
    return f"{address}?{'&'.join(f'{name}={value}' for name, value in wanted.items())}" if wanted else address


def row_link(row: models.Model | None, text: Any = None) -> Any:
    """A link to a row's admin page; a dash for no row."""
    if row is None:
        return NOTHING
    return format_html('<a href="{}">{}</a>', row_address(row), str(row) if text is None else text)


def outside_link(address: str | None) -> Any:
    """An address that a pack names: followed only on the web, and shown as it is written."""
    if not address:
        return NOTHING
    if not address.startswith(("https://", "http://")):
        return address
    return format_html('<a href="{}" rel="noopener noreferrer nofollow">{}</a>', address, address)


def code_text(text: Any) -> SafeString:
    """A hash, code or name, in the type for such."""
    return format_html("<code>{}</code>", text)


def short_hash(sha256: str) -> SafeString:
    """The start of a hash, for tables; the rest is told on hover and on the row's own page."""
    return format_html('<code title="{}">{}…</code>', sha256, sha256[:12])


def moment(at: datetime) -> str:
    """A time as Django's admin shows it."""
    return date_format(timezone.localtime(at), "DATETIME_FORMAT")


def shown(name: str, label: Any) -> Any:
    """A column or field under another label."""

    @admin.display(description=label, ordering=name)
    def show(row: Any) -> Any:
        value = getattr(row, name)
        if isinstance(value, datetime):
            return moment(value)
        return NOTHING if value in (None, "") else value

    return show


def linked(name: str, label: Any = None) -> Any:
    """A column that links to the row that a foreign key points to."""

    @admin.display(description=label or name.replace("_", " "), ordering=name)
    def show(row: Any) -> Any:
        return row_link(getattr(row, name))

    return show


def preview(name: str, label: Any = None) -> Any:
    """A field that shows the start of a wide column; JSON that is short enough is laid out."""

    @admin.display(description=label or name.replace("_", " "))
    def show(row: Any) -> Any:
        return long_text(getattr(row, f"{name}_start"), getattr(row, f"{name}_length"))

    return show


def long_text(start: str | None, length: int | None) -> Any:
    """The start of a text, and how long it is where that is not all."""
    if start is None or length is None:
        return NOTHING
    if len(start) < length:
        words = _("The first %(shown)s of %(all)s characters.") % {"shown": f"{len(start):,}", "all": f"{length:,}"}
        return format_html('<pre tabindex="0">{}</pre><p class="help">{}</p>', start, words)
    return format_html('<pre tabindex="0">{}</pre>', _laid_out(start))


def _laid_out(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(value, indent=2, ensure_ascii=False)


def words(value: Any) -> str:
    """A stable word as people read it."""
    return capfirst(str(value).replace("_", " "))
