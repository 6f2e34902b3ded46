"""A person's own sessions: the list, and closing some of them."""

from uuid import UUID

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from environments import services
from environments.forms import SessionFilterForm
from environments.models import EnvironmentSession, LatePaginator
from environments.views.facets import FacetKind, make_facets
from environments.views.replay import own_session
from environments.web import HtmxHttpRequest, redirect_after, render_page

PAGE_SIZE = 50
FACETS = (
    FacetKind("status", gettext_lazy("Status"), dict(EnvironmentSession.Status.choices)),
    FacetKind("environment", gettext_lazy("Environment"), {}),
)
SORTS = {
    "-used": ("-used_at", "-id"),
    "used": ("used_at", "id"),
    "-calls": ("-num_calls", "-id"),
    "calls": ("num_calls", "id"),
}


@require_GET
def session_list(request: HtmxHttpRequest) -> HttpResponse:
    """The person's sessions; facets, order and page are the address."""
    form = SessionFilterForm(request.GET)
    form.is_valid()
    wanted: dict[str, str] = form.cleaned_data
    mine = EnvironmentSession.objects.for_user(request.user)
    counted = mine.order_by().values_list("status", "version__environment__name").annotate(num=Count("pk"))
    facets, num_left = make_facets(
        FACETS, [((status, name), num) for status, name, num in counted], wanted, request.GET, any_label=_("Any")
    )
    rows = mine.for_list().select_related("forked_from").defer("forked_from__snapshot", "forked_from__start_snapshot")
    if wanted.get("status"):
        rows = rows.filter(status=wanted["status"])
    if wanted.get("environment"):
        rows = rows.filter(version__environment__name=wanted["environment"])
    sort = request.GET.get("sort", "-used")
    paginator = LatePaginator(rows.order_by(*SORTS.get(sort, SORTS["-used"])), PAGE_SIZE)
    paginator.__dict__["count"] = num_left  # the facets have counted already
    context = {
        "facets": facets,
        "page": paginator.get_page(request.GET.get("page")),
        "sort": sort if sort in SORTS else "-used",
        "is_filtered": any(wanted.values()),
    }
    return render_page(request, "environments/session_list.html", context, partial="sessions")


@require_POST
def session_close(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Ends one session; its transcript stays."""
    services.close_session(session=own_session(request, code))
    messages.success(request, _("The session is closed; its steps can still be read."))
    return redirect_after(request, reverse("session_detail", args=[code]))


@require_POST
def session_close_many(request: HtmxHttpRequest) -> HttpResponse:
    """Ends the chosen sessions; those of others are passed over."""
    codes = []
    for text in request.POST.getlist("session")[:PAGE_SIZE]:
        try:
            codes.append(UUID(text))
        except ValueError:
            continue
    chosen = EnvironmentSession.objects.for_user(request.user).filter(code__in=codes)
    sessions = list(chosen.exclude(status=EnvironmentSession.Status.CLOSED))
    for session in sessions:
        services.close_session(session=session)
    if sessions:
        said = ngettext("%(num)d session is closed.", "%(num)d sessions are closed.", len(sessions))
        messages.success(request, said % {"num": len(sessions)})
    else:
        messages.info(request, _("No open session was chosen."))
    return redirect_after(request, reverse("session_list"))
