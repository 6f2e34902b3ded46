"""What holds everywhere. Every setting that the environment can change is listed in docs/settings.md."""

from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _

from envfactory_site import __version__
from envfactory_site.settings import env

ENVFACTORY_VERSION = __version__
ENVFACTORY_COMMIT = env.text("ENVFACTORY_COMMIT")
BASE_DIR = Path(__file__).resolve().parents[2]
VAR_DIR = Path(env.text("VAR_DIR", str(BASE_DIR / "var"))).resolve()

DEBUG = False
ALLOWED_HOSTS: list[str] = []

INSTALLED_APPS = [
    "environments",
    "graphs",
    "trajectories",
    "training",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "csp",
    "django_filters",
    "django_htmx",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework",
    "template_partials",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "envfactory_site.urls"
ASGI_APPLICATION = "envfactory_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["environments.templatetags.console"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "environments.web.console_context",
            ],
        },
    }
]

# --- People -----------------------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "environments.User"
AUTHENTICATION_BACKENDS = ["environments.adapters.accounts.RoleBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

# --- Data -------------------------------------------------------------------------------------------------------------

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English"))]
LOCALE_PATHS = [BASE_DIR / "locale"]


def databases(address: dict[str, Any]) -> dict[str, Any]:
    """Django's `DATABASES` for one PostgreSQL server.

    Connections are checked before use, so a restarted server costs no request; `DATABASE_POOL_SIZE` above 0 keeps
    that many open in each process (for the web; Celery's workers fork, which a pool does not survive).
    """
    options = {"connect_timeout": 5, **address.pop("OPTIONS", {})}
    pool_size = env.number("DATABASE_POOL_SIZE", 0)
    if pool_size:
        options["pool"] = {"min_size": 1, "max_size": pool_size, "timeout": 10}
    return {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "CONN_MAX_AGE": 0,
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": options,
            **address,
        }
    }


DATABASE_PREPARE = env.boolean("DATABASE_PREPARE", True)


def caches(redis_url: str) -> dict[str, Any]:
    """Django's `CACHES` on database 1 of the server; the broker is database 0."""
    return {
        "default": {
            "BACKEND": "environments.adapters.cache.ResilientRedisCache",
            "LOCATION": env.redis_address(redis_url, database_number=1),
            "OPTIONS": {"socket_timeout": 2, "socket_connect_timeout": 2},
        }
    }


# --- Sandbox ----------------------------------------------------------------------------------------------------------

SANDBOX_ALLOW_UNSAFE = env.boolean("SANDBOX_ALLOW_UNSAFE", False)
SANDBOX_REQUIRE_LANDLOCK = env.boolean("SANDBOX_REQUIRE_LANDLOCK", False)

# --- Sessions ---------------------------------------------------------------------------------------------------------

SESSION_IDLE_SECONDS = env.number("SESSION_IDLE_SECONDS", 1800, minimum=1)
SESSION_QUOTA = env.number("SESSION_QUOTA", 1000, minimum=1)
SESSION_MAX_CALLS = env.number("SESSION_MAX_CALLS", 10000, minimum=1)
SESSION_KEEP_DAYS = env.number("SESSION_KEEP_DAYS", 30, minimum=1)
SESSION_SWEEP_SECONDS = 60

# --- Sources ----------------------------------------------------------------------------------------------------------

FETCH_ALLOWED_NETWORKS = env.networks("FETCH_ALLOWED_NETWORKS")
FETCH_MAX_MEGABYTES = env.number("FETCH_MAX_MEGABYTES", 64, minimum=1)
MCP_STDIO_SERVERS = env.commands("MCP_STDIO_SERVERS")
EMBEDDING_BACKEND = env.choice("EMBEDDING_BACKEND", "auto", ("auto", "lexical", "minilm", "endpoint"))
EMBEDDING_URL = env.text("EMBEDDING_URL")
EMBEDDING_MODEL = env.text("EMBEDDING_MODEL")
EMBEDDING_API_KEY = env.text("EMBEDDING_API_KEY")

# --- Jobs -------------------------------------------------------------------------------------------------------------

JOB_HEARTBEAT_SECONDS = env.number("JOB_HEARTBEAT_SECONDS", 5, minimum=1)
JOB_STALE_SECONDS = env.number("JOB_STALE_SECONDS", 30, minimum=1)
JOB_RESEND_SECONDS = env.number("JOB_RESEND_SECONDS", 600, minimum=1)
JOB_RETRY_SECONDS = env.number("JOB_RETRY_SECONDS", 5)
JOB_SWEEP_SECONDS = env.number("JOB_SWEEP_SECONDS", 5, minimum=1)
JOB_SWEEP_SENDS = 1000

CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_PUBLISH_RETRY = False  # the job's row waits instead, and the sweep sends it
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Above the longest hard limit of any kind: an unacknowledged message is delivered again after this long.
    "visibility_timeout": 12 * 3600,
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
}
CELERY_BEAT_SCHEDULE = {
    "sweep-jobs": {
        "task": "environments.tasks.sweep_jobs",
        "schedule": JOB_SWEEP_SECONDS,
        "options": {"queue": "default", "expires": JOB_SWEEP_SECONDS * 2},
    },
    "sweep-sessions": {
        "task": "environments.tasks.sweep_sessions",
        "schedule": SESSION_SWEEP_SECONDS,
        "options": {"queue": "default", "expires": SESSION_SWEEP_SECONDS * 2},
    },
}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")

# --- Pages ------------------------------------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT: Path | None = Path(env.text("STATIC_ROOT", str(VAR_DIR / "static"))).resolve()
STATICFILES_DIRS = [BASE_DIR / "static"]
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],  # Bootstrap's form controls draw their marks with inline SVG
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "envfactory_site.views.csrf_failure"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 2**20

# --- API --------------------------------------------------------------------------------------------------------------

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "environments.api.authentication.ApiTokenAuthentication",
        "environments.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["environments.api.permissions.MayDo"],
    "DEFAULT_PARSER_CLASSES": ["environments.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "environments.api.pagination.NumberedPages",
    "DEFAULT_FILTER_BACKENDS": ["environments.api.filters.StrictFilterBackend"],
    "DEFAULT_THROTTLE_CLASSES": ["environments.api.throttling.MethodThrottle"],
    "DEFAULT_THROTTLE_RATES": {
        "login": env.rate("THROTTLE_LOGIN", "10/min"),
        "read": env.rate("THROTTLE_READ", "1200/min"),
        "write": env.rate("THROTTLE_WRITE", "240/min"),
        "call": env.rate("THROTTLE_CALL", "1200/min"),
    },
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_VERSIONING_CLASS": None,
    "URL_FORMAT_OVERRIDE": None,
    "EXCEPTION_HANDLER": "envfactory_site.problems.problem_handler",
    "NUM_PROXIES": env.number("NUM_PROXIES", 0),
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "EnvFactory",
    "DESCRIPTION": "Job submission, and everything the console shows. Errors are RFC 9457 problem bodies.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["environments.api.permissions.MayDo"],
    "SCHEMA_PATH_PREFIX": r"/api/v1/",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "environments.api.schema.add_event_stream",
        "environments.api.schema.add_problems",
    ],
    "ENUM_NAME_OVERRIDES": {
        "CallStatus": "environments.models.ToolCall.Status",
        "ChangeKind": "environments.api.session_serializers.CHANGE_KINDS",
        "CompilationStatus": "environments.models.Compilation.Status",
        "CompiledOutcome": "environments.models.CompiledEnvironment.Outcome",
        "DocumentStatus": "environments.models.SourceDocument.Status",
        "DocumentTerms": "environments.models.SourceDocument.Terms",
        "JobStatus": "environments.models.Job.Status",
        "JobEventKind": "environments.models.JobEvent.Kind",
        "OperationEffect": "environments.models.Operation.Effect",
        "Permission": "environments.api.serializers.PERMISSIONS",
        "Queue": "environments.api.serializers.QUEUES",
        "Role": "environments.models.User.Role",
        "Scope": "environments.api.serializers.SCOPES",
        "SessionStatus": "environments.models.EnvironmentSession.Status",
        "ScenarioLevel": "environments.models.Scenario.Level",
        "SourceKind": "environments.models.Source.Kind",
        "ToolAudience": "environments.models.Tool.Audience",
        "ToolEffect": "environments.models.Tool.Effect",
        "Verdict": "environments.models.Decision.Verdict",
        "VerificationOutcome": "environments.models.VerificationRun.Outcome",
        "VersionOrigin": "environments.models.EnvironmentVersion.Origin",
        "VersionStatus": "environments.models.EnvironmentVersion.Status",
    },
}

# --- Log --------------------------------------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.text("LOG_LEVEL", "INFO")},
    # The MCP library writes a line for each request.
    "loggers": {name: {"level": "WARNING"} for name in ("httpx", "httpx2", "httpcore", "mcp")},
}
