"""A research world whose truth is known, world models that err in it in chosen ways, and a GRPO agent.

8 tasks, 6 decisions of 4 options each. A task's true score is a sum of effects of options, half of them shared by all
tasks, and of interactions of neighbouring decisions, scaled to [0, 1]. All solutions can be enumerated, so that the
expected true score of a policy is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_env.envs import AutoResearchVectorEnv
from wmrl_env.tasks import ResearchTask
from world_models import Outcome, Status, Submission
from world_models.corrupted import CorruptedModel
from world_models.outcomes import render_feedback

__all__ = ["CLASS", "GROUP", "STEPS", "TASKS", "WORLDS", "Agent", "Truth", "make_model", "train"]

TASKS, DECISIONS, OPTIONS = 8, 6, 4
GROUP = 8  # episodes of a task in a step
STEPS = 150
FAILED = 0.1
CLASS = "Kind0"  # action class that the structural errors are about
_ACTIONS = np.array(list(product(range(OPTIONS), repeat=DECISIONS)))
_CODES = [
    f"model = Kind{first}Regressor()\n" + "".join(f"decision_{i} = {option}\n" for i, option in enumerate(rest, 1))
    for first, *rest in _ACTIONS.tolist()
]
_INDEX = {code.strip(): i for i, code in enumerate(_CODES)}


class Truth:
    """Sandbox of the world: every solution is valid, or fails with 0.1 where ``failing`` is the share that do.

    Args:
        seed: of the world.
        failing: share of a task's solutions that fail, the worst ones.
    """

    def __init__(self, seed: int, failing: float = 0.0) -> None:
        rng = np.random.default_rng([seed, 0])
        shared = rng.normal(size=(DECISIONS, OPTIONS))
        self.scores = np.zeros((TASKS, len(_ACTIONS)))  # of each task and solution
        for task in range(TASKS):
            main = (shared + rng.normal(size=(DECISIONS, OPTIONS))) / np.sqrt(2.0)
            pairs = 0.35 * rng.normal(size=(DECISIONS - 1, OPTIONS, OPTIONS))
            total = sum(main[i, _ACTIONS[:, i]] for i in range(DECISIONS))
            total = total + sum(pairs[i, _ACTIONS[:, i], _ACTIONS[:, i + 1]] for i in range(DECISIONS - 1))
            self.scores[task] = (total - total.min()) / np.ptp(total)
            if failing:
                worst = self.scores[task] < np.quantile(self.scores[task], failing)
                self.scores[task] = np.where(worst, FAILED, self.scores[task])

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        scores = [float(self.scores[int(one.task_id), _INDEX[one.code.strip()]]) for one in submissions]
        return [
            Outcome(Status.VALID, score, render_feedback(Status.VALID, score=score), score, 1.0, "sandbox")
            for score in scores
        ]

    def value(self, policy: np.ndarray) -> float:
        """Expected true score of the policy's solutions, mean over tasks; ``policy`` as :attr:`Agent.policy`."""
        chances = policy[:, 0]
        for decision in range(1, DECISIONS):
            chances = (chances[:, :, None] * policy[:, decision][:, None, :]).reshape(TASKS, -1)
        return float((chances * self.scores).sum(1).mean())


class CountingSandbox:
    """The truth at a price: executions are counted, and what was executed once is known from then on."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.executions = 0
        self._executed: set[tuple[str, str]] = set()

    @property
    def distinct(self) -> int:
        """Executions but for those that a cache would have saved."""
        return len(self._executed)

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        self.executions += len(submissions)
        self._executed.update((one.task_id, one.code) for one in submissions)
        return self.truth.execute(submissions)

    def lookup(self, submissions: Sequence[Submission]) -> list[Outcome | None]:
        """Outcomes of what was executed before, ``None`` for the others."""
        known = [(one.task_id, one.code) in self._executed for one in submissions]
        return [one if have else None for one, have in zip(self.truth.execute(submissions), known, strict=True)]


def _drift(predicted: int, score: float) -> float:
    gone = min(predicted / (STEPS * TASKS * GROUP), 1.0)
    return score * (1.0 - 0.5 * gone) + 0.3 * gone


def _stratum(submission: Submission) -> str:
    return submission.code.split("Regressor", 1)[0].rpartition(" ")[2]


WORLDS: dict[str, dict[str, Any]] = {
    "monotone": {"bias": np.sqrt, "noise": 0.15},
    "class_blind": {"class_bias": {CLASS: lambda score: 0.95}, "noise": 0.05},
    "class_inverted": {"class_bias": {CLASS: lambda score: 1.0 - 0.4 * score}, "noise": 0.05},
    "drift": {"drift": _drift, "noise": 0.15},
    "missed_failures": {"bias": lambda score: 0.6 if score == FAILED else score, "noise": 0.15},
    "heteroscedastic": {"noise": lambda score: 0.05 + 0.35 * (1.0 - score)},
}
"""How the world model errs in each world: arguments of CorruptedModel."""


def make_model(world: dict[str, Any], truth: Truth, seed: int) -> CorruptedModel:
    """A world model with these errors, with noise of its own in every prediction, half of it common to its members."""
    return CorruptedModel(truth, stratum=_stratum, correlation=0.5, members=4, seed=seed, fresh=True, **world)


def tasks() -> list[ResearchTask]:
    """The world's tasks, of which only the ids matter."""
    nowhere = Path("nowhere")
    return [ResearchTask(str(i), str(i), "", "rmse", False, nowhere, nowhere, (1.0,)) for i in range(TASKS)]


