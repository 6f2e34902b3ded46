import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from environments.adapters.embedding import MiniLMEmbedder
from environments.core.embedding import LexicalEmbedder
from environments.core.leak_guard import Guard, GuardData, GuardSubject, GuardTool, Hit, Member, Rule, compare_sets
from environments.core.leak_guard.building import LIMITS, build, count_names
from environments.core.leak_guard.checkouts import Found
from environments.core.leak_guard.data import dequantise, to_text
from environments.core.leak_guard.schemas import Weights
from tests.environments.core.leak_guard import examples

MINILM = "all-MiniLM-L6-v2"
SENTENCES = (
    "Waters a bed until the moisture probe reports the wanted level.",
    "Opens the roof vents of one compartment by the given share of their width.",
    "Lists the beds whose plants are due to be repotted within the next two weeks.",
    "Records a pest that somebody found, with the plant and how many there were.",
)


@pytest.fixture(scope="module")
def data() -> GuardData:
    return examples.shipped_data()


@pytest.fixture(scope="module")
def guard(data) -> Guard:
    return Guard(data, LexicalEmbedder().embed, LexicalEmbedder.name)


@pytest.fixture(scope="module")
def minilm_guard(data) -> Guard:
    """With MiniLM's vectors of the examples, as they were made once (`minilm_vectors.json`)."""
    stored = json.loads((examples.HERE / "minilm_vectors.json").read_text())
    return Guard(data, lambda texts: dequantise([stored[text] for text in texts]), MINILM)


def _entry(data: GuardData, name: str):
    return next(benchmark.entry for benchmark in data.benchmarks if benchmark.entry.name == name)


def _rules(hits: tuple[Hit, ...], benchmark: str) -> set[Rule]:
    return {hit.rule for hit in hits if hit.benchmark == benchmark}


BENCHMARKS = [
    "bfcl/gorilla_file_system", "bfcl/math_api", "bfcl/message_api", "bfcl/posting_api", "bfcl/ticket_api",
    "bfcl/trading_bot", "bfcl/travel_booking", "bfcl/vehicle_control", "bfcl/memory_kv",
    "tau/airline", "tau/retail", "tau2/airline", "tau2/retail", "tau2/telecom", "tau2/banking_knowledge",
    "vitabench/delivery", "vitabench/instore", "vitabench/ota",
    "acebench/travel", "acebench/food_services", "acebench/message", "acebench/reminder", "mcp_atlas/servers",
]  # fmt: skip
GENERIC = {"bfcl/math_api", "acebench/reminder", "acebench/message", "mcp_atlas/servers"}
"""Their argument lists are too short or too common to tell a copy from chance."""


@pytest.mark.parametrize("name", BENCHMARKS)
def test_same_names_are_caught(data, guard, name):
    hits = guard.check(examples.same_names(_entry(data, name)))

    assert Rule.NAMES in _rules(hits, name)
    (hit,) = [hit for hit in hits if hit.rule == Rule.NAMES and hit.benchmark == name]
    assert hit.score == pytest.approx(0.5)
    assert hit.threshold == 0.2
    assert hit.neighbours[0].own.casefold() == hit.neighbours[0].other.replace("_", "").replace("-", "").casefold()


@pytest.mark.parametrize("name", [name for name in BENCHMARKS if name not in GENERIC])
def test_renamed_tools_with_kept_schemas_are_caught(data, guard, name):
    hits = guard.check(examples.renamed(_entry(data, name)))

    assert Rule.SCHEMAS in _rules(hits, name)
    assert Rule.NAMES not in _rules(hits, name)


@pytest.mark.parametrize("name", ["tau2/airline", "tau2/retail", "tau2/telecom", "vitabench/ota", "vitabench/instore"])
def test_one_renamed_table_does_not_help(data, guard, name):
    entry = _entry(data, name)

    for number in range(len(entry.table_names)):
        assert Rule.TABLES in _rules(guard.check(examples.one_table_renamed(entry, number)), name)


@pytest.mark.parametrize("name", sorted(examples.paraphrased()))
def test_other_words_are_caught_by_a_model(minilm_guard, name):
    assert Rule.VECTORS in _rules(minilm_guard.check(examples.paraphrased()[name]), name)


