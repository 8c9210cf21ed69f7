"""The endpoint model against a real HTTP server on loopback, which answers as it is told to."""

from __future__ import annotations

import json
import logging
import multiprocessing
import pickle
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import world_models
from tests.world_models.recordings import submission
from world_models.endpoint import EndpointModel
from world_models.outcomes import Outcome, Status, exception_class
from world_models.testing import check_world_model

GOOD = {"status": "VALID", "confidence": 0.9, "percentile": 0.6, "seconds": 2.0, "exception": "", "message": ""}
Answer = tuple[int, Any, dict[str, str]]


def said(content: Any, finish: str = "stop", **message: Any) -> Answer:
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return 200, {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}, {}


class Server(ThreadingHTTPServer):
    """Answers with what ``script(request, number)`` says; counts requests, connections and how many at once."""

    daemon_threads = True

    def __init__(self, script: Callable[[dict[str, Any], int], Answer | bytes | None]) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.connections = self.running = self.most = 0
        self.lock = threading.Lock()
        self.release = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are part of the game."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            number = len(self.server.requests)
            self.server.requests.append(body)
            self.server.headers.append(dict(self.headers))
            self.server.running += 1
            self.server.most = max(self.server.most, self.server.running)
        try:
            answer = self.server.script(body, number)
        finally:
            with self.server.lock:
                self.server.running -= 1
        if answer is None:  # says nothing and hangs up in the middle
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"choices"')
            self.close_connection = True
            return
        status, reply, headers = answer if isinstance(answer, tuple) else (200, answer, {})
        data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


Start = Callable[..., tuple[Server, EndpointModel]]


@pytest.fixture
def start() -> Iterator[Start]:
    servers: list[Server] = []
    models: list[EndpointModel] = []

    def begin(script: Any, **kwargs: Any) -> tuple[Server, EndpointModel]:
        if not callable(script):
            answer = script
            script = lambda body, number: answer  # noqa: E731
        server = Server(script)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        model = EndpointModel(server.url, "tiny", **{"backoff_s": 0.0, "timeout_s": 20.0, **kwargs})
        models.append(model)
        return server, model

    yield begin
    for model in models:
        model.close()
    for server in servers:
        server.release.set()
        server.shutdown()
        server.server_close()


def ask(model: EndpointModel, seed: int = 0) -> Outcome:
    return model.execute([submission("clean", seed=seed)])[0]


def test_an_answer_becomes_an_outcome(start: Start) -> None:
    server, model = start(said(GOOD))
    outcome = ask(model)
    assert outcome.status is Status.VALID and outcome.seconds == 2.0 and outcome.source == "world_model"
    assert outcome.score == pytest.approx(0.9 * 0.8 + 0.1 * 0.15)
    assert outcome.variance == pytest.approx(0.09 * (0.8 - 0.15) ** 2)
    (body,) = server.requests
    assert body["model"] == "tiny" and body["response_format"]["json_schema"]["strict"] is True
    assert "# Clean" in body["messages"][1]["content"] and "RandomForest" in body["messages"][1]["content"]
    assert model.usage() == {
        "requests": 1, "failed": 0, "retried": 0, "prompt_tokens": 10, "completion_tokens": 5,
    }  # fmt: skip


def test_a_failure_is_told_in_the_sandboxs_format(start: Start) -> None:
    told = GOOD | {"status": "RUNTIME_ERROR", "exception": "ValueError", "message": "Input X contains NaN."}
    outcome = ask(start(said(told))[1])
    assert outcome.status is Status.RUNTIME_ERROR and exception_class(outcome.feedback) == "ValueError"
    assert outcome.score == pytest.approx(0.9 * 0.1 + 0.1 * 0.75)
    assert outcome.feedback.startswith("Status: RUNTIME_ERROR\nScore: ")


@pytest.mark.parametrize("text", ["```json\n{}\n```", "I think: {} That is all."])
def test_json_is_found_wherever_it_stands(start: Start, text: str) -> None:
    assert ask(start(said(text.replace("{}", json.dumps(GOOD))))[1]).status is Status.VALID


