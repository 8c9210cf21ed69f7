"""Write ``names.json``: what the usual libraries offer, by module, and which parameters scikit-learn takes.

``python -m world_models.rehearsal.build``, with the version that solutions run with.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import warnings
from pathlib import Path
from typing import Any

__all__ = ["describe_library"]

_OUT = Path(__file__).with_name("names.json")


def _public(module: Any) -> dict[str, Any]:
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    found = {}
    for name in names:
        try:
            found[name] = getattr(module, name)
        except (ImportError, AttributeError):  # experimental ones need an import of their own
            continue
    return found


def describe_library(package: str = "sklearn") -> dict[str, Any]:
    """Names by public module, and parameter names by callable; callables that take any keyword are left out."""
    modules: dict[str, list[str]] = {}
    parameters: dict[str, list[str]] = {}
    options: dict[str, dict[str, list[str]]] = {}
    root = importlib.import_module(package)
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        parts = info.name.split(".")
        if (
            any(part.startswith("_") or part in ("tests", "externals", "experimental") for part in parts)
            or len(parts) > 3
        ):
            continue
        try:
            module = importlib.import_module(info.name)
        except ImportError:
            continue
        offered = _public(module)
        modules[info.name] = sorted(offered)
        for name, thing in offered.items():
            if not callable(thing) or name in parameters:
                continue
            try:
                signature = inspect.signature(thing)
            except (TypeError, ValueError):
                continue
            if all(one.kind is not one.VAR_KEYWORD for one in signature.parameters.values()):
                parameters[name] = sorted(signature.parameters)
            if words := _options(thing):
                options[name] = words
    return {"version": root.__version__, "modules": modules, "parameters": parameters, "options": options}


def _options(thing: Any) -> dict[str, list[str]]:
    """Words that a class takes, by parameter."""
    constraints = getattr(thing, "_parameter_constraints", None)
    found: dict[str, list[str]] = {}
    for parameter, allowed in constraints.items() if isinstance(constraints, dict) else ():
        words = (
            [one.options for one in allowed if type(one).__name__ == "StrOptions"] if isinstance(allowed, list) else []
        )
        if words and str not in allowed:
            found[parameter] = sorted(set().union(*words))
    return found


def describe_arrays() -> dict[str, Any]:
    """Names in pandas and numpy, and attributes of what they compute with."""
    import numpy as np
    import pandas as pd

    modules = {"pandas": pd, "numpy": np, "numpy.linalg": np.linalg, "numpy.random": np.random}
    kinds = {"DataFrame": pd.DataFrame, "Series": pd.Series, "ndarray": np.ndarray}
    return {
        "modules": {
            name: [one for one in dir(module) if not one.startswith("_") and hasattr(module, one)]
            for name, module in modules.items()
        },
        "attributes": {name: [one for one in dir(kind) if not one.startswith("_")] for name, kind in kinds.items()},
    }


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table, arrays = describe_library(), describe_arrays()
        table |= {"modules": table["modules"] | arrays["modules"], "attributes": arrays["attributes"]}
        _OUT.write_text(json.dumps(table, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{_OUT}: {_OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
