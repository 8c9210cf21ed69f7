"""All arms and seeds one after another, resumable."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable
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
) -> dict[str, Any]:
    """Run the demo and write ``result.json``.

    Finished runs of an interrupted demo are kept in ``folder`` and not repeated under the same configuration.

    Args:
        folder: where results go; made when missing.
        progress: called with what is being done and the seconds of training done so far, of
            ``len(ARMS) * config.seeds * config.seconds``.
        backends: see :func:`make_backends`, the default.

    Returns:
        JSON values: ``created``, ``machine``, ``versions``, ``config``, ``arms`` (see
        :func:`wmrl_env.demo.summarise`) and ``runs``, one for each arm and seed.
    """
    from wmrl_env.demo.training import grade, train

    make_sandbox, make_world_model = backends or make_backends(config)
    unfinished = folder / f"unfinished-{config.key}"
    unfinished.mkdir(parents=True, exist_ok=True)
    runs: list[dict[str, Any]] = []
    for seed in range(config.seed, config.seed + config.seeds):
        for arm in ARMS:
            name, begun = f"{arm}, seed {seed}", len(runs) * config.seconds
            path = unfinished / f"{arm}-{seed}.json"
            if not path.exists():
                # Grading has a cache of its own: nothing that training paid for is graded for free.
                with TemporaryDirectory(prefix="wmrl-demo-") as scratch:
                    policy, trained = train(
                        arm,
                        seed,
                        config,
                        make_sandbox=lambda path=Path(scratch, "training.sqlite"): make_sandbox(path),
                        make_world_model=make_world_model,
                        progress=lambda seconds, name=name, begun=begun: progress(f"{name}: training", begun + seconds),
                    )
                progress(f"{name}: grading by real execution", begun + config.seconds)
                with make_sandbox(unfinished / "grading.sqlite") as sandbox:
                    graded = grade(policy, seed, config, sandbox)
                _write(path, {"arm": arm, "seed": seed, **trained, **graded})
            runs.append(json.loads(path.read_text(encoding="utf-8")))
    result = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.platform()}, {config.workers} sandbox workers",
        "versions": {name: version(name) for name in _PACKAGES},
        "config": asdict(config),
        "arms": summarise(runs),
        "runs": runs,
    }
    _write(folder / "result.json", result)
    shutil.rmtree(unfinished)
    return result


def _write(path: Path, value: dict[str, Any]) -> None:
    """Whole or not at all, so that an interruption leaves no half-written file."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, allow_nan=False), encoding="utf-8")
    partial.replace(path)
