"""People, their API tokens, and the audit trail of what they changed."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, ClassVar, Self

from django.contrib.auth.models import AbstractUser
from django.contrib.auth.models import UserManager as DjangoUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from environments.core.access import Permission, Role, Scope, role_permissions, scope_permissions
from environments.models.statements import execute_prepared


class UserManager(DjangoUserManager["User"]):
    """Creates users by role; the role decides Django's staff and superuser flags."""

    def create_superuser(
        self, username: str, email: str | None = None, password: str | None = None, **extra_fields: Any
    ) -> "User":
        """Creates an admin; `createsuperuser` comes here."""
        extra_fields.pop("is_staff", None)
        extra_fields.pop("is_superuser", None)
        return self.create_user(username, email, password, role=User.Role.ADMIN, **extra_fields)


class User(AbstractUser):
    """A person (or a service account) with one role."""

    class Role(models.TextChoices):
        """The roles of `environments.core.access`."""

        VIEWER = Role.VIEWER.value, _("Viewer")
        REVIEWER = Role.REVIEWER.value, _("Reviewer")
        OPERATOR = Role.OPERATOR.value, _("Operator")
        ADMIN = Role.ADMIN.value, _("Admin")

    class Theme(models.TextChoices):
        """Which set of colours the console uses."""

        SYSTEM = "system", _("As the system")
        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    class Density(models.TextChoices):
        """How much space the console leaves between rows."""

        COMFORTABLE = "comfortable", _("Comfortable")
        COMPACT = "compact", _("Compact")

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    role = models.CharField(_("role"), max_length=16, choices=Role, default=Role.VIEWER)
    is_lead = models.BooleanField(
        _("lead"), default=False, help_text=_("May adjudicate: settle disagreements, override and act in bulk.")
    )
    theme = models.CharField(_("theme"), max_length=16, choices=Theme, default=Theme.SYSTEM)
    density = models.CharField(_("density"), max_length=16, choices=Density, default=Density.COMFORTABLE)

    objects: ClassVar[UserManager] = UserManager()

    class Meta(AbstractUser.Meta):
        ordering = ["username"]
        constraints = [
            models.CheckConstraint(condition=Q(role__in=[role.value for role in Role]), name="user_role_known"),
            models.CheckConstraint(
                condition=(Q(role=Role.ADMIN.value) & Q(is_superuser=True))
                | (~Q(role=Role.ADMIN.value) & Q(is_superuser=False)),
                name="user_superuser_is_admin",
            ),
        ]

    def __str__(self) -> str:
        return self.username

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Saves; operators and admins may enter the admin site, and only admins are superusers."""
        self.is_staff = self.role in {self.Role.OPERATOR, self.Role.ADMIN}
        self.is_superuser = self.role == self.Role.ADMIN
        if kwargs.get("update_fields") is not None and "role" in kwargs["update_fields"]:
            kwargs["update_fields"] = {*kwargs["update_fields"], "is_staff", "is_superuser"}
        super().save(*args, **kwargs)

    @property
    def permissions(self) -> frozenset[Permission]:
        """What the person may do; nothing when inactive."""
        return role_permissions(Role(self.role), is_lead=self.is_lead) if self.is_active else frozenset()

    def may(self, permission: Permission) -> bool:
        """Whether the person has the permission."""
        return permission in self.permissions


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Chains over tokens."""

    def usable(self) -> "ApiTokenQuerySet":
        """Neither revoked nor expired, of an active person."""
        return self.filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now()), revoked_at__isnull=True, user__is_active=True
        )


class ApiToken(models.Model):
    """A key for the API. Only its keyed hash is kept; the key itself is shown once."""

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="api_tokens")
    name = models.CharField(_("name"), max_length=80)
    prefix = models.CharField(max_length=12, help_text=_("The start of the key, to recognise it by."))
    key_hash = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=16, choices=[(scope.value, scope.value) for scope in Scope]))
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(condition=Q(scopes__len__gt=0), name="api_token_has_scope"),
            models.CheckConstraint(
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")),
                name="api_token_expires_after_creation",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @classmethod
    def read_usable(cls, key_hash: str) -> Self | None:
        """The usable token with that hash and its owner; None if there is none.

        One statement whose text is fixed, since every request with a token asks: Django takes a millisecond to write
        the same as `usable().select_related("user")` anew.
        """
        found = execute_prepared(_usable_sql(), {"hash": key_hash, "now": timezone.now()})
        if found is None:
            return None
        names, owners = _columns(cls), _columns(User)
        token = cls.from_db(connection.alias, names, found[: len(names)])
        token.user = User.from_db(connection.alias, owners, found[len(names) :])
        return token

    @property
    def permissions(self) -> frozenset[Permission]:
        """What a bearer may do: the owner's permissions, cut down to the scopes."""
        return self.user.permissions & scope_permissions(Scope(scope) for scope in self.scopes)

    @property
    def is_usable(self) -> bool:
        """Whether the key is accepted now."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > timezone.now())

    def touch(self) -> None:
        """Notes that the key was used, at most once a minute."""
        now = timezone.now()
        if self.last_used_at is None or now - self.last_used_at > timedelta(minutes=1):
            type(self).objects.filter(pk=self.pk).update(last_used_at=now)


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token that was let in, and what must still be so for it to be let in again.

    Attributes:
        token: The token's key.
        role: Its owner's.
    """

    token: int
    role: str


@cache
def _columns(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(field.attname for field in model._meta.concrete_fields)


@cache
def _usable_sql() -> str:
    names = [f"t.{name}" for name in _columns(ApiToken)] + [f"u.{name}" for name in _columns(User)]
    return f"""
        SELECT {", ".join(names)}
        FROM environments_apitoken t JOIN environments_user u ON u.id = t.user_id
        WHERE t.key_hash = %(hash)s AND t.revoked_at IS NULL AND u.is_active
            AND (t.expires_at IS NULL OR t.expires_at > %(now)s)
    """  # noqa: S608 - names of columns


class AuditEvent(models.Model):
    """Who changed what, append-only (a database trigger refuses change and deletion)."""

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    action = models.CharField(max_length=64)
    subject_kind = models.CharField(max_length=64)
    subject_code = models.CharField(max_length=64, blank=True)
    detail = models.JSONField(default=dict)
    address = models.GenericIPAddressField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["subject_kind", "subject_code"], name="audit_event_subject")]

    def __str__(self) -> str:
        return f"{self.action} {self.subject_kind} {self.subject_code}"
