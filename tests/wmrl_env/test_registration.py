import json
import subprocess
import sys

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

import wmrl_env
from wmrl_env.registration import register_envs

HASH = "wmrl_env.testing:HashBackend"
IDS = ("wmrl/AutoResearch-v0", "wmrl/AutoResearchSandbox-v0", "wmrl/AutoResearchPipeline-v0")
HEAVY = ("torch", "transformers", "sklearn", "pandas", "scipy", "matplotlib")


@pytest.mark.parametrize("id", IDS)
def test_specs_survive_json(id: str) -> None:
    env = gym.make(id, backend=HASH, task="all")
    copy = EnvSpec.from_json(env.spec.to_json()).make()
    assert copy.unwrapped.tasks == env.unwrapped.tasks
    assert json.loads(env.spec.to_json())["kwargs"]["backend"] == HASH


@pytest.mark.parametrize("id", IDS)
def test_entry_points_are_strings_and_no_wrappers(id: str) -> None:
    spec = gym.spec(id)
    for entry_point in (spec.entry_point, spec.vector_entry_point):
        creator = gym.envs.registration.load_env_creator(entry_point)
        assert not (isinstance(creator, type) and issubclass(creator, (gym.Wrapper, gym.vector.VectorWrapper)))
    assert spec.kwargs == {"backend": "sandbox" if "Sandbox" in id else "world_model"}


def test_registering_twice_changes_nothing() -> None:
    before = dict(gym.registry)
    register_envs()
    assert dict(gym.registry) == before
    assert wmrl_env.__doc__


def test_importing_and_making_is_light() -> None:
    """A fresh interpreter, because this one has imported everything by now."""
    program = (
        "import sys, gymnasium as gym\n"
        f"def heavy(): return sorted(set(sys.modules) & set({HEAVY}))\n"
        "import wmrl_env; print(heavy())\n"
        "env = gym.make('wmrl_env:wmrl/AutoResearch-v0'); env.reset(seed=0); print(heavy())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (["[]"] * 2, "")
