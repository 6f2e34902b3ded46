"""Vectors of texts, each distinct text once (docs/contracts.md, C13)."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal

import numpy as np
from django.conf import settings
from django.db import connection, transaction

from environments.adapters.embedding import EndpointEmbedder, MiniLMEmbedder
from environments.core.embedding import Embedder, LexicalEmbedder, Vectors
from environments.core.errors import InvalidInputError
from environments.models import TextEmbedding

logger = logging.getLogger(__name__)

Purpose = Literal["leak_guard", "parameter", "task", "query", "search"]
"""What vectors are for."""

MAX_DIMENSION: Final = 2_000
"""What pgvector's HNSW index takes."""
_READ_ROWS: Final = 2_000
_UNIT_TEXTS: Final = 256
"""Made and stored together: what a killed worker loses."""
MAX_NEAREST: Final = 200
"""How many neighbours one search gives; the index looks at twice as many."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors and who made them.

    Attributes:
        model: Name of the back-end; pages and manifests show it, and vectors of two are never compared.
        vectors: (num_texts, dimension) float32, in the order of the texts, each row of length 1.
    """

    model: str
    vectors: Vectors


def embedder() -> Embedder:
    """The back-end that the settings choose: `auto` takes the packaged MiniLM where it is installed.

    Raises:
        InvalidInputError: The settings name one that is not there.
    """
    chosen = settings.EMBEDDING_BACKEND
    if chosen == "endpoint":
        if not (settings.EMBEDDING_URL and settings.EMBEDDING_MODEL):
            raise InvalidInputError("EMBEDDING_BACKEND is endpoint, which needs EMBEDDING_URL and EMBEDDING_MODEL.")
        return EndpointEmbedder(settings.EMBEDDING_URL, settings.EMBEDDING_MODEL, settings.EMBEDDING_API_KEY)
    if chosen == "minilm" and not MiniLMEmbedder.is_installed():
        raise InvalidInputError("EMBEDDING_BACKEND is minilm, which is not installed: `make setup EXTRAS=embed`.")
    if chosen == "minilm" or (chosen == "auto" and MiniLMEmbedder.is_installed()):
        return MiniLMEmbedder()
    return LexicalEmbedder()


def embed(texts: Sequence[str], purpose: Purpose, *, backend: Embedder | None = None) -> Embedded:
    """The texts' vectors: stored ones are read, new ones made and stored.

    Args:
        texts: Any; equal ones cost once.
        purpose: What they are for; the log says so.
        backend: Another than the settings choose.

    Raises:
        TransientError: The back-end can't be reached.
        InvalidInputError: It refuses, or its vectors are too long.
    """
    chosen = backend or embedder()
    keys = [sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
    found = _stored(chosen.name, set(keys))
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
    # In the order of keys, so that two processes with texts in common insert them in the same order.
    pending = sorted(missing.items())
    for first in range(0, len(pending), _UNIT_TEXTS):
        unit = dict(pending[first : first + _UNIT_TEXTS])
        made = chosen.embed(list(unit.values()))
        _store(chosen.name, list(unit), made)
        found.update(zip(unit, made, strict=True))
    logger.info(
        "event=texts_embedded purpose=%s model=%s texts=%d new=%d", purpose, chosen.name, len(keys), len(pending)
    )
    if not keys:
        return Embedded(chosen.name, np.zeros((0, 0), dtype=np.float32))
    return Embedded(chosen.name, np.stack([found[key] for key in keys]))


def _stored(model: str, keys: set[str]) -> dict[str, Vectors]:
    wanted, found = sorted(keys), {}
    for first in range(0, len(wanted), _READ_ROWS):
        rows = TextEmbedding.objects.of_model(model).filter(text_sha256__in=wanted[first : first + _READ_ROWS])
        for key, vector in rows.values_list("text_sha256", "vector"):
            found[key] = np.asarray(vector, dtype=np.float32)
    return found


def _store(model: str, keys: Sequence[str], vectors: Vectors) -> None:
    dimension = int(vectors.shape[1])
    if dimension > MAX_DIMENSION:
        raise InvalidInputError(
            f"{model} makes vectors of {dimension} numbers; at most {MAX_DIMENSION} can be indexed."
        )
    rows = (
        TextEmbedding(text_sha256=key, model=model, dimension=dimension, vector=vector)
        for key, vector in zip(keys, vectors, strict=True)
    )
    with transaction.atomic():
        ensure_index(model, dimension)
        TextEmbedding.objects.bulk_create(rows, batch_size=500, ignore_conflicts=True)


def nearest_texts(vector: Vectors, *, model: str, limit: int) -> list[TextEmbedding]:
    """Stored texts of one model, nearest to a vector first, each with its `distance` (cosine, 0 to 2).

    The model's HNSW index answers, so one in some hundreds may be missed; texts without content (zero vectors) are
    near to nothing.

    Args:
        vector: (dimension,) float32.
        model: Whose vectors.
        limit: How many, 1 to `MAX_NEAREST`.
    """
    if not 1 <= limit <= MAX_NEAREST:
        raise ValueError(f"limit must be 1 to {MAX_NEAREST}")
    with transaction.atomic(), connection.cursor() as cursor:
        # pgvector's default looks at 40, and would give no more than that.
        cursor.execute("SET LOCAL hnsw.ef_search = %s", [2 * MAX_NEAREST])
        return list(TextEmbedding.objects.nearest(model, vector.tolist())[:limit])


def ensure_index(model: str, dimension: int) -> None:
    """Makes the model's own HNSW index where there is none; each has its dimension, so one index can't serve two."""
    name = index_name(model)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_class WHERE relname = %s AND relkind = 'i'", [name])
        if cursor.fetchone():
            return
        # One at a time: of two processes that find no index only one makes it.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
        cursor.execute(
            f'CREATE INDEX IF NOT EXISTS "{name}" ON environments_textembedding '
            f"USING hnsw ((vector::vector({int(dimension)})) vector_cosine_ops) WHERE model = %s",
            [model],
        )


def index_name(model: str) -> str:
    """Name of a model's index, within PostgreSQL's 63 characters."""
    plain = re.sub(r"[^a-z0-9]+", "_", model.lower())[:30].strip("_")
    return f"text_embedding_{plain}_{sha256(model.encode()).hexdigest()[:8]}"
