"""Behind a proxy that ends TLS. Refuses to start when something that matters is missing or unsafe."""

from django.core.exceptions import ImproperlyConfigured

from envfactory_site.settings import env
from envfactory_site.settings.base import *  # noqa: F403
from envfactory_site.settings.base import caches, databases

MIN_SECRET_KEY_LENGTH = 50


def faults(*, debug: bool, secret_key: str, hosts: list[str], database_url: str, redis_url: str) -> list[str]:
    """What keeps the site from starting, each with what to do."""
    found = []
    if debug:
        found.append("DEBUG is on: unset it, or use envfactory_site.settings.local.")
    if len(secret_key) < MIN_SECRET_KEY_LENGTH or len(set(secret_key)) < 10:
        found.append(
            f"SECRET_KEY is missing or weak: set SECRET_KEY or SECRET_KEY_FILE to {MIN_SECRET_KEY_LENGTH} random "
            "characters (python -c 'import secrets; print(secrets.token_urlsafe(48))')."
        )
    if not hosts or any("*" in host or host == "." for host in hosts):
        found.append(
            "ALLOWED_HOSTS is empty or a wildcard: name the hosts, separated by commas; .example.org stands for the "
            "domain and every host below it."
        )
    if not database_url:
        found.append("DATABASE_URL is not set: postgresql://user:password@host:5432/name.")
    if not redis_url:
        found.append("REDIS_URL is not set: redis://host:6379.")
    return found


DEBUG = env.boolean("DEBUG", False)
SECRET_KEY = env.text("SECRET_KEY")
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS")
DATABASE_URL, REDIS_URL = env.text("DATABASE_URL"), env.text("REDIS_URL")

if FAULTS := faults(
    debug=DEBUG, secret_key=SECRET_KEY, hosts=ALLOWED_HOSTS, database_url=DATABASE_URL, redis_url=REDIS_URL
):
    raise ImproperlyConfigured("EnvFactory does not start:\n- " + "\n- ".join(FAULTS))

CSRF_TRUSTED_ORIGINS = [f"https://{host.lstrip('.')}" for host in ALLOWED_HOSTS]
CSRF_TRUSTED_ORIGINS += [f"https://*{host}" for host in ALLOWED_HOSTS if host.startswith(".")]
DATABASES = databases(dict(env.database(DATABASE_URL)))
CACHES = caches(REDIS_URL)
CELERY_BROKER_URL = env.broker_address(REDIS_URL, database_number=0)

SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = env.boolean("SECURE_SSL_REDIRECT", True)
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = env.number("SECURE_HSTS_SECONDS", 365 * 86400)
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
# Whether browsers ship with the domain in their list is for its owner to decide, not for one site below it.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
