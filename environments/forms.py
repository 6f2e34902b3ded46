"""Forms of the environments app. A kind's JSON Schema gives a job form its fields, and alone judges what was typed."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils.translation import gettext_lazy as _

from environments.api.throttling import LoginThrottle
from environments.core.access import Scope
from environments.core.errors import FieldError
from environments.core.jobs import JobKind
from environments.models import Job, User

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


class JsonParameterField(forms.CharField):
    """A list or an object, written as JSON."""

    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false"})

    def to_python(self, value: Any) -> Any:
        """The JSON value; None for an empty text."""
        text = super().to_python(value)
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError as error:
            raise forms.ValidationError(_("This is not JSON: %(error)s"), params={"error": error}) from error

    def prepare_value(self, value: Any) -> Any:
        """The text to edit."""
        return value if isinstance(value, str) else json.dumps(value, indent=2)


class ParametersForm(forms.Form):
    """Fields for the top-level properties of a kind's schema.

    The form only turns text into JSON values; whether they are right is said by the schema, through
    `show_faults`, so that console and API never disagree.
    """

    def __init__(self, kind: JobKind, data: Mapping[str, Any] | None = None, *, initial: Mapping[str, Any]) -> None:
        super().__init__(data, initial=dict(initial), prefix="parameter")
        required = kind.parameters.get("required", [])
        for name, schema in kind.parameters.get("properties", {}).items():
            self.fields[name] = _parameter_field(name, schema, is_required=name in required)

    def parameters(self) -> dict[str, Any]:
        """The values that were given; what was left empty is left to the schema's default."""
        return {name: value for name, value in self.cleaned_data.items() if value is not None and value != ""}

    def show_faults(self, faults: Iterable[FieldError]) -> None:
        """Puts each fault at the field that it points to, or above the form."""
        for fault in faults:
            name = fault.pointer.removeprefix("/parameters").strip("/").split("/")[0]
            self.add_error(name if name in self.fields else None, fault.detail)


def _parameter_field(name: str, schema: Mapping[str, Any], *, is_required: bool) -> forms.Field:
    common: dict[str, Any] = {
        "label": schema.get("title") or name.replace("_", " ").capitalize(),
        "help_text": schema.get("description", ""),
        "required": is_required and "default" not in schema,
        "initial": schema.get("default"),
    }
    kind = schema.get("type")
    if kind == "boolean":
        return forms.BooleanField(**{**common, "required": False})
    if "enum" in schema:
        by_text = {str(value): value for value in schema["enum"]}
        choices = [(text, text) for text in by_text]
        return forms.TypedChoiceField(
            choices=choices if "default" in schema else [("", "—"), *choices], coerce=by_text.__getitem__, **common
        )
    if kind in {"integer", "number"}:
        limits = {"min": schema.get("minimum"), "max": schema.get("maximum")}
        widget = forms.NumberInput({limit: value for limit, value in limits.items() if value is not None})
        return (forms.IntegerField if kind == "integer" else forms.FloatField)(widget=widget, **common)
    if kind in {"array", "object"}:
        return JsonParameterField(**common)
    return forms.CharField(**common)


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
