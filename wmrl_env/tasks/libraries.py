"""What a solution may import, and in which versions."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed"]

_LIBRARIES = ("numpy", "pandas", "scipy", "scikit-learn")


@lru_cache(maxsize=1)
def installed() -> dict[str, str]:
    """Versions by name: Python and the libraries that every solution can rely on, ``"none"`` for a missing one."""
    versions = {"Python": sys.version.split()[0]}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "none"
    return versions
