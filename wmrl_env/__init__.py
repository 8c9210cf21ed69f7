"""Gymnasium environments in which an agent does machine-learning research, graded by a sandbox or a world model.

Importing this package registers ``wmrl/AutoResearch-v0``, ``wmrl/AutoResearchSandbox-v0`` and
``wmrl/AutoResearchPipeline-v0``, and loads nothing heavier than NumPy and Gymnasium.
"""

from wmrl_env.registration import register_envs

register_envs()
