"""The admin site: the environment registry, people, tokens, jobs, sessions, and the append-only rows to read."""

from django.contrib import admin
from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy as _

from environments.admin import accounts, compilation, jobs, parts, registry, sessions, sources, verification

__all__ = ["accounts", "compilation", "jobs", "parts", "registry", "sessions", "sources", "verification"]

admin.site.site_header = _("EnvFactory registry")
admin.site.site_title = _("EnvFactory")
admin.site.index_title = _("Registry")
admin.site.login_form = accounts.AdminLoginForm
admin.site.unregister(Group)  # roles are a table in code, not groups