@pytest.mark.embed
def test_stored_vectors_of_the_examples_are_those_of_the_model():
    stored = json.loads((examples.HERE / "minilm_vectors.json").read_text())

    made = MiniLMEmbedder().embed(list(stored))

    assert np.sum(made * dequantise(list(stored.values())), axis=1) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("name", sorted(examples.paraphrased()))
def test_other_words_with_kept_schemas_are_caught_without_a_model(data, guard, name):
    entry = _entry(data, name)
    tools = examples.paraphrased()[name].tools
    kept = tuple(replace(tool, arguments=given) for tool, given in zip(tools, entry.arguments, strict=True))

    assert Rule.SCHEMAS in _rules(guard.check(GuardSubject("In other words", kept)), name)


@pytest.mark.parametrize("name", sorted(examples.paraphrased()))
def test_other_words_alone_are_a_miss_of_the_base_install_that_names_the_neighbour(guard, name, capsys):
    examination = guard.examine(examples.paraphrased()[name])

    nearest = [near.benchmark for near in examination.nearest]
    with capsys.disabled():
        print(f"\nmissed without a model: {name}, nearest {nearest}")  # noqa: T201  # the log is to show the gap
    assert examination.hits == ()
    assert name.split("/")[1] in {near.split("/")[1] for near in nearest}


@pytest.mark.parametrize("subject", examples.innocent(), ids=lambda subject: subject.name)
def test_look_alikes_pass(guard, minilm_guard, subject):
    assert guard.check(subject) == ()
    assert minilm_guard.check(subject) == ()


def test_there_are_thirty_look_alikes():
    assert len(examples.innocent()) >= 30


def test_one_generic_name_is_never_a_hit(data, guard):
    names = sorted({name for benchmark in data.benchmarks for name in benchmark.entry.tool_names})
    hit = [name for name in names if guard.check(GuardSubject("One tool", (GuardTool(name),)))]

    assert hit == []


def test_three_names_among_many_are_no_hit(guard):
    names = ["book_reservation", "cancel_reservation", "get_user_details"]
    others = tuple(GuardTool(f"water_bed_{number}") for number in range(13))
    tools = tuple(GuardTool(name) for name in names)

    assert guard.check(GuardSubject("Many", (*tools, *others))) == ()
    assert Rule.NAMES in _rules(guard.check(GuardSubject("Few", (*tools, *others[:12]))), "tau2/airline")


def test_words_of_a_field_are_reported_and_no_hit(guard):
    subject = GuardSubject("Airline cargo", (GuardTool("track_airline_shipment", "", (Member("awb_number"),)),))

    examination = guard.examine(replace(subject, tools=(*subject.tools, GuardTool("calculate"))))

    assert examination.hits == ()
    assert {near.benchmark: near.keywords for near in examination.nearest}["tau2/airline"] == ("airline",)


def test_order_of_tools_changes_nothing(data, guard):
    subject = examples.renamed(_entry(data, "tau2/retail"))
    shuffled = replace(subject, tools=(*subject.tools[5:], *subject.tools[:5]))

    assert [(hit.benchmark, hit.rule, round(hit.score, 5)) for hit in guard.check(subject)] == [
        (hit.benchmark, hit.rule, round(hit.score, 5)) for hit in guard.check(shuffled)
    ]


def test_copied_sentences_are_caught_in_descriptions_and_in_longer_texts():
    tools = tuple(GuardTool(f"tool_{number}", text) for number, text in enumerate(SENTENCES))
    task = " ".join(SENTENCES)
    found = {"garden": [Found(GuardSubject("garden/beds", tools, (), (task,)))]}
    guard = Guard(build([], found, Weights(0, {}), {}))
    copied = tuple(GuardTool(f"other_{number}", text) for number, text in enumerate(SENTENCES))

    hits = guard.check(GuardSubject("Copied", copied, (), (f"A task: {task}",)))

    assert _rules(hits, "garden/beds") == {Rule.WORDING, Rule.TEXTS}
    assert guard.check(GuardSubject("Two of four", copied[:2])) == ()


def test_guard_without_vectors_says_so_and_refuses_a_model_it_has_no_vectors_of(data):
    assert Guard(data).examine(examples.innocent()[0]).embedder is None
    with pytest.raises(ValueError, match="no vectors of 'endpoint:x'"):
        Guard(data, LexicalEmbedder().embed, "endpoint:x")


def test_version_tells_data_and_model(data, guard, minilm_guard):
    versions = {Guard(data).version, guard.version, minilm_guard.version}

    assert len(versions) == 3
    assert all(len(version) <= 64 and data.sha256[:12] in version for version in versions)


