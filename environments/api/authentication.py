"""Who calls: a bearer token, or the console's own session."""

from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.authentication import SessionAuthentication as DrfSessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from environments import services
from environments.models import ApiToken, User


class ApiTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer evf_…`; `request.auth` is then the token."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """The token's owner and the token; None if the header is absent."""
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != b"bearer":
            return None
        if len(words) != 2:
            raise AuthenticationFailed(_("The Authorization header must be 'Bearer <key>'."))
        token = services.find_api_token(words[1].decode("latin-1"))
        if token is None:
            raise AuthenticationFailed(_("The token is unknown, expired or revoked."))
        token.touch()
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Makes a missing log-in a 401."""
        return 'Bearer realm="envfactory"'


class SessionAuthentication(DrfSessionAuthentication):
    """The console's session, with CSRF protection; API clients use tokens."""

    def enforce_csrf(self, request: Request) -> None:
        """Refuses a change without the CSRF token.

        Raises:
            PermissionDenied: With a code of its own, since no permission would help.
        """
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            raise PermissionDenied(str(error.detail), code="csrf_failed") from error
