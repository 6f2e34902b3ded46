"""Panels of the home page that belong to this app."""

from collections import Counter
from typing import Any

from django.conf import settings
from django.db.models import Count, Sum
from django.urls import reverse
from django.utils.translation import gettext as _

from environments import services
from environments.core.access import Permission
from environments.models import Environment, EnvironmentVersion, Job, Source, SourceDocument, User, VerificationRun
from environments.services.self_check import SELF_CHECK
from environments.views.job_page import narrow

NUM_JOBS_SHOWN = 6
NUM_RUNS_SHOWN = 4


def next_steps(user: User) -> dict[str, Any]:
    """What the person could usefully do now, the most useful first."""
    steps = []
    failed = Job.objects.top_level().filter(created_by=user, status=Job.Status.FAILED)
    last_failed = narrow(failed).order_by("-id").first()
    if last_failed is not None:
        steps.append(
            {
                "title": _("%(title)s failed") % {"title": last_failed.title},
                "text": _("Its page says why and what to do; what finished is kept when you retry."),
                "url": reverse("job_detail", args=[last_failed.code]),
                "action": _("See why"),
            }
        )
    if user.may(Permission.RUN_JOBS):
        is_checked = Job.objects.filter(kind=SELF_CHECK.name, status=Job.Status.SUCCEEDED).exists()
        if not is_checked:
            steps.append(
                {
                    "title": _("Check this installation"),
                    "text": _("The self-check tries every service and every queue once, in a few seconds."),
                    "url": reverse("job_new") + f"?kind={SELF_CHECK.name}",
                    "action": _("Run the self-check"),
                }
            )
        steps.append(
            {
                "title": _("Start a job"),
                "text": _("Choose its kind, fill in what it needs, and watch it run."),
                "url": reverse("job_new"),
                "action": _("Start a job"),
            }
        )
    if not user.api_tokens.exists():
        steps.append(
            {
                "title": _("Let a program in"),
                "text": _("An API token lets scripts and pipelines do what you may do here."),
                "url": reverse("settings") + "#tokens",
                "action": _("Make a token"),
            }
        )
    steps.append(
        {
            "title": _("Find your way"),
            "text": _("The keyboard, what each role may do, and what the words mean."),
            "url": reverse("help"),
            "action": _("Read the help"),
        }
    )
    return {"steps": steps[:3]}


def jobs(user: User) -> dict[str, Any]:
    """Running jobs of everybody, and the latest of the person."""
    unfinished = Job.objects.top_level().unfinished()
    return {
        "running": narrow(unfinished).order_by("-id")[:NUM_JOBS_SHOWN],
        "num_running": unfinished.count(),
        "mine": narrow(Job.objects.top_level().filter(created_by=user)).order_by("-id")[:NUM_JOBS_SHOWN],
        "may_start": user.may(Permission.RUN_JOBS),
    }


def environment_health(user: User) -> dict[str, Any]:
    """How many environments there are by the status of their newest version, and the newest verifications."""
    statuses = Environment.objects.order_by().values_list("latest_version__status")
    counts = Counter(dict(statuses.annotate(num=Count("pk"))))
    runs = VerificationRun.objects.select_related("version__environment").defer(
        "findings", "effects", "version__schema_sql", "version__tools_py"
    )
    return {
        "is_aside": True,
        "num_environments": counts.total(),
        "counts": [(status, counts[status]) for status in EnvironmentVersion.Status if counts[status]],
        "runs": runs.order_by("-id")[:NUM_RUNS_SHOWN],
        "may_start": user.may(Permission.RUN_JOBS),
    }


def source_figures(user: User) -> dict[str, Any]:
    """How many sources there are, and what was kept of what their newest documents hold."""
    latest = SourceDocument.objects.latest()
    return {
        "is_aside": True,
        "num_sources": Source.objects.filter(latest_document__isnull=False).count(),
        "num_unreadable": latest.filter(status=SourceDocument.Status.UNREADABLE).count(),
        **latest.aggregate(num_operations=Sum("num_operations"), num_kept=Sum("num_kept")),
        "may_start": user.may(Permission.RUN_JOBS),
    }


def service_health(user: User) -> dict[str, Any]:
    """Whether what the console needs answers now; the words of a failed check are for operators."""
    shows_words = user.may(Permission.RUN_JOBS)
    checks = [
        {"name": check.name, "is_ok": check.is_ok, "message": check.message if check.is_ok or shows_words else ""}
        for check in services.readiness()
    ]
    return {"is_aside": True, "checks": checks, "facts": [(_("Version"), settings.ENVFACTORY_VERSION)]}
