"""World model ``endpoint``: a language model behind an OpenAI-compatible server is asked for the outcome."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import numbers
import os
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from world_models.base import WorldModel
from world_models.outcomes import Outcome, Status, Submission, ladder_score, render_feedback, ungraded

if TYPE_CHECKING:
    import httpx

__all__ = ["EndpointModel"]

_log = logging.getLogger(__name__)

_ENDINGS = ("VALID", "RUNTIME_ERROR", "TIMEOUT", "OUT_OF_MEMORY", "NO_SUBMISSION", "INVALID_SUBMISSION")
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": list(_ENDINGS)},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "percentile": {"type": "number", "minimum": 0, "maximum": 1},
        "seconds": {"type": "number", "minimum": 0},
        "exception": {"type": "string"},
        "message": {"type": "string"},
    },
    "required": ["status", "confidence", "percentile", "seconds", "exception", "message"],
    "additionalProperties": False,
}
_SYSTEM = (
    "You predict what happens when a Python program is run on a machine-learning task, without running it. Answer with "
    "one JSON object: status, how the run ends (VALID: it wrote predictions that can be graded); confidence, the "
    "probability that this status is right; percentile, the share of other solutions that it beats if VALID (0 to 1); "
    "seconds, CPU seconds of the run; exception and message, class and text of the exception, empty if VALID."
)
_RETRIED = {408, 409, 425, 429, 500, 502, 503, 504}
_MAX_BYTES = 2**20
_REMEMBERED = 16_384
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
_FAILED = 0.15  # score of a run that ends otherwise than was said, on the reward ladder between its failures


class _Answer(NamedTuple):
    status: Status
    score: float
    variance: float
    seconds: float
    detail: str


class _Refused(Exception):
    """No answer that can be used; the message says why."""


class EndpointModel(WorldModel):
    """Asks a server with OpenAI's chat completions (vLLM, llama.cpp, a provider) for outcomes as JSON.

    The score is ``c * s + (1 - c) * 0.15`` for a status of score ``s`` told with confidence ``c`` (and where a failure
    is told, ``c * s + (1 - c) * 0.75``, a middling valid score); the variance is that of the same two outcomes. With
    several ``samples``, each is a member. What gives no usable answer is UNGRADED, never a score: refusals, time-outs,
    cut or lying answers, a server that is gone.

    Args:
        base_url: e.g. ``"http://localhost:8000/v1"``.
        model: name that the server knows.
        api_key: sent as bearer token; by default from the environment variable ``OPENAI_API_KEY``. Never saved.
        concurrency: requests at once, at least 1.
        timeout_s: seconds that one request may take, above 0.
        retries: further attempts after time-outs, broken connections, overload and server errors; at least 0.
        backoff_s: seconds before the first retry, doubled each time, with jitter; a ``Retry-After`` header goes first.
        samples: answers asked for each submission, at least 1.
        temperature: of the sampling, at least 0.
        max_tokens: of an answer, at least 16.

    Raises:
        ValueError: an argument out of its range.
        ImportError: the extra ``endpoint`` is not installed.

    Attributes:
        requests, failed, retried, prompt_tokens, completion_tokens: counts since the model was made.
    """

    name = "endpoint"

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        concurrency: int = 8,
        timeout_s: float = 60.0,
        retries: int = 3,
        backoff_s: float = 0.5,
        samples: int = 1,
        temperature: float = 0.0,
        max_tokens: int = 300,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url must begin with http:// or https://, got {base_url!r}")
        bounds: dict[str, tuple[float, float]] = {
            "concurrency": (concurrency, 1), "retries": (retries, 0), "samples": (samples, 1),
            "temperature": (temperature, 0), "max_tokens": (max_tokens, 16), "backoff_s": (backoff_s, 0),
        }  # fmt: skip
        for argument, (value, least) in bounds.items():
            if not (math.isfinite(value) and value >= least):
                raise ValueError(f"{argument} must be at least {least}, got {value}")
            if argument not in ("temperature", "backoff_s") and not isinstance(value, numbers.Integral):
                raise ValueError(f"{argument} must be an integer, got {value}")
        if not (math.isfinite(timeout_s) and timeout_s > 0):
            raise ValueError(f"timeout_s must be above 0, got {timeout_s}")
        try:
            _library().URL(base_url)
        except _library().InvalidURL as error:
            raise ValueError(f"base_url is no address: {base_url!r} ({error})") from error
        self._config: dict[str, Any] = {
            "base_url": base_url.rstrip("/"), "model": model, "concurrency": concurrency, "timeout_s": timeout_s,
            "retries": retries, "backoff_s": backoff_s, "samples": samples, "temperature": temperature,
            "max_tokens": max_tokens,
        }  # fmt: skip
        self.version = model
        self.num_members = samples if samples > 1 else 0
        self._key = api_key if api_key is not None else os.environ.get("OPENAI_API_KEY", "")
        if not (self._key.isascii() and self._key.isprintable()):
            raise ValueError(
                "api_key may hold printable ASCII characters only; is a line break or a quote copied with it?"
            )
        self.requests = self.failed = self.retried = self.prompt_tokens = self.completion_tokens = 0
        self._structured = True  # whether the server takes a JSON schema
        self._warned: set[int] = set()
        self._open()

    def _open(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Outcome] = OrderedDict()
        self._client: httpx.Client | None = None

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_client", "_lock", "_known", "_pid")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def __repr__(self) -> str:
        return f"EndpointModel({self._config['base_url']!r}, {self._config['model']!r})"

    def usage(self) -> dict[str, int]:
        """Requests sent, failed for good and retried, and tokens read and written by the server."""
        names = ("requests", "failed", "retried", "prompt_tokens", "completion_tokens")
        return {name: getattr(self, name) for name in names}

    def close(self) -> None:
        """Close the connections; they are opened anew when needed."""
        client, self._client = self._client, None
        if client is not None and self._pid == os.getpid():
            client.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        if os.getpid() != self._pid:  # forked: the parent's connections and locks are not ours
            self._open()
        keys = [(one.task_text, one.code) for one in submissions]
        with self._lock:
            found = {key: self._known[key] for key in keys if key in self._known}
        fresh = {key: one for key, one in zip(keys, submissions, strict=True) if key not in found}
        if fresh:
            pool = ThreadPoolExecutor(min(self._config["concurrency"], len(fresh)), thread_name_prefix="wmrl-endpoint")
            futures = {key: pool.submit(self._predict, one) for key, one in fresh.items()}
            try:
                found |= {key: future.result() for key, future in futures.items()}
            finally:  # on Ctrl-C nothing that waits is begun any more
                pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._known |= {key: found[key] for key in fresh if found[key].status is not Status.UNGRADED}
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return [found[key] for key in keys]

    def _predict(self, submission: Submission) -> Outcome:
        answers: list[_Answer] = []
        reason = ""
        for sample in range(self._config["samples"]):
            try:
                answers.append(_read_answer(self._ask(submission, sample)))
            except _Refused as refusal:
                reason = str(refusal)
        if not answers:
            with self._lock:
                self.failed += 1
            return ungraded(f"the world model's server gave no usable answer: {reason}", "world_model")
        scores = [answer.score for answer in answers]
        score = math.fsum(scores) / len(scores)
        told = min(answers, key=lambda answer: abs(answer.score - score))
        within = math.fsum(answer.variance for answer in answers) / len(answers)
        members = scores + [score] * (self._config["samples"] - len(scores))
        feedback = render_feedback(told.status, score=score, seconds=told.seconds, detail=told.detail)
        return Outcome(
            status=told.status,
            score=score,
            feedback=feedback,
            metric_value=None,
            seconds=told.seconds,
            source="world_model",
            variance=within + float(np.var(scores)),
            member_scores=tuple(members) if self.num_members else (),
        )

    # --- requests ---

    def _ask(self, submission: Submission, sample: int) -> str:
        """Text of an answer.

        Raises:
            _Refused: there is none.
        """
        body: dict[str, Any] = {
            "model": self._config["model"],
            "messages": [
                {"role": "system", "content": _SYSTEM},
                {
                    "role": "user",
                    "content": _text(f"{submission.task_text}\n\nProgram:\n```python\n{submission.code}\n```"),
                },
            ],
            "temperature": self._config["temperature"],
            "max_tokens": self._config["max_tokens"],
            "seed": sample,
        }
        for attempt in range(self._config["retries"] + 1):
            if self._structured:
                schema = {"name": "outcome", "strict": True, "schema": _SCHEMA}
                body["response_format"] = {"type": "json_schema", "json_schema": schema}
            try:
                status, answer, wait = self._send(body)
            except _library().HTTPError as error:
                status, answer, wait = 0, type(error).__name__, None
            if status == 400 and body.pop("response_format", None):  # asked once more, in prose
                status, answer, wait = self._send_plain(body)
                self._structured = self._structured and status != 200
            if status == 200:
                return self._content(answer)
            if status and status not in _RETRIED:
                self._warn(status)
                raise _Refused(f"HTTP status {status}")
            if attempt < self._config["retries"]:
                with self._lock:
                    self.retried += 1
                pause = self._config["backoff_s"] * 2**attempt * random.uniform(0.5, 1.0)
                time.sleep(min(pause if wait is None else wait, self._config["timeout_s"]))
        raise _Refused(f"HTTP status {status}" if status else answer)

    def _send_plain(self, body: dict[str, Any]) -> tuple[int, str, float | None]:
        try:
            return self._send(body)
        except _library().HTTPError as error:
            return 0, type(error).__name__, None

    def _send(self, body: dict[str, Any]) -> tuple[int, str, float | None]:
        """HTTP status, text, and the seconds that the server asks to wait."""
        with self._lock:
            self.requests += 1
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                limits = _library().Limits(max_connections=self._config["concurrency"])
                self._client = _library().Client(headers=headers, limits=limits, timeout=self._config["timeout_s"])
            client = self._client
        deadline = time.monotonic() + self._config["timeout_s"]
        read = bytearray()
        with client.stream("POST", f"{self._config['base_url']}/chat/completions", json=body) as response:
            for chunk in response.iter_bytes():
                read += chunk
                if len(read) > _MAX_BYTES:
                    raise _Refused("the answer is longer than 1 MB")
                if time.monotonic() > deadline:  # the client's own limit is for each read
                    raise _library().ReadTimeout("the answer took too long")
            asked = response.headers.get("retry-after", "")
            wait = float(asked) if asked.isascii() and asked.replace(".", "", 1).isdigit() else None
            return response.status_code, read.decode("utf-8", "replace"), wait

    def _content(self, text: str) -> str:
        """What the model said.

        Raises:
            _Refused: nothing, or only a part.
        """
        try:
            reply = json.loads(text)
            usage = reply.get("usage") or {}
            with self._lock:
                self.prompt_tokens += int(usage.get("prompt_tokens") or 0)
                self.completion_tokens += int(usage.get("completion_tokens") or 0)
            choice = reply["choices"][0]
            message = choice["message"]
            if choice.get("finish_reason") == "length":
                raise _Refused("the answer was cut at max_tokens")
            if message.get("refusal") or not isinstance(message.get("content"), str):
                raise _Refused("the model refused")
            return message["content"]
        except _UNREADABLE as error:
            raise _Refused(f"the reply is no chat completion ({type(error).__name__})") from error

    def _warn(self, status: int) -> None:
        with self._lock:
            first = status not in self._warned
            self._warned.add(status)
        if first:
            _log.warning("%r answers with HTTP status %d; outcomes stay unknown", self, status)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return dict(self._config), {}

    @classmethod
    def _restore(cls, config: dict[str, Any], tensors: dict[str, np.ndarray], **kwargs: Any) -> EndpointModel:
        return cls(**{**config, **kwargs})


def _library() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise ImportError("the world model 'endpoint' needs httpx: pip install 'wmrl[endpoint]'") from error
    return httpx


def _read_answer(text: str) -> _Answer:
    """An answer from its JSON, wherever in the text that stands.

    Raises:
        _Refused: there is none, or it says what cannot be.
    """
    start, end = text.find("{"), text.rfind("}")
    try:
        told = json.loads(text[start : end + 1])
        status = told["status"]
        confidence, percentile, seconds = (_number(told, key) for key in ("confidence", "percentile", "seconds"))
    except _UNREADABLE as error:
        raise _Refused(f"the answer cannot be read ({type(error).__name__})") from error
    if status not in _ENDINGS or not 0 <= confidence <= 1 or not 0 <= percentile <= 1 or not 0 <= seconds < 1e6:
        raise _Refused("the answer says what cannot be")
    ending = Status(status)
    score = ladder_score(ending, percentile) or 0.0
    other = _FAILED if ending is Status.VALID else 0.75
    detail = ""
    if ending is not Status.VALID and told.get("exception"):
        detail = _text(f"{str(told['exception'])[:200]}: {str(told.get('message', ''))[:2000]}")
    expected = confidence * score + (1 - confidence) * other
    return _Answer(ending, expected, confidence * (1 - confidence) * (score - other) ** 2, seconds, detail)


def _text(text: str) -> str:
    """Text that can be encoded: halves of characters, which strings and JSON may carry, become question marks."""
    return text.encode("utf-8", "replace").decode()


def _number(told: dict[str, Any], key: str) -> float:
    value = told[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(key)
    return float(value)