@pytest.mark.parametrize(
    "answer",
    [
        said("no JSON at all"),
        said("{"),
        said(GOOD | {"status": "PERFECT"}),
        said(GOOD | {"percentile": 7}),
        said(GOOD | {"percentile": True}),
        said(GOOD | {"confidence": float("nan")}),
        said(GOOD | {"confidence": "high"}),
        said(GOOD | {"seconds": -1}),
        said(GOOD | {"seconds": 10**400}),
        said("[]"),
        said('{"status": ' * 100_000 + "}"),
        said({"status": "VALID"}),
        said(GOOD, finish="length"),
        said(GOOD, refusal="I cannot help with that."),
        (200, {"choices": []}, {}),
        (200, [1, 2], {}),
        (200, b"<html>", {}),
        (200, b"[" * 200_000, {}),
        (200, said(GOOD)[1] | {"usage": {"prompt_tokens": float("inf")}}, {}),
        (200, said(GOOD)[1] | {"usage": [1]}, {}),
        (200, b"x" * 3_000_000, {}),
        (200, {"choices": [{"message": {"content": None}}]}, {}),
        (401, {"error": "no such key"}, {}),
        (404, {"error": "no such model"}, {}),
        (422, {}, {}),
    ],
)
def test_what_is_no_answer_is_unknown_and_no_score(start: Start, answer: Answer) -> None:
    server, model = start(answer)
    outcome = ask(model)
    assert outcome.status is Status.UNGRADED and outcome.score is None
    assert len(server.requests) == 1 and model.failed == 1
    ask(model)
    assert len(server.requests) == 2  # an unknown outcome is not remembered


@pytest.mark.parametrize(("fault", "after"), [(500, "0"), (503, "\u00b2"), (429, "soon"), (None, "")])
def test_what_passes_is_tried_again(start: Start, fault: int | None, after: str) -> None:
    def script(body: Any, number: int) -> Any:
        if number < 2:
            return None if fault is None else (fault, {}, {"Retry-After": after})
        return said(GOOD)

    server, model = start(script)
    assert ask(model).status is Status.VALID
    assert len(server.requests) == 3 and model.retried == 2


def test_retries_have_an_end(start: Start) -> None:
    server, model = start((500, {}, {}), retries=2)
    outcome = ask(model)
    assert outcome.status is Status.UNGRADED and "HTTP status 500" in outcome.feedback and len(server.requests) == 3


def test_a_server_that_hangs_or_is_gone(start: Start) -> None:
    def hang(body: Any, number: int) -> Any:
        server.release.wait(60)
        return said(GOOD)

    server, model = start(hang, timeout_s=0.2, retries=1)
    outcome = ask(model)
    assert outcome.status is Status.UNGRADED and "Timeout" in outcome.feedback and model.retried == 1
    gone = EndpointModel("http://127.0.0.1:9/v1", "tiny", retries=0)
    assert "ConnectError" in ask(gone).feedback


def test_a_server_without_json_schema_is_asked_without(start: Start) -> None:
    def script(body: Any, number: int) -> Any:
        return (400, {"error": "response_format"}, {}) if "response_format" in body else said(GOOD)

    server, model = start(script)
    assert ask(model).status is Status.VALID and ask(model, 1).status is Status.VALID
    assert ["response_format" in body for body in server.requests] == [True, False, False]


def test_all_of_the_first_batch_are_asked_without_schema_where_there_is_none(start: Start) -> None:
    together = threading.Barrier(4)

    def script(body: Any, number: int) -> Any:
        if "response_format" not in body:
            return said(GOOD)
        together.wait(60)  # all are on their way before the first one learns
        return 400, {"error": "response_format"}, {}

    _, model = start(script, concurrency=4)
    outcomes = model.execute([submission("clean", seed=i) for i in range(4)])
    assert [outcome.status for outcome in outcomes] == [Status.VALID] * 4


