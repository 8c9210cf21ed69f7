"""The command ``wmrl``."""

from wmrl_env.cli.app import app, main

__all__ = ["app", "main"]
