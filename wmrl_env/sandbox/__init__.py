"""Executing submissions for real, behind walls."""

from wmrl_env.sandbox.ray import RaySandbox
from wmrl_env.sandbox.sandbox import Sandbox

__all__ = ["RaySandbox", "Sandbox"]
