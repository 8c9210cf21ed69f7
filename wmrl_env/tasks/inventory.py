"""The data inventory of a task's text: one fact a line, so that people and models read the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["describe", "sample_rows"]

_MAX_COLUMNS = 120
_EXAMPLES = 3
_EXAMPLE_CHARS = 24
_SAMPLE_COLUMNS = 30
_FAMILY = 16  # numbered columns that are listed as one
_NUMBERED = re.compile(r"(.*\D|)(\d+)")


def _clip(text: object) -> str:
    one_line = " ".join(str(text).split()).replace(",", ";").replace("|", "/")
    return one_line if len(one_line) <= _EXAMPLE_CHARS else one_line[: _EXAMPLE_CHARS - 3] + "..."


def _column(name: str, values: pd.Series) -> str:
    import pandas as pd

    present = values.dropna()
    facts = f"missing {100 * values.isna().mean():.2f}%, unique {present.nunique()}"
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        dtype = "int" if pd.api.types.is_integer_dtype(values) else "float"
        span = f", min {present.min():.6g}, max {present.max():.6g}" if len(present) else ""
        return f"{name}: {dtype}, {facts}{span}"
    examples = " | ".join(_clip(value) for value in sorted(present.astype(str).unique())[:_EXAMPLES])
    return f"{name}: text, {facts}, e.g. {examples}"


def _runs(frame: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Columns by the name to list them under; many numbered columns of one dtype, such as pixels, count as one."""
    import pandas as pd

    families: dict[tuple[str, str], list[str]] = {}
    for name in frame.columns:
        match = _NUMBERED.fullmatch(name)
        if match and pd.api.types.is_numeric_dtype(frame[name]):
            families.setdefault((match[1], str(frame[name].dtype)), []).append(name)
    many = {name: family for family in families.values() if len(family) >= _FAMILY for name in family}
    for name in frame.columns:
        family = many.get(name)
        if family is None:
            yield name, frame[name]
        elif name == family[0]:
            yield f"{family[0]}..{family[-1]} ({len(family)} columns)", pd.concat([frame[each] for each in family])


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
    ]
    listed = [_column(name, values) for name, values in _runs(everything)]
    lines += listed[:_MAX_COLUMNS]
    if len(listed) > _MAX_COLUMNS:
        lines.append(f"... and {len(listed) - _MAX_COLUMNS} more columns")
    return "\n".join(lines)


def sample_rows(train: pd.DataFrame, rows: int = 3) -> str:
    """The first rows as CSV, columns beyond the first few dozen left out and long cells cut."""
    shown = train.iloc[:rows, :_SAMPLE_COLUMNS]
    if train.shape[1] > _SAMPLE_COLUMNS:
        shown = shown.assign(**{"...": "..."})
    cells = shown.astype(object).where(shown.notna(), "").map(lambda value: _clip(value) if value != "..." else value)
    return cells.to_csv(index=False, lineterminator="\n").rstrip()
