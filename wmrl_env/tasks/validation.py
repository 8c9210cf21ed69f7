"""What makes a task directory unusable, and what deserves a look: every fault at once."""

from __future__ import annotations

import lzma
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wmrl_env.tasks.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Findings", "Tables", "check_leaderboard", "check_links", "check_tables", "read_table"]

# What decompression raises; RuntimeError where a password is wanted.
_BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError)
_FEW_ENTRIES = 10
_WHAT = {"test": "test rows", "sample": "the sample submission", "labels": "the labels"}
_LOWER = {"roc_auc": 0.0, "accuracy": 0.0, "macro_f1": 0.0, "quadratic_kappa": -1.0}
_UPPER = {"roc_auc": 1.0, "accuracy": 1.0, "macro_f1": 1.0, "quadratic_kappa": 1.0, "r2": 1.0}


@dataclass
class Findings:
    """Collects faults, which make a task unusable, and warnings."""

    faults: list[str]
    warnings: list[str]

    def fault(self, message: str) -> None:
        self.faults.append(message)

    def warn(self, message: str) -> None:
        self.warnings.append(message)


def read_table(path: Path, **options: Any) -> pd.DataFrame:
    """A CSV file, compressed or not.

    Raises:
        OSError, ValueError: it cannot be read.
    """
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # cells beyond the header
        try:
            return pd.read_csv(path, encoding="utf-8-sig", index_col=False, low_memory=False, **options)
        except (pd.errors.ParserWarning, *_BROKEN) as error:
            raise ValueError(str(error) or type(error).__name__) from None


@dataclass
class Tables:
    """A task's four tables. Ids and targets are text as written, since grading compares them so.

    Attributes:
        paths: files by role: ``"train"``, ``"test"``, ``"sample"``, ``"labels"``.
        train: the training rows; their target is called ``target`` here, ``train_target`` in the file.
        public: folder of the public half.
    """

    paths: dict[str, Path]
    train: pd.DataFrame
    test: pd.DataFrame
    sample: pd.DataFrame
    labels: pd.DataFrame
    target: str
    id_column: str
    train_target: str
    public: Path

    @classmethod
    def read(
        cls, paths: dict[str, Path], target: str, id_column: str, public: Path, findings: Findings
    ) -> Tables | None:
        """All four, or ``None`` where one is missing, cannot be read or lacks a column; ids are checked in any case."""
        frames: dict[str, pd.DataFrame] = {}
        for role, path in paths.items():
            try:
                frames[role] = read_table(path, dtype={target: str, id_column: str})
            except (OSError, ValueError) as error:
                findings.fault(f"{path.name} is no readable CSV file: {' '.join(str(error).split())}")
        train_target = _train_target(frames, target, id_column)
        if train_target and train_target != target:
            frames["train"] = read_table(paths["train"], dtype={train_target: str, id_column: str})
            frames["train"] = frames["train"].rename(columns={train_target: target})
        if "test" in frames and target in frames["test"].columns:
            findings.fault(f"{paths['test'].name} shows the target {target!r}")
            frames["test"] = frames["test"].drop(columns=target)
        wanted = {
            "train": (target,),
            "test": (id_column,),
            "sample": (id_column, target),
            "labels": (id_column, target),
        }
        complete = frames.keys() == wanted.keys()
        for role, frame in frames.items():
            for column in wanted[role]:
                if column not in frame.columns:
                    complete = False
                    findings.fault(f"{paths[role].name} lacks column {column!r}, found {_some(frame.columns)}")
            if frame.empty:
                complete = False
                findings.fault(f"{paths[role].name} has no rows")
        _check_ids(
            {
                role: frame[id_column]
                for role, frame in frames.items()
                if role != "train" and id_column in frame.columns
            },
            paths,
            findings,
        )
        if not complete:
            return None
        return cls(paths, **frames, target=target, id_column=id_column, train_target=train_target, public=public)

    def name(self, role: str) -> str:
        return self.paths[role].name

    def shared_train(self, labelled: bool) -> pd.DataFrame:
        """Training rows with a target, which is a number unless ``labelled``, and the columns that test rows have."""
        import pandas as pd

        columns = [name for name in self.train.columns if name in self.test.columns or name == self.target]
        train = self.train[columns].dropna(subset=[self.target])
        return train if labelled else train.assign(**{self.target: pd.to_numeric(train[self.target])})


def _train_target(frames: Mapping[str, pd.DataFrame], target: str, id_column: str) -> str:
    """The target's name in the training table: the only column that test rows lack may be spelled otherwise."""
    if "train" not in frames or "test" not in frames or target in frames["train"].columns:
        return target
    extra = [name for name in frames["train"].columns if name not in (*frames["test"].columns, id_column)]
    return extra[0] if len(extra) == 1 else target


