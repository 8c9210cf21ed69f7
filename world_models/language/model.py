"""The world model: prompts, likelihoods of labels, and trained heads."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from world_models.base import CheckpointError, WorldModel
from world_models.language.causal import CausalReader, smollm2
from world_models.learned import LearnedModel, train
from world_models.learned.model import ENDINGS
from world_models.outcomes import Outcome, Status, Submission, ladder_score, render_feedback
from world_models.store import Transition, load_transitions

__all__ = ["LanguageModel"]

_LABELS = (" valid", " error", " timeout", " memory", " nothing", " wrong")  # of ENDINGS
_LETTERS = ("A", "B", "C", "D", "E", "F")
_RANKS = tuple(f" {rank}" for rank in range(10))
_INTRODUCTION = (
    "Programs are run on a machine-learning task. Each run ends in one of these ways: valid (predictions were written "
    "and graded), error (an exception), timeout, memory (out of memory), nothing (no predictions written), wrong "
    "(predictions that cannot be graded). A valid run is ranked from 0 (worst) to 9 (best).\n\n"
)
_NO_PROGRAM = "pass\n"
_REMEMBERED = 16_384
_DIGITS = 6


class LanguageModel(WorldModel):
    """Any causal language model: the likelihoods of a few words after "Outcome:" are the prediction, no text is parsed.

    The ending and, for a valid run, the rank are read from the distributions over one token each. They are divided by
    those for an empty program (contextual calibration; Zhao et al., 2021), so that a word that the model likes anyway
    says nothing. Task and examples are read once for all solutions. A solution longer than the context is read in
    pieces whose log-probabilities are averaged: all of it is read. Trained heads on the hidden states, where there are
    some (:meth:`train_heads`), take the place of the words.

    Args:
        model: folder or hub name of a model, one of ``transformers``, or a :class:`CausalReader`.
        tokenizer, gguf_file, device, dtype: see :class:`CausalReader`.
        examples: executed transitions to show, those of the same task first; never the solution asked for.
        shots: how many, at least 0.
        calibrate: whether to divide by the probabilities for an empty program.
        seed: of the choice of examples.
        heads: as :meth:`train_heads` leaves them.

    Raises:
        ValueError: an argument out of its range.
        OSError: no model of that name.
    """

    name = "language"

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        gguf_file: str | None = None,
        device: str | None = None,
        dtype: str | None = None,
        examples: Iterable[Transition] = (),
        shots: int = 0,
        calibrate: bool = True,
        seed: int = 0,
        heads: LearnedModel | None = None,
    ) -> None:
        if shots < 0:
            raise ValueError(f"shots must be at least 0, got {shots}")
        if not isinstance(model, CausalReader):
            model = CausalReader(model, tokenizer, gguf_file=gguf_file, device=device, dtype=dtype)
        self.reader: CausalReader = model
        self.shots, self.calibrate, self.seed = shots, calibrate, seed
        self.examples = [row for row in examples if row.executed and row.outcome.status in ENDINGS]
        self.heads = heads
        self.num_members = heads.num_members if heads is not None else 0
        self.version = f"{self.reader.fingerprint}{'' if heads is None else '-' + heads.version}"
        try:
            self._endings, self._letters = self.reader.branch(_LABELS), False
        except ValueError:
            self._endings, self._letters = self.reader.branch([f" {letter}" for letter in _LETTERS]), True
        self._ranks = self.reader.branch(_RANKS)
        self._neutral: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._known: OrderedDict[tuple[str, str, str], Outcome] = OrderedDict()

    @classmethod
    def default(cls, **kwargs: Any) -> Self:
        """With SmolLM2-135M unless ``model`` is given; see :func:`world_models.language.smollm2`."""
        if "model" not in kwargs:
            folder, file = smollm2()
            kwargs |= {"model": folder, "gguf_file": file}
        return cls(**kwargs)

    # --- prompts ---

    def _word(self, status: Status) -> str:
        place = ENDINGS.index(status)
        return f" {_LETTERS[place]}" if self._letters else _LABELS[place]

    def _prefix(self, submission: Submission) -> str:
        """What stands before the program."""
        legend = ""
        if self._letters:
            pairs = zip(_LETTERS, _LABELS, strict=True)
            legend = "Answer with a letter: " + ", ".join(f"{letter} ={word}" for letter, word in pairs) + ".\n\n"
        shown = "".join(map(self._example, self._chosen(submission)))
        return f"{_INTRODUCTION}{legend}{shown}Task:\n{submission.task_text}\n\nProgram:\n"

    def _chosen(self, submission: Submission) -> list[Transition]:
        if not self.shots or not self.examples:
            return []
        order = np.random.default_rng([self.seed, *submission.task_id.encode()]).permutation(len(self.examples))
        others = [
            row
            for row in (self.examples[i] for i in order)
            if (row.submission.task_id, row.submission.code) != (submission.task_id, submission.code)
        ]
        return sorted(others, key=lambda row: row.submission.task_id != submission.task_id)[: self.shots]

    def _example(self, row: Transition) -> str:
        said = self._word(row.outcome.status)
        if row.outcome.status is Status.VALID:
            said += f"\nRank: {min(9, int(20 * ((row.outcome.score or 0.5) - 0.5)))}"
        return f"Program:\n{row.submission.code}\nOutcome:{said}\n\n"

    # --- predictions ---

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        if self.heads is not None:
            return self.heads.predict_batch(submissions)
        keys = [(one.task_id, one.task_text, one.code) for one in submissions]
        fresh = {key: one for key, one in zip(keys, submissions, strict=True) if key not in self._known}
        # One at a time: padding to a common length would make predictions depend on the batch.
        found = {key: self._predict(one) for key, one in fresh.items()}
        outcomes = [found[key] if key in found else self._known[key] for key in keys]
        self._known |= found
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return outcomes

    def _predict(self, submission: Submission) -> Outcome:
        prefix = self._prefix(submission)
        endings, ranks = self._likelihoods(prefix, submission.code)
        if self.calibrate:
            if prefix not in self._neutral:
                self._neutral = {prefix: self._likelihoods(prefix, _NO_PROGRAM)}
            endings, ranks = (
                told - without for told, without in zip((endings, ranks), self._neutral[prefix], strict=True)
            )
        probabilities, rank_probabilities = _softmax(endings), _softmax(ranks)
        middles = (np.arange(10) + 0.5) / 10
        percentile = float(rank_probabilities @ middles)
        spread = 0.25 * float(rank_probabilities @ (middles - percentile) ** 2)
        scores = np.array([ladder_score(status, percentile) for status in ENDINGS], np.float64)
        score = round(float(probabilities @ scores), _DIGITS)
        status = ENDINGS[int(probabilities.argmax())]
        variance = float(probabilities @ (scores - score) ** 2) + probabilities[0] * spread
        feedback = render_feedback(status, score=ladder_score(status, percentile))
        return Outcome(status, score, feedback, None, 0.0, "world_model", round(variance, _DIGITS))

    def _likelihoods(self, prefix: str, code: str) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities of endings (6,) and, should it be valid, of ranks (10,); the mean over pieces."""
        question = self.reader.tokens("\nOutcome:") + self._endings[0]
        go_on = [self._endings[1][0], *self.reader.tokens("\nRank:"), *self._ranks[0]]
        endings, ranks = [], []
        for piece in self.reader.chunks(prefix, code, len(question) + len(go_on)):
            state, logits, _ = self.reader.read(prefix, [*piece, *question])
            endings.append(torch.log_softmax(logits, -1)[self._endings[1]])
            _, logits, _ = self.reader.read_on(state, go_on)
            ranks.append(torch.log_softmax(logits, -1)[self._ranks[1]])
        return tuple(torch.stack(rows).mean(0).numpy().astype(np.float64) for rows in (endings, ranks))  # type: ignore[return-value]

    # --- trained heads ---

    def states(self, submissions: Sequence[Submission]) -> np.ndarray:
        """Hidden states after reading task and program, float32 (B, 2 * width)."""
        rows = [self.reader.features(self._prefix(one), f"{one.code}\nOutcome:") for one in submissions]
        return np.stack(rows)

    def train_heads(
        self,
        transitions: str | Path | Iterable[Transition],
        *,
        seed: int = 0,
        exclude_tasks: Collection[str] = (),
        epochs: int = 60,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """This model with heads on its frozen hidden states, trained as :func:`world_models.train` trains.

        Args:
            transitions: a recording, or the path of one; the executions in its split ``"train"`` are used.
            seed, exclude_tasks, epochs: see :func:`world_models.train`.
            progress: called with (done, total) epochs after each.

        Raises:
            ValueError: fewer than 50 usable transitions.
        """
        recorded = load_transitions(transitions) if isinstance(transitions, (str, Path)) else transitions
        heads = train(
            recorded, seed=seed, exclude_tasks=exclude_tasks, epochs=epochs, progress=progress, read=self.states
        )
        return type(self)(
            self.reader, examples=self.examples, shots=self.shots, calibrate=self.calibrate, seed=self.seed, heads=heads
        )

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if self.examples and self.shots:
            raise NotImplementedError("a model with examples is not saved: keep the recording, and name it again")
        config: dict[str, Any] = {
            "model": self.reader.source,
            "gguf_file": self.reader.gguf_file,
            "fingerprint": self.reader.fingerprint,
            "calibrate": self.calibrate,
            "heads": None,
        }
        tensors: dict[str, np.ndarray] = {}
        if self.heads is not None:
            config["heads"], tensors = self.heads._state()
            config["heads"]["version"] = self.heads.version
        return config, tensors

    @classmethod
    def _restore(cls, config: dict[str, Any], tensors: dict[str, np.ndarray], **kwargs: Any) -> Self:
        """Give ``model`` (and ``tokenizer``) where the language model is no longer where it was."""
        arguments = {"model": config["model"], "gguf_file": config["gguf_file"], **kwargs}
        model = cls(**arguments, calibrate=config["calibrate"])
        if model.reader.fingerprint != config["fingerprint"]:
            raise CheckpointError(
                f"the checkpoint was made with another language model than {model.reader.source}: fingerprint "
                f"{config['fingerprint']}, here {model.reader.fingerprint}"
            )
        if config["heads"] is not None:
            model.heads = LearnedModel._restore(config["heads"], tensors, read=model.states)
            model.heads.version = config["heads"]["version"]
            model.num_members = model.heads.num_members
        return model


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / math.fsum(powers.tolist())
