"""How often a caller may ask."""

from typing import Any

from django.http import HttpRequest
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from environments.models import ApiToken


class MethodThrottle(SimpleRateThrottle):
    """Counts reads and writes apart, by token or person; who is neither is refused before anything is counted."""

    scope = "read"
    write_scope = "write"

    def allow_request(self, request: Request, view: Any = None) -> bool:
        """Whether the request is within the rate of its sort."""
        self.scope = "read" if request.method in SAFE_METHODS else self.write_scope
        self.rate = self.get_rate()
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return self.rate is None or super().allow_request(request, view)

    def get_cache_key(self, request: Request, view: Any) -> str:
        """Who is counted."""
        is_token = isinstance(request.auth, ApiToken)
        caller = f"token-{request.auth.pk}" if is_token else f"user-{request.user.pk}"
        return self.cache_format % {"scope": self.scope, "ident": caller}


class CallThrottle(MethodThrottle):
    """Counts calls of tools by themselves: an agent makes many, and each costs little."""

    write_scope = "call"


class LoginThrottle(SimpleRateThrottle):
    """Counts log-in attempts by address and by the name tried, whichever is reached first."""

    scope = "login"

    def is_allowed(self, request: HttpRequest, username: str) -> bool:
        """Counts one attempt; false once either count is over the rate."""
        if self.rate is None:
            return True
        allowed = True
        asked: Any = request  # DRF's throttles read what both kinds of request have
        for caller in (f"address-{self.get_ident(asked)}", f"name-{username.casefold()}"):
            self._key = self.cache_format % {"scope": self.scope, "ident": caller}
            allowed &= self.allow_request(asked, None)  # type: ignore[arg-type]  # the view is not looked at
        return allowed

    def get_cache_key(self, request: Any, view: Any) -> str:
        """Who is counted now."""
        return self._key
