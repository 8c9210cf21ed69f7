"""Where a task directory keeps its parts: one's own layout, MLE-bench's and MLE-Dojo's."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wmrl_env.tasks.grading import answers_file
from wmrl_env.tasks.validation import Findings, read_table

__all__ = ["HALVES", "TABLE_ENDINGS", "column_names", "find_tables", "halves", "read_description", "read_leaderboard"]

HALVES = {"public": "private", "prepared/public": "prepared/private", "data/public": "data/private"}
_DESCRIPTIONS = ("description.md", "description.txt", "info/description.txt", "info/description.md")
_SCORES = ("metric_value", "score")
# Of several leaderboards the private one counts: it is made of the whole test half.
_BOARDS = ("leaderboard.csv", "private_leaderboard.csv", "public_leaderboard.csv")
TABLE_ENDINGS = re.compile(r"\.csv(\.(zip|gz|bz2|xz|zst))?", re.IGNORECASE)


def halves(root: Path) -> tuple[Path, Path] | None:
    """Public and private half, ``None`` where there is no public one."""
    return next(
        ((root / public, root / private) for public, private in HALVES.items() if (root / public).is_dir()), None
    )


def find_tables(root: Path, public: Path, private: Path, findings: Findings) -> dict[str, Path]:
    """The task's tables by role, zipped or not."""
    files = [path for path in sorted(public.iterdir()) if path.is_file() and TABLE_ENDINGS.search(path.name)]
    stems = {path: TABLE_ENDINGS.sub("", path.name).lower() for path in files}
    samples = [
        path for path, stem in stems.items() if re.search(r"sample.*(submission|entry)|submission.*sample", stem)
    ]
    samples = samples or [path for path, stem in stems.items() if "submission" in stem]
    rest = [path for path in files if path not in samples]
    paths: dict[str, Path] = {}
    for role, expected, candidates in (
        ("train", "train.csv", _called("train", rest, stems)),
        ("test", "test.csv", _called("test", rest, stems)),
        ("sample", "sample_submission.csv", samples),
    ):
        if len(candidates) == 1:
            paths[role] = candidates[0]
        elif candidates:
            names = ", ".join(path.name for path in candidates)
            findings.fault(f"{_relative(public, root)} has several files for {expected}: {names}; keep one")
        else:
            findings.fault(f"{_relative(public, root)}/{expected} is missing")
    answers = answers_file(private) if private.is_dir() else None
    if answers is not None:
        paths["labels"] = answers
    else:
        found = ", ".join(sorted(path.name for path in private.glob("*"))) if private.is_dir() else "no such folder"
        findings.fault(
            f"{_relative(private, root)}/labels.csv is missing, and there is no single CSV file in its place: found "
            f"{found or 'nothing'}"
        )
    return paths


def _called(word: str, files: list[Path], stems: dict[Path, str]) -> list[Path]:
    """Files of exactly this name, else those whose name has it as a word, such as ``cs-training.csv``."""
    exact = [path for path in files if stems[path] == word]
    return exact[:1] or [path for path in files if re.search(rf"(^|[^a-z]){word}(ing)?([^a-z]|$)", stems[path])]


def column_names(sample: Path | None, settings: dict[str, Any], findings: Findings) -> dict[str, Any]:
    """The settings, with id and target column where they do not say: the two that the sample submission has."""
    if sample is None or {"id_column", "target"} <= settings.keys():
        return settings
    try:
        header = list(read_table(sample, nrows=0).columns)
    except (OSError, ValueError):
        return settings  # reading it in full names the fault
    if len(header) == 2:
        return {"id_column": header[0], "target": header[1]} | settings
    findings.fault(
        f"{sample.name} has the columns {', '.join(header)}: one id and one target are wanted; tasks with several "
        "targets are not supported (or name id_column and target in task.json)"
    )
    return settings


def read_description(root: Path, public: Path) -> str:
    """What the task asks, ``""`` where no file says."""
    places = [folder / name for folder in (public, root, public.parent) for name in _DESCRIPTIONS]
    path = next((place for place in places if place.is_file()), None)
    return path.read_text(encoding="utf-8-sig", errors="replace").strip() if path else ""


def read_leaderboard(root: Path, data: Path, given: Any, findings: Findings) -> tuple[float, ...]:
    """The reference scores: those given, else of a file that is given, else of the directory's."""
    if given is not None and not isinstance(given, str | Path):
        values = tuple(float(value) for value in given)
        if not values or not all(map(math.isfinite, values)):
            findings.fault("the leaderboard that was given must hold finite numbers, at least one")
            return ()
        return values
    path = _board(root, data) if given is None else Path(given)
    if path is None:
        findings.fault(f"no leaderboard: {root.name}/leaderboard.csv with a column {' or '.join(_SCORES)} is missing")
        return ()
    try:
        values = tuple(_scores(path))
    except (OSError, ValueError, csv.Error) as error:
        findings.fault(f"{path.name} is no leaderboard: {error}")
        return ()
    if not values:
        findings.fault(f"{path.name} is empty: a percentile needs scores")
    return values


def _scores(path: Path) -> Iterator[float]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        by_name = {name.strip().lower(): name for name in rows.fieldnames or ()}
        column = next((by_name[name] for name in _SCORES if name in by_name), None)
        if column is None:
            raise ValueError(f"no column {' or '.join(_SCORES)}, found {', '.join(by_name) or 'nothing'}")
        for row in rows:
            text = (row[column] or "").strip()
            if not text:  # teams without a valid submission have no score
                continue
            try:
                value = float(text)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise ValueError(f"line {rows.line_num} holds {text!r}, which is no number")
            yield value


def _board(root: Path, data: Path) -> Path | None:
    """The leaderboard that counts."""
    folders = (root, root / "info", data, *sorted(path for path in root.glob("*leaderboard*") if path.is_dir()))
    boards = [path for folder in dict.fromkeys(folders) for path in sorted(folder.glob("*.csv"))]
    boards = [path for path in boards if "leaderboard" in str(path.relative_to(root)).lower()]

    def rank(path: Path) -> int:
        name = path.name.lower()
        # leaderboard/private.csv is as good as private_leaderboard.csv
        name = name if "leaderboard" in name else name.replace(".csv", "_leaderboard.csv")
        return _BOARDS.index(name) if name in _BOARDS else len(_BOARDS)

    return min(boards, key=rank, default=None)


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
