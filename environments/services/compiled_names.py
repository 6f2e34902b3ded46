"""Names of compiled environments in the registry: two that are made of different APIs never share one.

The compiler's names are unique within what it compiles at once. What another compilation, a person or a later step has
put under such a name stays what it is: the newcomer gets a name of its own, made of its documents, so that the same
content gets the same name again.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

from environments.core.compile.apis import api_of
from environments.models import CompiledEnvironment, Environment, Provenance
from environments.runtime.pack import Pack

MAX_NAME: Final = 24
NUM_DIGITS: Final = (4, 8, 16)
"""Of the hash behind a name, if the plain one is taken, and if that one is, too."""


def claim_name(pack: Pack, provider: str) -> str:
    """The first name that is free or holds versions of the same APIs; its row stays locked until the transaction ends.

    Args:
        pack: By the name that the compiler gave it.
        provider: Whose API it is.
    """
    addresses = sorted({entry.address for entry in pack.provenance})
    apis = sorted({api_of(provider, address) for address in addresses})
    for name in _candidates(pack.name, apis):
        environment, is_new = Environment.objects.get_or_create(
            name=name, defaults={"code": Environment.code_of(name)}
        )
        Environment.objects.select_for_update().get(pk=environment.pk)
        if is_new or _is_of(environment, provider, addresses, apis):
            return name
    raise AssertionError(f"three names for {pack.name} belong to other APIs")  # 64 bits of a hash


def _candidates(name: str, apis: list[str]) -> Iterator[str]:
    yield name
    digest = hashlib.sha256("\n".join(apis).encode()).hexdigest()
    for digits in NUM_DIGITS:
        yield f"{name[: MAX_NAME - digits - 1].rstrip('_')}_{digest[:digits]}"


def _is_of(environment: Environment, provider: str, addresses: list[str], apis: list[str]) -> bool:
    """Whether the environment has a version of one of the APIs, or none at all."""
    if not environment.versions.exists():
        return True
    sources = Provenance.objects.filter(version__environment=environment)
    if sources.filter(address__in=addresses).exists():
        return True
    if not CompiledEnvironment.objects.filter(version__environment=environment, provider=provider).exists():
        return False
    known = {api_of(provider, address) for address in sources.values_list("address", flat=True).distinct()}
    return not known.isdisjoint(apis)
