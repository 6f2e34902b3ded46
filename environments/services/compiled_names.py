"""Names of compiled environments in the registry: two that are made of different APIs never share one.

The compiler's names are unique within what it compiles at once. What another compilation, a person or a later step has
put under such a name stays what it is: the newcomer gets a name of its own, made of its documents, so that the same
content gets the same name again.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

from environments.core.compile.apis import api_of
from environments.core.compile.report import EnvironmentFacts
from environments.models import CompiledOperation, Environment, Provenance

MAX_NAME: Final = 24
NUM_DIGITS: Final = (4, 8, 16)
"""Of the hash behind a name, if the plain one is taken, and if that one is, too."""


def claim_name(facts: EnvironmentFacts) -> str:
    """The first name that is free or holds versions of the same APIs; its row stays locked until the transaction ends.

    Args:
        facts: Of the environment, with the name that the compiler gave it.
    """
    apis = sorted({document.api for document in facts.documents})
    for name in _candidates(facts.name, apis):
        environment, is_new = Environment.objects.get_or_create(name=name, defaults={"code": Environment.code_of(name)})
        Environment.objects.select_for_update().get(pk=environment.pk)
        if is_new or _is_of(environment, facts, apis):
            return name
    raise AssertionError(f"every name for {facts.name} belongs to other APIs")  # the last one has 64 bits of a hash


def _candidates(name: str, apis: Sequence[str]) -> Iterator[str]:
    yield name
    digest = hashlib.sha256("\n".join(apis).encode()).hexdigest()
    for digits in NUM_DIGITS:
        yield f"{name[: MAX_NAME - digits - 1].rstrip('_')}_{digest[:digits]}"


def _is_of(environment: Environment, facts: EnvironmentFacts, apis: Sequence[str]) -> bool:
    """Whether the environment has a version of one of the APIs, or none at all."""
    if not environment.versions.exists():
        return True
    sources = Provenance.objects.filter(version__environment=environment)
    if sources.filter(sha256__in=[document.sha256 for document in facts.documents]).exists():
        return True
    compiled = CompiledOperation.objects.filter(
        environment__version__environment=environment, environment__provider=facts.provider
    )
    addresses = compiled.order_by().values_list("document__source__address", flat=True).distinct()
    return any(api_of(facts.provider, address) in apis for address in addresses)
