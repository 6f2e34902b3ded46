"""Typed readers of the environment; a secret may be given as `<NAME>_FILE` instead."""

import os
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str = "") -> str:
    """The variable's value, or the content of the file that `<name>_FILE` names.

    Raises:
        ImproperlyConfigured: If both are set, or the file can't be read.
    """
    value, file = os.environ.get(name, ""), os.environ.get(f"{name}_FILE", "")
    if value and file:
        raise ImproperlyConfigured(f"Both {name} and {name}_FILE are set; set one.")
    if not file:
        return value or default
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE names {file}, which can't be read: {error.strerror}.") from error


def boolean(name: str, default: bool) -> bool:
    """True for 1, true, yes, on; false for 0, false, no, off.

    Raises:
        ImproperlyConfigured: If it is anything else.
    """
    value = text(name).lower()
    if not value:
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name}={value!r} is neither true nor false.")


def number(name: str, default: int) -> int:
    """A whole number.

    Raises:
        ImproperlyConfigured: If it is none.
    """
    value = text(name)
    try:
        return int(value) if value else default
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number.") from error


def words(name: str) -> list[str]:
    """A list separated by commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()]


def database(url: str) -> dict[str, str | dict[str, str]]:
    """Django's database settings for `postgresql://user:password@host:port/name?option=value`.

    Raises:
        ImproperlyConfigured: If the scheme or the name is missing.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise ImproperlyConfigured("DATABASE_URL must look like postgresql://user:password@host:5432/name.")
    options = dict(parse_qsl(parts.query))
    return {
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or parts.hostname or "",
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
    }


def redis_address(url: str, *, database_number: int) -> str:
    """The same server with another database number, as redis-py takes it.

    Raises:
        ImproperlyConfigured: If the scheme is none of redis, rediss, unix.
    """
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return f"unix://{parts.path}?db={database_number}"
    if parts.scheme in {"redis", "rediss"}:
        return parts._replace(path=f"/{database_number}").geturl()
    raise ImproperlyConfigured("REDIS_URL must start with redis://, rediss:// or unix://.")


def broker_address(url: str, *, database_number: int) -> str:
    """The same server as Celery takes it."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return f"redis+socket://{parts.path}?virtual_host={database_number}"
    return redis_address(url, database_number=database_number)
