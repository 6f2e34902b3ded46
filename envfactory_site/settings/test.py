"""The suite: real PostgreSQL and Valkey under var/test, made for speed, apart from those of `make run`."""

import os

from envfactory_site.settings import env
from envfactory_site.settings.base import *  # noqa: F403
from envfactory_site.settings.base import BASE_DIR, REST_FRAMEWORK, caches, databases
from environments.adapters.embedded import EmbeddedServices

VAR_DIR = BASE_DIR / "var" / "test"
STATIC_ROOT = None
SECRET_KEY = "only for tests, which keep nothing"  # noqa: S105
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]

EMBEDDED_SERVICES = EmbeddedServices(VAR_DIR, durable=False)
DATABASES = databases(dict(EMBEDDED_SERVICES.database))
# Two runs in one checkout, such as `make test` and an editor's, have databases of their own.
DATABASES["default"]["TEST"] = {"NAME": f"test_envfactory_{os.getpid()}"}
if name := env.text("TEST_DATABASE_NAME"):
    DATABASES["default"]["NAME"] = name  # a server process that a test started, on the test's own database
# A database for each process of the suite (gw0, gw1, …): clearing a cache empties the database, others' keys too.
WORKER = env.text("PYTEST_XDIST_WORKER")
CACHES = caches(EMBEDDED_SERVICES.redis_url)
CACHES["default"]["LOCATION"] = env.redis_address(
    EMBEDDED_SERVICES.redis_url, database_number=1 + int(WORKER[2:]) % 14 if WORKER else 15
)
CELERY_BROKER_URL = env.broker_address(EMBEDDED_SERVICES.redis_url, database_number=0)
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
SESSION_COOKIE_SECURE = False
CSRF_COOKIE_SECURE = False

# Throttles have tests of their own, which set rates.
REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] = dict.fromkeys(REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"])