def test_data_file_holds_names_hashes_and_vectors_and_no_sentence(data):
    path = Path(examples.HERE.parents[3] / "environments" / "data" / "leak_guard.json")
    text = path.read_text()
    value = json.loads(text)

    assert path.stat().st_size < 1_500_000
    assert to_text(data.to_json()) == text
    assert set(value) == {"format", "sources", "limits", "vector_thresholds", "weights", "benchmarks"}
    for benchmark in value["benchmarks"]:
        for tool in benchmark["tools"]:
            assert set(tool) == {"name", "arguments", "wording", "vectors"}
        names = [tool["name"] for tool in benchmark["tools"]] + [table["name"] for table in benchmark["tables"]]
        names += [each[0] for tool in benchmark["tools"] for each in tool["arguments"]]
        names += [each[0] for table in benchmark["tables"] for each in table["columns"]]
        assert all(len(name.split()) <= 3 and len(name) <= 80 for name in names)
    assert {benchmark["name"] for benchmark in value["benchmarks"]} >= set(BENCHMARKS)


def test_data_of_another_format_is_refused():
    with pytest.raises(ValueError, match="has format 'x'"):
        GuardData.from_json({"format": "x"})


def test_a_hundred_tools_take_less_than_a_tenth_of_a_second(data):
    guard = Guard(data)
    names = [f"{verb}_{noun}" for verb in ("list", "get", "create", "update", "delete") for noun in _nouns(20)]
    tools = tuple(
        GuardTool(name, f"Does something with {name} of one account and says what came of it.", _arguments(name))
        for name in names
    )
    seconds = []
    for _ in range(5):
        start = time.process_time()
        guard.check(GuardSubject("A hundred", tools))
        seconds.append(time.process_time() - start)

    assert len(tools) == 100
    assert min(seconds) < 0.1


def test_rare_names_are_left_out_of_the_counts():
    subjects = [
        GuardSubject("x", (GuardTool("a", "", (Member("id"), Member(f"own_{number}"))),)) for number in range(6)
    ]

    assert count_names(subjects) == Weights(6, {"id": 6})


def test_two_collections_are_compared_with_neighbours_named(data):
    weights = data.weights
    train = [examples.renamed(_entry(data, "tau2/retail")), *examples.innocent()[:2]]
    evaluation = [replace(examples.renamed(_entry(data, name)), name=name) for name in ("tau2/airline", "tau2/retail")]

    found = compare_sets(
        train, evaluation, weights, LexicalEmbedder().embed, {"size": lambda one, other: _same_size(one, other)}
    )

    assert found.matrix("schemas").shape == (3, 2)
    assert found.matrix("schemas")[0, 1] == pytest.approx(1.0)
    assert found.matrix("schemas")[1:].max() < 0.3
    name, nearest, measure = found.nearest("schemas")[0]
    assert (name, nearest) == ("Renamed", "tau2/retail")
    assert measure.neighbours[0].score == pytest.approx(1.0)
    assert set(found.measures) == {*(rule.value for rule in Rule), "size"}
    assert found.matrix("size")[0].tolist() == [0.0, 1.0]


def test_empty_collections_are_compared_with_an_empty_matrix():
    found = compare_sets([], [], Weights(0, {}))

    assert found.matrix("names").shape == (0, 0)
    assert "vectors" not in found.measures


def test_limits_are_those_of_the_file(data):
    assert data.limits == LIMITS
    assert data.limits[Rule.NAMES].min_matched == 3
    assert 0 < data.vector_thresholds[MINILM] < data.vector_thresholds[LexicalEmbedder.name] < 1
    for benchmark in data.benchmarks:
        for vectors in benchmark.vectors.values():
            lengths = np.linalg.norm(vectors, axis=1)
            assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-5))


def _same_size(one: GuardSubject, other: GuardSubject):
    from environments.core.leak_guard import Measure

    return Measure(float(len(one.tools) == len(other.tools)))


def _nouns(count: int) -> list[str]:
    return [f"thing{number}" for number in range(count)]


def _arguments(name: str) -> tuple[Member, ...]:
    common = ("id", "account_id", "limit", "page", "filter", "name", "status", "created_after")
    return tuple(Member(each, "string", False) for each in (*common, f"{name}_code", f"{name}_kind"))
