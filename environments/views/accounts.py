"""Settings of the signed-in person: how the console looks, and the keys for the API."""

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from environments import services
from environments.core.access import Scope
from environments.core.errors import InvalidInputError, StaleStateError
from environments.forms import PreferencesForm, TokenForm
from environments.models import ApiToken
from environments.web import HtmxHttpRequest, client_address, redirect_after, render_page

NEW_KEY_IN_SESSION = "new_api_key"
"""Where the session keeps a new token's name and key until the settings page has shown them."""


@require_GET
@never_cache
def settings(request: HtmxHttpRequest) -> HttpResponse:
    """Profile, appearance and API tokens."""
    return _render_settings(request, TokenForm())


@require_POST
def preferences(request: HtmxHttpRequest) -> HttpResponse:
    """Stores theme and density; the switch in the top bar sends the theme alone."""
    try:
        services.change_preferences(
            user=request.user, theme=request.POST.get("theme"), density=request.POST.get("density")
        )
    except InvalidInputError as error:
        messages.error(request, str(error))
    else:
        if request.headers.get("Accept") == "application/json":
            return JsonResponse({"theme": request.user.theme, "density": request.user.density})
        if "density" in request.POST:
            messages.success(request, _("Saved."))
    return redirect_after(request, _safe_next(request))


def _safe_next(request: HtmxHttpRequest) -> str:
    """Where the form came from, if that is a page of this console."""
    wanted = request.POST.get("next", "")
    is_safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if is_safe else reverse("settings")


@require_POST
def token_create(request: HtmxHttpRequest) -> HttpResponse:
    """Makes a token; the settings page then shows its key, this once, so that a reload makes no second one."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _render_settings(request, form, status=422)
    days = form.cleaned_data["days"]
    issued = services.create_api_token(
        user=request.user,
        name=form.cleaned_data["name"],
        scopes=[Scope(scope) for scope in form.cleaned_data["scopes"]],
        expires_at=None if days is None else timezone.now() + timedelta(days=days),
        address=client_address(request),
    )
    request.session[NEW_KEY_IN_SESSION] = {"name": issued.token.name, "key": issued.key}
    return redirect_after(request, reverse("settings") + "#tokens")


@require_POST
def token_revoke(request: HtmxHttpRequest, code: UUID) -> HttpResponse:
    """Revokes one of the person's own tokens."""
    token = get_object_or_404(ApiToken, user=request.user, code=code)
    try:
        services.revoke_api_token(user=request.user, code=code, address=client_address(request))
    except StaleStateError as error:
        messages.warning(request, str(error))
    else:
        messages.success(request, _("“%(name)s” is revoked: its key is refused from now on.") % {"name": token.name})
    return redirect_after(request, reverse("settings") + "#tokens")


def _render_settings(
    request: HtmxHttpRequest,
    token_form: TokenForm,
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        "preferences_form": PreferencesForm(initial={"theme": request.user.theme, "density": request.user.density}),
        "token_form": token_form,
        "tokens": request.user.api_tokens.all(),
        "issued": request.session.pop(NEW_KEY_IN_SESSION, None),
    }
    return render_page(request, "environments/settings.html", context, status=status)
