import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.core.leak_guard import Member
from environments.core.leak_guard.data import dequantise, quantise
from environments.core.leak_guard.matching import match
from environments.core.leak_guard.schemas import SchemaIndex, Weights
from environments.core.leak_guard.sketches import SketchIndex, from_text, resemblance, sketch_of, to_text
from environments.core.leak_guard.subjects import members, tool_text

PLAIN = Weights(0, {})
SENTENCE = "The gardener waters the long bed by the wall every morning before the sun is up."


def test_pairs_are_one_to_one_and_the_most_alike_first():
    similarities = np.array([[0.9, 0.8], [0.95, 0.1], [0.3, 0.4]], dtype=np.float32)

    assert [(row, column) for row, column, _ in match(similarities, floor=0.35)] == [(1, 0), (0, 1)]


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 5))
def test_a_crowd_of_rows_is_matched_as_if_all_were_looked_at(seed, num_rows, num_columns):
    similarities = np.random.default_rng(seed).random((num_rows, num_columns)).astype(np.float32)
    taken: set[int] = set()
    expected = []
    for place in np.argsort(-similarities, axis=None, kind="stable"):
        row, column = divmod(int(place), num_columns)
        if row not in taken and -1 - column not in taken:
            taken |= {row, -1 - column}
            expected.append((row, column))

    assert [(row, column) for row, column, _ in match(similarities, floor=0.0)] == expected


def test_common_arguments_count_little():
    weights = Weights(1_000, {"id": 999, "limit": 600})
    index = SchemaIndex([[Member("id"), Member("grafting_wax")]], weights)

    similar, own = index.compare([[Member("id")], [Member("graftingWax")], [Member("id"), Member("grafting_wax")]])

    assert similar[0, 0] < 0.1
    assert similar[1, 0] > 0.8
    assert similar[2, 0] == pytest.approx(1.0)
    assert own[0] < 0.1


def test_another_kind_or_being_required_costs_a_part():
    index = SchemaIndex([[Member("bed", "string", True)]], PLAIN)

    similar, _ = index.compare(
        [
            [Member("bed", "string", True)],
            [Member("bed", "number", True)],
            [Member("bed", "any", True)],
            [Member("bed", "string", False)],
        ]
    )

    assert similar[:, 0] == pytest.approx([1.0, 0.7, 1.0, 0.9])


def test_lists_without_arguments_are_like_nothing():
    similar, _ = SchemaIndex([[], [Member("bed")]], PLAIN).compare([[], [Member("bed")]])

    assert similar.tolist() == [[0.0, 0.0], [0.0, 1.0]]


@given(st.lists(st.sampled_from("abcdefgh"), max_size=30), st.lists(st.sampled_from("abcdefgh"), max_size=30))
def test_short_texts_resemble_each_other_as_their_shingles_do(one, other):
    def shingles(words):
        return {tuple(words[start : start + 3]) for start in range(len(words) - 2)}

    either = shingles(one) | shingles(other)
    expected = len(shingles(one) & shingles(other)) / len(either) if either and len(either) <= 48 else None
    found = resemblance(sketch_of(" ".join(one)), sketch_of(" ".join(other)))

    assert found == resemblance(sketch_of(" ".join(other)), sketch_of(" ".join(one)))
    if expected is not None:
        assert found == pytest.approx(expected)


def test_long_texts_are_estimated():
    words = [f"word{number}" for number in range(2_000)]
    whole, half = sketch_of(" ".join(words)), sketch_of(" ".join(words[:1_000]))

    assert len(whole) == 48
    assert resemblance(whole, half) == pytest.approx(0.5, abs=0.2)


def test_index_finds_what_resembles_and_nothing_else():
    index = SketchIndex([sketch_of(SENTENCE), sketch_of("Something else is said here about another thing.")])

    assert index.similar(sketch_of(SENTENCE)) == {0: 1.0}
    assert from_text(to_text(sketch_of(SENTENCE))) == sketch_of(SENTENCE)


@given(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=8))
def test_quantised_vectors_keep_their_direction(values):
    vector = np.array(values, dtype=np.float32)
    length = np.linalg.norm(vector)

    (found,) = dequantise([quantise(vector)])

    if length < 1e-6:
        assert np.linalg.norm(found) == pytest.approx(0.0, abs=1.001)
    else:
        assert found @ (vector / length) == pytest.approx(1.0, abs=1e-3)


def test_members_of_inner_objects_and_references_are_seen_once():
    definitions = {"Bed": {"type": "object", "required": ["row"], "properties": {
        "row": {"type": "integer"}, "next": {"$ref": "#/definitions/Bed"}}}}  # fmt: skip
    schema = {"properties": {"beds": {"type": "array", "items": {"$ref": "#/definitions/Bed"}}, "note": {}}}

    assert members(schema, definitions) == (
        Member("beds", "array"),
        Member("note", "any"),
        Member("row", "number", True),
        Member("next", "object"),
    )


def test_text_says_nothing_twice():
    assert tool_text("Water a bed.", "Water a bed now") == "Water a bed now"
    assert tool_text("Water a bed", "Takes a minute.") == "Water a bed. Takes a minute."
