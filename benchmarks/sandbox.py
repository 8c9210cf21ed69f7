"""What do walls cost, and do the sandbox's workers keep the machine busy?

python benchmarks/sandbox.py [--quick] [--seed S] [--out PATH]
python benchmarks/sandbox.py --soak 2000     # mixed submissions, a third hostile: nothing is left, nothing differs
python benchmarks/sandbox.py --kill 50       # the parent is killed at random moments: nothing survives, nothing is lost

Rows: ``overhead``, milliseconds a run beyond a bare subprocess, by mode; ``scaling``, submissions a second of two
workers over those of two loops of bare subprocesses.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from _results import write_result
from rich.console import Console
from rich.progress import track
from rich.table import Table

from wmrl_env import tasks
from wmrl_env.sandbox import Sandbox, isolation
from wmrl_env.sandbox.cache import ResultCache
from wmrl_env.tasks.task import ResearchTask
from world_models.outcomes import Submission

HERE = Path(__file__).parent


def _of_tests(name: str) -> Any:
    """A module of the tests, whose folder is no package that could be imported from."""
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), HERE.parent / "tests" / f"{name}.py")
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_hostile = _of_tests("security/hostile")
ATTACKS, HARMLESS = _hostile.ATTACKS, _hostile.HARMLESS
make_task_dir = _of_tests("support").make_task_dir

# About a third of a second of work that no library is needed for.
WORK = f"{HARMLESS}\nx = 0\nfor i in range(3_000_000):\n    x += i\n"


def _task(limit_s: float = 10.0) -> ResearchTask:
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    folder.chmod(0o755)
    task = ResearchTask.from_directory(make_task_dir(folder / "bench", time_limit_s=limit_s, memory_limit_mb=256))
    tasks.register(task)
    return task


def _bare(task: ResearchTask, code: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = isolation.environment() | {
            "DATA_DIR": str(task.public_dir),
            "SUBMISSION_PATH": str(Path(folder, "submission.csv")),
        }
        subprocess.run([sys.executable, "-s", "-P", "-c", code], env=environment, cwd=folder, check=True)


def _interval(values: list[float], seed: int) -> dict[str, float | int]:
    """Mean and its 95 % bootstrap interval."""
    rng = np.random.default_rng(seed)
    means = np.mean(rng.choice(values, (2000, len(values))), axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return {"value": float(np.mean(values)), "low": float(low), "high": float(high), "n": len(values)}


def _seconds(action: Callable[[], Any]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def measure(runs: int, seed: int) -> list[dict[str, Any]]:
    """Bare and walled runs of the same program in turn, so that a change of the machine meets both."""
    task = _task()
    walls = "process" if isolation.bubblewrap_fault() else "bubblewrap"
    rows = []
    boxes = {
        f"{walls}/warm": Sandbox(1, walls, None, warm_start=True),
        f"{walls}/cold": Sandbox(1, walls, None),
        "process/cold": Sandbox(1, "process", None),
    }
    submission = Submission(task.id, task.text, HARMLESS)
    for name, box in boxes.items():
        box.execute([submission])
        differences = []
        for _ in track(range(runs), description=f"overhead of {name}"):
            bare = _seconds(lambda: _bare(task, HARMLESS))
            differences.append(1000 * (_seconds(lambda box=box: box.execute([submission])) - bare))
        rows.append({"name": "overhead", "group": name, "metrics": {"overhead_ms": _interval(differences, seed)}})
        box.close()
    with Sandbox(2, walls, None, warm_start=True) as box, ThreadPoolExecutor(2) as threads:
        box.execute([submission] * 4)
        ratios = []
        for part in track(range(max(3, runs // 6)), description="scaling"):
            codes = [f"{WORK}# {part} {i}" for i in range(12)]
            bare = _seconds(lambda codes=codes: list(threads.map(lambda code: _bare(task, code), codes)))
            walled = _seconds(lambda codes=codes: box.execute([Submission(task.id, task.text, code) for code in codes]))
            ratios.append(bare / walled)
        rows.append({"name": "scaling", "group": f"{walls}/warm", "metrics": {"efficiency": _interval(ratios, seed)}})
    return rows


def _processes(folder: str) -> int:
    """Processes of workers whose folders lie in ``folder``; what runs inside ends with its bubblewrap."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                count += f"{folder}/wmrl-".encode() in Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
    return count


