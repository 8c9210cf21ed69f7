"""What the processes that share a stream do: ``python participants.py write|read|train URL ...``."""

from __future__ import annotations

import json
import math
import sys
import time

import gymnasium as gym
import numpy as np

from wmrl_env.correction import AnchorPair, AnchorStream, OnlineCalibrator

STRATA = ("0", "1", "2")
ENOUGH_S = 120.0


def write(url: str, writer: str, count: str) -> None:
    """Append ``count`` pairs, three at a time."""
    rng = np.random.default_rng(int(writer))
    stream = AnchorStream.open(url)
    for number in range(0, int(count), 3):
        predicted, real = rng.random((2, 3)).tolist()
        stream.append(
            AnchorPair("task", writer, str(number + i), predicted[i], real[i], action_class=STRATA[i]) for i in range(3)
        )


def read(url: str, expected: str) -> None:
    """Learn from pairs as they come, and tell the map after the expected number of them."""
    stream, calibrator = AnchorStream.open(url), OnlineCalibrator(min_pairs=50, refit_every=7)
    cursor, deadline = 0, time.monotonic() + ENOUGH_S
    while cursor < int(expected):
        if time.monotonic() > deadline:
            sys.exit(f"saw {cursor} pairs of {expected}")
        pairs, cursor = stream.read(cursor)
        learn(calibrator, pairs)
    print(told(calibrator))


def train(url: str, seed: str, task: str) -> None:
    """Play under the standard stack; once told that the others have played too, take one step that adds no pair."""
    from wmrl_env.tasks import ResearchTask
    from wmrl_env.testing import HashBackend
    from wmrl_env.wrappers import corrected
    from world_models.corrupted import CorruptedModel

    env = gym.make_vec(
        "wmrl_env:wmrl/AutoResearch-v0",
        4,
        task=ResearchTask.from_directory(task),
        backend=CorruptedModel(HashBackend(), bias=math.sqrt),
    )
    env = corrected(env, HashBackend(), fraction=1.0, min_pairs=50, refit_every=7, seed=int(seed), stream=url)
    env.reset(seed=int(seed))
    for step in range(40):
        env.step(tuple(f"x = {seed}, {step}, {row}" for row in range(4)))
    print(env.get_wrapper_attr("anchor_summary")()["pairs"], flush=True)
    sys.stdin.readline()
    env.step(("",) * 4)
    print(told(env.get_wrapper_attr("calibrator")))


def learn(calibrator: OnlineCalibrator, pairs: list[AnchorPair]) -> None:
    """Take the pairs in, each class a stratum."""
    predicted, real = np.array([pair.predicted for pair in pairs]), np.array([pair.real for pair in pairs])
    calibrator.update(predicted, real, [pair.action_class for pair in pairs])


def told(calibrator: OnlineCalibrator) -> str:
    """All bits of the maps, on one line."""
    return json.dumps([knots.tobytes().hex() for stratum in (None, *STRATA) for knots in calibrator.knots(stratum)])


if __name__ == "__main__":
    {"write": write, "read": read, "train": train}[sys.argv[1]](*sys.argv[2:])
