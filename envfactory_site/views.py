"""Pages that belong to no app: home, help, health, and what is said when a request fails."""

from http import HTTPStatus

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from envfactory_site.problems import STATUS_OF_ERROR
from environments import services
from environments.core import errors
from environments.core.access import ROLE_PERMISSIONS, Permission, Role
from environments.core.problems import PROBLEM_TYPE, problem_body
from environments.models import User
from environments.web import HtmxHttpRequest, home_panels, render_page

API_PATH = "/api/"

PERMISSION_WORDS = {
    Permission.VIEW: _("See everything but the audit trail"),
    Permission.REVIEW: _("Claim, edit and decide on what is to be reviewed"),
    Permission.RUN_JOBS: _("Start, cancel and retry jobs"),
    Permission.EXPORT: _("Export datasets"),
    Permission.ADJUDICATE: _("Settle disagreements, override, act in bulk (also a lead of any reviewing role)"),
    Permission.ADMINISTER: _("Manage people and read the audit trail"),
}

TERMS = [
    (_("environment"), _("An executable, stateful, resettable set of tools over one state store.")),
    (_("tool"), _("A named operation with an input and an output schema and an effect, read or write.")),
    (_("scenario"), _("A named initial state: rows, clock, seed; no goal.")),
    (_("dependency edge"), _("One tool's output can fill another's input; it carries its evidence.")),
    (_("seed chain"), _("Ordered tools sampled from the tool graph, from which a task is written.")),
    (_("task"), _("An instruction together with its scenario and verifier.")),
    (_("trajectory"), _("The stored record of one run of a policy on a task.")),
    (_("verifier"), _("A deterministic check of the final state or trajectory; its result is a verdict.")),
    (_("reward"), _("A weighted number used in training, kept for each named component.")),
    (_("review"), _("A person's decision on an artefact: append-only, with author, time and reason.")),
    (_("job"), _("One piece of work on a queue, with its progress, log and result.")),
]


ERRORS_OF_REQUESTS = [
    ("parse_error", 400, _("The body is not JSON."), _("Send valid JSON, in UTF-8, with the type application/json.")),
    ("bad_request", 400, _("The request can't be read."), _("Check its address, headers and form.")),
    ("not_authenticated", 401, _("The request says not who sends it."), _("Log in, or send an API token.")),
    ("authentication_failed", 401, _("The token is not accepted."), _("Make a new token in the settings.")),
    ("csrf_failed", 403, _("The form's security token is out of date."), _("Reload the page and send it again.")),
    ("not_found", 404, _("Nothing has this address or code."), _("Check it; start again from a list.")),
    ("method_not_allowed", 405, _("The address does not take this method."), _("See Allow in the answer.")),
    ("not_acceptable", 406, _("The answer is to be of a type that is not to be had."), _("Accept application/json.")),
    ("payload_too_large", 413, _("The body is larger than a request may be."), _("Send less in one request.")),
    ("unsupported_media_type", 415, _("The body has another type than JSON."), _("Send application/json.")),
    ("throttled", 429, _("Too many requests in a short time."), _("Wait as long as Retry-After says.")),
    ("unavailable", 503, _("The database can't be reached."), _("Try again in a few seconds.")),
    ("internal_error", 500, _("A fault of the program."), _("Try again; then report time and address.")),
]

ADVICE_FOR_ERRORS = {
    "invalid_input": _("Mend each field that `errors` names and send it again."),
    "unknown_job_kind": _("Choose one of the kinds that /api/v1/job-kinds/ lists."),
    "idempotency_conflict": _("Use a new idempotency key for other parameters."),
    "invalid_pack": _("The errors name every fault of the pack by its place, with what to do about each."),
    "unreadable_source": _("Check the form of the document, and the place that the message names."),
    "fetch_refused": _("Give a public http(s) address of a document; an admin can list further networks."),
    "fetch_failed": _("The address did not answer well. Try again later."),
    "not_verified": _("Verify the version first: only verified versions can be played."),
    "session_closed": _("Open another session. The transcript of this one can still be read."),
    "session_leased": _("An agent uses the session over MCP. Try again 10 seconds after its last call."),
    "replay_differs": _("Reset the session, and verify the environment again: it answers otherwise than before."),
    "quota_exceeded": _("Close sessions that are no longer needed. An admin can raise the limit."),
    "sandbox_failed": _("A lost worker passes by itself; `manage.py sandbox_check` says whether a layer is missing."),
    "stale_state": _("Read the object again and decide on its present state."),
    "permission_denied": _("Ask an admin for the role or the scope that it needs."),
    "transient": _("Wait a little and try again."),
    "cancelled": _("Nothing: somebody asked the job to stop. Resume it on its page."),
    "lost": _("Nothing: another worker goes on with the job."),
}


