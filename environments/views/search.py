"""The search of the top bar: the first environments and sources that hold the words, and how many there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from environments.forms import SearchForm
from environments.models import Environment, Source
from environments.web import HtmxHttpRequest, render_page

NUM_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found."""

    name: str
    note: str
    url: str


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of one kind.

    Attributes:
        label: The kind's name.
        num: All of them.
        url: The list that shows all of them.
        hits: The first `NUM_SHOWN`.
    """

    label: str
    num: int
    url: str
    hits: Sequence[Hit]


@require_GET
def search(request: HtmxHttpRequest) -> HttpResponse:
    """Both kinds side by side; each leads on to its own list, where they can be narrowed."""
    form = SearchForm(request.GET)
    form.is_valid()
    words = form.cleaned_data.get("q", "")
    found = [_environments(words), _sources(words)] if words else []
    context: dict[str, Any] = {"words": words, "found": found, "num": sum(kind.num for kind in found)}
    return render_page(request, "environments/search.html", context)


def _environments(words: str) -> Found:
    rows = Environment.objects.search(words).filter(latest_version__isnull=False)
    shown = rows.order_by("name").values_list(
        "name", "latest_version__number", "latest_version__title", "latest_version__domain"
    )
    hits = [
        Hit(name, f"{title} · {domain}", reverse("version_detail", args=[name, number]))
        for name, number, title, domain in shown[:NUM_SHOWN]
    ]
    url = reverse("environment_list", query={"q": words})
    return Found(_("Environments"), rows.count(), url, hits)


def _sources(words: str) -> Found:
    rows = Source.objects.search(words).filter(latest_document__isnull=False)
    shown = rows.order_by("latest_document__title", "address").values_list("code", "address", "latest_document__title")
    hits = [
        Hit(title or address, address, reverse("source_detail", args=[code]))
        for code, address, title in shown[:NUM_SHOWN]
    ]
    return Found(_("Sources"), rows.count(), reverse("source_list", query={"q": words}), hits)