def test_one_bad_request_does_not_end_the_use_of_the_schema(start: Start) -> None:
    server, model = start(lambda body, number: (400, {"error": "too long"}, {}) if number < 2 else said(GOOD))
    assert ask(model).status is Status.UNGRADED and ask(model, 1).status is Status.VALID
    assert ["response_format" in body for body in server.requests] == [True, False, True]


def test_halves_of_characters_become_text(start: Start) -> None:
    told = GOOD | {"status": "RUNTIME_ERROR", "exception": "ValueError", "message": "\ud800"}
    server, model = start(said(told))
    (outcome,) = model.execute([replace(submission("clean"), task_text="# Half \udfff")])
    assert "ValueError: ?" in outcome.feedback and "# Half ?" in server.requests[0]["messages"][1]["content"]


def test_requests_are_bounded_connections_kept_and_order_is_that_of_the_batch(start: Start) -> None:
    def script(body: Any, number: int) -> Any:
        seed = int(body["messages"][1]["content"].partition("random_state=")[2].partition(")")[0])
        return said(GOOD | {"percentile": seed / 100})

    server, model = start(script, concurrency=3)
    batch = [submission("clean", seed=i) for i in range(30)] + [submission("clean", seed=3)]
    outcomes = model.execute(batch)
    assert server.most <= 3 and server.connections <= 3 and len(server.requests) == 30
    scores = [outcome.score for outcome in outcomes]
    assert scores[:30] == sorted(scores[:30]) and scores[30] == scores[3]
    model.execute(batch)
    assert len(server.requests) == 30  # what is known is not asked again


def test_samples_are_members(start: Start) -> None:
    def script(body: Any, number: int) -> Any:
        return said("?") if body["seed"] == 2 else said(GOOD | {"percentile": 0.2 + 0.6 * body["seed"]})

    outcome = ask(start(script, samples=3)[1])
    low, high, mean = (0.9 * (0.5 + 0.5 * p) + 0.015 for p in (0.2, 0.8, 0.5))
    assert outcome.member_scores == pytest.approx((low, high, mean)) and outcome.score == pytest.approx(mean)
    assert outcome.variance is not None and outcome.variance > ((high - low) / 2) ** 2


def test_the_contract_is_kept(start: Start) -> None:
    _, model = start(said(GOOD), samples=2)
    check_world_model(model, [submission("clean", seed=i) for i in range(3)])


def _in_fork(model: EndpointModel, queue: Any) -> None:
    queue.put(ask(model, 5).status)


def test_it_survives_pickle_and_fork(start: Start) -> None:
    server, model = start(said(GOOD))
    ask(model)
    copy = pickle.loads(pickle.dumps(model))
    assert ask(copy) == ask(model) and len(server.requests) == 2
    copy.close()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_in_fork, args=(model, queue))
    process.start()
    assert queue.get(timeout=60) == Status.VALID
    process.join(60)


def test_the_key_is_sent_and_told_to_nobody(start: Start, tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    server, model = start((401, {}, {}), api_key="sk-secret")
    with caplog.at_level(logging.WARNING):
        outcomes = [ask(model), ask(model)]
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    model.save(tmp_path)
    saved = "".join(path.read_text(errors="replace") for path in tmp_path.iterdir())
    assert "sk-secret" not in saved + repr(model) + caplog.text + outcomes[0].feedback
    assert [record.levelname for record in caplog.records] == ["WARNING"]  # once is enough
    assert "HTTP status 401" in caplog.text
    loaded = world_models.make(tmp_path)
    assert isinstance(loaded, EndpointModel) and loaded.version == "tiny"


@pytest.mark.parametrize(
    "bad",
    [
        {"base_url": "localhost:8000"}, {"base_url": "http://[::1"}, {"api_key": "sk-\u2019"}, {"api_key": "sk\n"},
        {"concurrency": 0}, {"timeout_s": 0}, {"timeout_s": float("nan")},
        {"retries": -1}, {"samples": 0}, {"samples": 1.5}, {"concurrency": 2.0}, {"temperature": -1}, {"max_tokens": 1},
    ],
)  # fmt: skip
def test_bad_arguments_are_named(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        EndpointModel(**{"base_url": "http://localhost/v1", "model": "tiny", **bad})
