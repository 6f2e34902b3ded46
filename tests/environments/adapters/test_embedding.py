"""The endpoint's client against a server on this machine that answers by script."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from environments.adapters.embedding import BATCH_TEXTS, EndpointEmbedder
from environments.core.errors import InvalidInputError, TransientError


def vector_of(text):
    return [float(len(text)), 1.0, 0.0]


def entries(texts):
    return [{"index": place, "embedding": vector_of(text)} for place, text in enumerate(texts)]


def as_it_should(body):
    return 200, {"data": list(reversed(entries(body["input"])))}


class Scripted(ThreadingHTTPServer):
    """Answers `POST /v1/embeddings` with what `answer` makes of the body, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = as_it_should
        self.asked = []

    def handle_error(self, request, client_address):
        """Clients that have given up are part of the script."""

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers.get("Authorization"), body))
        status, answer = self.server.answer(body)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with Scripted() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_texts_go_in_batches_and_come_back_by_index(server):
    texts = ["x" * (place + 1) for place in range(BATCH_TEXTS + 5)]

    found = EndpointEmbedder(server.address + "/", "small", "secret").embed(texts)

    expected = np.array([vector_of(text) for text in texts])
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)
    assert found.dtype == np.float32
    assert [len(body["input"]) for _, _, body in server.asked] == [BATCH_TEXTS, 5]
    assert {(path, key, body["model"]) for path, key, body in server.asked} == {
        ("/v1/embeddings", "Bearer secret", "small")
    }


def test_no_key_is_sent_when_there_is_none(server):
    EndpointEmbedder(server.address, "small").embed(["a"])

    assert server.asked[0][1] is None


def test_nothing_asks_nothing(server):
    assert EndpointEmbedder(server.address, "small").embed([]).shape == (0, 0)
    assert server.asked == []


def test_zero_vector_stays_zero(server):
    server.answer = lambda body: (200, {"data": [{"index": 0, "embedding": [0, 0]}]})

    assert EndpointEmbedder(server.address, "small").embed([""]).tolist() == [[0, 0]]
    assert server.asked[0][2]["input"] == [" "]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_answer_that_says_come_back_later_is_transient(server, status):
    server.answer = lambda body: (status, b"busy")

    with pytest.raises(TransientError, match=f"{status}: busy"):
        EndpointEmbedder(server.address, "small", "secret").embed(["a"])


@pytest.mark.parametrize("status", [301, 400, 401, 404])
def test_refusal_is_final_and_does_not_tell_the_key(server, status):
    server.answer = lambda body: (status, b"no")

    with pytest.raises(InvalidInputError, match=f"{status}: no") as raised:
        EndpointEmbedder(server.address, "small", "secret").embed(["a"])
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>", b"[]", {"data": None}, {"data": [{}]}, {"data": []},
        {"data": entries(["a"])},
        {"data": entries(["a", "b", "c"])},
        {"data": [*entries(["a"]), *entries(["a"])]},
        {"data": [{"index": 5, "embedding": [1.0]}, {"index": 6, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]},
        {"data": [{"index": 0, "embedding": ["x"]}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [None]}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": ["nan"]}, {"index": 1, "embedding": [1.0]}]},
    ],
)  # fmt: skip
def test_answer_without_a_vector_for_each_text_is_refused(server, answer):
    server.answer = lambda body: (200, answer)

    with pytest.raises(InvalidInputError):
        EndpointEmbedder(server.address, "small").embed(["a", "b"])


def test_server_that_is_away_is_transient(server):
    server.shutdown()
    server.server_close()

    with pytest.raises(TransientError):
        EndpointEmbedder(server.address, "small", seconds=2).embed(["a"])


def test_server_that_says_nothing_is_given_up(server):
    release = threading.Event()
    server.answer = lambda body: (release.wait(5), as_it_should(body))[1]

    with pytest.raises(TransientError):
        EndpointEmbedder(server.address, "small", seconds=0.2).embed(["a"])
    release.set()


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/v1", ""])
def test_address_that_can_not_be_asked_is_refused(address):
    with pytest.raises(InvalidInputError):
        EndpointEmbedder(address, "small").embed(["a"])


def test_key_that_is_no_header_is_refused(server):
    with pytest.raises(InvalidInputError):
        EndpointEmbedder(server.address, "small", "a\nb").embed(["a"])
