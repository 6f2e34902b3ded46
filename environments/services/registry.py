"""The registry: packs in and out, and people's decisions about versions.

A version that is not verified is in quarantine: its rows can be read and its pack downloaded, but nothing runs it
except its verification, in a locked worker.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.db import transaction

from environments.core.access import Permission
from environments.core.errors import (
    FieldError,
    InvalidInputError,
    InvalidPackError,
    PermissionDeniedError,
    StaleStateError,
)
from environments.models import VERSION_KIND, Decision, Environment, EnvironmentVersion, StatusChange, User
from environments.runtime.faults import Fault
from environments.runtime.pack import Pack, PackError, check_pack, content_sha256, read_pack, unzip_pack
from environments.services.audit import record_audit
from environments.services.review import OTHER, record_decision

Status = EnvironmentVersion.Status
PACKS: Final = Path(__file__).resolve().parents[1] / "packs"
"""The reference packs that ship with the project."""

REJECT_REASONS: Final = {
    "wrong_behaviour": "A tool does something else than its source says",
    "wrong_interface": "Names, schemas or descriptions do not fit the source",
    "implausible_data": "Rows or texts that no such system would hold",
    "missing_tool": "Something essential of the source is left out",
    "licence": "The licence does not allow the use",
    "leak": "It resembles a public benchmark",
    OTHER: "Something else, as the note says",
}
"""Reason codes of a version's rejection, retirement and discarding, each with its sentence."""

