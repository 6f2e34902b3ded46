"""People, their API tokens, and the audit trail."""

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from environments.admin.base import ReadOnlyAdmin
from environments.forms import LoginForm
from environments.models import ApiToken, AuditEvent, User
from environments.services import record_audit

if TYPE_CHECKING:  # generic to the type checker only
    BaseUserAdmin = DjangoUserAdmin[User]
else:
    BaseUserAdmin = DjangoUserAdmin


class AdminLoginForm(LoginForm, AdminAuthenticationForm):
    """The admin site's own log-in page, under the same limit on attempts as the console's."""


@admin.register(User)
class UserAdmin(BaseUserAdmin):
    """People; what an admin changes about somebody is audited, and nobody with a history is deleted."""

    list_display = ["username", "role", "is_lead", "is_active", "last_login", "date_joined"]
    list_filter = ["role", "is_lead", "is_active"]
    search_fields = ["username", "first_name", "last_name", "email"]
    ordering = ["username"]
    readonly_fields = ["code", "last_login", "date_joined"]
    filter_horizontal = ()
    fieldsets = [
        (None, {"fields": ["username", "password", "code"]}),
        (_("Person"), {"fields": ["first_name", "last_name", "email"]}),
        (_("Access"), {"fields": ["role", "is_lead", "is_active"]}),
        (_("Console"), {"fields": ["theme", "density"]}),
        (_("Dates"), {"fields": ["last_login", "date_joined"]}),
    ]
    add_fieldsets = [(None, {"fields": ["username", "usable_password", "password1", "password2", "role", "is_lead"]})]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody may: decisions and audit rows name their author for ever. Make the person inactive instead."""
        return False

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Saves and audits."""
        super().save_model(request, obj, form, change)
        detail = {"fields": sorted(form.changed_data), "role": obj.role}
        self._audit(request, "user.change" if change else "user.create", obj, detail)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """The page that sets another person's password; it does not pass through `save_model`."""
        response = super().user_change_password(request, id, form_url)
        if request.method == "POST" and response.status_code == HTTPStatus.FOUND:
            self._audit(request, "user.change_password", User.objects.get(pk=id), {})
        return response

    def _audit(self, request: HttpRequest, action: str, subject: User, detail: dict[str, Any]) -> None:
        assert isinstance(request.user, User)  # noqa: S101 - the admin site lets nobody else in
        record_audit(
            actor=request.user,
            action=action,
            subject_kind="user",
            subject_code=str(subject.code),
            detail=detail,
            address=request.META.get("REMOTE_ADDR"),
        )


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Tokens of all people; each person creates and revokes their own in the console."""

    list_display = ["name", "prefix", "user", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter), "user"]
    search_fields = ["name", "prefix", "user__username"]
    list_select_related = ["user"]
    exclude = ["key_hash"]


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    """Who changed what, append-only."""

    list_display = ["at", "actor", "action", "subject_kind", "subject_code", "address"]
    list_filter = ["action", "subject_kind", "actor"]
    search_fields = ["subject_code", "action"]
    list_select_related = ["actor"]
    date_hierarchy = "at"
