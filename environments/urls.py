"""Pages of the environments app."""

from django.urls import path

from environments import views

urlpatterns = [
    path("jobs/", views.job_list, name="job_list"),
    path("jobs/new/", views.job_new, name="job_new"),
    path("jobs/running/", views.running_jobs, name="running_jobs"),
    path("jobs/<uuid:code>/", views.job_detail, name="job_detail"),
    path("jobs/<uuid:code>/cancel/", views.job_cancel, name="job_cancel"),
    path("jobs/<uuid:code>/retry/", views.job_retry, name="job_retry"),
    path("jobs/<uuid:code>/log/", views.job_log, name="job_log"),
    path("jobs/<uuid:code>/curve/", views.job_curve, name="job_curve"),
    path("settings/", views.settings, name="settings"),
    path("settings/preferences/", views.preferences, name="preferences"),
    path("settings/tokens/", views.token_create, name="token_create"),
    path("settings/tokens/<uuid:code>/revoke/", views.token_revoke, name="token_revoke"),
    path("audit/", views.audit, name="audit"),
]
