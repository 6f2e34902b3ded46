"""What every page of the console shares: the request's type, the choice of page or partial, and the frame.

Apps add to the frame in `AppConfig.ready()`: entries of the rail, and panels of the home page.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.functional import SimpleLazyObject
from django_htmx.middleware import HtmxDetails

from environments.core.access import Permission
from environments.models import Job, User

View = TypeVar("View", bound=Callable[..., HttpResponse])


class HtmxHttpRequest(HttpRequest):
    """A request of a signed-in person, as the middleware leaves it."""

    htmx: HtmxDetails
    user: User


@dataclass(frozen=True, slots=True)
class NavigationItem:
    """One entry of the rail.

    Attributes:
        label: What it says (lazy translation allowed).
        icon: Name of a symbol in the icon sprite.
        url_name: The page's name; entries are current while the page's path starts with this one's.
        order: Position, in tens: from Home 0 to Jobs 90; from 100 on below the line, such as Audit 110, Settings 120.
        permission: What a person needs to see it.
        also: Names of pages elsewhere that belong to it, too.
    """

    label: Any
    icon: str
    url_name: str
    order: int
    permission: Permission = Permission.VIEW
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HomePanel:
    """One panel of the home page: a template and the function that makes its context."""

    template: str
    context: Callable[[User], Mapping[str, Any]]
    order: int


BELOW_THE_LINE = 100

_NAVIGATION: dict[str, NavigationItem] = {}
_PANELS: dict[str, HomePanel] = {}


def register_navigation(item: NavigationItem) -> None:
    """Adds an entry to the rail."""
    _NAVIGATION[item.url_name] = item


def register_home_panel(panel: HomePanel) -> None:
    """Adds a panel to the home page."""
    _PANELS[panel.template] = panel


def home_panels(user: User) -> list[dict[str, Any]]:
    """The home page's panels in order: `template` and its `context`."""
    panels = sorted(_PANELS.values(), key=lambda panel: (panel.order, panel.template))
    return [{"template": panel.template, "context": panel.context(user)} for panel in panels]


def render_page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    partial: str | None = None,
    status: int = 200,
) -> HttpResponse:
    """Renders the whole page, or only its region `partial` when htmx asks for a part of the page.

    Args:
        request: The request.
        template: A page template that extends `_base.html`.
        context: The page's context; the partial renders from the same one.
        partial: Name of a `{% partialdef %}` in the template.
        status: HTTP status.
    """
    wants_partial = partial is not None and request.headers.get("HX-Request-Type") == "partial"
    name = f"{template}#{partial}" if wants_partial else template
    response = render(request, name, dict(context or {}), status=status)
    patch_vary_headers(response, ["HX-Request-Type"])
    return response


class HttpResponseSeeOther(HttpResponseRedirect):
    """A redirect that every browser follows with a GET."""

    status_code = 303


def redirect_after(request: HttpRequest, url: str) -> HttpResponse:
    """Sends the person on after a change: a 303 for a browser, `HX-Redirect` for htmx."""
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return HttpResponseSeeOther(url)


def permission_required(permission: Permission) -> Callable[[View], View]:
    """Lets only people with the permission into the view; others get the 403 page."""

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(request: HtmxHttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.may(permission):
                raise PermissionDenied(f"This needs the permission {permission}; ask an admin for it.")
            return view(request, *args, **kwargs)

        return cast("View", checked)

    return decorate


def client_address(request: HttpRequest) -> str | None:
    """The address for the audit trail: the peer's, as proxies are not believed here."""
    return request.META.get("REMOTE_ADDR") or None


def console_context(request: HttpRequest) -> dict[str, Any]:
    """Context processor: what `_base.html` needs on every page."""
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return {"navigation": [], "running_jobs": 0, "theme": User.Theme.SYSTEM, "density": User.Density.COMFORTABLE}
    return {
        "navigation": _navigation(request, user),
        "search_url": reverse("search"),
        "running_jobs": SimpleLazyObject(lambda: Job.objects.top_level().unfinished().count()),
        "theme": user.theme,
        "density": user.density,
        "permissions": {permission.value: True for permission in user.permissions},
    }


def _navigation(request: HttpRequest, user: User) -> list[dict[str, Any]]:
    items = sorted(_NAVIGATION.values(), key=lambda item: item.order)
    entries = []
    for item in items:
        if not user.may(item.permission):
            continue
        url = reverse(item.url_name)
        places = (url, *map(reverse, item.also))
        is_current = request.path == url if url == "/" else request.path.startswith(places)
        group = "below" if item.order >= BELOW_THE_LINE else "main"
        entries.append(
            {"label": item.label, "icon": item.icon, "url": url, "is_current": is_current, "group": group}
        )  # fmt: skip
    return entries
