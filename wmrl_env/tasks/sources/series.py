"""Rows in the order of time, the last of which are to be predicted."""

from __future__ import annotations

from wmrl_env.tasks.sources.base import Source

__all__ = ["SOURCES"]


SOURCES: tuple[Source, ...] = ()