@require_GET
def home(request: HtmxHttpRequest) -> HttpResponse:
    """The start: what each app's panels say to this person."""
    return render_page(request, "home.html", {"panels": home_panels(request.user)}, partial="home_panels")


@require_GET
def help_page(request: HtmxHttpRequest) -> HttpResponse:
    """Keyboard, roles and terms."""
    roles = [
        (label, [permission in ROLE_PERMISSIONS[Role(value)] for value in User.Role.values])
        for permission, label in PERMISSION_WORDS.items()
    ]
    context = {"role_names": User.Role.labels, "role_rows": roles, "terms": TERMS}
    return render_page(request, "help.html", context)


@require_GET
def help_errors(request: HtmxHttpRequest) -> HttpResponse:
    """Every error code: the `type` of a problem body points here."""
    rows = [
        {"code": code, "status": status, "meaning": meaning, "advice": advice}
        for code, status, meaning, advice in ERRORS_OF_REQUESTS
    ] + [
        {
            "code": error.code,
            "status": int(STATUS_OF_ERROR[error]) if error in STATUS_OF_ERROR else None,
            "meaning": (error.__doc__ or "").split("\n\n")[0],
            "advice": ADVICE_FOR_ERRORS.get(error.code, ""),
        }
        for error in _subclasses(errors.EnvFactoryError)
    ]
    return render_page(request, "help_errors.html", {"rows": sorted(rows, key=lambda row: str(row["code"]))})


def _subclasses(base: type[errors.EnvFactoryError]) -> list[type[errors.EnvFactoryError]]:
    """Every error class below `base` that an installed app defines."""
    return [found for child in base.__subclasses__() for found in (child, *_subclasses(child))]


@login_not_required
@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    """Says that the process answers; touches nothing else."""
    return HttpResponse("ok", content_type="text/plain")


@login_not_required
@require_GET
def readyz(request: HttpRequest) -> JsonResponse:
    """Says whether the process can take work; why not is told to people who are logged in."""
    checks = services.readiness()
    is_ready = all(check.is_ok for check in checks)
    shows_words = is_ready and request.user.is_authenticated  # a session can't be read while the database is down
    body = [
        {"name": check.name, "is_ok": check.is_ok, **({"message": check.message} if shows_words else {})}
        for check in checks
    ]
    return JsonResponse({"is_ready": is_ready, "checks": body}, status=200 if is_ready else 503)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, as a page, a region or a problem body."""
    return _failed(request, HTTPStatus.BAD_REQUEST, "bad_request", "The request can't be read.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403, as a page, a region or a problem body."""
    return _failed(request, HTTPStatus.FORBIDDEN, "permission_denied", str(exception))


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404, as a page, a region or a problem body."""
    return _failed(request, HTTPStatus.NOT_FOUND, "not_found", f"Nothing is at {request.path}.")


def server_error(request: HttpRequest) -> HttpResponse:
    """500, without a context: whatever made the fault may be what the context needs."""
    if request.path.startswith(API_PATH):
        return _problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", "A fault of the program.")
    return HttpResponse(render_to_string("500.html"), status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form whose token does not fit."""
    if request.path.startswith(API_PATH):
        return _problem(request, HTTPStatus.FORBIDDEN, "csrf_failed", reason)
    return render_page(request, "403_csrf.html", partial="problem", status=403)


def _failed(request: HttpRequest, status: HTTPStatus, code: str, detail: str) -> HttpResponse:
    if request.path.startswith(API_PATH):
        return _problem(request, status, code, detail)
    return render_page(request, f"{int(status)}.html", {"detail": detail}, partial="problem", status=int(status))


def _problem(request: HttpRequest, status: HTTPStatus, code: str, detail: str) -> JsonResponse:
    body = problem_body(status, code=code, detail=detail, instance=request.path)
    return JsonResponse(body, status=int(status), content_type=PROBLEM_TYPE)
