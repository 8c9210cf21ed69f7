"""``wmrl compare`` and ``wmrl train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from wmrl_env.cli.console import AsJson, Seed, emit, note, progress

__all__ = ["compare", "train"]

ENV_ID = "wmrl/AutoResearchPipeline-v0"
Task = Annotated[str, typer.Option(help='Split ("train", "heldout", "all"), task id or directory.')]
WorldModel = Annotated[str, typer.Option("--model", help='World model: name, path or "module:attribute".')]
Sandbox = Annotated[str, typer.Option(help='Who grades anchors: "sandbox" or "module:attribute".')]
Fraction = Annotated[float, typer.Option(help="Share of groups that also run for real.")]
MinPairs = Annotated[int, typer.Option(help="Anchor pairs before debiasing begins.")]


def compare(
    steps: Annotated[int, typer.Option(min=1, help="Solutions to grade.")] = 2000,
    num_envs: Annotated[int, typer.Option(min=1, help="Episodes in parallel.")] = 16,
    fraction: Fraction = 0.05,
    min_pairs: MinPairs = 40,
    task: Task = "train",
    model: WorldModel = "world_model",
    sandbox: Sandbox = "sandbox",
    plot: Annotated[Path | None, typer.Option(help="Picture to write, too.")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Run a random policy through the standard stack and hold raw, debiased and denoised scores against real ones."""
    import gymnasium as gym

    from wmrl_env.wrappers import corrected

    bare = gym.make_vec(ENV_ID, num_envs=num_envs, task=task, backend=model)
    env = corrected(bare, sandbox, fraction=fraction, min_pairs=min_pairs, refit_every=min_pairs, seed=seed)
    try:
        env.action_space.seed(seed)
        env.reset(seed=seed)
        with progress("comparing", "solutions") as advance:
            while env.steps < steps:
                env.step(env.action_space.sample())
                advance(min(env.steps, steps), steps)
        summary = env.summary()
        if plot is not None:
            env.plot(plot)
    finally:
        env.close()
    table = Table("scores", "mean", "bias", "mean abs. error", "rank correlation", "n")
    for stage in ("raw", "debiased", "denoised", "real"):
        row = summary[stage]
        numbers = (f"{row[key]:.3f}" for key in ("mean_score", "bias", "mae", "spearman"))
        table.add_row(stage, *numbers, str(row["n"]))
    table.caption = f"against real scores on {summary['anchored']} of {summary['kept']} steps"
    emit(summary, table, as_json)


def train(
    arm: Annotated[str, typer.Option(help='"real", "raw", "mixed" or "corrected"; see wmrl demo.')] = "corrected",
    seconds: Annotated[float, typer.Option(help="Wall seconds of training.")] = 300.0,
    task: Task = "train",
    model: WorldModel = "learned",
    fraction: Fraction = 0.005,
    min_pairs: MinPairs = 16,
    workers: Annotated[int, typer.Option(min=1, help="Solutions that the sandbox runs at once.")] = 2,
    out: Annotated[Path, typer.Option(help="Policy to write; when it exists, training goes on from it.")] = Path(
        "runs/policy.zip"
    ),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train Stable-Baselines3's PPO on the pipeline environment, then grade the policy by real execution."""
    from wmrl_env.demo import ARMS, DemoConfig, bootstrap_mean
    from wmrl_env.demo.experiment import make_backends
    from wmrl_env.demo.training import grade, train

    if arm not in ARMS:
        raise ValueError(f"arm must be one of {', '.join(ARMS)}, got {arm!r}")
    config = DemoConfig(
        seconds=seconds, seed=seed, tasks=task, world_model=model, workers=workers, fraction=fraction,
        min_pairs=min_pairs,
    )  # fmt: skip
    make_sandbox, make_world_model = make_backends(config)
    with progress(f"training {arm}", "s") as advance:
        policy, record = train(
            arm,
            seed,
            config,
            lambda: make_sandbox(out.with_suffix(".sqlite")),
            make_world_model,
            lambda passed: advance(int(passed), int(seconds)),
            policy_path=out,
        )
    note("grading by real execution")
    with make_sandbox(None) as sandbox:
        graded = grade(policy, seed, config, sandbox)
    score = bootstrap_mean(list(graded["scores"].values()))
    kept = {key: record[key] for key in ("wall_s", "real_executions", "predictions", "speedup")}
    result = {"arm": arm, "real_score": score, **kept, "policy": str(out)}
    table = Table("what", "value", show_header=False)
    table.add_row("final real score", f"{score['value']:.3f} ({score['low']:.3f} to {score['high']:.3f})")
    for key, value in kept.items():
        table.add_row(key, f"{value:.1f}")
    table.add_row("policy", str(out))
    emit(result, table, as_json)
