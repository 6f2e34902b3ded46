"""The lexical back-end: the same bytes everywhere, names alike are near, no content is no vector."""

import os
import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.core.embedding import LexicalEmbedder
from environments.core.embedding.lexical import split_words

TEXTS = ["getUserDetails", "Lists the pets of the shelter", "Ärger über Öl", "東京の天気", "", "a" * 10_000]
SCRIPT = """
import sys
from hashlib import sha256
from environments.core.embedding import LexicalEmbedder
print(sha256(LexicalEmbedder().embed({texts!r}).tobytes()).hexdigest())
"""


def vectors(*texts):
    return LexicalEmbedder().embed(texts)


def similarity(one, other):
    first, second = vectors(one, other)
    return float(first @ second)


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_vectors_are_the_same_bytes_whatever_the_hash_seed(seed):
    command = [sys.executable, "-c", SCRIPT.format(texts=TEXTS)]

    done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True)

    assert done.stdout.decode().strip() == sha256(vectors(*TEXTS).tobytes()).hexdigest()


def test_vectors_have_length_one_but_for_texts_without_content():
    lengths = np.linalg.norm(vectors(*TEXTS, "   ", "?!…"), axis=1)

    np.testing.assert_allclose(lengths, [1, 1, 1, 1, 0, 1, 0, 0], atol=1e-6)


@pytest.mark.parametrize("other", ["get_user_details", "GetUserDetails", "get user details", "GET-USER-DETAILS"])
def test_spelling_of_a_name_makes_no_difference(other):
    assert similarity("getUserDetails", other) == pytest.approx(1, abs=1e-6)


def test_names_alike_are_nearer_than_others():
    alike = [similarity("get_user_details", name) for name in ("get_users_detail", "update_user_details")]
    others = [similarity("get_user_details", name) for name in ("list_invoices", "mv", "search_flights")]

    assert min(alike) > 0.6
    assert max(map(abs, others)) < 0.3


def test_words_are_taken_apart_at_capitals_and_signs():
    assert split_words("parseHTMLPage-v2_ofÄpfel") == ["parse", "html", "page", "v2", "ofäpfel"]


def test_nothing_gives_no_rows():
    assert vectors().shape == (0, 512)


@given(st.lists(st.text(max_size=50), max_size=8))
def test_a_texts_vector_does_not_depend_on_its_neighbours(texts):
    together = vectors(*texts)

    assert together.shape == (len(texts), 512)
    for row, text in zip(together, texts, strict=True):
        assert row.tobytes() == vectors(text)[0].tobytes()
        assert np.isfinite(row).all()
