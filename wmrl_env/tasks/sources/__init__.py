"""The shipped tasks' data: real sets from files that pip-installed packages carry."""

from __future__ import annotations

from pathlib import Path

from wmrl_env.tasks.sources import classification, counts, images, regression, series, texts
from wmrl_env.tasks.sources.base import Source, cache_root, fingerprint, halves, task_dir, write_halves

__all__ = ["SOURCES", "Source", "cache_root", "fingerprint", "halves", "prepare", "task_dir"]

SOURCES: dict[str, Source] = {
    source.id: source
    for module in (classification, regression, counts, series, texts, images)
    for source in module.SOURCES
}


def prepare(task_id: str) -> Path:
    """Write a shipped task's two halves unless they are there; return their folder.

    Raises:
        ImportError: the package that carries the data is missing.
    """
    return write_halves(SOURCES[task_id])
