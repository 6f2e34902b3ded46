"""Vectors in the database: each text once, in order, models apart, found by the index that each model has."""

import itertools
import threading

import numpy as np
import pytest
from django.db import connection

from environments.core.embedding import LexicalEmbedder
from environments.core.errors import InvalidInputError
from environments.models import TextEmbedding
from environments.services.embeddings import (
    MAX_DIMENSION,
    embed,
    embedder,
    ensure_index,
    index_name,
    nearest_texts,
)


class Counting:
    """Vectors by the text's length, and what was asked for."""

    def __init__(self, name="counting", dimension=3):
        self.name = name
        self.dimension = dimension
        self.asked = []

    def embed(self, texts):
        self.asked.append(list(texts))
        made = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(made, texts, strict=True):
            row[len(text) % self.dimension] = 1
        return made


def indexes():
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%%hnsw%%' ORDER BY 1")
        return [name for (name,) in cursor.fetchall()]


@pytest.mark.django_db
def test_each_distinct_text_is_made_once_and_comes_in_order():
    backend = Counting()

    first = embed(["bb", "a", "bb", ""], "search", backend=backend)
    second = embed(["ccc", "a", "ccc"], "search", backend=backend)

    assert first.vectors.tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert second.vectors.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert [sorted(each) for each in backend.asked] == [["", "a", "bb"], ["ccc"]]
    assert (first.model, TextEmbedding.objects.count()) == ("counting", 4)


@pytest.mark.django_db
def test_stored_vectors_are_what_was_made():
    texts = ["Ärger", "getUserDetails", "half \ud800 a pair", "\0"]

    made, stored = embed(texts, "search"), embed(texts, "search")

    np.testing.assert_array_equal(made.vectors, LexicalEmbedder().embed(texts))
    np.testing.assert_array_equal(stored.vectors, made.vectors)


@pytest.mark.django_db
def test_two_models_are_kept_apart():
    embed(["a", "b"], "search", backend=Counting("one", 3))
    other = embed(["a"], "search", backend=Counting("two", 5))

    assert other.vectors.shape == (1, 5)
    assert sorted(TextEmbedding.objects.values_list("model", "dimension")) == [("one", 3), ("one", 3), ("two", 5)]
    assert set(indexes()) >= {index_name("one"), index_name("two")}


@pytest.mark.django_db
def test_index_is_made_once():
    ensure_index("Some Model/v1", 3)
    ensure_index("Some Model/v1", 3)

    assert indexes().count(index_name("Some Model/v1")) == 1
    assert len(index_name("x" * 120)) <= 63


@pytest.mark.django_db
def test_nothing_gives_nothing():
    assert embed([], "search").vectors.shape == (0, 0)


@pytest.mark.django_db
def test_vectors_that_no_index_takes_are_refused_and_not_stored():
    with pytest.raises(InvalidInputError, match="2000"):
        embed(["a"], "search", backend=Counting("long", MAX_DIMENSION + 1))
    assert not TextEmbedding.objects.exists()


def test_settings_choose_the_back_end(settings):
    settings.EMBEDDING_BACKEND = "lexical"
    assert embedder().name == "lexical-1"
    settings.EMBEDDING_BACKEND, settings.EMBEDDING_URL, settings.EMBEDDING_MODEL = "endpoint", "http://x/v1", "small"
    assert embedder().name == "endpoint:small"
    settings.EMBEDDING_MODEL = ""
    with pytest.raises(InvalidInputError, match="EMBEDDING_MODEL"):
        embedder()


def test_model_that_is_not_installed_is_named(settings, monkeypatch):
    monkeypatch.setattr("environments.services.embeddings.MiniLMEmbedder.is_installed", lambda: False)
    settings.EMBEDDING_BACKEND = "auto"
    assert embedder().name == "lexical-1"
    settings.EMBEDDING_BACKEND = "minilm"
    with pytest.raises(InvalidInputError, match="EXTRAS=embed"):
        embedder()


@pytest.mark.django_db(transaction=True)
def test_processes_that_embed_the_same_at_once_agree():
    texts = [f"text number {place}" for place in range(600)]
    found, barrier = {}, threading.Barrier(4)

    def run(number):
        try:
            barrier.wait()
            mixed = texts[number * 100 :] + texts[: number * 100]
            found[number] = embed(mixed, "search").vectors[-1 if number == 0 else 600 - number * 100 - 1]
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 4
    for vector in found.values():
        np.testing.assert_array_equal(vector, LexicalEmbedder().embed(texts[-1:])[0])
    assert TextEmbedding.objects.count() == 600
    assert indexes().count(index_name("lexical-1")) == 1


@pytest.mark.django_db
def test_index_answers_and_finds_what_exact_search_finds():
    verbs = ("get", "list", "update", "delete", "search", "create", "count")
    adjectives = ("open", "late", "paid", "new", "old", "own")
    nouns = ("invoice", "user", "ticket", "pet", "device", "route", "order", "mail", "zone", "feed")
    texts = [" ".join(words) for words in itertools.product(verbs, adjectives, nouns)]
    stored = embed(texts, "search")
    embed(texts[:50], "search", backend=Counting("another"))
    wanted = LexicalEmbedder().embed(["delete the late order", "find new pets", "counting devices of a user"])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE environments_textembedding")

    for vector in wanted:
        exact = sorted(1 - stored.vectors @ vector)[:10]
        found = nearest_texts(vector, model=stored.model, limit=10)
        np.testing.assert_allclose([each.distance for each in found], exact, atol=1e-5)
        assert {each.model for each in found} == {stored.model}
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
        plan = TextEmbedding.objects.nearest(stored.model, vector.tolist())[:10].explain()
        assert index_name(stored.model) in plan
