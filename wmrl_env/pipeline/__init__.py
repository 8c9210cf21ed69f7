"""Pipeline actions: about ten decisions that make a solution, rendered to Python that anyone could run by hand."""

from wmrl_env.pipeline.codec import DECISIONS, NVEC, Decision, competent, decode, render, sample

__all__ = ["DECISIONS", "NVEC", "Decision", "competent", "decode", "render", "sample"]
