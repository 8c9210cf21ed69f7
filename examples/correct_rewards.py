"""Hold the world model's rewards, raw and corrected, against real execution.

python examples/correct_rewards.py --steps 100
"""

import argparse

import gymnasium as gym

import wmrl_env  # noqa: F401  # registers the environments
from wmrl_env.wrappers import corrected


def main(steps: int = 100, model: str = "world_model", sandbox: str = "sandbox", seed: int = 0) -> dict:
    """Summary of raw, debiased, denoised and real scores of random solutions."""
    env = gym.make_vec("wmrl/AutoResearchPipeline-v0", num_envs=16, backend=model)
    env = corrected(env, sandbox, fraction=0.05, min_pairs=40, seed=seed)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    for _ in range(steps):
        env.step(env.action_space.sample())
    summary = env.summary()
    env.close()
    return summary


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    summary = main(args.steps, seed=args.seed)
    for stage in ("raw", "debiased", "denoised"):
        print(f"{stage}: mean absolute error {summary[stage]['mae']:.3f} on {summary[stage]['n']} anchored steps")
