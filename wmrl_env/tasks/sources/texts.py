"""Prose to be classified or rated."""

from __future__ import annotations

from wmrl_env.tasks.sources.base import Source

__all__ = ["SOURCES"]


SOURCES: tuple[Source, ...] = ()
