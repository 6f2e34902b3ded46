"""What a caller may do: each view names a permission for each action, and what it does not name is denied."""

from typing import Any

from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from environments.core.access import Permission
from environments.models import ApiToken, User


def caller_permissions(request: Request) -> frozenset[Permission]:
    """Permissions of the signed-in person, cut down to the token's scopes where there is a token."""
    if isinstance(request.auth, ApiToken):
        return request.auth.permissions
    return request.user.permissions if isinstance(request.user, User) else frozenset()


class MayDo(BasePermission):
    """Compares the view's `required_permissions[action]` with the caller's; a plain view's actions are its methods."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Whether the caller may; false for an action that the view does not name.

        Raises:
            MethodNotAllowed: If the view has no such method, which no permission would change.
        """
        if not isinstance(request.user, User):
            return False
        if request.method not in view.allowed_methods:
            raise MethodNotAllowed(request.method or "")
        method = "get" if request.method == "HEAD" else (request.method or "").lower()
        needed = getattr(view, "required_permissions", {}).get(getattr(view, "action", None) or method)
        self.message = f"This needs the permission {needed}." if needed else "This action is open to nobody."
        return needed is not None and needed in caller_permissions(request)
