"""The cache that a lost server does not take down, on a Valkey of its own."""

from collections.abc import Iterator

import pytest
import redis
from django.core.cache.backends.locmem import LocMemCache

from envfactory_site.settings import base
from environments.adapters.cache import ResilientRedisCache
from environments.adapters.embedded import EmbeddedServices


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServices]:
    services = EmbeddedServices(tmp_path_factory.mktemp("cache"), postgres=False, durable=False)
    services.acquire()
    yield services
    services.release()


@pytest.fixture
def cache(valkey: EmbeddedServices) -> Iterator[ResilientRedisCache]:
    valkey.acquire()  # a test before may have stopped it
    made = fresh(valkey)
    made.clear()
    made._memory.clear()
    yield made
    made.close()


def fresh(valkey: EmbeddedServices) -> ResilientRedisCache:
    wanted = base.caches(valkey.redis_url)["default"]
    assert wanted.pop("BACKEND").endswith("ResilientRedisCache")
    return ResilientRedisCache(wanted.pop("LOCATION"), wanted)


def test_values_are_in_the_server_and_not_in_memory_while_it_answers(cache, valkey):
    cache.set("a", [1, {"b": None}], 60)

    assert cache.get("a") == [1, {"b": None}]
    assert cache._memory.get("a") is None
    assert fresh(valkey).get("a") == [1, {"b": None}]


def test_operations_mean_what_django_says_while_it_answers(cache):
    assert cache.add("n", 1) is True
    assert cache.add("n", 9) is False
    assert cache.incr("n", 4) == 5
    assert cache.delete("n") is True
    assert cache.delete("n") is False
    assert cache.get("n", "none") == "none"
    with pytest.raises(ValueError, match="not found"):
        cache.incr("n")


def test_every_operation_goes_on_in_memory_when_the_server_is_down(cache, valkey):
    cache.set("before", 1)
    valkey.release()

    assert cache.get("before", "gone") == "gone"
    cache.set("a", [1], 60)
    assert cache.get("a") == [1]
    assert cache.add("a", 2) is False
    assert cache.add("n", 1) is True
    assert cache.incr("n") == 2
    assert cache.delete("n") is True
    assert cache.get("n") is None
    assert cache.get_or_set("made", lambda: 7) == 7
    assert cache.has_key("made") is True
    assert "made" in cache
    assert cache.get_many(["a", "made", "none"]) == {"a": [1], "made": 7}
    assert cache.set_many({"x": 1, "y": 2}) == []
    assert cache.touch("x", 60) is True
    cache.delete_many(["x", "y"])
    assert cache.get_many(["x", "y"]) == {}
    cache.clear()
    assert cache.get("a") is None


def test_values_expire_in_memory_too(cache, valkey):
    valkey.release()

    cache.set("a", 1, 0)

    assert cache.get("a") is None


def test_other_instances_of_the_process_see_the_same_memory(cache, valkey):
    """Each thread has an instance of its own; counts of attempts must add up."""
    valkey.release()

    cache.set("a", 1)

    assert fresh(valkey).get("a") == 1


def test_the_server_is_used_again_when_it_is_back(cache, valkey):
    valkey.release()
    cache.set("a", "memory")
    valkey.acquire()

    cache.set("b", "server")

    assert cache._memory.get("b") is None
    assert fresh(valkey).get("b") == "server"
    assert cache.get("a") is None


def test_ping_tells_the_version_and_raises_when_the_server_is_down(cache, valkey):
    assert cache.ping().startswith("Valkey 9.")

    valkey.release()

    with pytest.raises(redis.ConnectionError):
        cache.ping()


def test_a_lost_server_is_logged_without_its_address(cache, valkey, caplog):
    valkey.release()

    cache.get("a")

    assert "event=cache_unreachable error=ConnectionError" in caplog.text
    assert "valkey.sock" not in caplog.text


def test_mistakes_are_not_taken_for_a_lost_server(cache):
    with pytest.raises(AttributeError):
        cache.set("a", lambda: None)


def test_memory_has_every_operation_of_the_cache():
    names = {name for name in vars(ResilientRedisCache) if not name.startswith("_")} - {"ping"}

    assert all(hasattr(LocMemCache, name) for name in names)
