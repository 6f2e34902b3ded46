"""Typed readers of the environment; a secret may be given as `<NAME>_FILE` instead."""

import json
import os
import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

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
    except UnicodeDecodeError:  # without the cause, which shows what is in the file
        raise ImproperlyConfigured(f"{name}_FILE names {file}, which is not text in UTF-8.") from None


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


def number(name: str, default: int, *, minimum: int = 0) -> int:
    """A whole number.

    Raises:
        ImproperlyConfigured: If it is none, or is below the minimum.
    """
    value = text(name)
    try:
        found = int(value) if value else default
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number.") from error
    if found < minimum:
        raise ImproperlyConfigured(f"{name}={value!r} is below {minimum}.")
    return found


def rate(name: str, default: str) -> str:
    """How often something may be done, such as `10/min`.

    Raises:
        ImproperlyConfigured: If it is not a number, a slash and one of s, min, hour, day.
    """
    value = text(name, default)
    if not re.fullmatch(r"[1-9][0-9]*/(s|sec|second|m|min|minute|h|hour|d|day)", value):
        raise ImproperlyConfigured(f"{name}={value!r} is not a rate such as 10/min.")
    return value


def choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    """One of a few words.

    Raises:
        ImproperlyConfigured: If it is another.
    """
    value = text(name, default)
    if value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r} is none of {', '.join(choices)}.")
    return value


def networks(name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Networks such as `10.0.0.0/8`, separated by commas.

    Raises:
        ImproperlyConfigured: If one is none.
    """
    try:
        return tuple(ip_network(word) for word in words(name))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}.") from error


def commands(name: str) -> dict[str, tuple[str, ...]]:
    """Command lines by name: one JSON object, `{"files": ["npx", "-y", "server"]}`.

    Raises:
        ImproperlyConfigured: If it is not that.
    """
    value = text(name)
    try:
        found = json.loads(value) if value else {}
        pairs = {str(key): tuple(map(str, command)) for key, command in found.items() if isinstance(command, list)}
    except (ValueError, AttributeError) as error:
        raise ImproperlyConfigured(f"{name} must be a JSON object of names and lists of words.") from error
    if len(pairs) != len(found) or not all(pairs.values()):
        raise ImproperlyConfigured(f"{name}: each command must be a list with at least one word.")
    return pairs


def words(name: str) -> list[str]:
    """A list separated by commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()]


def database(url: str) -> dict[str, str | dict[str, str]]:
    """Django's database settings for `postgresql://user:password@host:port/name?option=value`.

    Raises:
        ImproperlyConfigured: If the scheme, the name or the port is missing or wrong.
    """
    message = "DATABASE_URL must look like postgresql://user:password@host:5432/name."
    parts, port = _split(url, message)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise ImproperlyConfigured(message)
    options = dict(parse_qsl(parts.query))
    host = parts.hostname or ""
    if "%" in host:  # a socket's directory, which `hostname` has put in lower case
        host = unquote(parts.netloc.rpartition("@")[2].partition(":")[0])
    return {
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or host,
        "PORT": options.pop("port", "") or str(port or ""),
        "OPTIONS": options,
    }


def redis_address(url: str, *, database_number: int) -> str:
    """The same server with another database number, as redis-py takes it.

    Raises:
        ImproperlyConfigured: If the scheme is none of redis, rediss, unix, or the port is wrong.
    """
    parts = _redis_parts(url)
    # A number among the options would win over the one in the path.
    options = [(name, value) for name, value in parse_qsl(parts.query) if name != "db"]
    if parts.scheme == "unix":
        return f"unix://{parts.netloc}{parts.path}?{urlencode([*options, ('db', database_number)])}"
    return parts._replace(path=f"/{database_number}", query=urlencode(options)).geturl()


def broker_address(url: str, *, database_number: int) -> str:
    """The same server as Celery takes it.

    Raises:
        ImproperlyConfigured: As for `redis_address`.
    """
    parts = _redis_parts(url)
    if parts.scheme == "unix":
        return f"redis+socket://{parts.netloc}{parts.path}?virtual_host={database_number}"
    return redis_address(url, database_number=database_number)


def _redis_parts(url: str) -> SplitResult:
    message = "REDIS_URL must look like redis://:password@host:6379, rediss://… or unix:///path/of/the.sock."
    parts, _port = _split(url, message)
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise ImproperlyConfigured(message)
    return parts


def _split(url: str, message: str) -> tuple[SplitResult, int | None]:
    """The parts and the port; else the message alone, as the cause would show the address and its password."""
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError:
        raise ImproperlyConfigured(message) from None
