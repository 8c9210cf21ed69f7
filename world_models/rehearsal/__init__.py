"""A run in the head: a solution is followed statement by statement over what the task's text says of its data.

No line is executed. Values are known by kind and size only (a table's columns with their types, which of them have
missing values, how many rows there are), and what nobody can tell stays unknown. What comes out are facts for a model
to weigh: where the program seems to fail and how, what it seems to write, what its fits cost.
"""

from world_models.rehearsal.rehearse import REHEARSAL_NAMES, rehearse

__all__ = ["REHEARSAL_NAMES", "rehearse"]
