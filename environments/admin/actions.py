"""What people do in the registry's admin: import and export packs, verify versions and decide about them.

Every change goes through a service, after a page that says what will happen; nothing here writes a row itself.
"""

from collections.abc import Iterable
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from environments import services
from environments.admin.base import row_address
from environments.core.access import Permission
from environments.core.errors import EnvFactoryError, InvalidInputError, InvalidPackError, StaleStateError
from environments.jobs import start_verification
from environments.models import Decision, EnvironmentVersion, User
from environments.runtime.pack import zip_pack
from environments.runtime.pack.limits import MAX_ZIP_BYTES
from environments.web import HttpResponseSeeOther, client_address

Verdict = Decision.Verdict
MAX_AT_ONCE: Final = 100
"""Versions that one action takes: each is decided in a transaction of its own, while the person waits."""
MAX_NOTE: Final = 4_000

BUTTONS: Final = {
    Verdict.VERIFY: _("Verify"),
    Verdict.APPROVE: _("Approve"),
    Verdict.REJECT: _("Reject"),
    Verdict.RETIRE: _("Retire"),
    Verdict.DISCARD: _("Discard"),
}
CONSEQUENCES: Final = {
    Verdict.VERIFY: _(
        "A job checks the pack, runs its cases and its conformance in locked workers. If it finds nothing, the version "
        "may be used; if it finds anything, the version is rejected."
    ),
    Verdict.APPROVE: _("Its status stays as it is; the approval is recorded and shown with it."),
    Verdict.REJECT: _("No session can be opened on it any more. A later verification that passes brings it back."),
    Verdict.RETIRE: _("No session can be opened on it any more, and nothing brings it back. Its rows stay."),
    Verdict.DISCARD: _("It leaves the work for good; its rows, its history and this decision stay in the ledger."),
}
DONE: Final = {
    Verdict.APPROVE: _("%(version)s is approved."),
    Verdict.REJECT: _("%(version)s is rejected."),
    Verdict.RETIRE: _("%(version)s is retired."),
    Verdict.DISCARD: _("%(version)s is discarded."),
}


class PackForm(forms.Form):
    """A pack's zip."""

    pack = forms.FileField(
        label=_("Pack"),
        help_text=_("A zip of environment.json, schema.sql, tools.py, cases.json and scenarios/, at most 16 MiB."),
        widget=forms.ClearableFileInput({"accept": ".zip,application/zip"}),
    )

    def clean_pack(self) -> Any:
        """Refuses what would not be read anyway, before it is read."""
        upload = self.cleaned_data["pack"]
        if upload.size > MAX_ZIP_BYTES:
            raise forms.ValidationError(_("The file is larger than %(limit)s bytes."), params={"limit": MAX_ZIP_BYTES})
        return upload


class DecisionForm(forms.Form):
    """Reasons and a note; `seen` is the status that the person looked at."""

    seen = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, verdict: Decision.Verdict, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        if verdict in {Verdict.REJECT, Verdict.RETIRE, Verdict.DISCARD}:
            self.fields["reason_codes"] = forms.MultipleChoiceField(
                label=_("Reasons"),
                required=False,
                widget=forms.CheckboxSelectMultiple,
                choices=list(services.REJECT_REASONS.items()),
                help_text=_("A rejection needs at least one.") if verdict == Verdict.REJECT else "",
            )
        if verdict != Verdict.VERIFY:
            self.fields["note"] = forms.CharField(
                label=_("Note"),
                required=False,
                max_length=MAX_NOTE,
                widget=forms.Textarea({"rows": 4, "class": "vLargeTextField"}),
                help_text=_("What a reader in a year should know; the reason “Something else” needs it."),
            )

    def show_faults(self, error: InvalidInputError) -> None:
        """Puts each fault at the field that it points to, or above the form."""
        for fault in error.fields:
            name = fault.pointer.strip("/")
            self.add_error(name if name in self.fields else None, fault.detail)


def person(request: HttpRequest) -> User:
    """Who asks; the admin site lets nobody else in."""
    assert isinstance(request.user, User)  # noqa: S101 - narrows the type
    return request.user