def soak(count: int, seed: int) -> bool:
    """Many mixed submissions at once; each outcome must be that of the same one by itself."""
    task = _task(limit_s=1.0)
    rng = random.Random(seed)
    # Those whose outcome hangs on which limit they meet first are left out.
    hostile = [
        attack.code.replace("{private}", "/").replace("{port}", "9")
        for attack in ATTACKS.values()
        if len(attack.endings) == 1
    ]
    plain = [HARMLESS, "raise ValueError('no')", "x = 1", f"{HARMLESS}print('done')"]
    kinds = [*hostile, *plain]
    with tempfile.TemporaryDirectory() as left:
        tempfile.tempdir = left
        with Sandbox(2, cache=None, warm_start=True, wall_factor=3.0) as box:
            alone = {
                code: box.execute([Submission(task.id, task.text, code)])[0].status
                for code in track(kinds, description="one by one")
            }
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            codes = [rng.choice(hostile if rng.random() < 1 / 3 else plain) for _ in range(count)]
            wrong = 0
            for start in track(range(0, count, 50), description="mixed"):
                some = codes[start : start + 50]
                outcomes = box.execute([Submission(task.id, task.text, code) for code in some])
                wrong += sum(outcome.status is not alone[code] for code, outcome in zip(some, outcomes, strict=True))
            growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
        folders, processes = len(os.listdir(left)), _processes(left)
        tempfile.tempdir = None
    print(
        f"{count} submissions: {wrong} outcomes differ, {folders} folders and {processes} processes left, "
        f"the parent grew by {growth:.1f} MB"
    )
    return wrong == folders == processes == 0 and growth < 20


def kill(count: int, seed: int) -> bool:
    """The owner of a busy sandbox is killed again and again."""
    rng = random.Random(seed)
    left = forgotten = 0
    with tempfile.TemporaryDirectory() as folder:
        script = f"""
import itertools, sys, tempfile
sys.path.insert(0, {str(HERE)!r})
tempfile.tempdir = {folder!r}
import sandbox as bench
task = bench._task()
with bench.Sandbox(2, cache={folder!r} + "/results.sqlite", warm_start=True) as box:
    for start in itertools.count(0, 4):
        codes = [f"{{bench.HARMLESS}}# {{task.cache_key}} {{start + i}}" for i in range(4)]
        box.execute([bench.Submission(task.id, task.text, code) for code in codes])
        print(len(box._cache), flush=True)
"""
        for _ in track(range(count), description="killing"):
            with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as owner:
                time.sleep(rng.uniform(0.5, 6.0))
                owner.send_signal(signal.SIGKILL)
                told = [int(line) for line in (owner.stdout.read() if owner.stdout else "").split()]
            deadline = time.monotonic() + 5.0
            while _processes(folder) and time.monotonic() < deadline:
                time.sleep(0.05)
            survivors = _processes(folder)
            cache = ResultCache(Path(folder, "results.sqlite"))
            lost = bool(told) and len(cache) < told[-1]
            cache.close()
            left, forgotten = left + bool(survivors), forgotten + lost
    print(f"{count} kills: after {left} of them a process was left 5 s later, after {forgotten} a result was lost")
    return left == forgotten == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "sandbox.json")
    parser.add_argument("--soak", type=int, metavar="N", help="run N mixed submissions instead")
    parser.add_argument("--kill", type=int, metavar="N", help="kill the parent N times instead")
    args = parser.parse_args()
    if args.soak or args.kill:
        fine = soak(args.soak, args.seed) if args.soak else kill(args.kill, args.seed)
        sys.exit(0 if fine else 1)
    rows = measure(12 if args.quick else 60, args.seed)
    table = Table("what", "mode", "value", "95 % interval", "n")
    for row in rows:
        for name, one in row["metrics"].items():
            table.add_row(
                name, row["group"], f"{one['value']:.3g}", f"{one['low']:.3g} to {one['high']:.3g}", str(one["n"])
            )
    Console().print(table)
    write_result(args.out, "sandbox", rows, {"quick": args.quick, "seed": args.seed})


if __name__ == "__main__":
    main()
