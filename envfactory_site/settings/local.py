"""One machine: embedded PostgreSQL and Valkey under var/ unless DATABASE_URL and REDIS_URL name real servers."""

import os
import secrets
from pathlib import Path

from envfactory_site.settings import env
from envfactory_site.settings.base import *  # noqa: F403
from envfactory_site.settings.base import VAR_DIR, caches, databases
from environments.adapters.embedded import EmbeddedServices


def local_secret_key(file: Path) -> str:
    """The key kept in the file, made on first use; sessions and token hashes hang on it."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text(encoding="ascii")
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(secrets.token_urlsafe(48))
    return file.read_text(encoding="ascii")


DEBUG = env.boolean("DEBUG", False)
SECRET_KEY = env.text("SECRET_KEY") or local_secret_key(VAR_DIR / "secret_key")
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", *env.words("ALLOWED_HOSTS")]

DATABASE_URL, REDIS_URL = env.text("DATABASE_URL"), env.text("REDIS_URL")
EMBEDDED_SERVICES = EmbeddedServices(VAR_DIR, postgres=not DATABASE_URL, valkey=not REDIS_URL)

DATABASES = databases(env.database(DATABASE_URL) if DATABASE_URL else dict(EMBEDDED_SERVICES.database))
CACHES = caches(REDIS_URL or EMBEDDED_SERVICES.redis_url)
CELERY_BROKER_URL = env.broker_address(REDIS_URL or EMBEDDED_SERVICES.redis_url, database_number=0)

# Plain HTTP on the loopback address: cookies marked secure would never come back.
SESSION_COOKIE_SECURE = False
CSRF_COOKIE_SECURE = False

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
STATIC_ROOT = None  # files are served from where they are; nothing is collected
WHITENOISE_USE_FINDERS = True