def permission_for(verdict: Decision.Verdict) -> Permission:
    """What a person needs to decide so."""
    return Permission.RUN_JOBS if verdict == Verdict.VERIFY else Permission.REVIEW


def _require(request: HttpRequest, permission: Permission) -> User:
    user = person(request)
    if not user.may(permission):
        raise PermissionDenied(f"This needs the permission {permission}; ask an admin for it.")
    return user


# --- Packs ------------------------------------------------------------------------------------------------------------


def import_pack(request: HttpRequest, site: admin.AdminSite) -> HttpResponse:
    """The form for a zip; an import that fails lists every fault and stores nothing."""
    user = _require(request, Permission.RUN_JOBS)
    form = PackForm(request.POST, request.FILES) if request.method == "POST" else PackForm()
    faults: tuple[Any, ...] = ()
    if form.is_bound and form.is_valid():
        try:
            data = form.cleaned_data["pack"].read()
            imported = services.import_pack_file(data=data, user=user, address=client_address(request))
        except InvalidPackError as error:
            faults = error.fields
        else:
            words = (
                _("%(version)s is imported. It stays in quarantine until it is verified.")
                if imported.is_new
                else _("This content is in the registry already, as %(version)s.")
            )
            messages.success(request, words % {"version": imported.version})
            return HttpResponseSeeOther(row_address(imported.version))
    context = {"title": _("Import a pack"), "form": form, "faults": faults}
    return _page(request, site, "import_pack.html", context, 422 if form.is_bound else 200)


def export_pack(request: HttpRequest, pk: int) -> HttpResponse:
    """The pack's zip, byte for byte the same each time."""
    version = get_object_or_404(EnvironmentVersion.objects.select_related("environment"), pk=pk)
    return HttpResponse(
        zip_pack(version.to_core()),
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{version.environment.name}-{version.number}.zip"'},
    )


# --- Decisions --------------------------------------------------------------------------------------------------------


def decide(request: HttpRequest, site: admin.AdminSite, pk: int, name: str) -> HttpResponse:
    """Asks, then records the decision; 409 if the version's status does not allow it or changed meanwhile."""
    if name not in [verdict.value for verdict in BUTTONS]:
        raise Http404
    verdict = Verdict(name)
    user = _require(request, permission_for(verdict))
    version = _version(pk)
    form = DecisionForm(verdict, request.POST or None, initial={"seen": version.status})
    status, problem = 200, ""
    if request.method == "POST" and form.is_valid():
        status = 422
        try:
            if form.cleaned_data["seen"] != version.status:
                raise StaleStateError(f"{version} has become {version.status} since this page was opened.")
            _carry_out(request, user, version, verdict, form.cleaned_data)
        except InvalidInputError as error:
            form.show_faults(error)
        except StaleStateError as error:
            status, problem = 409, str(error)
            form = DecisionForm(verdict, initial={"seen": version.status})
        else:
            return HttpResponseSeeOther(row_address(version))
    elif request.method == "POST":
        status = 422
    is_allowed = verdict in services.allowed_verdicts(version)
    if not is_allowed and not problem:
        status, problem = 409, gettext("%(version)s is %(status)s, which does not allow this.") % {
            "version": version, "status": version.get_status_display().lower(),
        }  # fmt: skip
    context = {
        "title": f"{BUTTONS[verdict]}: {version}",
        "version": version,
        "address": row_address(version),
        "button": BUTTONS[verdict],
        "consequence": CONSEQUENCES[verdict],
        "form": form,
        "problem": problem,
        "is_allowed": is_allowed,
    }
    return _page(request, site, "decide_version.html", context, status)


def _carry_out(
    request: HttpRequest, user: User, version: EnvironmentVersion, verdict: Decision.Verdict, given: dict[str, Any]
) -> None:
    if verdict == Verdict.VERIFY:
        job = start_verification(version=version, user=user, address=client_address(request))
        address = reverse("job_detail", args=[job.code])
        words = _("%(version)s is being verified.") % {"version": version}
        messages.success(request, format_html('{} <a href="{}">{}</a>', words, address, _("See the job")))
        return
    services.decide_version(
        version=version,
        verdict=verdict,
        user=user,
        reason_codes=given.get("reason_codes", ()),
        note=given["note"],
    )
    messages.success(request, DONE[verdict] % {"version": version})