_MOVES: Final = {
    Decision.Verdict.REJECT: Status.REJECTED,
    Decision.Verdict.RETIRE: Status.RETIRED,
    Decision.Verdict.DISCARD: Status.DISCARDED,
}
_VERDICTS: Final = (
    Decision.Verdict.VERIFY, Decision.Verdict.APPROVE, Decision.Verdict.REJECT, Decision.Verdict.RETIRE,
    Decision.Verdict.DISCARD,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import."""

    version: EnvironmentVersion
    is_new: bool


def shipped_packs() -> list[str]:
    """Names of the packs that ship with the project."""
    return sorted(path.name for path in PACKS.iterdir() if (path / "environment.json").is_file())


def import_shipped_pack(*, name: str, user: User | None = None) -> Imported:
    """Brings one of the shipped packs into the registry.

    Raises:
        InvalidInputError: If no shipped pack has that name.
    """
    if name not in shipped_packs():
        fault = FieldError("/name", "unknown", f"Shipped packs: {', '.join(shipped_packs())}.")
        raise InvalidInputError(f"No shipped pack is named {name!r}.", fields=(fault,))
    return import_pack(pack=read_pack(PACKS / name), origin=EnvironmentVersion.Origin.SHIPPED, user=user)


def import_pack_file(*, data: bytes, user: User, address: str | None = None) -> Imported:
    """Brings an uploaded zip into the registry as a draft.

    Raises:
        PermissionDeniedError: If the person may not start jobs.
        InvalidPackError: With every fault that the host can see; nothing is stored.
    """
    if not user.may(Permission.RUN_JOBS):
        raise PermissionDeniedError("Importing a pack needs the permission run_jobs.")
    try:
        pack = unzip_pack(data)
    except PackError as error:
        raise _invalid(error.faults) from None
    return import_pack(pack=pack, origin=EnvironmentVersion.Origin.UPLOADED, user=user, address=address)


def import_pack(
    *, pack: Pack, origin: EnvironmentVersion.Origin, user: User | None, address: str | None = None
) -> Imported:
    """Brings a pack into the registry as a draft; content that is there already gives the version that it is.

    Raises:
        InvalidPackError: With every fault that the host can see; nothing is stored.
    """
    faults = check_pack(pack)
    if faults:
        raise _invalid(faults)
    code = EnvironmentVersion.code_of(content_sha256(pack))
    with transaction.atomic():
        environment, _ = Environment.objects.get_or_create(
            name=pack.name, defaults={"code": Environment.code_of(pack.name)}
        )
        # The lock makes two imports of one name follow one another, so that numbers have no gap and content no twin.
        Environment.objects.select_for_update().get(pk=environment.pk)
        known = EnvironmentVersion.objects.select_related("environment").filter(code=code).first()
        if known is not None:
            return Imported(known, is_new=False)
        latest = environment.versions.order_by("-number").values_list("number", flat=True).first()
        version = EnvironmentVersion.from_core(
            pack, environment=environment, number=(latest or 0) + 1, origin=origin, created_by=user
        )
        version.save(force_insert=True)
        for rows in version.parts_from_core(pack):
            parts = list(rows)
            if parts:
                type(parts[0])._default_manager.bulk_create(parts, batch_size=500)
        StatusChange.objects.create(version=version, after=Status.DRAFT, reason=str(origin.label), actor=user)
        environment.point_at_versions()
        record_audit(
            actor=user, action="environment.import", subject_kind=VERSION_KIND, subject_code=str(version.code),
            detail={"name": pack.name, "number": version.number, "origin": origin.value}, address=address,
        )  # fmt: skip
    return Imported(version, is_new=True)


def decide_version(
    *,
    version: EnvironmentVersion,
    verdict: Decision.Verdict,
    user: User,
    reason_codes: Sequence[str] = (),
    note: str = "",
) -> Decision:
    """Records a person's decision about a version's content, and moves its status where the verdict says so.

    Approve needs a verified version and leaves its status; reject, retire and discard move it.

    Raises:
        PermissionDeniedError: If the person may not review.
        InvalidInputError: If a reason is missing or unknown, or `other` comes without a note.
        StaleStateError: If the version's status does not allow it, or changed meanwhile.
    """
    unknown = sorted(set(reason_codes) - REJECT_REASONS.keys())
    if unknown:
        detail = f"Unknown: {', '.join(unknown)}. Known: {', '.join(REJECT_REASONS)}."
        raise InvalidInputError(detail, fields=(FieldError("/reason_codes", "unknown", detail),))
    with transaction.atomic():
        version = EnvironmentVersion.objects.select_for_update(of=("self",)).select_related("environment").get(
            pk=version.pk
        )  # fmt: skip
        _check_allowed(version, verdict)
        decision = record_decision(
            actor=user, subject_kind=VERSION_KIND, subject_code=version.code,
            subject_sha256=version.content_sha256, verdict=verdict, reason_codes=reason_codes, note=note,
        )  # fmt: skip
        status = _MOVES.get(verdict)
        if status is not None:
            version.move(status, reason=", ".join(reason_codes) or note, actor=user, decision=decision)
    return decision


def allowed_verdicts(version: EnvironmentVersion) -> tuple[Decision.Verdict, ...]:
    """The verdicts that the version's status allows, whoever decides."""
    return tuple(verdict for verdict in _VERDICTS if not _refusal(version, verdict))


def _check_allowed(version: EnvironmentVersion, verdict: Decision.Verdict) -> None:
    refusal = _refusal(version, verdict)
    if refusal:
        raise StaleStateError(refusal)


def _refusal(version: EnvironmentVersion, verdict: Decision.Verdict) -> str:
    status = _MOVES.get(verdict)
    if verdict == Decision.Verdict.APPROVE and version.status != Status.VERIFIED:
        return f"{version} is {version.status}: only a verified version can be approved."
    if verdict == Decision.Verdict.VERIFY and not (
        version.status == Status.VERIFIED or version.may_become(Status.VERIFIED)
    ):
        return f"{version} is {version.status}: it is not verified any more."
    if status is not None and not version.may_become(status):
        return f"{version} is {version.status}, from which it can't become {status}."
    return ""


def _invalid(faults: Sequence[Fault]) -> InvalidPackError:
    fields = tuple(FieldError(f"/{fault.place}", fault.code, f"{fault.message}. {fault.remedy}") for fault in faults)
    first = f"{faults[0].place}: {faults[0].message}"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return InvalidPackError(f"The pack has faults: {first}{more}.", fields=fields)
