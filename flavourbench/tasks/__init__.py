"""Tasks with the scores of all their portfolios: compiled, read, shown and answered."""

from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import read_design
from flavourbench.tasks.files import located, read_tasks
from flavourbench.tasks.parsing import Parsed, parse
from flavourbench.tasks.reward import Grade, grades, reward, rewards
from flavourbench.tasks.taskset import Task, TaskSet

__all__ = [
    "Grade",
    "Parsed",
    "Task",
    "TaskSet",
    "compile_panels",
    "grades",
    "located",
    "parse",
    "read_design",
    "read_tasks",
    "reward",
    "rewards",
]
