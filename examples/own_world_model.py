"""Put a world model of your own behind the environment; a sandbox could stand there just as well.

python examples/own_world_model.py
"""

import gymnasium as gym

import wmrl_env  # noqa: F401  # registers the environments
from world_models import Outcome, Status, Submission, WorldModel, render_feedback


class Optimist(WorldModel):
    """Believes in every solution, the longer the better."""

    name = "optimist"

    def predict_batch(self, submissions: list[Submission]) -> list[Outcome]:
        return [self._outcome(min(1.0, 0.5 + len(submission.code) / 10_000)) for submission in submissions]

    def _outcome(self, score: float) -> Outcome:
        feedback = render_feedback(Status.VALID, score=score)
        return Outcome(Status.VALID, score, feedback, None, 1.0, "world_model", variance=0.04)


def main() -> list[float]:
    """Rewards of one episode of a text environment over the model."""
    env = gym.make("wmrl/AutoResearch-v0", task="churn", backend=Optimist(), max_turns=3)
    observation, _ = env.reset(seed=0)
    print(observation["task"][:400], "...")
    rewards = []
    for reply in ("print('a first try')", "import pandas as pd\nprint('a second, longer one')", "broken("):
        observation, reward, terminated, truncated, info = env.step(reply)
        print(f"{info['status']}: score {info['score']:.3f}, reward {reward:.3f}")
        rewards.append(float(reward))
    env.close()
    return rewards


if __name__ == "__main__":
    main()
