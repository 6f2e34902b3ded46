"""What the host insists on before a worker may run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from environments.runtime.sandbox.errors import SandboxUnavailableError
from environments.runtime.sandbox.layers import RULES


@dataclass(frozen=True, slots=True)
class Policy:
    """What the host insists on.

    Attributes:
        allow_unsafe: Run without the layers that can't be had (SANDBOX_ALLOW_UNSAFE=1); logged as an error each time.
        is_production: allow_unsafe is not honoured.
        require_landlock: Refuse without Landlock instead of warning once.
    """

    allow_unsafe: bool = False
    is_production: bool = True
    require_landlock: bool = False

    @property
    def is_unsafe(self) -> bool:
        """Whether a worker may run without its lock."""
        return self.allow_unsafe and not self.is_production

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], *, is_production: bool) -> Self:
        """The policy that SANDBOX_ALLOW_UNSAFE and SANDBOX_REQUIRE_LANDLOCK ask for."""
        return cls(
            allow_unsafe=environment.get("SANDBOX_ALLOW_UNSAFE") == "1",
            is_production=is_production,
            require_landlock=environment.get("SANDBOX_REQUIRE_LANDLOCK") == "1",
        )


def unavailable(layer: str, reason: str) -> SandboxUnavailableError:
    """The error that names a missing layer and its remedy."""
    remedy = RULES[layer].remedy if layer in RULES else RULES["process"].remedy
    return SandboxUnavailableError(f"The sandbox can't lock a worker here. Missing layer: {layer} ({reason}). {remedy}")
