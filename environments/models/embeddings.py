"""Vectors of texts, each distinct text once for each model (docs/contracts.md, C13)."""

from collections.abc import Sequence
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast
from pgvector.django import CosineDistance, VectorField


class TextEmbeddingQuerySet(models.QuerySet["TextEmbedding"]):
    """Chains over vectors."""

    def of_model(self, name: str) -> Self:
        """Those that one model made."""
        return self.filter(model=name)

    def nearest(self, name: str, vector: Sequence[float]) -> Self:
        """Those of one model with `distance` (cosine, 0 to 2), nearest first, by the model's HNSW index if any."""
        sized = Cast("vector", VectorField(dimensions=len(vector)))
        return self.of_model(name).annotate(distance=CosineDistance(sized, vector)).order_by("distance", "pk")


class TextEmbedding(models.Model):
    """One text's vector by one model."""

    text_sha256 = models.CharField(max_length=64)
    model = models.CharField(max_length=120)
    dimension = models.PositiveSmallIntegerField()
    vector = VectorField()

    objects = TextEmbeddingQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["text_sha256", "model"], name="text_embedding_unique"),
            models.CheckConstraint(condition=Q(dimension__gte=1, dimension__lte=2000), name="text_embedding_dimension"),
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.text_sha256[:8]}"
