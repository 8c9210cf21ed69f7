"""World model ``language``: any causal language model, read by the likelihoods of labels or by trained heads."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, TypeVar

import numpy as np

from world_models.base import CheckpointError, WorldModel
from world_models.language import prompts
from world_models.language.experience import Experience
from world_models.language.heads import Judgement, TrainedHeads
from world_models.language.loading import load
from world_models.language.scoring import Answers, Scorer
from world_models.language.shots import Shots, rows_from_state, rows_state
from world_models.language.smollm import smollm2
from world_models.learned.model import ENDINGS
from world_models.outcomes import Outcome, Submission, ladder_score, render_feedback
from world_models.store import Transition

__all__ = ["LanguageModel"]

_Found = TypeVar("_Found")
_REMEMBERED = 16_384
_DIGITS = 9
_PREFIXES = 4
_BATCH = 8
_LADDER = np.array([ladder_score(status, 0.0) for status in ENDINGS], np.float64)
_MIDDLES = (np.arange(prompts.DECILES) + 0.5) / prompts.DECILES
_WITHIN_DECILE = 1.0 / (12.0 * prompts.DECILES**2)  # variance of a percentile spread evenly over its decile


class LanguageModel(WorldModel):
    """A causal language model of ``transformers`` as a world model; ``world_models.make("language")`` takes SmolLM2.

    The model reads the task, solved examples and the code, and the likelihoods of a few labels after them give the
    probabilities of the endings, of the deciles of the leaderboard and of the classes of exceptions. Nothing is
    generated, nothing is parsed. With ``heads``, which :func:`world_models.language.train_heads` gives, its hidden
    states are read instead.

    Code longer than ``max_code_tokens``, or than the model's context leaves room for, is read in parts, each after the
    whole task: all of it counts, and log-probabilities are averaged over the parts. The outcomes of an episode's
    earlier turns (``Submission.history``) are not shown to the model.

    In float32, which is the default, predictions depend on the batch by less than 1e-6; with a narrower ``dtype`` only
    ``batch_size=1`` makes them independent of it.

    Args:
        model: folder, GGUF file, name on the hub, or a model; one given as an object needs ``tokenizer`` and stays
            where it is unless ``device`` is given.
        tokenizer: of the model; ``None`` loads the one that lies with it.
        gguf_file: GGUF file in that folder or repository.
        device: of torch; ``None`` lets accelerate place the model where there is a GPU, else the CPU.
        dtype: of the weights, as torch names it; ``None`` is float32.
        examples: executed solutions; those of the right task are shown first, the solution itself never. With
            ``calibration`` their frequencies of endings, deciles and exceptions are what the model starts from; mean
            seconds and messages of failures are taken from them, too.
        shots: examples shown, at least 0; those whose code exceeds ``max_code_tokens`` are not.
        max_code_tokens: tokens of code read at once, at least 1.
        batch_size: most solutions in one pass; ``None`` is 1 on the CPU, where more gain nothing, and 8 elsewhere.
            Models whose attention has a window read together only codes of equal length.
        calibration: ``"contextual"`` divides likelihoods by those after a code without content (Zhao et al., 2021);
            ``"none"`` leaves them. ``None`` is ``"contextual"``.
        heads: trained heads.
        exceptions: classes of exceptions that are told apart, at least 1.
        seed: of the choice of examples.

    Raises:
        ValueError: an argument outside its range, no causal language model there, or a tokenizer that cannot tell the
            labels apart.
    """

    name = "language"

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        gguf_file: str | None = None,
        device: Any = None,
        dtype: Any = None,
        examples: Sequence[Transition] = (),
        shots: int = 0,
        max_code_tokens: int = 2048,
        batch_size: int | None = None,
        calibration: Literal["contextual", "none"] | None = None,
        heads: TrainedHeads | None = None,
        exceptions: Sequence[str] = prompts.EXCEPTIONS,
        seed: int = 0,
    ) -> None:
        calibration = calibration or "contextual"
        if calibration not in ("contextual", "none"):
            raise ValueError(f'calibration must be "contextual" or "none", got {calibration!r}')
        for name, value, least in (("shots", shots, 0), ("max_code_tokens", max_code_tokens, 1)):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if not exceptions or len(set(exceptions)) < len(exceptions):
            raise ValueError(f"exceptions must name at least one class, and none twice; got {list(exceptions)}")
        rows = prompts.usable(examples)
        if shots > len(rows):
            raise ValueError(f"{shots} shots need as many executed examples, got {len(rows)}")
        self._loaded = load(model, tokenizer, gguf_file, device, dtype)
        if batch_size is None:
            batch_size = 1 if self._loaded.model.device.type == "cpu" else _BATCH
        asked = prompts.questions(exceptions)
        scorer = Scorer(self._loaded.model, self._loaded.tokenizer, asked, max_code_tokens, batch_size, _PREFIXES)
        self._scorer = scorer
        self._settings: dict[str, Any] = {
            "shots": shots,
            "max_code_tokens": max_code_tokens,
            "calibration": calibration,
            "exceptions": list(exceptions),
            "seed": seed,
        }
        self._experience = Experience.of(rows, exceptions)
        self._shots = Shots(rows, shots, seed, lambda code: scorer.count(code) <= max_code_tokens)
        self._use(heads)

    def _use(self, heads: TrainedHeads | None) -> None:
        width = 2 * self._loaded.model.config.get_text_config().hidden_size
        if heads is not None and heads.features != width:
            raise ValueError(f"the heads read {heads.features} features, the language model has {width}")
        self.heads = heads
        self.num_members = 0 if heads is None else heads.members
        self.version = self._version()
        self._known: OrderedDict[tuple[str, str, str], Outcome] = OrderedDict()

    @classmethod
    def default(cls, model: Any = None, **kwargs: Any) -> Self:
        """The model over SmolLM2-135M, or over another one."""
        return cls(smollm2() if model is None else model, **kwargs)

    def with_heads(self, heads: TrainedHeads | None) -> Self:
        """A model that shares the language model with this one and reads it with other heads."""
        other = copy.copy(self)
        other._use(heads)
        return other

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the training of the heads; empty without any."""
        return {} if self.heads is None else self.heads.facts

    def features(
        self, submissions: Sequence[Submission], progress: Callable[[int, int], None] | None = None
    ) -> np.ndarray:
        """Hidden states that heads read: float64 (B, F), mean and last one over the code.

        Args:
            submissions: at least one.
            progress: called with (done, total) as they are read.
        """
        rows: list[np.ndarray] = self._read(submissions, self._scorer.features, progress)
        return np.stack(rows)

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        keys = [(one.task_id, one.task_text, one.code) for one in submissions]
        found = {key: outcome for key in keys if (outcome := self._known.get(key)) is not None}
        fresh = {key: one for key, one in zip(keys, submissions, strict=True) if key not in found}
        for key, judged in zip(fresh, self._judge(list(fresh.values())), strict=True):
            found[key] = self._known[key] = _outcome(judged)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return [found[key] for key in keys]

    def _judge(self, submissions: Sequence[Submission]) -> list[Judgement]:
        if self.heads is not None:
            features = self._read(submissions, self._scorer.features)
            return [self.heads.judge(one, row) for one, row in zip(submissions, features, strict=True)]
        answers = self._read(submissions, self._scorer.answers)
        return [self._weigh(one, answer) for one, answer in zip(submissions, answers, strict=True)]

    def _read(
        self,
        submissions: Sequence[Submission],
        read: Callable[[str, Sequence[str]], list[_Found]],
        progress: Callable[[int, int], None] | None = None,
    ) -> list[_Found]:
        """What ``read`` makes of each code; those with the same prefix are read together."""
        groups: dict[str, list[int]] = {}
        for i, submission in enumerate(submissions):
            groups.setdefault(self.prefix(submission), []).append(i)
        found: dict[int, _Found] = {}
        for prefix, group in groups.items():
            group.sort(key=lambda i: len(submissions[i].code))  # so that little is padded
            for start in range(0, len(group), self._scorer.batch_size):
                chosen = group[start : start + self._scorer.batch_size]
                found |= zip(chosen, read(prefix, [submissions[i].code for i in chosen]), strict=True)
                if progress is not None:
                    progress(len(found), len(submissions))
        return [found[i] for i in range(len(submissions))]

    def prefix(self, submission: Submission) -> str:
        """What the language model reads before the code: the task and the examples that are shown for it."""
        return self._shots.prefix(submission)

    def _weigh(self, submission: Submission, answers: Answers) -> Judgement:
        """Prediction from likelihoods of labels."""
        endings, deciles, exceptions = answers
        if self._settings["calibration"] == "contextual":
            blank = self._scorer.blank(self.prefix(submission))
            priors = map(np.log, self._experience.priors)
            endings, deciles, exceptions = (
                log - empty + prior for log, empty, prior in zip(answers, blank, priors, strict=True)
            )
        endings, deciles, exceptions = map(_probabilities, (endings, deciles, exceptions))
        percentile = float(deciles @ _MIDDLES)
        spread = float(deciles @ (_MIDDLES - percentile) ** 2) + _WITHIN_DECILE
        scores = _LADDER.copy()
        scores[0] += 0.5 * percentile
        score = float(endings @ scores)
        ending = int(endings.round(_DIGITS).argmax())
        name = self._settings["exceptions"][int(exceptions.round(_DIGITS).argmax())]
        return Judgement(
            ending=ending,
            percentile=percentile,
            seconds=float(self._experience.seconds[ending]),
            detail=self._experience.tell(ENDINGS[ending], name, submission),
            score=score,
            variance=float(endings @ (scores - score) ** 2 + endings[0] * 0.25 * spread),
        )

    def _version(self) -> str:
        """Eight hex digits of the hash of all that a prediction depends on."""
        state = json.dumps([self._loaded.fingerprint, self._config()], sort_keys=True)
        digest = hashlib.sha256(state.encode(errors="surrogatepass"))
        if self.heads is not None:
            for name, values in sorted(self.heads.state()[1].items()):
                digest.update(name.encode() + values.tobytes())
        return digest.hexdigest()[:8]

    def _config(self) -> dict[str, Any]:
        return {
            **self._settings,
            "experience": self._experience.state(),
            "examples": rows_state(self._shots.rows),
            "heads": None if self.heads is None else self.heads.state()[0],
        }

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if not self._loaded.path:
            raise NotImplementedError(
                "a language model given as an object that came from no folder and no hub cannot be saved; "
                "save it with save_pretrained and give that folder"
            )
        dtype = str(self._loaded.model.dtype).removeprefix("torch.")
        source = {"path": self._loaded.path, "gguf_file": self._loaded.gguf_file, "dtype": dtype}
        source["config_sha256"] = self._loaded.config_hash
        return {"language_model": source, **self._config()}, {} if self.heads is None else self.heads.state()[1]

    @classmethod
    def _restore(cls, config: dict[str, Any], tensors: dict[str, np.ndarray], **kwargs: Any) -> Self:
        """The language model itself is loaded from where it was; ``model`` among ``kwargs`` names another place."""
        source = config["language_model"]
        settings = {name: config[name] for name in ("max_code_tokens", "calibration", "exceptions", "seed")}
        if "model" not in kwargs:
            kwargs["model"], kwargs["gguf_file"] = source["path"], source["gguf_file"]
        kwargs.setdefault("dtype", source["dtype"])
        examples = rows_from_state(config["examples"])
        heads = None if config["heads"] is None else TrainedHeads.from_state(config["heads"], tensors)
        try:
            model = cls(**kwargs, **settings, examples=examples, shots=config["shots"])
        except ValueError as error:
            raise CheckpointError(f"the language model of the checkpoint cannot be used: {error}") from error
        if model._loaded.config_hash != source["config_sha256"]:
            raise CheckpointError(f"{model._loaded.path} is not the language model of the checkpoint: other sizes")
        model._experience = Experience.from_state(config["experience"])
        model._use(heads)
        return model


def _probabilities(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def _outcome(judged: Judgement) -> Outcome:
    status, seconds = ENDINGS[judged.ending], round(judged.seconds, _DIGITS)
    shown = ladder_score(status, min(max(round(judged.percentile, _DIGITS), 0.0), 1.0))
    members = tuple(round(score, _DIGITS) for score in judged.members)
    score = math.fsum(members) / len(members) if members else judged.score
    return Outcome(
        status=status,
        score=round(score, _DIGITS),
        feedback=render_feedback(status, score=shown, seconds=seconds, detail=judged.detail),
        metric_value=None,
        seconds=seconds,
        source="world_model",
        variance=round(judged.variance, _DIGITS),
        member_scores=members,
    )