class Agent:
    """GRPO with an independent softmax a task and decision.

    Args:
        learning_rate: of the logits.
        seed: of the actions.
    """

    def __init__(self, seed: int, learning_rate: float = 0.5) -> None:
        self.logits = np.zeros((TASKS, DECISIONS, OPTIONS))
        self.learning_rate = learning_rate
        self._rng = np.random.default_rng([seed, 1])

    @property
    def policy(self) -> np.ndarray:
        """Chance of each option, (tasks, decisions, options)."""
        chances = np.exp(self.logits - self.logits.max(-1, keepdims=True))
        return chances / chances.sum(-1, keepdims=True)

    def act(self) -> np.ndarray:
        """Actions of one step, int (tasks, group, decisions)."""
        draws = self._rng.random((TASKS, GROUP, DECISIONS, 1))
        below = draws < np.cumsum(self.policy, -1)[:, None]
        return np.asarray(below.argmax(-1))

    def learn(self, actions: np.ndarray, rewards: np.ndarray, weights: np.ndarray) -> None:
        """One policy-gradient step on group-relative advantages; rewards and weights (tasks, group)."""
        centred = rewards - rewards.mean(1, keepdims=True)
        advantages = weights * centred / (rewards.std(1, keepdims=True) + 0.02)
        chosen = np.eye(OPTIONS)[actions]
        gradient = np.einsum("tg,tgdo->tdo", advantages, chosen - self.policy[:, None]) / GROUP
        self.logits += self.learning_rate * gradient


def train(
    truth: Truth,
    world: dict[str, Any] | None,
    wrap: Callable[[Any, CountingSandbox], Any],
    seed: int,
    steps: int = STEPS,
    learning_rate: float = 0.5,
    after_step: Callable[[Any], None] = lambda env: None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Train an agent through the batched environment and its wrappers.

    Args:
        world: how the world model errs; None trains on the truth.
        wrap: puts the corrections on the env, with the sandbox for anchors.
        after_step: called with the wrapped env.

    Returns:
        Expected true score, real executions so far, and distinct ones among them, after each step, (steps,) each.
    """
    sandbox = CountingSandbox(truth)
    backend = sandbox if world is None else make_model(world, truth, seed)
    env = wrap(
        AutoResearchVectorEnv(
            TASKS * GROUP, task=tasks()[0], backend=backend, max_turns=1, reward="score", autoreset_mode="Disabled"
        ),
        sandbox,
    )
    agent = Agent(seed, learning_rate)
    of_row = [task for task in tasks() for _ in range(GROUP)]
    base = OPTIONS ** np.arange(DECISIONS - 1, -1, -1)
    values, executions, distinct = np.zeros((3, steps))
    for step in range(steps):
        env.reset(options={"task": of_row, "group": [step * TASKS + row // GROUP for row in range(TASKS * GROUP)]})
        actions = agent.act()
        _, rewards, _, _, infos = env.step([_CODES[i] for i in (actions.reshape(-1, DECISIONS) @ base).tolist()])
        weights = infos.get("reward_weight", np.ones(len(rewards)))
        agent.learn(actions, rewards.reshape(TASKS, GROUP), weights.reshape(TASKS, GROUP))
        values[step], executions[step], distinct[step] = (
            truth.value(agent.policy),
            sandbox.executions,
            sandbox.distinct,
        )
        after_step(env)
    env.close()
    return values, executions, distinct
