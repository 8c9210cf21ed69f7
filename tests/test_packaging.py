"""What holds for the packages as wholes: direction of imports, light import, metadata."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """Top-level names of all modules that a file imports anywhere."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def loaded_by(statement: str) -> set[str]:
    """Top-level names of all modules loaded after a statement ran in a fresh interpreter."""
    script = f"import sys; {statement}; print(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(result.stdout.split())


def test_world_models_know_nothing_of_environments() -> None:
    modules = list((ROOT / "world_models").rglob("*.py"))
    assert modules
    offenders = [str(path) for path in modules if imported(path) & {"wmrl_env", "gymnasium"}]
    assert offenders == []


@pytest.mark.parametrize("statement", ["import wmrl_env", "import world_models", "import wmrl_env.cli"])
def test_import_is_light(statement: str) -> None:
    heavy = {"torch", "transformers", "accelerate", "sklearn", "pandas", "scipy", "matplotlib", "stable_baselines3"}
    assert loaded_by(statement) & heavy == set()


def test_plain_install_pulls_no_extra() -> None:
    core = {Requirement(text).name for text in PYPROJECT["project"]["dependencies"]}
    assert core.isdisjoint({"ray", "trl", "gguf", "httpx", "mujoco", "metaworld", "stable-baselines3"})
    for extra in ("data", "ray", "sb3", "rllib", "trl", "endpoint", "language", "embodied", "docs", "dev"):
        assert PYPROJECT["project"]["optional-dependencies"][extra]


def test_constraints_pin_every_direct_dependency_of_core_and_dev() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {Requirement(line).name.replace("_", "-").lower() for line in lines if not line.startswith("#")}
    project = PYPROJECT["project"]
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
        *project["optional-dependencies"]["data"],
        *project["optional-dependencies"]["ray"],
        *project["optional-dependencies"]["sb3"],
    ]
    names = {Requirement(text).name.lower() for text in wanted} - {"wmrl"}
    assert names - pins == set()


def test_installed_metadata_is_the_project_s() -> None:
    assert version("wmrl") == PYPROJECT["project"]["version"]
    assert any(Requirement(text).name == "gymnasium" for text in requires("wmrl") or [])
