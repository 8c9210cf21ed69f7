"""The result files of all benchmarks."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["commit", "write_result"]


def commit() -> str:
    """Hash of the commit that is checked out, empty outside a repository."""
    head = ["git", "rev-parse", "HEAD"]
    return subprocess.run(head, capture_output=True, text=True, check=False, cwd=Path(__file__).parent).stdout.strip()


def write_result(
    path: Path,
    benchmark: str,
    rows: Sequence[dict[str, Any]],
    args: dict[str, Any],
    packages: Sequence[str] = ("wmrl", "torch", "numpy"),
) -> None:
    """Write ``rows`` with what they were measured on."""
    result = {
        "benchmark": benchmark,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": platform.platform(),
        "versions": {name: version(name) for name in packages},
        "args": args,
        "rows": list(rows),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