def check_links(root: Path, public: Path, private: Path, findings: Findings) -> None:
    """Nothing but the private half leads into the private half: no symbolic link, no second name of its files."""
    hidden = private.resolve()
    secrets = {(info.st_dev, info.st_ino) for info in (path.stat() for path in hidden.rglob("*") if path.is_file())}
    for path in [public, *sorted({*root.rglob("*"), *public.rglob("*")})]:
        name = path.relative_to(root).as_posix()
        if path.is_relative_to(private):
            continue
        if path.is_symlink():
            goal = path.resolve()
            if goal.is_relative_to(hidden) or hidden.is_relative_to(goal):
                findings.fault(f"{name} is a symbolic link to {goal}, which shows the private half")
            elif not goal.exists():
                findings.fault(f"{name} is a symbolic link to {goal}, which does not exist")
            elif path != public and path.is_relative_to(public) and not goal.is_relative_to(public.resolve()):
                findings.warn(f"{name} is a symbolic link to {goal}, which solutions cannot see")
        elif path.is_file() and path.stat().st_nlink > 1 and (path.stat().st_dev, path.stat().st_ino) in secrets:
            findings.fault(f"{name} is a hard link to a file of the private half")


def check_leaderboard(values: tuple[float, ...], metric: Metric | None, findings: Findings) -> None:
    """Scores that tell solutions apart, in the metric's range."""
    if len(set(values)) == 1 and len(values) > 1:
        findings.fault(
            f"all {len(values)} entries of the leaderboard are {values[0]:g}: it cannot tell solutions apart"
        )
    elif len(values) < _FEW_ENTRIES:
        findings.warn(f"the leaderboard has {len(values)} entries: with fewer than {_FEW_ENTRIES} scores are coarse")
    if metric is None:
        return
    low = _LOWER.get(metric.name, float("-inf") if metric.higher_is_better else 0.0)
    high = _UPPER.get(metric.name, float("inf"))
    if outside := [value for value in values if not low <= value <= high]:
        findings.fault(
            f"the leaderboard holds {outside[0]:g}, which {metric.name} never is: it lies in [{low:g}, {high:g}]; "
            "are these scores of another metric?"
        )


def check_tables(tables: Tables, metric: Metric | None, settings: Mapping[str, Any], findings: Findings) -> None:
    """All that the tables must agree on among themselves, with the metric and with the settings."""
    _check_columns(tables, settings, findings)
    _check_labels(tables, metric, settings.get("kind"), findings)


def _check_ids(ids: Mapping[str, pd.Series], paths: Mapping[str, Path], findings: Findings) -> None:
    """Ids of test rows, sample submission and labels: each there, each once, the same everywhere."""
    for role, column in ids.items():
        where = f"{paths[role].name} ({_WHAT[role]})"
        if column.isna().any():
            findings.fault(f"{where} has {column.isna().sum()} rows without {column.name!r}")
        if column.dropna().duplicated().any():
            repeated = column[column.duplicated()].iloc[0]
            findings.fault(f"{where} has duplicate ids in {column.name!r}, such as {repeated}")
    if "test" not in ids:
        return
    expected = set(ids["test"].dropna())
    for role in ids.keys() - {"test"}:
        found = set(ids[role].dropna())
        if found != expected:
            findings.fault(
                f"{paths[role].name} ({_WHAT[role]}) and {paths['test'].name} have different ids: "
                f"{len(found - expected)} only in the first, {len(expected - found)} only in the second, such as "
                f"{_some(sorted(found ^ expected))}"
            )
    if any(value != "0" and value.startswith("0") and value.isdigit() for value in expected):
        findings.warn(f"{ids['test'].name!r} has leading zeros, which a solution loses when it reads ids as numbers")


def _check_columns(tables: Tables, settings: Mapping[str, Any], findings: Findings) -> None:
    import pandas as pd

    own = {tables.id_column, tables.target}
    only_train = [name for name in tables.train.columns if name not in tables.test.columns and name not in own]
    only_test = [name for name in tables.test.columns if name not in tables.train.columns and name not in own]
    if only_train:
        findings.warn(f"{tables.name('train')} has columns that {tables.name('test')} lacks: {_some(only_train)}")
    if only_test:
        findings.warn(f"{tables.name('test')} has columns that {tables.name('train')} lacks: {_some(only_test)}")
    time = settings.get("time_column", "")
    texts = list(settings.get("text_columns", ()))
    for key, names in (("text_columns", texts), ("time_column", [time] if time else [])):
        for name in names:
            for role in ("train", "test"):
                if name not in getattr(tables, role).columns:
                    findings.fault(f"{key} names {name!r}, which {tables.name(role)} lacks")
                elif key == "text_columns" and pd.api.types.is_numeric_dtype(getattr(tables, role)[name]):
                    findings.fault(f"text_columns names {name!r}, which holds numbers in {tables.name(role)}")
    if time and time in tables.train.columns and time in tables.test.columns:
        _check_time(tables, time, findings)


