"""Every address of the site."""

from django.contrib import admin
from django.urls import include, path

from envfactory_site import views

urlpatterns = [
    path("", views.home, name="home"),
    path("help/", views.help_page, name="help"),
    path("help/errors/", views.help_errors, name="help_errors"),
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("accounts/", include("envfactory_site.accounts")),
    path("", include("environments.urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("envfactory_site.api")),
]

handler400 = "envfactory_site.views.bad_request"
handler403 = "envfactory_site.views.permission_denied"
handler404 = "envfactory_site.views.page_not_found"
handler500 = "envfactory_site.views.server_error"
