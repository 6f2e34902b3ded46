"""The cache, which may be lost at any time without a request failing."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

logger = logging.getLogger(__name__)


class SharedPoolClient(RedisCacheClient):
    """Django's client on connections that all of the process shares.

    Django makes a cache object for each request (under ASGI, for each of its contexts), and its client a pool for each
    object: a connection, its handshake and its checks every time, which took longer than what most pages do.
    """

    _shared: ClassVar[dict[str, Any]] = {}
    _servers: list[str]
    _pool_class: Any
    _pool_options: dict[str, Any]

    def _get_connection_pool(self, write: bool) -> Any:
        index: int = self._get_connection_pool_index(write)  # type: ignore[attr-defined]  # unknown to the stubs
        server = self._servers[index]
        pool = self._shared.get(server)
        if pool is None:
            # The first of two threads wins; a pool that is not used has opened nothing. After a fork it starts anew.
            made = self._pool_class.from_url(server, **self._pool_options)
            pool = self._shared.setdefault(server, made)
        return pool


class ResilientRedisCache(RedisCache):
    """Django's Redis cache, with this process's own memory in its place while the server can't be reached.

    Throttles count in the cache: without a fallback, a broker that is down would take every page with it, and with a
    fallback that forgets, log-in attempts would be unlimited.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = SharedPoolClient
        self._memory = LocMemCache("resilient", params)

    def _either(self, name: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return getattr(super(), name)(*args, **kwargs)
        except (RedisConnectionError, RedisTimeoutError) as error:
            logger.warning("event=cache_unreachable error=%s", type(error).__name__)
            operation: Callable[..., Any] = getattr(self._memory, name)
            return operation(*args, **kwargs)

    def add(self, key: Any, value: Any, timeout: float | None = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Sets the value unless the key is there."""
        return bool(self._either("add", key, value, timeout, version))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """Returns the value or the default."""
        return self._either("get", key, default, version)

    def set(self, key: Any, value: Any, timeout: float | None = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        """Sets the value."""
        self._either("set", key, value, timeout, version)

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Deletes the key."""
        return bool(self._either("delete", key, version))

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        """Adds to a number."""
        return int(self._either("incr", key, delta, version))

    def touch(self, key: Any, timeout: float | None = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Gives the key a new time to live."""
        return bool(self._either("touch", key, timeout, version))

    def has_key(self, key: Any, version: int | None = None) -> bool:
        """Whether the key is there."""
        return bool(self._either("has_key", key, version))

    def get_many(self, keys: Iterable[Any], version: int | None = None) -> dict[Any, Any]:
        """Returns the values of those keys that are there."""
        return dict(self._either("get_many", list(keys), version))

    def set_many(
        self, data: Mapping[Any, Any], timeout: float | None = DEFAULT_TIMEOUT, version: int | None = None
    ) -> list[Any]:
        """Sets the values; returns the keys that failed, which are none."""
        return list(self._either("set_many", data, timeout, version))

    def delete_many(self, keys: Iterable[Any], version: int | None = None) -> None:
        """Deletes the keys."""
        self._either("delete_many", list(keys), version)

    def clear(self) -> None:
        """Deletes everything."""
        self._either("clear")

    def ping(self) -> str:
        """The server's name and version; raises if it can't be reached.

        Raises:
            redis.exceptions.RedisError: If the server does not answer.
        """
        server = self._cache.get_client().info("server")
        if "valkey_version" in server:  # which also gives the version of Redis that it is compatible with
            return f"Valkey {server['valkey_version']}"
        return f"Redis {server['redis_version']}"
