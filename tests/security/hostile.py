"""Solutions that mean harm, and how each must end. ``HARMLESS`` must come out right after any of them."""

from __future__ import annotations

from typing import NamedTuple

from world_models.outcomes import Status

__all__ = ["ATTACKS", "HARMLESS", "Attack"]

HARMLESS = """
import os, pathlib
sample = pathlib.Path(os.environ["DATA_DIR"], "sample_submission.csv").read_text()
pathlib.Path(os.environ["SUBMISSION_PATH"]).write_text(sample)
"""
_FAILS = (Status.RUNTIME_ERROR,)
_NOTHING = (Status.NO_SUBMISSION,)
_NO_MEMORY = (Status.OUT_OF_MEMORY,)
_TOO_LONG = (Status.TIMEOUT,)
_INVALID = (Status.INVALID_SUBMISSION,)
# A probe prints ESCAPED where it got what it must not get; else it ends without a submission.
_PROBE = """
import os, sys, glob, socket, ctypes, subprocess, struct, signal, time, threading
def escaped(what):
    print("ESCAPED", what, flush=True)
def attempt(action, *args):
    try:
        return action(*args)
    except (OSError, ValueError, PermissionError, AttributeError, subprocess.SubprocessError, RuntimeError):
        return None
libc = ctypes.CDLL(None, use_errno=True)
"""


class Attack(NamedTuple):
    """A hostile solution.

    Attributes:
        code: its source.
        endings: statuses that are right.
        walled: it is only stopped by namespaces, not by plain processes with limits.
    """

    code: str
    endings: tuple[Status, ...]
    walled: bool = False

    @property
    def hurried(self) -> bool:
        """Whether it may run into the time limit: for these it is short; for the others no slow machine may reach it."""
        return Status.TIMEOUT in self.endings


def _probe(code: str, *, walled: bool = True, laborious: bool = False) -> Attack:
    return Attack(_PROBE + code, (*_NOTHING, *_TOO_LONG) if laborious else _NOTHING, walled)


