"""Labels that the public half of a task gives away."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from wmrl_env.tasks.validation import Findings, Tables, read_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["check_leakage"]

_FEW_ROWS = 20  # below this agreement may be chance
_MAX_BYTES = 256 * 2**20
_TEXT = (".csv", ".tsv", ".txt", ".dat", ".zip", ".gz", ".bz2", ".xz")

Verdict = Literal["", "equals", "determines", "nearly determines"]


def check_leakage(tables: Tables, time_column: str, findings: Findings) -> None:
    """Look for the labels in ``test.csv``, the sample submission, the training rows and every other file."""
    answers = tables.labels.dropna().drop_duplicates(tables.id_column).set_index(tables.id_column)[tables.target]
    if answers.nunique() < 2:
        return  # nothing to give away
    labels = _Labels(answers)
    _check_test(tables, labels, time_column, findings)
    sample = tables.sample.drop_duplicates(tables.id_column).set_index(tables.id_column)[tables.target]
    if labels.told_by(sample.reindex(labels.ids)) in ("equals", "determines"):
        findings.fault(f"{tables.name('sample')} holds the labels")
    _check_train(tables, labels, findings)
    known = {path.resolve() for path in tables.paths.values()}
    for path in sorted(tables.public.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.resolve() not in known:
            _check_file(path, tables, labels, findings)


class _Labels:
    """The labels, by id, and what of them every comparison needs.

    Args:
        text: labels as text; its index holds the ids.
    """

    def __init__(self, text: pd.Series) -> None:
        import pandas as pd

        self.text = text
        self.ids = text.index
        self.numbers = pd.to_numeric(text, errors="coerce").to_numpy(float)
        self.codes = pd.factorize(text)[0]

    def told_by(self, column: pd.Series) -> Verdict:
        """Whether a column gives the labels away.

        Equal means the same values, but for one in a hundred of those that a constant guess misses. A column
        determines the labels where it does so through about as many values as there are classes, or by an increasing
        or decreasing map.

        Args:
            column: values of the labelled rows, in their order; missing where unknown.
        """
        import numpy as np
        import pandas as pd

        known = column.notna().to_numpy()
        rows = int(known.sum())
        if rows < max(_FEW_ROWS, 0.05 * len(known)):
            return ""
        values, codes, true_numbers = column[known], self.codes[known], self.numbers[known]
        classes = np.bincount(codes)
        missed = rows - classes.max()  # by a constant guess
        if missed == 0:
            return ""
        numbers = pd.to_numeric(values, errors="coerce").to_numpy(float)
        same = np.isclose(numbers, true_numbers, rtol=1e-9, atol=0)
        if not pd.api.types.is_numeric_dtype(values):
            same |= values.to_numpy() == self.text.to_numpy()[known]
        if rows - same.sum() <= 0.01 * missed:
            return "equals"
        value_codes, kinds = pd.factorize(values)
        true_kinds = int((classes > 0).sum())
        if len(kinds) <= 2 * true_kinds and rows >= 5 * true_kinds:
            pairs, counts = np.unique(value_codes * len(classes) + codes, return_counts=True)
            most = np.zeros(len(kinds), int)  # rows of each value's most frequent class
            np.maximum.at(most, pairs // len(classes), counts)
            wrong = rows - most.sum()
            if wrong <= 0.01 * missed:
                return "determines"
            if wrong <= 0.05 * missed:
                return "nearly determines"
        numeric = np.isfinite(numbers) & np.isfinite(true_numbers)
        if numeric.mean() > 0.95 and min(len(kinds), true_kinds) > 10:
            return _by_rank(numbers[numeric], true_numbers[numeric])
        return ""

    def of(self, ids: pd.Index) -> _Labels:
        """Those of some rows only."""
        return _Labels(self.text.loc[ids])


def _by_rank(numbers: np.ndarray, truth: np.ndarray) -> Verdict:
    """An increasing or decreasing map keeps the ranks."""
    import numpy as np
    import pandas as pd

    ranks = [pd.Series(each).rank().to_numpy() for each in (numbers, truth)]
    correlation = abs(np.corrcoef(*ranks)[0, 1])
    return "determines" if correlation > 0.9999 else "nearly determines" if correlation > 0.999 else ""


def _check_test(tables: Tables, labels: _Labels, time_column: str, findings: Findings) -> None:
    import pandas as pd

    rows = tables.test.drop_duplicates(tables.id_column).reset_index(drop=True)
    test = rows.set_index(tables.id_column, drop=False).reindex(labels.ids)
    # Of a series that only grows, time and order tell the labels without any leak.
    for name in test.columns:
        if name == time_column or (time_column and name == tables.id_column):
            continue
        verdict = labels.told_by(test[name])
        if verdict == "nearly determines":
            findings.warn(
                f"{tables.name('test')}: column {name!r} nearly determines the labels: is it known beforehand?"
            )
        elif verdict:
            findings.fault(f"{tables.name('test')}: column {name!r} {verdict} the labels: remove it")
    if time_column:
        return
    if labels.text.nunique() > 10:
        order = pd.Series(rows.index, index=rows[tables.id_column])
        if labels.told_by(order.reindex(labels.ids)) == "determines":
            findings.fault(f"{tables.name('test')}: the order of rows determines the labels: shuffle them")
    else:
        inside = labels.text.reindex(rows[tables.id_column]).dropna()
        changes = (inside.to_numpy()[1:] != inside.to_numpy()[:-1]).sum()
        if changes == inside.nunique() - 1 and len(inside) >= _FEW_ROWS and inside.value_counts().min() >= 5:
            findings.fault(f"{tables.name('test')}: rows are sorted by their labels: shuffle them")


def _check_train(tables: Tables, labels: _Labels, findings: Findings) -> None:
    """Test rows among the training rows: with their ids a fault where labels agree, else a warning."""
    import pandas as pd

    names = [name for name in tables.test.columns if name in tables.train.columns and name != tables.id_column]
    if names:
        both = pd.concat([tables.train[names], tables.test[names]], ignore_index=True)
        hashes = pd.util.hash_pandas_object(both, index=False)
        train_hashes, test_hashes = hashes[: len(tables.train)], hashes[len(tables.train) :]
        repeated = test_hashes.isin(set(train_hashes)).sum()
        if repeated:
            findings.warn(
                f"{repeated} of {len(tables.test)} rows of {tables.name('test')} are in {tables.name('train')} too, "
                "with labels"
            )
    if tables.id_column not in tables.train.columns:
        return
    train = tables.train[tables.train[tables.id_column].isin(labels.ids)].drop_duplicates(tables.id_column)
    if train.empty:
        return
    shared = train.set_index(tables.id_column)[tables.target]
    rows = f"{len(shared)} rows of {tables.name('train')} carry ids of {tables.name('test')}"
    whole = False
    if names:
        hash_of = dict(zip(tables.test[tables.id_column], test_hashes, strict=True))
        own = zip(train[tables.id_column], hashes.loc[train.index], strict=True)
        whole = any(hash_of.get(row) == value for row, value in own)
    if whole or labels.of(shared.index).told_by(shared) == "equals":
        findings.fault(f"{rows}, with their labels: remove them")
    else:
        findings.warn(f"{rows}, which look like other rows: make ids unique")


def _check_file(path: Path, tables: Tables, labels: _Labels, findings: Findings) -> None:
    name = path.relative_to(tables.public).as_posix()
    secret = tables.paths["labels"]
    if path.stat().st_size == secret.stat().st_size and path.read_bytes() == secret.read_bytes():
        findings.fault(f"{name} is a copy of {secret.name}")
        return
    if path.stat().st_size > _MAX_BYTES:
        return
    for frame in _frames(path):
        for column in _by_id(frame, labels):
            if labels.told_by(column) in ("equals", "determines"):
                findings.fault(f"{name} holds the labels of {tables.name('test')}: remove it from the public half")
                return


def _frames(path: Path) -> Iterator[pd.DataFrame]:
    """What can be read as a table, cells as text; nothing where it is none."""
    import numpy as np
    import pandas as pd

    ending = path.suffix.lower()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if ending in _TEXT:
                separator = "\t" if ".tsv" in path.name.lower() else ","
                yield read_table(path, dtype=str, header=None, sep=separator)
            elif ending == ".json":
                content = json.loads(path.read_text(encoding="utf-8"))
                if isinstance(content, dict) and not any(isinstance(value, dict | list) for value in content.values()):
                    content = list(content.items())
                yield pd.DataFrame(content).astype(str)
            elif ending in (".jsonl", ".ndjson"):
                yield pd.read_json(path, lines=True, dtype=False).astype(str)
            elif ending in (".parquet", ".pq"):
                yield pd.read_parquet(path).reset_index().astype(str)
            elif ending == ".npy":
                array = np.load(path, allow_pickle=False)
                if array.ndim <= 2:
                    yield pd.DataFrame(array).astype(str)
    except (OSError, ValueError, TypeError, KeyError, ImportError, RecursionError):
        return


def _by_id(frame: pd.DataFrame, labels: _Labels) -> Iterator[pd.Series]:
    """The frame's columns for the labelled rows: by an id column where it has one, else by position."""
    if frame.empty:
        return
    for key in frame.columns:
        rows = frame[frame[key].isin(labels.ids)]
        if len(rows) >= max(_FEW_ROWS, 0.05 * len(labels.ids)) and rows[key].is_unique:
            for name in frame.columns.drop(key):
                yield rows.set_index(key)[name].reindex(labels.ids)
            return
    for skipped in (0, 1):  # a header, maybe
        if len(frame) - skipped == len(labels.ids):
            for name in frame.columns:
                yield frame[name].iloc[skipped:].set_axis(labels.ids)
