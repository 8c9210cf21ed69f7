"""The worker's own parts; what it does to solutions is tested through the sandbox."""

import sys

from wmrl_env.sandbox import worker


def test_preloading_imports_what_is_named_and_survives_what_cannot_be(monkeypatch):
    imported = []

    def record(name):
        imported.append(name)
        if name == "sklearn.nonesuch":
            raise ImportError(name)

    monkeypatch.setattr(worker.importlib, "import_module", record)
    worker._preload(
        "import numpy as np, os\nfrom sklearn.nonesuch import x\nfrom sklearn.svm import SVC\nfrom . import y"
    )
    assert imported == ["numpy", "sklearn.nonesuch", "sklearn.svm"]
    worker._preload("def broken(:")
    assert len(imported) == 3


def test_a_traceback_shows_the_solutions_own_lines_only(capsys):
    code = "import json\n\ndef load():\n    return json.loads('{')\n\nload()\n"
    worker.linecache.cache["solution.py"] = (len(code), None, code.splitlines(keepends=True), "solution.py")
    try:
        exec(compile(code, "solution.py", "exec"), {})
    except ValueError as error:
        worker._report_exception(error)
    printed = capsys.readouterr().err
    assert 'File "solution.py", line 6' in printed and "return json.loads('{')" in printed
    assert "json/decoder.py" not in printed and sys.prefix not in printed
    assert printed.rstrip().splitlines()[-1].startswith("json.decoder.JSONDecodeError")
