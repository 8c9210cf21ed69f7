"""A truth, and a world model that distorts it in a known way."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wmrl_env.envs import AutoResearchEnv, AutoResearchVectorEnv
from wmrl_env.testing import HashBackend
from world_models.outcomes import Outcome, Status, Submission, render_feedback, ungraded

MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
SANDBOX = "tests.wmrl_env.wrappers.planted:Truth"


def reply(number: int) -> str:
    return f"model = RidgeClassifier()  # {number}" if number % 2 else f"model = SVC()  # {number}"


def true_score(submission: Submission) -> float:
    digest = hashlib.sha256(f"{submission.task_id}\0{submission.code}".encode()).digest()
    return 0.05 + 0.9 * int.from_bytes(digest[:4], "big") / 2**32


class Truth:
    """A sandbox whose outcomes are a hash; counts its calls, loses codes that contain ``lost``."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.known: set[str] = set()
        self.closed = False

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        self.calls.append(len(submissions))
        self.known.update(submission.code for submission in submissions)
        return [self._outcome(submission) for submission in submissions]

    def lookup(self, submissions: Sequence[Submission]) -> list[Outcome | None]:
        return [self._outcome(submission) if submission.code in self.known else None for submission in submissions]

    def _outcome(self, submission: Submission) -> Outcome:
        if "lost" in submission.code:
            return ungraded("lost", "sandbox")
        score = true_score(submission)
        return Outcome(Status.VALID, score, render_feedback(Status.VALID, score=score), score, 1.0, "sandbox")

    def close(self) -> None:
        self.closed = True


class Distorted:
    """Square root of the truth, seen by three members of which the first is the sharpest; ``vague`` is UNGRADED."""

    num_members = 3

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        return [self._outcome(submission) for submission in submissions]

    def _outcome(self, submission: Submission) -> Outcome:
        if not submission.code:
            return HashBackend().execute([submission])[0]
        if "vague" in submission.code:
            return ungraded("vague", "world_model")
        true = true_score(submission)
        noise = np.random.default_rng(int(true * 1e9)).normal(0.0, [0.02, 0.1, 0.1])
        members = tuple(np.clip(np.sqrt(true) + noise, 0.0, 1.0).tolist())
        score = float(np.mean(members))
        feedback = render_feedback(Status.VALID, score=score)
        return Outcome(Status.VALID, score, feedback, None, 1.0, "world_model", float(np.var(members)), members)


def scalar_env(**kwargs: object) -> AutoResearchEnv:
    return AutoResearchEnv(**{"task": "fake", "backend": Distorted(), "max_turns": 3, "ungraded_retries": 0, **kwargs})  # type: ignore[arg-type]


def vector_env(num_envs: int, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **kwargs: object) -> gym.vector.VectorEnv:
    settings = {"task": "fake", "backend": Distorted(), "max_turns": 3, "ungraded_retries": 0, **kwargs}
    return AutoResearchVectorEnv(num_envs, autoreset_mode=mode, **settings)  # type: ignore[arg-type]


def sync_env(num_envs: int, mode: AutoresetMode, make=scalar_env) -> SyncVectorEnv:  # type: ignore[no-untyped-def]
    return SyncVectorEnv([make] * num_envs, autoreset_mode=mode)
