"""All arms and seeds one after another, resumable."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from wmrl_env.demo.config import ARMS, DemoConfig
from wmrl_env.demo.summary import summarise

if TYPE_CHECKING:
    from wmrl_env.sandbox import Sandbox
    from world_models.outcomes import Backend

__all__ = ["make_backends", "run"]

_PACKAGES = ("wmrl", "gymnasium", "stable-baselines3", "torch", "scikit-learn")


def make_backends(config: DemoConfig) -> tuple[Callable[[Path | None], Sandbox], Callable[[], Backend]]:
    """What makes the sandbox, from the path of its cache, and the world model that ``config`` names."""

    def make_sandbox(cache: Path | None) -> Sandbox:
        from wmrl_env.sandbox import Sandbox

        return Sandbox(workers=config.workers, cache=cache, warm_start=True)

    def make_world_model() -> Backend:
        import world_models

        return world_models.make(config.world_model)

    return make_sandbox, make_world_model


def run(
    config: DemoConfig,
    folder: Path,
    progress: Callable[[str, float], None] = lambda what, seconds: None,
    *,
    backends: tuple[Callable[[Path | None], Sandbox], Callable[[], Backend]] | None = None,
    arms: Sequence[str] = ARMS,
) -> dict[str, Any]:
    """Run the demo and write ``result.json``.

    Finished runs of an interrupted demo are kept in ``folder`` and not repeated under the same configuration.

    Args:
        folder: where results go; made when missing.
        progress: called with what is being done and the seconds of training done so far, of
            ``len(arms) * config.seeds * config.seconds``.
        backends: see :func:`make_backends`, the default.
        arms: some of :data:`wmrl_env.demo.ABLATION`.

    Returns:
        JSON values: ``created``, ``machine``, ``versions``, ``config``, ``arms`` (see
        :func:`wmrl_env.demo.summarise`) and ``runs``, one for each arm and seed.
    """
    from wmrl_env.demo.training import grade, train

    make_sandbox, make_world_model = backends or make_backends(config)
    unfinished = folder / f"unfinished-{config.key}"
    unfinished.mkdir(parents=True, exist_ok=True)

    def train_and_grade(arm: str, seed: int, begun: float) -> dict[str, Any]:
        name = f"{arm}, seed {seed}"
        # Grading has a cache of its own: nothing that training paid for is graded for free.
        with TemporaryDirectory(prefix="wmrl-demo-") as scratch:
            policy, trained = train(
                arm,
                seed,
                config,
                lambda: make_sandbox(Path(scratch, "training.sqlite")),
                make_world_model,
                lambda seconds: progress(f"{name}: training", begun + seconds),
            )
        progress(f"{name}: grading by real execution", begun + config.seconds)
        with make_sandbox(unfinished / "grading.sqlite") as sandbox:
            graded = grade(policy, seed, config, sandbox)
        return {"arm": arm, "seed": seed, **trained, **graded}

    runs: list[dict[str, Any]] = []
    for seed in range(config.seed, config.seed + config.seeds):
        for arm in arms:
            path = unfinished / f"{arm}-{seed}.json"
            begun = len(runs) * config.seconds
            runs.append(_read(path) if path.exists() else _kept(path, train_and_grade(arm, seed, begun)))
    result = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.platform()}, {config.workers} sandbox workers",
        "versions": {name: version(name) for name in _PACKAGES},
        "config": asdict(config),
        "arms": summarise(runs),
        "runs": runs,
    }
    shutil.rmtree(unfinished)
    return _kept(folder / "result.json", result)


def _kept(path: Path, value: dict[str, Any]) -> dict[str, Any]:
    """``value`` as it reads after being written: whole or not at all, so that no interruption leaves half a file."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, allow_nan=False), encoding="utf-8")
    partial.replace(path)
    return _read(path)


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
