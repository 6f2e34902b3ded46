"""Many environments for measurements: one shipped pack, its head and its tools copied under other names."""

from typing import Final

from environments import services
from environments.core.seeds import content_code
from environments.models import VERSION_KIND, Decision, Environment, EnvironmentVersion, StatusChange, Tool, User

PACK: Final = "tide_gauges"
STATUSES: Final = (
    EnvironmentVersion.Status.VERIFIED, EnvironmentVersion.Status.VERIFIED, EnvironmentVersion.Status.DRAFT,
    EnvironmentVersion.Status.REJECTED,
)  # fmt: skip
NUM_DOMAINS: Final = 40


def make_environments(*, count: int, user: User) -> None:
    """Makes the rows that lists read: no tables, scenarios or cases.

    Args:
        count: How many.
        user: Who approved every second one.
    """
    original = services.import_shipped_pack(name=PACK).version
    tools = list(original.tools.order_by("position"))
    environments = Environment.objects.bulk_create(
        Environment(code=Environment.code_of(f"bench_{place}"), name=f"bench_{place}") for place in range(count)
    )
    versions = EnvironmentVersion.objects.bulk_create(
        _copied(original, environment, place) for place, environment in enumerate(environments)
    )
    for environment, version in zip(environments, versions, strict=True):
        environment.latest_version = version
    Environment.objects.bulk_update(environments, ["latest_version"], batch_size=1000)
    StatusChange.objects.bulk_create(StatusChange(version=version, after=version.status) for version in versions)
    Tool.objects.bulk_create(
        (_copied_tool(tool, version) for version in versions for tool in tools), batch_size=2000
    )  # fmt: skip
    Decision.objects.bulk_create(
        Decision(actor=user, subject_kind=VERSION_KIND, subject_code=version.code,
                 subject_sha256=version.content_sha256, verdict=Decision.Verdict.APPROVE)
        for version in versions[::2]
    )  # fmt: skip


def _copied(original: EnvironmentVersion, environment: Environment, place: int) -> EnvironmentVersion:
    fields = {field.attname: getattr(original, field.attname) for field in EnvironmentVersion._meta.concrete_fields}
    sha256 = f"{place:064x}"
    changed = {
        "id": None, "code": EnvironmentVersion.code_of(sha256), "environment_id": environment.pk, "number": 1,
        "content_sha256": sha256, "status": STATUSES[place % len(STATUSES)], "title": f"{original.title} {place}",
        "domain": f"Domain {place % NUM_DOMAINS}",
    }  # fmt: skip
    return EnvironmentVersion(**fields | changed)


def _copied_tool(original: Tool, version: EnvironmentVersion) -> Tool:
    fields = {field.attname: getattr(original, field.attname) for field in Tool._meta.concrete_fields}
    code = content_code("tool", 0, f"{version.content_sha256}/{original.name}")
    return Tool(**fields | {"id": None, "code": code, "version_id": version.pk})