ATTACKS: dict[str, Attack] = {
    # --- processes and threads ---
    "fork bomb": Attack(
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass", (*_TOO_LONG, *_FAILS), True
    ),
    "many children": _probe(
        """
for n in range(500):
    pid = attempt(os.fork)
    if pid == 0:
        time.sleep(5)
    if pid is None:
        break
else:
    escaped('500 children')
""",
        laborious=True,
    ),
    "thread bomb": Attack(
        "import threading, time\nfor _ in range(100_000):\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        (*_FAILS, *_TOO_LONG),
        True,
    ),
    "daemon": _probe(
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(600)\n    os._exit(0)\nos.wait()\n",
        walled=False,
    ),
    "child that keeps the output open": _probe(
        "if os.fork() == 0:\n    os.setsid()\n    while True:\n        print('still here')\n        time.sleep(1)\n", walled=False
    ),
    "deaf to signals": Attack(
        "import signal\nfor s in range(1, 64):\n    try:\n        signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\n"
        "while True:\n    pass",
        (*_TOO_LONG, *_FAILS),
    ),
    "kills process 1 and its parent": _probe(
        "for pid in (1, os.getppid()):\n    if pid: attempt(os.kill, pid, signal.SIGKILL)\ntime.sleep(0.1)\n"
    ),
    "kills everything it can see": Attack("import os, signal\nos.kill(-1, signal.SIGKILL)", (*_NOTHING, *_FAILS), True),
    "kills itself": Attack("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", _FAILS),
    "crashes": Attack("import ctypes\nctypes.string_at(0)", _FAILS),
    # --- time and memory ---
    "busy loop": Attack("while True:\n    pass", _TOO_LONG),
    "raises its limit of time": Attack(
        "import resource\ntry:\n    resource.setrlimit(resource.RLIMIT_CPU, (10_000, 10_000))\nexcept (OSError, ValueError):\n    pass\nwhile True:\n    pass",
        _TOO_LONG,
    ),
    "busy in many processes": Attack(
        "import os\nfor _ in range(5):\n    os.fork()\nwhile True:\n    pass", _TOO_LONG, True
    ),
    "sleeps": Attack("import time\ntime.sleep(10_000)", _TOO_LONG),
    "one large list": Attack("x = [0] * 10 ** 9", _NO_MEMORY),
    "one large array": Attack("import numpy\nx = numpy.ones(10 ** 9)", _NO_MEMORY),
    "slow growth": Attack("x = []\nwhile True:\n    x.append(bytearray(10 ** 6))", _NO_MEMORY),
    "raises its limit of memory": Attack(
        "import resource\ntry:\n    resource.setrlimit(resource.RLIMIT_AS, (2 ** 40, 2 ** 40))\nexcept (OSError, ValueError):\n    pass\nx = bytearray(4 * 10 ** 9)",
        _NO_MEMORY,
    ),
    "memory in many processes": Attack(
        "import os, time\nfor _ in range(4):\n    os.fork()\nx = bytearray(os.urandom(1)) * 150_000_000\ntime.sleep(30)",
        (*_NO_MEMORY, *_TOO_LONG),
        True,
    ),
    "catches the lack of memory": Attack(
        "try:\n    x = bytearray(4 * 10 ** 9)\nexcept MemoryError:\n    pass\nraise SystemExit(MemoryError('none left'))",
        (Status.RUNTIME_ERROR, Status.OUT_OF_MEMORY),
    ),
    # --- output and disk ---
    "a gigabyte of output": Attack("for _ in range(1000):\n    print('x' * 10 ** 6)", (*_FAILS, *_NOTHING, *_TOO_LONG)),
    "one endless line": Attack("import sys\nwhile True:\n    sys.stdout.write('x' * 65536)", _FAILS),
    "fills the disk": _probe(
        "written = 0\nfor i in range(200):\n    try:\n        with open(f'f{i}', 'wb') as file:\n            for _ in range(60):\n"
        "                written += file.write(b'x' * 10 ** 6)\n    except OSError:\n        break\n"
        "if written > 2 * 10 ** 9: escaped('2 GB')\n",
        laborious=True,
    ),
    "fills the shared memory": _probe(
        "written = 0\nfor i in range(60):\n    try:\n        with open(f'/dev/shm/f{i}', 'wb') as file:\n            written += file.write(b'x' * 50_000_000)\n"
        "    except OSError:\n        break\nif written > 10 ** 9: escaped('1 GB')\n",
        laborious=True,
    ),
    "millions of files": _probe(
        "n = 0\ntry:\n    for n in range(200_000):\n        open(f'n{n}', 'w').close()\nexcept OSError:\n    pass\n"
        "if n > 150_000: escaped('files')\n",
        laborious=True,
    ),
    "giant sparse file": _probe("attempt(lambda: open('sparse', 'wb').truncate(10 ** 12))\n", walled=False),
    "writes elsewhere": _probe(
        "for place in ('/usr', '/etc', '/root', '/home', '/var', '/opt', '/wmrl', sys.prefix, os.path.dirname(os.__file__), os.environ['DATA_DIR']):\n"
        "    if attempt(open, os.path.join(place, 'written'), 'w'): escaped(place)\n"
    ),
    "removes all that it can": Attack(
        "import shutil, os\nfor place in (os.getcwd(), os.environ['DATA_DIR'], '/tmp', '/wmrl'):\n"
        "    shutil.rmtree(place, ignore_errors=True)",
        _NOTHING,
        True,
    ),
    # --- labels and secrets ---
    "searches for the labels": _probe(
        """
for pattern in ('private', '../private', '../../private'):
    if attempt(open, os.path.join(os.environ['DATA_DIR'], pattern, 'labels.csv')):
        escaped('labels')
large = ('/proc', '/sys', '/usr', '/opt', sys.prefix, sys.base_prefix)
for root, dirs, files in os.walk('/'):
    dirs[:] = [name for name in dirs if os.path.join(root, name) not in large]
    if {'labels.csv', 'results.sqlite'} & set(files):
        escaped(root)
""",
        laborious=True,
    ),
    "links to the labels": Attack(
        "import os\nos.symlink('{private}/labels.csv', os.environ['SUBMISSION_PATH'])", _INVALID
    ),
    "hard link to the data": _probe(
        "attempt(os.link, os.path.join(os.environ['DATA_DIR'], 'train.csv'), os.environ['SUBMISSION_PATH'])\n"
        "if os.path.exists(os.environ['SUBMISSION_PATH']): escaped('link')\n"
    ),
    "reads other processes": _probe(
        "for pid in glob.glob('/proc/[0-9]*'):\n    if os.path.basename(pid) == os.readlink('/proc/self'): continue\n"
        "    for name in ('environ', 'mem', 'maps'):\n"
        "        data = attempt(lambda: open(os.path.join(pid, name), 'rb').read(64))\n"
        "        if data: escaped(pid + name)\n"
        "    if attempt(os.listdir, os.path.join(pid, 'fd')): escaped(pid + ' fd')\n"
        "    if attempt(os.listdir, os.path.join(pid, 'root', 'wmrl', 'work')): escaped(pid + ' root')\n"
    ),
    "environment": _probe("if any('SECRET' in name for name in os.environ): escaped('environment')\n", walled=False),
    "files left open": _probe(
        "for fd in range(3, 1024):\n    if attempt(os.fstat, fd): escaped(f'descriptor {fd}')\n", walled=False
    ),
    # --- network ---
    "TCP": _probe(
        "for address in (('127.0.0.1', {port}), ('1.1.1.1', 53)):\n    if attempt(socket.create_connection, address, 1): escaped(address)\n"
    ),
    "UDP and DNS": _probe(
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nif attempt(s.sendto, b'x', ('1.1.1.1', 53)): escaped('udp')\n"
        "if attempt(socket.gethostbyname, 'example.com'): escaped('dns')\n"
    ),
    "abstract socket": _probe(
        "s = socket.socket(socket.AF_UNIX)\ntry:\n    s.connect('\\0wmrl-test-{port}')\n    escaped('abstract')\nexcept OSError:\n    pass\n"
    ),
    # --- privileges ---
    "ptrace": _probe(
        "for pid in (os.getppid(), 1):\n    if pid and libc.ptrace(16, pid, None, None) == 0: escaped(f'attached to {pid}')\n"
    ),
    "unshare": _probe("if libc.unshare(0x10000000) == 0: escaped('user namespace')\n"),
    "mount": _probe(
        "os.makedirs('m', exist_ok=True)\nif libc.mount(b'tmpfs', b'm', b'tmpfs', 0, None) == 0: escaped('mount')\n"
        "if libc.umount2(b'/tmp', 2) == 0: escaped('umount')\n"
    ),
    "setuid": _probe(
        "for call in (os.setuid, os.setgid):\n    try:\n        call(0)\n        escaped(call.__name__)\n    except OSError:\n        pass\n"
        "if os.getuid() == 0: escaped('root')\n"
    ),
    "chroot and devices": _probe(
        "if libc.chroot(b'.') == 0: escaped('chroot')\nif libc.mknod(b'disk', 0o60666, 0x800) == 0: escaped('device')\n"
    ),
    "clock": _probe("if libc.settimeofday(struct.pack('ll', 1, 0), None) == 0: escaped('clock')\n"),
    "host name": _probe("if libc.sethostname(b'mine', 4) == 0: escaped('host name')\n"),
    "core dump": _probe("import resource\nif resource.getrlimit(resource.RLIMIT_CORE)[1]: escaped('core')\n", walled=False),
    "raw system calls": _probe("for number in (165, 175, 246, 169):\n    if libc.syscall(number, 0, 0, 0, 0, 0) == 0: escaped(number)\n"),
    # --- the submission and the grader ---
    "submission is a pipe": Attack("import os\nos.mkfifo(os.environ['SUBMISSION_PATH'])", _INVALID),
    "submission is a folder": Attack("import os\nos.mkdir(os.environ['SUBMISSION_PATH'])", _INVALID),
    "submission is a device": Attack("import os\nos.symlink('/dev/zero', os.environ['SUBMISSION_PATH'])", _INVALID),
    "submission is pickled": Attack(
        "import os, pickle\nclass Evil:\n    def __reduce__(self):\n        return os.system, ('touch /tmp/evil',)\n"
        "pickle.dump(Evil(), open(os.environ['SUBMISSION_PATH'], 'wb'))",
        _INVALID,
    ),
    "shadows the grader's modules": Attack(
        "import os\nfor name in ('csv', 'numpy', 'sitecustomize', 'wmrl_env', 'json'):\n"
        "    open(f'{name}.py', 'w').write('raise SystemExit(0)')\n"
        "import sys\nsys.modules['csv'] = None\nos.environ['PYTHONPATH'] = os.getcwd()",
        _NOTHING,
    ),
    "rewrites the worker": _probe(
        "import types\nmain = sys.modules['__main__']\nfor module in list(sys.modules.values()):\n"
        "    path = getattr(module, '__file__', None) or ''\n    if 'wmrl' in path and attempt(open, path, 'a'): escaped(path)\n",
        laborious=True,
    ),
    "speaks the worker's protocol": Attack(
        "import os\nfor fd in range(0, 64):\n    try:\n        os.write(fd, b'{\"exit_code\": 0, \"exceeded\": null, \"cpu_s\": 0.0, \"wall_s\": 0.0}\\n')\n    except OSError:\n        pass",
        _NOTHING,
    ),
}  # fmt: skip
