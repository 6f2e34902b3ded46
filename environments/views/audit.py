"""The audit trail: who changed what, and who decided what."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from django.views.decorators.http import require_GET

from environments.core.access import Permission
from environments.forms import AuditFilterForm
from environments.models import AuditEvent, Decision, LatePaginator
from environments.web import HtmxHttpRequest, permission_required, render_page

PAGE_SIZE = 100
DECISIONS = "decisions"


@require_GET
@permission_required(Permission.ADMINISTER)
def audit(request: HtmxHttpRequest) -> HttpResponse:
    """Newest first, filtered by person, action and object; `?show=decisions` shows the decisions instead."""
    form = AuditFilterForm(request.GET)
    form.is_valid()
    wanted = form.cleaned_data
    shows_decisions = request.GET.get("show") == DECISIONS
    rows: QuerySet[Any] = _decisions(wanted) if shows_decisions else _events(wanted)
    if wanted.get("actor"):
        rows = rows.filter(actor__username__iexact=wanted["actor"])
    if wanted.get("subject"):
        rows = rows.filter(subject_code=_whole_code(wanted["subject"]))
    context = {
        "form": form,
        "page": LatePaginator(rows.select_related("actor").order_by("-id"), PAGE_SIZE).get_page(
            request.GET.get("page")
        ),
        "is_filtered": any(wanted.values()),
        "shows_decisions": shows_decisions,
    }
    return render_page(request, "environments/audit.html", context, partial="audit_rows")


def _events(wanted: dict[str, Any]) -> QuerySet[AuditEvent]:
    rows = AuditEvent.objects.all()
    return rows.filter(action__startswith=wanted["action"]) if wanted.get("action") else rows


def _decisions(wanted: dict[str, Any]) -> QuerySet[Decision]:
    rows = Decision.objects.all()
    return rows.filter(verdict__startswith=wanted["action"]) if wanted.get("action") else rows


def _whole_code(text: str) -> str:
    """The code as the table writes it, however it was pasted; a code that fits nothing when it is none."""
    try:
        return str(UUID(text))
    except ValueError:
        return str(UUID(int=0))
