"""The data inventory of a task's text: one fact a line, so that people and models read the same thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["describe"]

_MAX_COLUMNS = 120
_EXAMPLES = 3
_EXAMPLE_CHARS = 24


def _clip(text: object) -> str:
    one_line = " ".join(str(text).split()).replace(",", ";").replace("|", "/")
    return one_line if len(one_line) <= _EXAMPLE_CHARS else one_line[: _EXAMPLE_CHARS - 1] + "…"


def _column(name: str, values: pd.Series) -> str:
    import pandas as pd

    present = values.dropna()
    facts = f"missing {100 * values.isna().mean():.2f}%, unique {present.nunique()}"
    if pd.api.types.is_numeric_dtype(values):
        dtype = "int" if pd.api.types.is_integer_dtype(values) else "float"
        span = f", min {present.min():.6g}, max {present.max():.6g}" if len(present) else ""
        return f"{name}: {dtype}, {facts}{span}"
    examples = " | ".join(_clip(value) for value in sorted(present.astype(str).unique())[:_EXAMPLES])
    return f"{name}: text, {facts}, e.g. {examples}"


def describe(train: pd.DataFrame, test: pd.DataFrame, target: str, id_column: str, classes: tuple[str, ...]) -> str:
    """Inventory lines (see ``docs/architecture.md``) of a task's public half."""
    import pandas as pd

    truth = train[target]
    if classes:
        shares = truth.astype(str).value_counts(normalize=True)
        head = ["Classes: " + ", ".join(f"{_clip(name)} {shares.get(name, 0.0):.3f}" for name in classes)]
        if len(classes) == 2:
            head.append(f"Positive class: {_clip(classes[-1])}")
    else:
        span = f"{truth.min():.6g} to {truth.max():.6g}"
        head = [f"Target range: {span}, mean {truth.mean():.6g}, skew {truth.skew():.2f}"]
    columns = [name for name in train.columns if name not in (target, id_column)]
    everything = pd.concat([train[columns], test[columns]])  # a value missing in either half breaks a solution
    lines = [
        *head,
        "",
        "## Files",
        f"train.csv: {len(train)} rows, {train.shape[1]} columns",
        f"test.csv: {len(test)} rows, {test.shape[1]} columns",
        f"sample_submission.csv: {id_column},{target}",
        "",
        "## Columns",
        *(_column(name, everything[name]) for name in columns[:_MAX_COLUMNS]),
    ]
    if len(columns) > _MAX_COLUMNS:
        lines.append(f"... and {len(columns) - _MAX_COLUMNS} more columns")
    return "\n".join(lines)
