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

__all__ = ["write_result"]


def write_result(
    path: Path,
    benchmark: str,
    rows: Sequence[dict[str, Any]],
    args: dict[str, Any],
    packages: Sequence[str] = ("wmrl", "torch", "numpy"),
) -> None:
    """Write ``rows`` with what they were measured on."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False, cwd=Path(__file__).parent
    )
    result = {
        "benchmark": benchmark,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "machine": platform.platform(),
        "versions": {name: version(name) for name in packages},
        "args": args,
        "rows": list(rows),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
