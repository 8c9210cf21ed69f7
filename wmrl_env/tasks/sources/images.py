"""Small images, a pixel a column."""

from __future__ import annotations

from wmrl_env.tasks.sources.base import Source

__all__ = ["SOURCES"]


SOURCES: tuple[Source, ...] = ()
