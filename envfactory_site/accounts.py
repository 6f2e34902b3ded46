"""Logging in and out, and changing one's password."""

from django.contrib.auth import views
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpResponse
from django.urls import path

from environments.forms import LoginForm


class LoginView(views.LoginView):
    """Log-in by password, with a limit on attempts."""

    authentication_form = LoginForm
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """The form again: 429 after too many attempts, else 422."""
        response = super().form_invalid(form)
        response.status_code = 429 if form.has_error(NON_FIELD_ERRORS, "throttled") else 422
        return response


urlpatterns = [
    path("login/", LoginView.as_view(), name="login"),
    path("logout/", views.LogoutView.as_view(), name="logout"),
    path("password/", views.PasswordChangeView.as_view(), name="password_change"),
    path("password/done/", views.PasswordChangeDoneView.as_view(), name="password_change_done"),
]
