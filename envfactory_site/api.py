"""The addresses of the API: one router over every app's viewsets, the schema, and the docs page."""

from django.contrib.auth.decorators import login_required
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.routers import SimpleRouter

from environments.api import (
    compilation,
    registry,
    schema,  # noqa: F401 - it registers extensions
    sessions,
    sources,
    stream,
    viewsets,
)
from environments.core.access import Permission

router = SimpleRouter(use_regex_path=False)
router.register("job-kinds", viewsets.JobKindViewSet, basename="job-kind")
router.register("jobs", viewsets.JobViewSet, basename="job")
router.register("jobs/<uuid:code>/events", viewsets.JobEventViewSet, basename="job-event")
router.register("environments", registry.EnvironmentViewSet, basename="environment")
router.register("versions", registry.VersionViewSet, basename="version")
router.register("versions/<uuid:code>/tables", registry.VersionTableViewSet, basename="version-table")
router.register("versions/<uuid:code>/runs", registry.VersionRunViewSet, basename="version-run")
router.register("versions/<uuid:code>/history", registry.VersionHistoryViewSet, basename="version-history")
router.register("tools", registry.ToolViewSet, basename="tool")
router.register("scenarios", registry.ScenarioViewSet, basename="scenario")
router.register("sessions", sessions.SessionViewSet, basename="session")
router.register("sessions/<uuid:code>/calls", sessions.SessionCallViewSet, basename="session-call")
router.register("sources", sources.SourceViewSet, basename="source")
router.register("documents", sources.DocumentViewSet, basename="document")
router.register("operations", sources.OperationViewSet, basename="operation")
router.register("compilations", compilation.CompilationViewSet, basename="compilation")
router.register(
    "compilations/<uuid:code>/environments", compilation.CompiledEnvironmentViewSet, basename="compiled-environment"
)
router.register(
    "compilations/<uuid:code>/operations", compilation.CompiledOperationViewSet, basename="compiled-operation"
)
router.register("tokens", viewsets.ApiTokenViewSet, basename="token")
router.register("decisions", viewsets.DecisionViewSet, basename="decision")
router.register("audit", viewsets.AuditEventViewSet, basename="audit-event")


class SchemaView(SpectacularAPIView):
    """The OpenAPI description."""

    required_permissions = {"get": Permission.VIEW}


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI from this server alone; its script and style are files, so the content security policy holds."""

    template_name = "api_docs.html"

    required_permissions = {"get": Permission.VIEW}


urlpatterns = [
    path("jobs/<uuid:code>/stream/", stream.job_stream, name="job-stream"),
    path("me/", viewsets.MeView.as_view(), name="me"),
    path("", include(router.urls)),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/", login_required(DocsView.as_view(url_name="schema")), name="docs"),
]
