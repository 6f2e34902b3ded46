"""Django's own permission questions (the admin site asks them), answered from the table of roles."""

from typing import Any

from django.contrib.auth.backends import ModelBackend

from environments.core.access import Permission


class RoleBackend(ModelBackend):
    """Log-in by password; operators may look at everything in the admin site, admins may also change it.

    Admins are superusers, which Django asks before any backend; so only looking is left to decide here.
    """

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        """Whether an active person may do what the admin site asks, such as `environments.view_job`."""
        return bool(
            user_obj.is_active and perm.split(".")[-1].startswith("view_") and user_obj.may(Permission.RUN_JOBS)
        )

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        """Whether an active person sees the app in the admin site at all."""
        return bool(user_obj.is_active and user_obj.may(Permission.RUN_JOBS))
