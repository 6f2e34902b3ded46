"""The cache, which may be lost at any time without a request failing."""

import logging
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

logger = logging.getLogger(__name__)


class ResilientRedisCache(RedisCache):
    """Django's Redis cache, with this process's own memory in its place while the server can't be reached.

    Throttles count in the cache: without a fallback, a broker that is down would take every page with it, and with a
    fallback that forgets, log-in attempts would be unlimited.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
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

    def ping(self) -> str:
        """The server's version; raises if it can't be reached.

        Raises:
            redis.exceptions.RedisError: If the server does not answer.
        """
        return str(self._cache.get_client().info("server")["redis_version"])