def _check_time(tables: Tables, time: str, findings: Findings) -> None:
    import pandas as pd

    columns = [getattr(tables, role)[time] for role in ("train", "test")]
    if not all(pd.api.types.is_numeric_dtype(column) for column in columns):
        columns = [_times(column.astype(str)) for column in columns]
    train, test = columns
    for role, column in (("train", train), ("test", test)):
        if column.isna().any():
            findings.fault(
                f"time column {time!r} of {tables.name(role)} has {column.isna().sum()} values that are no time"
            )
    last, first = train.max(), test.min()
    if not first > last:
        findings.fault(
            f"test rows must be later than train rows, but {time!r} begins at {first} in {tables.name('test')} and "
            f"ends at {last} in {tables.name('train')}"
        )


def _times(column: pd.Series) -> pd.Series:
    import pandas as pd

    return pd.to_datetime(column, errors="coerce", format="mixed", utc=True)


def _check_labels(tables: Tables, metric: Metric | None, kind: str | None, findings: Findings) -> None:
    import numpy as np
    import pandas as pd

    labels, known = tables.labels[tables.target], tables.train[tables.target]
    where = tables.name("labels")
    if labels.isna().any():
        findings.fault(f"{where} has {labels.isna().sum()} missing labels in {tables.target!r}")
    if known.isna().any():
        findings.warn(f"{tables.name('train')} has {known.isna().sum()} rows without {tables.target!r}")
    labels, known = labels.dropna(), known.dropna()
    if labels.nunique() < 2 or known.empty:
        findings.fault(f"all labels in {where} are equal, so that every metric is constant")
        return
    if metric is None:
        return
    numbers, train_numbers = (pd.to_numeric(column, errors="coerce") for column in (labels, known))
    if metric.prediction in ("probability", "label"):
        _check_classes(tables, metric, labels, known, findings)
        if kind not in (None, "binary", "multiclass") or (metric.prediction == "probability" and kind == "multiclass"):
            findings.fault(f"kind {kind!r} does not go with metric {metric.name!r}")
        if kind == "binary" and metric.prediction == "label" and known.nunique() != 2:
            findings.fault(f"kind 'binary' needs two classes, but {tables.target!r} has {known.nunique()}")
        if metric.name == "quadratic_kappa":
            whole = np.concatenate([numbers, train_numbers])
            if not np.all(np.isfinite(whole) & (whole == np.floor(whole))):
                findings.fault(
                    "metric 'quadratic_kappa' needs whole numbers as labels: it weighs how far apart they are"
                )
        return
    if kind in ("binary", "multiclass"):
        findings.fault(f"kind {kind!r} does not go with metric {metric.name!r}")
    for name, column, original in ((where, numbers, labels), (tables.name("train"), train_numbers, known)):
        if not np.isfinite(column).all():
            odd = original[~np.isfinite(column)].iloc[0]
            findings.fault(f"metric {metric.name!r} needs numbers, but {name} holds the label {odd!r}")
    wants = {"rmsle": "labels of at least 0", "poisson_deviance": "labels of at least 0"}
    if metric.name in wants and (numbers < 0).any():
        findings.fault(f"metric {metric.name!r} needs {wants[metric.name]}, but {where} holds {numbers.min():g}")
    if metric.name == "mape" and (numbers == 0).any():
        findings.fault(f"metric 'mape' divides by the labels, but {(numbers == 0).sum()} of {where} are 0")
    if kind == "counts" and ((numbers < 0) | (numbers != np.floor(numbers))).any():
        findings.fault(f"kind 'counts' needs whole numbers of at least 0 as labels, but {where} holds others")


def _check_classes(tables: Tables, metric: Metric, labels: pd.Series, known: pd.Series, findings: Findings) -> None:
    classes = set(known)
    unseen = sorted(set(labels) - classes)
    if metric.prediction == "probability":
        every = sorted(classes | set(labels))
        if len(every) != 2:
            findings.fault(
                f"metric {metric.name!r} needs two classes, but {tables.target!r} has {len(every)}: {_some(every)}"
            )
    elif unseen:
        spelled = {_plain(name) for name in classes}
        if any(_plain(name) in spelled for name in unseen):
            findings.fault(
                f"{tables.name('labels')} spells labels otherwise than {tables.name('train')}: {_some(unseen)} and "
                f"{_some(sorted(classes))}"
            )
        else:
            findings.warn(
                f"{tables.name('labels')} has classes that {tables.name('train')} never shows: {_some(unseen)}"
            )
    if metric.prediction == "label" and len(known) >= 20 and len(classes) > len(known) / 2:
        findings.fault(
            f"metric {metric.name!r} needs classes, but {tables.target!r} has {len(classes)} different values in "
            f"{len(known)} rows: use a metric of numbers, such as rmse"
        )


def _plain(label: str) -> str:
    try:
        return f"{float(label):g}"
    except ValueError:
        return label.strip().lower()


def _some(names: Any, count: int = 5) -> str:
    listed = [str(name) for name in names]
    return ", ".join(listed[:count]) + (f" and {len(listed) - count} more" if len(listed) > count else "")
