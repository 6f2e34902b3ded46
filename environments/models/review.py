"""Decisions of people on artefacts."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models


class Decision(models.Model):
    """One person's verdict on one artefact, append-only (a database trigger refuses change and deletion).

    A correction is a new row whose `supersedes` points at the old one.
    """

    class Verdict(models.TextChoices):
        """What was decided."""

        APPROVE = "approve"
        REJECT = "reject"
        REQUEST_CHANGES = "request_changes"
        RETIRE = "retire"
        DISCARD = "discard"
        VERIFY = "verify"

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="decisions")
    at = models.DateTimeField(auto_now_add=True)
    subject_kind = models.CharField(max_length=64)
    subject_code = models.UUIDField()
    subject_sha256 = models.CharField(max_length=64)
    verdict = models.CharField(max_length=32, choices=Verdict)
    reason_codes = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    note = models.TextField(blank=True)
    supersedes = models.OneToOneField(
        "self", models.PROTECT, null=True, blank=True, related_name="superseded_by", to_field="code"
    )

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["subject_kind", "subject_code"], name="decision_subject")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(subject_sha256__regex=r"^[0-9a-f]{64}$"), name="decision_subject_sha256_hex"
            ),
            models.CheckConstraint(
                condition=~models.Q(verdict="reject") | models.Q(reason_codes__len__gt=0),
                name="decision_reject_has_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} {self.subject_kind} {self.subject_code}"
