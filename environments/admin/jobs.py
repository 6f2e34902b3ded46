"""Jobs, what they logged, and people's decisions."""

from django.contrib import admin

from environments.admin.base import ReadOnlyAdmin
from environments.models import Decision, Job, JobEvent


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Work of every kind; it is steered in the console."""

    list_display = ["code", "kind", "status", "stage", "done_units", "total_units", "created_by", "created_at"]
    list_filter = ["status", "kind", "queue", ("parent", admin.EmptyFieldListFilter)]
    search_fields = ["code", "kind", "error_code"]
    list_select_related = ["created_by"]
    date_hierarchy = "created_at"
    show_full_result_count = False


@admin.register(JobEvent)
class JobEventAdmin(ReadOnlyAdmin):
    """Log and progress of jobs, append-only."""

    list_display = ["id", "job", "at", "kind", "level", "stage", "text"]
    list_filter = ["kind", "level"]
    search_fields = ["job__code", "text"]
    list_select_related = ["job"]
    show_full_result_count = False


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    """People's verdicts, append-only."""

    list_display = ["at", "actor", "verdict", "subject_kind", "subject_code", "reason_codes"]
    list_filter = ["verdict", "subject_kind", "actor"]
    search_fields = ["subject_code", "subject_sha256", "note"]
    list_select_related = ["actor"]
    date_hierarchy = "at"
