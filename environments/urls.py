"""Pages of the environments app."""

from django.urls import include, path

from environments import views

VERSION_PAGES = [
    path("", views.version_detail, name="version_detail"),
    path("tables/", views.version_tables, name="version_tables"),
    path("tables/<slug:table>/", views.version_table, name="version_table"),
    path("scenarios/", views.version_scenarios, name="version_scenarios"),
    path("sessions/", views.version_open_session, name="version_open_session"),
    path("verification/", views.version_verification, name="version_verification"),
    path("verify/", views.version_verify, name="version_verify"),
    path("decide/", views.version_decide, name="version_decide"),
    path("history/", views.version_history, name="version_history"),
    path("sources/", views.version_sources, name="version_sources"),
    path("code/<str:file>/", views.version_code, name="version_code"),
    path("pack/", views.version_pack, name="version_pack"),
    path("tools/<slug:tool>/", views.tool_detail, name="tool_detail"),
    path("tools/<slug:tool>/try/", views.tool_try, name="tool_try"),
]

SOURCE_PAGES = [
    path("", views.source_detail, name="source_detail"),
    path("guard/", views.source_guard, name="source_guard"),
    path("hits/<uuid:hit>/overrule/", views.source_overrule, name="source_overrule"),
    path("terms/", views.source_terms, name="source_terms"),
    path("allow/", views.source_allow, name="source_allow"),
    path("refuse/", views.source_refuse, name="source_refuse"),
    path("problems/", views.source_problems, name="source_problems"),
    path("raw/", views.source_raw, name="source_raw"),
    path("read/", views.source_read, name="source_read"),
    path("clean/", views.source_clean, name="source_clean"),
    path("operations/<uuid:operation>/", views.operation_detail, name="operation_detail"),
]

urlpatterns = [
    path("sources/", views.source_list, name="source_list"),
    path("sources/import/", views.source_import, name="source_import"),
    path("sources/<uuid:code>/", include(SOURCE_PAGES)),
    path("environments/", views.environment_list, name="environment_list"),
    path("environments/import/", views.environment_import, name="environment_import"),
    path("environments/<slug:name>/", views.environment_detail, name="environment_detail"),
    path("environments/<slug:name>/<int:number>/", include(VERSION_PAGES)),
    path("jobs/", views.job_list, name="job_list"),
    path("jobs/new/", views.job_new, name="job_new"),
    path("jobs/running/", views.running_jobs, name="running_jobs"),
    path("jobs/<uuid:code>/", views.job_detail, name="job_detail"),
    path("jobs/<uuid:code>/cancel/", views.job_cancel, name="job_cancel"),
    path("jobs/<uuid:code>/retry/", views.job_retry, name="job_retry"),
    path("jobs/<uuid:code>/log/", views.job_log, name="job_log"),
    path("jobs/<uuid:code>/curve/", views.job_curve, name="job_curve"),
    path("sessions/", views.session_list, name="session_list"),
    path("sessions/close/", views.session_close_many, name="session_close_many"),
    path("sessions/<uuid:code>/", views.session_detail, name="session_detail"),
    path("sessions/<uuid:code>/steps/<int:index>/", views.session_step, name="session_step"),
    path("sessions/<uuid:code>/steps/<int:index>/result/", views.session_result, name="session_result"),
    path("sessions/<uuid:code>/steps/<int:index>/raw/", views.session_raw, name="session_raw"),
    path("sessions/<uuid:code>/state/", views.session_state, name="session_state"),
    path("sessions/<uuid:code>/comparison/", views.session_comparison, name="session_comparison"),
    path("sessions/<uuid:code>/what-if/", views.session_what_if, name="session_what_if"),
    path("sessions/<uuid:code>/replay/", views.session_replay_check, name="session_replay_check"),
    path("sessions/<uuid:code>/close/", views.session_close, name="session_close"),
    path("settings/", views.settings, name="settings"),
    path("settings/preferences/", views.preferences, name="preferences"),
    path("settings/tokens/", views.token_create, name="token_create"),
    path("settings/tokens/<uuid:code>/revoke/", views.token_revoke, name="token_revoke"),
    path("audit/", views.audit, name="audit"),
]
