"""Versions in the registry, as tests need them."""

from environments import services
from environments.models import EnvironmentVersion


def shipped_version(name: str = "seed_bank", *, status: str = EnvironmentVersion.Status.VERIFIED) -> EnvironmentVersion:
    """A shipped pack in the registry; verified means here that its status says so, without a run."""
    version = services.import_shipped_pack(name=name).version
    if status != version.status:
        assert version.move(EnvironmentVersion.Status(status), reason="as the test needs it")
    return version
