"""Train an agent against the world model, with a little real execution to keep its rewards honest.

python examples/train_agent.py --steps 20000
"""

import argparse
from functools import partial

from stable_baselines3 import PPO

from wmrl_env.integrations.sb3 import make_vec_env
from wmrl_env.wrappers import corrected


def main(steps: int = 20_000, model: str = "world_model", sandbox: str = "sandbox", seed: int = 0) -> float:
    """Mean score of the trained policy's steps in training's last episodes, as the corrections see it."""
    env = make_vec_env(
        "wmrl/AutoResearchPipeline-v0",
        n_envs=32,
        backend=model,
        wrappers=[partial(corrected, sandbox=sandbox, fraction=0.05, min_pairs=40, carrier="reward")],
        seed=seed,
    )
    agent = PPO("MlpPolicy", env, n_steps=16, batch_size=128, gamma=1.0, seed=seed, device="cpu")
    agent.learn(steps)
    env.close()
    return sum(episode["r"] for episode in agent.ep_info_buffer) / len(agent.ep_info_buffer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(f"mean return of the last episodes: {main(args.steps, seed=args.seed):.3f}")