# --- Many at once -----------------------------------------------------------------------------------------------------


@admin.action(description=_("Verify selected versions"), permissions=["verify"])
def verify_selected(model_admin: Any, request: HttpRequest, chosen: Any) -> HttpResponse | None:
    """Starts a verification of each that allows it."""
    return _act_on_many(model_admin, request, chosen, Verdict.VERIFY)


@admin.action(description=_("Approve selected versions"), permissions=["approve"])
def approve_selected(model_admin: Any, request: HttpRequest, chosen: Any) -> HttpResponse | None:
    """Records an approval of each that is verified."""
    return _act_on_many(model_admin, request, chosen, Verdict.APPROVE)


def _act_on_many(model_admin: Any, request: HttpRequest, chosen: Any, verdict: Decision.Verdict) -> HttpResponse | None:
    user = _require(request, permission_for(verdict))
    versions = list(chosen.order_by("environment__name", "-number")[: MAX_AT_ONCE + 1])
    if len(versions) > MAX_AT_ONCE:
        words = _("Choose at most %(limit)s versions at once. Nothing was changed.") % {"limit": MAX_AT_ONCE}
        messages.error(request, words)
        return None
    # `seen` is asked for one version only: of many, each is looked at again when its turn comes.
    form = DecisionForm(verdict, {"seen": "-", **request.POST.dict()} if "confirmed" in request.POST else None)
    if not form.is_bound or not form.is_valid():
        allowed = [version for version in versions if verdict in services.allowed_verdicts(version)]
        context = {
            "title": f"{BUTTONS[verdict]}: {gettext('several versions')}",
            "allowed": allowed,
            "skipped": [version for version in versions if version not in allowed],
            "button": BUTTONS[verdict],
            "consequence": CONSEQUENCES[verdict],
            "form": form,
            "action": request.POST.get("action", ""),
            "chosen": versions,
            "checkbox": ACTION_CHECKBOX_NAME,
        }
        return _page(request, model_admin.admin_site, "decide_versions.html", context, 422 if form.is_bound else 200)
    skipped = list(_carry_out_each(request, user, versions, verdict, form.cleaned_data))
    num_done = len(versions) - len(skipped)
    if num_done:
        words = {
            Verdict.VERIFY: ngettext("%(count)s version is being verified.", "%(count)s versions are being verified.",
                                     num_done),
            Verdict.APPROVE: ngettext("%(count)s version is approved.", "%(count)s versions are approved.", num_done),
        }[verdict]  # fmt: skip
        messages.success(request, words % {"count": num_done})
    for reason in skipped:
        messages.warning(request, gettext("Skipped: %(reason)s") % {"reason": reason})
    return None


def _carry_out_each(
    request: HttpRequest, user: User, versions: Iterable[EnvironmentVersion], verdict: Decision.Verdict,
    given: dict[str, Any],
) -> Iterable[str]:  # fmt: skip
    for version in versions:
        try:
            if verdict == Verdict.VERIFY:
                start_verification(version=version, user=user, address=client_address(request))
            else:
                services.decide_version(version=version, verdict=verdict, user=user, note=given["note"])
        except EnvFactoryError as error:
            yield str(error)


# --- Pages ------------------------------------------------------------------------------------------------------------


def _version(pk: int) -> EnvironmentVersion:
    return get_object_or_404(EnvironmentVersion.objects.select_related("environment").without_content(), pk=pk)


def _page(
    request: HttpRequest, site: admin.AdminSite, template: str, context: dict[str, Any], status: int
) -> HttpResponse:
    options = EnvironmentVersion._meta
    everything = {**site.each_context(request), "opts": options, "list_address": _LIST, **context}
    return TemplateResponse(request, f"admin/environments/{template}", everything, status=status)


_LIST: Final = "admin:environments_environmentversion_changelist"
