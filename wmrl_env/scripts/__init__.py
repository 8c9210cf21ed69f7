"""Free-form solutions: Python scripts in the style of language models, with the mistakes that they make.

>>> import numpy as np
>>> from wmrl_env import scripts, tasks
>>> code = scripts.write(np.random.default_rng(0), tasks.get("churn"), "wrong_path")
"""

from wmrl_env.scripts.mistakes import MISTAKES
from wmrl_env.scripts.writer import write

__all__ = ["MISTAKES", "write"]
