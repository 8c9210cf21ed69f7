"""What the usual libraries offer: names by module, parameters by callable, attributes by kind of array."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["attributes_of", "is_installed", "names_in", "options_of", "parameters_of"]

_INSTALLED = {"numpy", "pandas", "scipy", "sklearn", "joblib"}


@lru_cache(maxsize=1)
def _table() -> dict[str, dict[str, Any]]:
    table = json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))
    return {
        part: {key: frozenset(names) for key, names in table[part].items()}
        for part in ("modules", "parameters", "attributes")
    } | {"options": table["options"]}


def names_in(module: str) -> frozenset[str] | None:
    """Public names of a module, ``None`` where they are not known."""
    return _table()["modules"].get(module)


def parameters_of(name: str) -> frozenset[str] | None:
    """Parameters of a class or function of scikit-learn, ``None`` where they are not known or anything goes."""
    return _table()["parameters"].get(name)


def options_of(name: str) -> dict[str, list[str]]:
    """The words that a class of scikit-learn takes, by parameter; parameters that take any word are left out."""
    return _table()["options"].get(name, {})


def attributes_of(kind: str) -> frozenset[str] | None:
    """Attributes and methods of a ``DataFrame``, a ``Series`` or an ``ndarray``."""
    return _table()["attributes"].get(kind)


def is_installed(module: str) -> bool:
    """Whether a module can be imported where solutions run."""
    root = module.partition(".")[0]
    if root == "sklearn" and module != "sklearn":
        return module in _table()["modules"]
    return root in _INSTALLED or root in sys.stdlib_module_names
